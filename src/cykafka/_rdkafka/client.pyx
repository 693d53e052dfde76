# Client: what producers, consumers and admin clients have in common. Owns one cyk_handle_t (and so one rd_kafka_t).
#
# Threads: every method may be called by any thread. A method that goes into librdkafka holds a reference to the
# handle meanwhile (_enter and _exit), so close() by another thread only marks the client closed and wakes it; the
# last one out destroys the native client. Callbacks run on the thread that called a serving method, with no
# librdkafka frame and no lock of ours below them.

if cyk_process_install() != 0:
    raise MemoryError("cannot install the fork guard and the message pool")

# syslog levels of librdkafka to those of logging.
cdef tuple _LOG_LEVELS = (
    _logging.CRITICAL, _logging.CRITICAL, _logging.CRITICAL, _logging.ERROR,
    _logging.WARNING, _logging.INFO, _logging.INFO, _logging.DEBUG)

cdef dict _STAGES = {
    "enqueue": CYK_STAGE_ENQUEUE,
    "wire": CYK_STAGE_WIRE,
    "acknowledgement": CYK_STAGE_ACKNOWLEDGEMENT,
    "delivery": CYK_STAGE_DELIVERY,
}

# What an OAUTHBEARER callback returns when the token comes later, by answer_token() (event_loop.pyx).
answer_later = object()

# What calls that need a broker fail with when they reach none.
cdef frozenset _UNREACHED = frozenset((
    RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
    RD_KAFKA_RESP_ERR__WAIT_COORD, RD_KAFKA_RESP_ERR__WAIT_CACHE))

# Clients that are still open when the interpreter ends are destroyed before OpenSSL's own exit handlers run.
cdef object _open_clients = _weakref.WeakSet()


@_atexit.register
def _destroy_open_clients():
    for client in list(_open_clients):
        (<Client>client)._release()


class ThrottleEvent:
    """A broker throttled the client because of a quota.

    Args:
        broker_name: Name of the broker.
        broker_id: Its id.
        throttle_time: How long it throttled, in seconds.
    """

    def __init__(self, broker_name, broker_id, throttle_time):
        self.broker_name = broker_name
        self.broker_id = broker_id
        self.throttle_time = throttle_time

    def __str__(self):
        return f"{self.broker_name}/{self.broker_id} throttled for {int(self.throttle_time * 1000)} ms"


cdef class BlockingCall:
    """A call of librdkafka that runs on a thread of its own (blocking.c); dropping it abandons it."""

    def __dealloc__(self):
        if self.native is not NULL:
            with nogil:
                cyk_call_release(self.native)

    cdef int set_topic(self, object topic, str what) except -1:
        """Give the call a copy of a name."""
        cdef bytes name = encode_name(topic, what)
        self.native.topic = strdup(name)
        if self.native.topic is NULL:
            raise MemoryError
        return 0


cdef class Client:
    """Base class of all clients; not made directly."""

    def __dealloc__(self):
        # In a forked child the native client belongs to the parent: its threads and locks do not exist here.
        if self._handle is not NULL and self._generation == cyk_fork_generation:
            with nogil:
                cyk_handle_release(self._handle)

    cdef int _start(self, ClientConfig config, rd_kafka_type_t kind, int collect) except -1:
        """Make the native client from the configuration."""
        cdef cyk_handle_t *handle
        cdef rd_kafka_t *rk
        if self._handle is not NULL or self._closed:
            raise RuntimeError(f"{type(self).__name__} is already initialised")
        self._error_cb = config.error_cb
        self._stats_cb = config.stats_cb
        self._throttle_cb = config.throttle_cb
        self._oauth_cb = config.oauth_cb
        self._logger = config.logger
        self._spin_us = config.spin_us
        self._generation = cyk_fork_generation
        handle = cyk_handle_new()
        if handle is NULL:
            raise MemoryError
        try:
            rk = config.create(kind, handle, collect)
        except BaseException:
            cyk_handle_abandon(handle)
            raise
        cyk_handle_attach(handle, rk, kind == RD_KAFKA_CONSUMER)
        self._handle = handle
        if config.measure:
            self._histograms = {name: share_histogram(cyk_handle_histogram(handle, stage))
                                for name, stage in _STAGES.items()
                                if kind == RD_KAFKA_PRODUCER or stage == CYK_STAGE_DELIVERY}
        self._native_name = decode_text(rd_kafka_name(rk))
        _open_clients.add(self)
        if self._logger is not None:
            check_err(rd_kafka_set_log_queue(rk, NULL), "Failed to forward logs")
        # The callback may close a client that is still being made.
        cyk_handle_keep(handle)
        try:
            start_tokens(self, handle, config)
        finally:
            self._exit(handle)
        return 0

    cdef int _check_open(self) except -1:
        """Raise unless the client may be used here and now."""
        if self._generation != cyk_fork_generation and (self._handle is not NULL or self._closed):
            raise RuntimeError(
                f"{type(self).__name__} was made before this process was forked and cannot be used in the child: "
                f"make a new one in the child (or start processes with the spawn method)")
        if self._closed:
            raise self._closed_error()
        if self._handle is NULL:
            raise RuntimeError(f"{type(self).__name__}.__init__() has not been called")
        return 0

    cdef int _check_signals(self) except -1:
        """Run signal handlers; remembers that an exception came from one and not from a callback."""
        try:
            PyErr_CheckSignals()
        except BaseException:
            self._signalled = True
            raise
        return 0

    def _kind(self):
        return type(self).__name__

    cdef object _closed_error(self):
        """Return what is raised by a client that has been closed."""
        return RuntimeError(f"{self._kind()} has been closed")

    cdef cyk_handle_t *_enter(self) except NULL:
        """Return the handle with a reference that keeps it alive until _exit()."""
        self._check_open()
        cyk_handle_keep(self._handle)
        return self._handle

    cdef void _exit(self, cyk_handle_t *handle) noexcept:
        """Give the reference back; destroys the client if it was closed meanwhile."""
        if self._closed:
            with nogil:
                cyk_handle_release(handle)
        else:
            cyk_handle_release(handle)

    cdef int _release(self, int64_t deadline=FOREVER) except -1:
        """Mark the client closed, wake who waits, and let go of it; waits for its destruction if nobody uses it.

        What is not destroyed at the deadline is left to the background.
        """
        cdef cyk_handle_t *handle = self._handle
        cdef BlockingCall call
        if handle is NULL or self._generation != cyk_fork_generation:
            return 0
        self._closed = True
        self._handle = NULL
        if self._patrol_end is not None:
            self._patrol_end.set()
        self._let_go()
        _open_clients.discard(self)
        if self._in_event_loop:
            # Destroying goes on when the descriptor may be another file's.
            cyk_handle_notify(handle, -1)
        cyk_handle_wakeup(handle)
        if cyk_handle_refs(handle) > 1:
            with nogil:
                cyk_handle_release(handle)
            return 0
        # Destroying joins librdkafka's threads, which may take seconds: Ctrl-C leaves that to the background.
        call = BlockingCall.__new__(BlockingCall)
        call.native = cyk_call_new(handle, CYK_CALL_DESTROY, FOREVER)
        cyk_handle_release(handle)
        if cyk_call_start(call.native) != 0:
            # No thread to be had: the call's own end destroys the client, on this thread.
            return 0
        while not self._call_done(call, time_left(deadline)) and time_left(deadline) > 0:
            PyErr_CheckSignals()
        return 0

    cdef int _let_go(self) except -1:
        """Drop what else holds a reference to the handle; called once, when the client is closed."""
        return 0

    def _call_done(self, BlockingCall call, int64_t timeout_us):
        cdef int done
        with nogil:
            done = cyk_call_wait(call.native, timeout_us)
        return done

    # Serving

    cdef int _serve_pending(self, cyk_handle_t *handle) except -1:
        """Run the callbacks of all collected events; returns how many. An exception leaves the rest queued."""
        cdef cyk_event_t *event
        cdef int served = 0
        while cyk_handle_pending(handle):
            event = cyk_handle_pop(handle)
            if event is NULL:
                break
            try:
                self._serve_event(handle, event)
            finally:
                cyk_event_destroy(event)
            served += 1
        return served

    cdef int _serve_event(self, cyk_handle_t *handle, cyk_event_t *event) except -1:
        """Run the callback of one event."""
        cdef char errstr[512]
        cdef KafkaError error
        cdef rd_kafka_resp_err_t err = event.err
        if event.type == CYK_EVENT_ERROR:
            if self._error_cb is not None:
                error = make_error(err, decode_text(event.text))
                if err == RD_KAFKA_RESP_ERR__FATAL:
                    err = rd_kafka_fatal_error(cyk_handle_rk(handle), errstr, sizeof(errstr))
                    error = make_error(err, decode_text(errstr))
                    error._fatal = True
                self._error_cb(error)
        elif event.type == CYK_EVENT_STATS:
            if self._stats_cb is not None:
                self._stats_cb(PyUnicode_DecodeUTF8(event.text, event.text_len, "replace"))
        elif event.type == CYK_EVENT_LOG:
            if self._logger is not None:
                self._logger.log(_LOG_LEVELS[min(max(event.number, 0), 7)], "%s [%s] %s",
                                 decode_text(event.facility), self._native_name, decode_text(event.text))
        elif event.type == CYK_EVENT_THROTTLE:
            if self._throttle_cb is not None:
                self._throttle_cb(ThrottleEvent(decode_text(event.text), event.number, event.throttle_ms / 1000.0))
        elif event.type == CYK_EVENT_OAUTHBEARER_REFRESH:
            if self._oauth_cb is not None:
                refresh_token(self, handle, decode_text(event.text) or "")
        return 0

    cdef int _serve_meanwhile(self, cyk_handle_t *handle) except -1:
        """Serve what must not wait for the next poll(): token refreshes, without which no call can succeed."""
        cdef rd_kafka_queue_t *queue
        if self._oauth_cb is not None and not self._in_event_loop:
            queue = cyk_handle_sasl_queue(handle)
            if queue is not NULL and rd_kafka_queue_length(queue):
                serve_token_requests(self, handle)
        return 0

    cdef int _check_reached(self, cyk_handle_t *handle, rd_kafka_resp_err_t err, str doing) except -1:
        """Raise if a request to brokers failed; says why none was reached, if that is it."""
        if err == RD_KAFKA_RESP_ERR_NO_ERROR:
            return 0
        raise KafkaException(self._explain(handle, make_error(err, f"{doing}: {decode_text(rd_kafka_err2str(err))}")))

    cdef KafkaError _explain(self, cyk_handle_t *handle, KafkaError error):
        """Add to an error why no broker was reached, if that is what it is about."""
        cdef char *text
        if error._code in _UNREACHED:
            with nogil:
                text = cyk_handle_reason(handle)
            if text is not NULL:
                error._reason = f"{error.str()} ({decode_text(text)})"
                free(text)
        return error

    cdef cyk_wait_t _wait(self, cyk_handle_t *handle, int64_t timeout_us) except? CYK_WAIT_TIMEOUT:
        """Wait for the queue, for at most one slice; answers signals, wakeup() and close().

        Raises:
            RuntimeError: If another thread has closed the client.
        """
        cdef cyk_wait_t result
        cdef rd_kafka_queue_t *queue = cyk_handle_queue(handle)
        with nogil:
            result = cyk_queue_wait(queue, timeout_us, self._spin_us)
        self._check_signals()
        if self._closed:
            raise self._closed_error()
        self._serve_meanwhile(handle)
        if cyk_handle_take_wakeup(handle):
            return CYK_WAIT_WOKEN
        # A yield that was not wakeup(): librdkafka uses it too.
        return CYK_WAIT_READY if result == CYK_WAIT_READY else CYK_WAIT_TIMEOUT

    # Blocking calls

    cdef BlockingCall _new_call(self, cyk_handle_t *handle, cyk_call_op_t op, int64_t timeout_us):
        """Make a call that keeps the handle alive."""
        cdef BlockingCall call = BlockingCall.__new__(BlockingCall)
        call.native = cyk_call_new(handle, op, timeout_us)
        return call

    cdef int _run(self, BlockingCall call) except -1:
        """Run a call to its end, answering signals, wakeup(), close() and token refreshes meanwhile.

        Raises:
            KafkaException: With code _INTR if wakeup() was called.
            RuntimeError: If another thread has closed the client.
        """
        cdef cyk_handle_t *handle = self._enter()
        try:
            if cyk_call_start(call.native) != 0:
                raise MemoryError("cannot start a thread for a blocking call")
            while not self._call_done(call, SLICE_US if self._oauth_cb is None else SLICE_US // 8):
                PyErr_CheckSignals()
                if self._closed:
                    raise self._closed_error()
                self._serve_meanwhile(handle)
                self._check_woken(handle)
        finally:
            self._exit(handle)
        return 0

    cdef int _check_woken(self, cyk_handle_t *handle) except -1:
        """Raise if the blocking call of this thread is to end."""
        if cyk_handle_take_wakeup(handle):
            raise KafkaException(make_error(RD_KAFKA_RESP_ERR__INTR, "Interrupted by wakeup()"))
        if self._cancelled_threads is not None and PyThread_get_thread_ident() in self._cancelled_threads:
            raise KafkaException(make_error(RD_KAFKA_RESP_ERR__INTR, "Interrupted: its task was cancelled"))
        return 0

    def list_topics(self, topic=None, timeout=-1):
        """Ask the cluster for its brokers, topics and partitions (``rd_kafka_metadata``).

        Args:
            topic: Only this topic; all topics if None.
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            ClusterMetadata: Brokers, topics and partitions.

        Raises:
            KafkaException: If the cluster does not answer in time (_TRANSPORT, _TIMED_OUT).
            TypeError: If the topic is not a str.
            RuntimeError: If the client is closed.
        """
        cdef cyk_handle_t *handle
        cdef BlockingCall call
        cdef int64_t timeout_us
        if topic is not None and not isinstance(topic, str):
            raise TypeError(f"topic must be str or None, not {type(topic).__name__}")
        timeout_us = as_timeout_us(timeout)
        handle = self._enter()
        try:
            call = self._new_call(handle, CYK_CALL_METADATA, timeout_us)
            if topic is not None:
                call.set_topic(topic, "topic")
            self._run(call)
            self._check_reached(handle, call.native.err, "Failed to get metadata")
            cluster = read_cluster_metadata(call.native.metadata)
            # Known from the metadata that has just been fetched: no request, no waiting.
            cluster.controller_id = rd_kafka_controllerid(cyk_handle_rk(handle), 0)
            cluster.cluster_id = self._cached_cluster_id(0)
        finally:
            self._exit(handle)
        return cluster

    def _cached_cluster_id(self, int64_t timeout_us):
        cdef cyk_handle_t *handle = self._enter()
        cdef BlockingCall call
        try:
            call = self._new_call(handle, CYK_CALL_CLUSTERID, timeout_us)
            self._run(call)
            return decode_text(call.native.text)
        finally:
            self._exit(handle)

    def cluster_id(self, timeout=-1):
        """Return the identifier of the cluster (``rd_kafka_clusterid``).

        Args:
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            str: The identifier.

        Raises:
            KafkaException: If no broker has told it in time (_TIMED_OUT).
            RuntimeError: If the client is closed.
        """
        cdef cyk_handle_t *handle
        result = self._cached_cluster_id(as_timeout_us(timeout))
        if result is None:
            handle = self._enter()
            try:
                self._check_reached(handle, RD_KAFKA_RESP_ERR__TIMED_OUT, "Failed to get the cluster id")
            finally:
                self._exit(handle)
        return result

    def metrics(self, timeout=5):
        """Return the client's statistics as they are now, without ``stats_cb``.

        librdkafka samples the windows (`WindowStatistics`: latencies, batch sizes) only if ``statistics.interval.ms``
        is set, to whatever interval; else they are empty. They begin anew with each call, and at that interval.

        Args:
            timeout: Seconds to wait for librdkafka's main thread; -1 or None for no limit.

        Returns:
            Statistics: All of librdkafka's statistics, typed.

        Raises:
            KafkaException: If there was no answer in time (_TIMED_OUT).
            KeyboardInterrupt: On Ctrl-C, within 50 ms.
            RuntimeError: If the client is closed, also by another thread meanwhile.
        """
        from cykafka.metrics import Statistics

        cdef int64_t timeout_us = as_timeout_us(timeout)
        cdef cyk_handle_t *handle = self._enter()
        cdef BlockingCall call
        try:
            call = self._new_call(handle, CYK_CALL_STATISTICS, timeout_us)
            if cyk_call_start(call.native) != 0:
                raise MemoryError("cannot start a thread for a blocking call")
            # Not _run(): a monitoring thread shall neither serve callbacks nor take a wakeup() meant for another.
            while not self._call_done(call, SLICE_US):
                PyErr_CheckSignals()
                if self._closed:
                    raise RuntimeError(f"{self._kind()} has been closed")
            text = decode_text(call.native.text)
        finally:
            self._exit(handle)
        if text is None:
            raise KafkaException(make_error(RD_KAFKA_RESP_ERR__TIMED_OUT, "Failed to get the statistics: timed out"))
        return Statistics.from_json(text)

    def set_sasl_credentials(self, username, password):
        """Set the credentials of SASL PLAIN and SCRAM for connections made from now on.

        Open connections stay as they are (``rd_kafka_sasl_set_credentials``).

        Args:
            username: User name.
            password: Password.

        Raises:
            TypeError: If an argument is not a str.
            KafkaException: If librdkafka refuses them.
            RuntimeError: If the client is closed.
        """
        cdef bytes form
        cdef bytes native_username = encode_name(username, "username")
        cdef bytes native_password = encode_name(password, "password")
        cdef const char *user = native_username
        cdef const char *secret = native_password
        cdef rd_kafka_error_t *error
        cdef cyk_handle_t *handle = self._enter()
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        try:
            for form in secret_forms(password):
                cyk_handle_add_secret(handle, form, True)
            with nogil:
                error = rd_kafka_sasl_set_credentials(rk, user, secret)
            check_error(error)
        finally:
            self._exit(handle)

    def wakeup(self):
        """Make the blocking call that another thread is in, or else the next one, return early.

        poll(), consume() and flush() then return what they have; other calls raise `KafkaException` with the code
        ``_INTR``. May be called by any thread, also by a signal handler.

        Raises:
            RuntimeError: If the client is closed.
        """
        cdef cyk_handle_t *handle = self._enter()
        try:
            cyk_handle_wakeup(handle)
        finally:
            self._exit(handle)

    @property
    def name(self):
        """Name of the client instance, as in librdkafka's logs: ``rdkafka#producer-1``."""
        return self._native_name

    @property
    def latency_histograms(self):
        """Where the time of messages goes: a dict of `Histogram` objects, in microseconds; None if not measured.

        Measured if the client was made with ``latency_histograms=True``; readable at any time, also after close().

        Of a producer's delivered messages, recorded when their reports are served: ``enqueue`` is from produce() until
        the message's request was written to the socket, ``wire`` from then until the broker's response,
        ``acknowledgement`` from produce() until the response, and ``delivery`` from the response until the report is
        served by poll() or a like method. Without acks (``acks=0``) there is no response, and nothing is recorded.

        Of a consumer's messages there is ``delivery``: from the broker's response until poll() or consume() returns
        the message.
        """
        return None if self._histograms is None else dict(self._histograms)

    @property
    def spin_us(self):
        """Microseconds that a waiting poll(), consume() or flush() spins on its queue before it sleeps.

        Spinning sees what arrives at once, without the kernel waking the thread up, at the price of a busy CPU; the GIL
        is released meanwhile. May be set at any time, by any thread; at first it is the setting
        ``spin_us`` of the client's configuration, by default 0. A wait that is longer than 40 ms spins again after each 40 ms.

        Raises:
            TypeError: If it is set to something else than a whole number.
            ValueError: If it is set to a negative number or more than an hour.
        """
        return self._spin_us

    @spin_us.setter
    def spin_us(self, value):
        self._spin_us = as_spin_us(value)

    @property
    def closed(self):
        """True once the client has been closed."""
        return self._closed

    def __repr__(self):
        state = " closed" if self._closed else ""
        return f"<{type(self).__name__} {self._native_name}{state}>"

    def __reduce__(self):
        raise TypeError(
            f"{type(self).__name__} cannot be pickled: it holds connections. Pickle its configuration and make a "
            "new client from it where it is needed")


def version():
    """Return the version of cykafka, a str that follows PEP 440."""
    return _client_software_version


def libversion():
    """Return the version of librdkafka: (text, ``RD_KAFKA_VERSION`` as 0xMMmmrrff)."""
    return ((<bytes>rd_kafka_version_str()).decode(), rd_kafka_version())


def builtin_features():
    """Return the features that librdkafka was built with, as a sorted list (``builtin.features``)."""
    cdef char buffer[512]
    cdef size_t size = sizeof(buffer)
    cdef rd_kafka_conf_t *conf = rd_kafka_conf_new()
    rd_kafka_conf_get(conf, b"builtin.features", buffer, &size)
    rd_kafka_conf_destroy(conf)
    return sorted((<bytes>buffer).decode().split(","))


cdef int32_t _partition_for(
        key, partition_count,
        int32_t (*partitioner)(const rd_kafka_topic_t *, const void *, size_t, int32_t, void *, void *)
        noexcept nogil) except -1:
    cdef Span span
    if key is None or isinstance(key, str):
        raise TypeError(f"a bytes-like object is required, not {type(key).__name__!r}")
    if partition_count <= 0:
        raise ValueError(f"partition_count must be > 0, got {partition_count}")
    get_span(key, &span, "key")
    try:
        return partitioner(NULL, span.ptr, span.size, partition_count, NULL, NULL)
    finally:
        release_span(&span)


def murmur2(key, partition_count):
    """Return the partition for a key as Java clients choose it.

    Args:
        key: Key, bytes-like.
        partition_count: Number of partitions of the topic.

    Returns:
        int: Partition number.

    Raises:
        TypeError: If the key is not bytes-like.
        ValueError: If the count is not positive.
    """
    return _partition_for(key, partition_count, rd_kafka_msg_partitioner_murmur2)


def fnv1a(key, partition_count):
    """Return the partition for a key as Sarama (Go) chooses it; arguments and errors as `murmur2`."""
    return _partition_for(key, partition_count, rd_kafka_msg_partitioner_fnv1a)


def consistent(key, partition_count):
    """Return the partition for a key by CRC32, librdkafka's own way; arguments and errors as `murmur2`."""
    return _partition_for(key, partition_count, rd_kafka_msg_partitioner_consistent)
