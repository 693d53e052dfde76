# Producer: owns topic handles and, through the opaque pointers of its messages, references to their callbacks.
#
# produce() only enqueues and does not release the GIL. Delivery reports come as one event for a batch; the event
# owns its messages while their callbacks run on the thread that called poll(), flush() or a like method.

# From this size on a payload is not copied unless it may change: its owner is kept until its report instead.
cdef Py_ssize_t ZERO_COPY_BYTES = 65536


cdef class TopicHandle:
    """An rd_kafka_topic_t, freed before its client since it holds a reference to it."""

    def __dealloc__(self):
        if self.native is not NULL and self._generation == cyk_fork_generation:
            rd_kafka_topic_destroy(self.native)
            with nogil:
                cyk_handle_release(self._handle)


cdef inline int as_copy(object copy) except -1:
    """Return what produce()'s argument of that name stands for."""
    if copy is None:
        return KEEP_CONSTANT
    if copy is True:
        return COPY
    if copy is False:
        return KEEP
    raise TypeError(f"copy must be True, False or None, not {copy!r:.50}")


# Not a matter for the garbage collector: the only reference to one is in librdkafka's memory, so that a cycle through
# it could not be found anyway.
@cython.final
@cython.no_gc
@cython.freelist(1024)
cdef class Delivery:
    """What a message needs when it is reported, if that is more than a callback."""

    def __dealloc__(self):
        if self.has_view:
            PyBuffer_Release(&self.view)


cdef class Producer(Client):
    """Producer(config={}, **properties)\n--\n
    Produces messages; asynchronous, with delivery reports by callback.

    Args:
        config: Configuration properties of librdkafka by name, and the callbacks ``error_cb``, ``stats_cb``,
            ``throttle_cb``, ``oauth_cb``, ``on_delivery`` (default delivery callback) and ``logger``. Keyword
            arguments are merged into it, with underscores for dots: ``Producer(bootstrap_servers="...")``.
            Settings of cykafka's own: ``partitioner`` may be a function as in `cykafka.partitioners`;
            ``interceptors`` is a list of objects with methods of `cykafka.interceptors.ProducerInterceptor`;
            ``poll_in_background=True`` starts a thread that serves the callbacks. Those of every client, see the guide
            on low latency: ``spin_us``, ``cpu_affinity``, ``thread_prefix`` and ``latency_histograms``.

    Callbacks run on the thread that calls poll(), flush(), or a blocking transaction method; they may call any
    method of the producer. All methods may be called by any thread.

    Raises:
        TypeError: If the configuration is not a dict, or a value has the wrong type.
        KafkaException: If librdkafka refuses a property or value (_INVALID_ARG, with its own text).
    """

    def __init__(self, *args, **kwargs):
        config_dict = merge_config(args, kwargs, type(self).__name__)
        cdef dict properties = dict(config_dict)
        cdef bint in_background = bool(properties.pop("poll_in_background", False))
        cdef ProducerHooks hooks = take_producer_hooks(properties)
        cdef ClientConfig config = ClientConfig(properties, "producer", ("on_delivery",))
        self._config = config_dict
        self._topics = {}
        self._on_delivery = config.on_delivery
        # librdkafka would drop the reports of delivered messages, and with them our references: filtered here.
        if config.flag("delivery.report.only.error"):
            self._only_errors = True
            config._set("delivery.report.only.error", "false")
        self._transaction_timeout_us = config.milliseconds("transaction.timeout.ms") * 1000
        rd_kafka_conf_set_events(config.native, RD_KAFKA_EVENT_DR)
        if hooks is not None:
            hooks._only_errors = self._only_errors
            self._only_errors = self._only_errors and not hooks._on_acknowledgement
            hooks._metadata_timeout_us = config.milliseconds("topic.metadata.propagation.max.ms") * 1000
            self._hooks = hooks
        self._start(config, RD_KAFKA_PRODUCER, 0)
        if in_background:
            self._background = _BackgroundThread(self)
            self._background.start()

    def __del__(self):
        # Here, since it waits without the GIL: another thread may get at the producer by a weak reference meanwhile.
        if self._handle is not NULL and self._generation == cyk_fork_generation:
            self._drop_messages(self._handle)

    def __dealloc__(self):
        # Nothing is left to drop, unless a subclass has a finaliser of its own.
        if self._handle is not NULL and self._generation == cyk_fork_generation:
            self._drop_messages(self._handle)
        forget_summaries(self)

    def _kind(self):
        return "Producer"

    cdef rd_kafka_topic_t *_native_topic(self, object topic) except NULL:
        """Return the native topic for a name, made at its first use."""
        cdef TopicHandle holder
        cdef bytes name
        if topic is self._last_topic and self._last_native_topic is not NULL:
            return self._last_native_topic
        if type(topic) is not str:
            if not isinstance(topic, str):
                raise TypeError(f"topic must be str, not {type(topic).__name__}")
        holder = self._topics.get(topic)
        if holder is None:
            name = encode_name(topic, "topic")
            if not name:
                raise ValueError("topic must not be empty")
            holder = TopicHandle.__new__(TopicHandle)
            # Reading the arguments, a subclass of str or a garbage collection may have run code that closed it.
            self._check_open()
            holder.native = rd_kafka_topic_new(cyk_handle_rk(self._handle), name, NULL)
            check_ptr(holder.native, f"Failed to create topic handle for {topic!r}")
            holder._handle = self._handle
            holder._generation = self._generation
            cyk_handle_keep(self._handle)
            self._topics[topic] = holder
        self._last_topic = topic
        self._last_native_topic = holder.native
        return holder.native

    cdef rd_kafka_resp_err_t _enqueue(self, object topic, object value, object key, int32_t partition,
                                      object callback, int64_t timestamp, object headers, object opaque,
                                      Sending sending) except *:
        """Hand one message to librdkafka; returns its error code, raises only for wrong arguments."""
        cdef Span value_span, key_span
        cdef rd_kafka_headers_t *native_headers = NULL
        cdef rd_kafka_topic_t *rkt = self._native_topic(topic)
        cdef rd_kafka_resp_err_t err
        cdef int flags = RD_KAFKA_MSG_F_COPY
        cdef PyObject *message_opaque = NULL
        cdef Delivery delivery
        if headers is not None:
            native_headers = make_headers(headers)
        try:
            get_span(value, &value_span, "value")
            try:
                get_span(key, &key_span, "key")
            except BaseException:
                release_span(&value_span)
                raise
        except BaseException:
            if native_headers is not NULL:
                rd_kafka_headers_destroy(native_headers)
            raise
        # Unless told to, no reference is made to what may change until it is sent, as a bytearray may.
        if value_span.ptr is not NULL and (
                sending.copy == KEEP or (sending.copy == KEEP_CONSTANT and value_span.size >= ZERO_COPY_BYTES
                                         and not (value_span.has_view and not value_span.view.readonly))):
            flags = 0
        if opaque is None and flags and not sending.deadline_us:
            if callback is not None:
                message_opaque = <PyObject *>callback
        else:
            delivery = Delivery.__new__(Delivery)
            delivery.callback = callback
            delivery.opaque = opaque
            if not flags:
                delivery.value = value
                if value_span.has_view:
                    delivery.view = value_span.view
                    delivery.has_view = True
                    value_span.has_view = False
            if sending.deadline_us:
                delivery.timed = make_timed(topic, value, &value_span, key, &key_span, partition, callback, headers,
                                            opaque, flags != 0)
            message_opaque = <PyObject *>delivery
        if self._handle is NULL:
            # Reading the arguments, or a garbage collection meanwhile, ran code that closed the producer.
            release_span(&value_span)
            release_span(&key_span)
            if native_headers is not NULL:
                rd_kafka_headers_destroy(native_headers)
            self._check_open()
        if message_opaque is not NULL:
            Py_INCREF(<object>message_opaque)
        # Under the GIL on purpose: enqueueing takes only short locks that no thread waiting for the GIL holds.
        err = cyk_produce(cyk_handle_rk(self._handle), rkt, partition, flags, <void *>value_span.ptr, value_span.size,
                          key_span.ptr, key_span.size, timestamp, sending.deadline_us, native_headers, message_opaque)
        release_span(&value_span)
        release_span(&key_span)
        if err != RD_KAFKA_RESP_ERR_NO_ERROR:
            if native_headers is not NULL:
                rd_kafka_headers_destroy(native_headers)
            if message_opaque is not NULL:
                Py_DECREF(<object>message_opaque)
        elif sending.deadline_us:
            if self._deadlines is None:
                self._deadlines = Deadlines.__new__(Deadlines)
            self._deadlines.push(sending.deadline_us + DEADLINE_GRACE_US, delivery.timed)
        return err

    cdef rd_kafka_resp_err_t _enqueue_bytes(self, object topic, object value, object key, int32_t partition,
                                            object callback) except *:
        """The common case of _enqueue(): bytes to be copied, and nothing but a callback besides."""
        cdef rd_kafka_topic_t *rkt = self._native_topic(topic)
        cdef PyObject *message_opaque = NULL
        if callback is not None:
            message_opaque = <PyObject *>callback
            Py_INCREF(callback)
        if rd_kafka_produce(rkt, partition, RD_KAFKA_MSG_F_COPY, <void *>PyBytes_AS_STRING(value),
                            PyBytes_GET_SIZE(value), NULL if key is None else PyBytes_AS_STRING(key),
                            0 if key is None else PyBytes_GET_SIZE(key), message_opaque) == 0:
            return RD_KAFKA_RESP_ERR_NO_ERROR
        if message_opaque is not NULL:
            Py_DECREF(callback)
        return rd_kafka_last_error()

    def produce(self, topic, value=None, key=None, partition=-1, callback=None, on_delivery=None,
                timestamp=0, headers=None, *, opaque=None, timeout=0, copy=None, deadline=None):
        """Enqueue a message; it is sent in the background.

        Args:
            topic: Topic name.
            value: Payload: str (sent as UTF-8), any bytes-like object, or None (a tombstone).
            key: Key: str, bytes-like or None.
            partition: Partition number, or -1 to let the configured partitioner choose.
            callback: Same as on_delivery.
            on_delivery: Called from poll() or flush() as ``on_delivery(error, message)`` with a `KafkaError` or
                None and the `Message`, once the message is delivered or has failed for good.
            timestamp: Milliseconds since the epoch UTC; 0 for now.
            headers: Dict, or list of (name, value) pairs; values are str, bytes or None.
            opaque: Any object; the report's `Message.opaque` returns it.
            timeout: If the local queue is full, serve delivery reports for up to this many seconds until there is
                room; -1 or None for no limit, 0 to fail at once. Limits also how long a partitioner written in
                Python waits for a topic's first metadata (0: ``topic.metadata.propagation.max.ms``).
            copy: True to copy the payload; False to keep a reference to it until the delivery report instead, which
                then must not change (the size of a bytearray cannot meanwhile). If None, payloads of 64 KiB or more
                that cannot change (str, bytes, read-only buffers) are not copied.
            deadline: Seconds from now by which the message is to be acknowledged; None for ``message.timeout.ms`` only.
                After it the message is not sent any more, and if it has not been acknowledged it is reported as
                _MSG_TIMED_OUT, at most 5 ms later if poll() is called: with the status ``not_persisted`` if it was
                never sent, ``possibly_persisted`` if it was. What becomes of that later is not reported again.

        Raises:
            BufferError: If the queue is full (``queue.buffering.max.messages`` or ``.kbytes``): call poll().
            KafkaException: If the message cannot be produced: too large, unknown partition, fatal error.
            Exception: What a partitioner written in Python raised.
            TypeError: If an argument has the wrong type.
            RuntimeError: If the producer is closed.

        Thread-safe. From ``rd_kafka_produce`` and ``rd_kafka_produceva``.
        """
        cdef rd_kafka_resp_err_t err
        cdef int32_t native_partition = as_index(partition, "partition")
        cdef int64_t native_timestamp = 0
        cdef int64_t timeout_us = 0
        cdef Sending sending
        self._check_open()
        # A wrong time-out is an error at once, not only when the queue is full.
        if timeout is not 0:
            timeout_us = as_timeout_us(timeout)
        if on_delivery is None:
            on_delivery = callback
        if on_delivery is not None and not callable(on_delivery):
            raise TypeError(f"on_delivery must be callable, not {type(on_delivery).__name__}")
        if timestamp is not None:
            native_timestamp = as_index(timestamp, "timestamp")
            if native_timestamp < 0:
                raise ValueError(f"timestamp must be >= 0 milliseconds, not {timestamp}")
        sending.copy = as_copy(copy)
        sending.deadline_us = as_deadline(deadline)
        if self._hooks is not None:
            err = enqueue_hooked(self, topic, value, key, native_partition, on_delivery, native_timestamp, headers,
                                 opaque, sending, timeout_us)
            timeout_us = 0
        elif (type(value) is bytes and PyBytes_GET_SIZE(value) < ZERO_COPY_BYTES
              and (key is None or type(key) is bytes) and native_timestamp == 0 and headers is None
              and opaque is None and sending.copy != KEEP and not sending.deadline_us):
            err = self._enqueue_bytes(topic, value, key, native_partition, on_delivery)
        else:
            err = self._enqueue(topic, value, key, native_partition, on_delivery, native_timestamp, headers, opaque,
                                sending)
        if err == RD_KAFKA_RESP_ERR__QUEUE_FULL and timeout_us != 0:
            err = self._enqueue_waiting(topic, value, key, native_partition, on_delivery, native_timestamp, headers,
                                        opaque, sending, timeout_us)
        if err != RD_KAFKA_RESP_ERR_NO_ERROR:
            self._raise_produce_error(err)

    def send(self, topic, value=None, key=None, partition=-1, timestamp=0, headers=None, *, timeout=0):
        """Enqueue a message and return a future of its delivery.

        Args:
            topic: Topic name.
            value: Value, as in `produce`.
            key: Key, as in `produce`.
            partition: Partition number, or -1 to let the configured partitioner choose.
            timestamp: Milliseconds since the epoch UTC; 0 for now.
            headers: Headers, as in `produce`.
            timeout: Seconds to wait for room in the local queue, as in `produce`.

        Returns:
            DeliveryFuture: A `concurrent.futures.Future`. Its result is the delivered `Message`, its exception a
            `KafkaException` whose attribute ``message`` is the `Message` that failed. Served by poll(), flush(),
            its own result() and exception(), or by the thread that ``poll_in_background=True`` starts, which
            `concurrent.futures.wait` and `asyncio.wrap_future` need.

        Raises:
            BufferError, KafkaException, TypeError, RuntimeError: As `produce`.
        """
        return send_message(self, topic, {"value": value, "key": key, "partition": partition, "timestamp": timestamp,
                                          "headers": headers, "timeout": timeout})

    def _raise_produce_error(self, int err):
        cdef char errstr[512]
        cdef KafkaError error
        text = decode_text(rd_kafka_err2str(<rd_kafka_resp_err_t>err))
        if err == RD_KAFKA_RESP_ERR__QUEUE_FULL:
            raise BufferError(f"{text}: call poll() to serve delivery reports, or raise queue.buffering.max.messages")
        error = make_error(<rd_kafka_resp_err_t>err, f"Unable to produce message: {text}")
        if err == RD_KAFKA_RESP_ERR__FATAL and self._handle is not NULL:
            fatal = rd_kafka_fatal_error(cyk_handle_rk(self._handle), errstr, sizeof(errstr))
            error = make_error(fatal, f"Unable to produce message: {decode_text(errstr)}")
            error._fatal = True
        raise make_exception(error)

    cdef rd_kafka_resp_err_t _enqueue_waiting(self, object topic, object value, object key, int32_t partition,
                                              object callback, int64_t timestamp, object headers, object opaque,
                                              Sending sending, int64_t timeout_us) except *:
        """Do what _enqueue() does, serving delivery reports until there is room."""
        cdef cyk_handle_t *handle = self._enter()
        cdef int64_t deadline = deadline_after(timeout_us)
        cdef int64_t left
        cdef rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__QUEUE_FULL
        try:
            while True:
                self._serve_queue(handle)
                self._check_open()
                err = self._enqueue(topic, value, key, partition, callback, timestamp, headers, opaque, sending)
                left = time_left(deadline)
                if err != RD_KAFKA_RESP_ERR__QUEUE_FULL or left == 0:
                    return err
                if self._wait(handle, left) == CYK_WAIT_WOKEN:
                    return err
        finally:
            self._exit(handle)

    def produce_batch(self, topic, messages, partition=-1, callback=None, on_delivery=None, *, timeout=0):
        """Enqueue many messages for one topic.

        Args:
            topic: Topic name.
            messages: List of dicts with the optional keys ``value``, ``key``, ``partition``, ``timestamp`` (ms),
                ``headers``, ``callback`` or ``on_delivery``, ``opaque``, ``copy`` and ``deadline``; meanings as in
                `produce`.
            partition: Partition of messages that name none.
            callback: Same as on_delivery.
            on_delivery: Delivery callback of messages that have none.
            timeout: If the local queue is full, serve delivery reports for up to this many seconds in all until there
                is room; -1 or None for no limit. With 0, and when the time is over, messages that find no room fail.

        Returns:
            int: How many were enqueued. A message that was not has its `KafkaError` under ``_error`` in its dict,
            ``_QUEUE_FULL`` among others; one that was enqueued after all has no ``_error`` any more. After
            an exception, too: the messages before the one that it is about have been enqueued, those from there on
            have an ``_error`` with the code ``_INTR``.

        Raises:
            TypeError, ValueError: If an argument or a field of a message is wrong; the text tells its index.
            Exception: What a delivery callback raised while this waited for room.
            KeyboardInterrupt: On Ctrl-C while it waits for room, within 50 ms.
            RuntimeError: If the producer is closed.
        """
        self._check_open()
        return produce_rows(self, topic, messages, as_index(partition, "partition"),
                            callback if on_delivery is None else on_delivery, as_timeout_us(timeout))

    def produce_arrow(self, topic, data, *, key="key", value="value", headers="headers", partition="partition",
                      timestamp="timestamp", topic_column="topic", on_delivery=None, timeout=-1):
        """Enqueue the rows of a table as messages, without a Python object per row.

        Args:
            topic: Topic name; None to take each row's from topic_column.
            data: Anything that speaks the Arrow PyCapsule protocol (``__arrow_c_stream__`` or
                ``__arrow_c_array__``): tables and record batches of pyarrow, data frames of polars and pandas,
                relations of DuckDB, `RecordBatch`.
            key: Name of the column with the keys: binary, string or fixed-size binary, also large, as views or
                dictionary-encoded; null for no key. Here and below: None for no such column; a column with the
                default name may be missing.
            value: Name of the column with the values, as for key; null is a tombstone.
            headers: Name of the column with the headers: a list of structs, or map, of key and value.
            partition: Name of the column with the partition numbers, integers; -1 or null to let the partitioner
                choose.
            timestamp: Name of the column with the timestamps: timestamps of any unit, or int64 milliseconds since
                the epoch UTC; 0 or null for now.
            topic_column: Name of the column with the topics, used only if topic is None.
            on_delivery: Called once, from poll(), flush() or this call, as ``on_delivery(summary)`` when every row
                has been delivered or has failed.
            timeout: Seconds to wait for room in the local queue, serving delivery reports meanwhile; -1 or None for
                no limit, 0 to fail at once.

        Returns:
            DeliverySummary: Counts, and the rows that failed; complete once poll() or flush() has served the last
            delivery report. Rows that librdkafka refuses (too large, unknown partition) are among the failed ones.

        Raises:
            TypeError: If data does not speak the protocol, or a column's type does not fit.
            ValueError: If a column is missing, or a row has a null, a negative time or a partition number out of
                range where that may not be.
            BufferError: If there was no room in time.
            KafkaException: If the producer cannot produce any more, or on wakeup() (_INTR).
            Exception: What a callback raised.
            KeyboardInterrupt: On Ctrl-C, within 50 ms.
            RuntimeError: If the producer is closed, or reading the data fails.

        Rows before the one that an exception is about have been enqueued; the exception's attribute ``summary`` has
        their `DeliverySummary`, whose ``enqueued`` and ``failed`` together tell where to go on. The callback
        ``on_delivery`` of the configuration is not called for rows.
        """
        self._check_open()
        return produce_columns(self, topic, data, (key, value, headers, partition, timestamp, topic_column),
                               on_delivery, timeout)

    def warmup(self, topics, timeout=-1):
        """Connect to the leaders of all partitions of topics, so that the first message finds everything ready.

        Asks for the partitions, has every leader connected to (with TLS and SASL), and waits until that is done; an
        idempotent producer also gets its id. Call it again after a while without messages, or when leaders have moved:
        it returns at once if nothing has changed.

        Args:
            topics: Topic names; one name may be given as it is.
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            list[int]: Ids of the brokers that lead the partitions, in order; all of them are connected.

        Raises:
            KafkaException: If a topic cannot be had, or not every leader could be reached in time (_TIMED_OUT, or why a
                topic is not known yet); on wakeup() (_INTR).
            TypeError: If a name is not a str.
            KeyboardInterrupt: On Ctrl-C, within 50 ms.
            RuntimeError: If the producer is closed.
        """
        return warm_up(self, topics, as_timeout_us(timeout))

    # Serving

    cdef int _serve_queue(self, cyk_handle_t *handle) except -1:
        """Serve what is in the queue now, without waiting; returns how many callbacks were due."""
        cdef rd_kafka_queue_t *queue = cyk_handle_queue(handle)
        cdef rd_kafka_event_t *event
        cdef int served = 0
        # No more events than were there at the start: a busy producer thread must not keep this one here.
        cdef Py_ssize_t most = <Py_ssize_t>rd_kafka_queue_length(queue) + 1
        if self._oauth_cb is not None:
            self._serve_meanwhile(handle)
        if cyk_handle_pending(handle):
            served += self._serve_pending(handle)
        while most > 0:
            most -= 1
            event = rd_kafka_queue_poll(queue, 0)
            if event is NULL:
                break
            if rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR:
                cyk_handle_measure_reports(handle, event)
                served += self._serve_reports(event)
            elif not cyk_handle_collect(handle, event):
                rd_kafka_event_destroy(event)
            if cyk_handle_pending(handle):
                served += self._serve_pending(handle)
        if cyk_handle_pending(handle):
            # Throttle events arrive as a callback inside rd_kafka_queue_poll(), not as an event.
            served += self._serve_pending(handle)
        if self._deadlines is not None and self._deadlines.length:
            served += serve_deadlines(self)
        return served

    cdef cyk_wait_t _wait(self, cyk_handle_t *handle, int64_t timeout_us) except? CYK_WAIT_TIMEOUT:
        if self._deadlines is not None:
            timeout_us = self._deadlines.limit(timeout_us)
        return Client._wait(self, handle, timeout_us)

    cdef int _serve_reports(self, rd_kafka_event_t *event) except -1:
        """Run the delivery callbacks of one event and destroy it; returns the number of messages.

        All messages of the event are served even if a callback raises: the first exception is raised at the end,
        further ones go to sys.unraisablehook.
        """
        cdef const rd_kafka_message_t *native
        cdef const rd_kafka_topic_t *last_topic = NULL
        cdef Py_ssize_t count = <Py_ssize_t>rd_kafka_event_message_count(event)
        cdef Py_ssize_t served = 0
        cdef PyObject *reference
        cdef Message message = None
        cdef Message copied
        cdef object topic = None
        cdef object owner, callback, opaque
        cdef object first_exception = None
        cdef int64_t now_us = cyk_clock_us()
        cdef int64_t sent_ns, received_ns
        cyk_report_stamps(event, &sent_ns, &received_ns)
        self._reports_held += count
        # One try around the loop, entered again after an exception: a try for each message would cost more than
        # what is done for it.
        while served < count:
            try:
                while True:
                    native = rd_kafka_event_message_next(event)
                    if native is NULL:
                        served = count
                        break
                    served += 1
                    self._reports_served += 1
                    reference = <PyObject *>native._private
                    if <uintptr_t>reference & 1:
                        # A row of produce_arrow(): not a reference, see arrow_produce.pyx.
                        report_row(self, native)
                        continue
                    opaque = None
                    if reference is NULL:
                        callback = self._on_delivery
                    else:
                        owner = <object>reference
                        # The message's own reference ends here, ours is `owner`.
                        Py_DECREF(owner)
                        callback = owner
                        if type(owner) is Delivery:
                            if (<Delivery>owner).timed is not None and not (<Delivery>owner).timed.settle():
                                # Reported at its deadline.
                                continue
                            callback = (<Delivery>owner).callback
                            opaque = (<Delivery>owner).opaque
                            if callback is None:
                                callback = self._on_delivery
                    if callback is None or (self._only_errors and native.err == RD_KAFKA_RESP_ERR_NO_ERROR):
                        continue
                    if native.rkt is not last_topic or topic is None:
                        last_topic = native.rkt
                        topic = decode_name(rd_kafka_topic_name(native.rkt))
                    message = borrow_report(native, topic, now_us, message)
                    message._sent_ns = sent_ns
                    message._received_ns = received_ns
                    if message._opaque is not opaque:
                        message._opaque = opaque
                    if self._unseen_failure is None:
                        callback(message._error, message)
                    elif message._error is None:
                        callback.set_result(message)
                    else:
                        fail_future(self, callback, message)
                    if not cyk_only_reference(<PyObject *>message):
                        # The callback kept it: copy what the event is about to free.
                        message.detach()
                        message = None
                    elif message._borrowed is NULL:
                        # Its bytes were asked for and are in it: not for the next report.
                        message = None
                    else:
                        message._borrowed = NULL
            except BaseException as exc:
                if self._unseen_failure is not None and callback.done():
                    if message._error is not None:
                        self._unseen_failure(message._error, message)
                elif first_exception is None:
                    first_exception = exc
                else:
                    report_unraisable(exc, self)
                if message is not None:
                    # The traceback keeps it, and so may others.
                    copied = message
                    message = None
                    copied.detach()
        with nogil:
            rd_kafka_event_destroy(event)
        self._reports_held -= count
        self._reports_served -= count
        if first_exception is not None:
            raise first_exception
        return <int>count

    cdef Py_ssize_t _outstanding(self, cyk_handle_t *handle) noexcept:
        """Messages and events that wait, without the reports that frames below this one are serving."""
        return rd_kafka_outq_len(cyk_handle_rk(handle)) - self._reports_held

    def poll(self, timeout=-1):
        """Serve delivery reports and other callbacks.

        Args:
            timeout: Seconds to wait for something to serve, with microsecond resolution; 0 to serve only what is
                there, -1 or None to wait without limit. Returns as soon as something was served.

        Returns:
            int: Number of events served; 0 on time-out or `wakeup`.

        Raises:
            Exception: The first exception that a callback raised.
            KeyboardInterrupt: On Ctrl-C, within 50 ms.
            RuntimeError: If the producer is closed, also by another thread meanwhile.
        """
        cdef int64_t timeout_us = as_timeout_us(timeout)
        cdef int64_t deadline = 0 if timeout_us == 0 else deadline_after(timeout_us)
        cdef int64_t left
        cdef int served
        cdef cyk_handle_t *handle = self._enter()
        try:
            while True:
                served = self._serve_queue(handle)
                if served or timeout_us == 0:
                    return served
                left = time_left(deadline)
                if left == 0 or self._wait(handle, left) == CYK_WAIT_WOKEN:
                    return 0
        finally:
            self._exit(handle)

    cdef bint _flush(self, cyk_handle_t *handle, int64_t deadline) except -1:
        """Serve reports until no message is outstanding, the deadline passes or wakeup() is called.

        Returns true if it gave up.
        """
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        cdef int64_t left
        with nogil:
            cyk_flush_begin(rk)
        try:
            while True:
                self._serve_queue(handle)
                if self._outstanding(handle) <= 0:
                    return False
                left = time_left(deadline)
                if left == 0 or self._wait(handle, left) == CYK_WAIT_WOKEN:
                    return True
        finally:
            cyk_flush_end(rk)

    def flush(self, timeout=-1):
        """Wait until all messages are delivered or have failed, serving their callbacks.

        Messages are sent without waiting for ``linger.ms`` meanwhile.

        Args:
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            int: Number of messages still outstanding; 0 unless it timed out or `wakeup` was called. Called from a
            delivery callback it does not count the reports that are being served.

        Raises:
            Exception: The first exception that a callback raised.
            KeyboardInterrupt: On Ctrl-C, within 50 ms.
            RuntimeError: If the producer is closed, also by another thread meanwhile.
        """
        cdef int64_t deadline = deadline_after(as_timeout_us(timeout))
        cdef cyk_handle_t *handle = self._enter()
        try:
            self._flush(handle, deadline)
            return max(self._outstanding(handle), 0)
        finally:
            self._exit(handle)

    def purge(self, in_queue=True, in_flight=True, blocking=True):
        """Drop messages; their delivery reports then have the codes _PURGE_QUEUE or _PURGE_INFLIGHT.

        Args:
            in_queue: Drop messages that wait in local queues.
            in_flight: Drop messages that were sent but not acknowledged: they may be persisted nevertheless.
            blocking: Wait until the queues of the background threads are purged.

        Raises:
            KafkaException: If librdkafka refuses (``rd_kafka_purge``).
            RuntimeError: If the producer is closed.
        """
        cdef int flags = 0
        cdef rd_kafka_resp_err_t err
        cdef cyk_handle_t *handle
        cdef rd_kafka_t *rk
        if in_queue:
            flags |= RD_KAFKA_PURGE_F_QUEUE
        if in_flight:
            flags |= RD_KAFKA_PURGE_F_INFLIGHT
        if not blocking:
            flags |= RD_KAFKA_PURGE_F_NON_BLOCKING
        handle = self._enter()
        rk = cyk_handle_rk(handle)
        try:
            with nogil:
                err = rd_kafka_purge(rk, flags)
            check_err(err, "Purge failed")
        finally:
            self._exit(handle)

    def __len__(self):
        if self._handle is NULL or self._generation != cyk_fork_generation:
            return 0
        return max(rd_kafka_outq_len(cyk_handle_rk(self._handle)) - self._reports_served, 0)

    def __bool__(self):
        # Not "has messages": an idle producer is not a missing one.
        return True

    # Transactions

    cdef int _run_serving(self, BlockingCall call) except -1:
        """Run a transactional call, serving the delivery reports that it waits for.

        It runs to its end also if a callback raises: the first exception is raised then, unless the call failed too.
        """
        cdef cyk_handle_t *handle = self._enter()
        cdef object first_exception = None
        cdef bint done = False
        try:
            self._await_interrupted(handle)
            if cyk_call_start(call.native) != 0:
                raise MemoryError("cannot start a thread for a blocking call")
            self._interrupted = call
            while True:
                try:
                    if not self._in_event_loop:
                        self._serve_queue(handle)
                except BaseException as exc:
                    if first_exception is None:
                        first_exception = exc
                    else:
                        report_unraisable(exc, self)
                    continue
                if done:
                    break
                # Once more after the end of the call: reports that came with it belong to it.
                done = self._call_done(call, 1000 if self._outstanding(handle) > 0 else SLICE_US)
                self._answer(handle)
            self._interrupted = None
            if first_exception is not None and call.native.error is NULL:
                raise first_exception
        finally:
            if self._interrupted is call:
                cyk_call_abandon(call.native)
            self._exit(handle)
        return 0

    cdef int _await_interrupted(self, cyk_handle_t *handle) except -1:
        """Wait until the call that was interrupted last has ended: half a second at most."""
        while self._interrupted is not None:
            if self._call_done(self._interrupted, SLICE_US):
                self._interrupted = None
            self._answer(handle)
        return 0

    cdef int _answer(self, cyk_handle_t *handle) except -1:
        """Answer signals, close() by another thread, token refreshes and wakeup() between two slices of waiting."""
        PyErr_CheckSignals()
        if self._closed:
            raise self._closed_error()
        self._serve_meanwhile(handle)
        self._check_woken(handle)
        return 0

    def _transact(self, int op, timeout, int64_t default_us, positions=None, group_metadata=None):
        cdef int64_t timeout_us = as_timeout_us(timeout)
        cdef rd_kafka_error_t *error
        cdef BlockingCall call
        cdef Span span
        cdef cyk_handle_t *handle = self._enter()
        try:
            call = self._new_call(handle, <cyk_call_op_t>op, default_us if timeout_us < 0 else timeout_us)
            if positions is not None:
                call.native.partitions = make_topic_partitions(positions)
                if not isinstance(group_metadata, bytes):
                    raise TypeError("group_metadata must be what consumer_group_metadata() returned, "
                                    f"not {type(group_metadata).__name__}")
                get_span(group_metadata, &span, "group_metadata")
                error = rd_kafka_consumer_group_metadata_read(&call.native.cgmetadata, span.ptr, span.size)
                release_span(&span)
                check_error(error, "Invalid group_metadata")
            self._run_serving(call)
            error = call.native.error
            call.native.error = NULL
            if error is not NULL:
                raise make_exception(self._explain(handle, take_error(error)))
        finally:
            self._exit(handle)

    def init_transactions(self, timeout=-1):
        """Get the producer ready for transactions; once, before the first one.

        Fences older producers with the same ``transactional.id`` and waits for their transactions to end.

        Args:
            timeout: Seconds to wait; -1 or None for twice ``transaction.timeout.ms``.

        Raises:
            RetriableException: On time-outs and the like: call it again, it resumes.
            FatalException: If the producer cannot be used any more.
            KafkaException: On other errors, _NOT_CONFIGURED if there is no ``transactional.id``.
            RuntimeError: If the producer is closed.
        """
        self._transact(CYK_CALL_INIT_TRANSACTIONS, timeout, 2 * self._transaction_timeout_us)

    def begin_transaction(self):
        """Begin a transaction: messages produced from now on belong to it.

        Raises:
            FatalException: If the producer has been fenced or has failed otherwise.
            KafkaException: If there is a transaction already, or init_transactions() was not called (_STATE).
            RuntimeError: If the producer is closed.
        """
        cdef rd_kafka_error_t *error
        cdef cyk_handle_t *handle = self._enter()
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        try:
            with nogil:
                error = rd_kafka_begin_transaction(rk)
            check_error(error)
            self._in_transaction = True
        finally:
            self._exit(handle)

    def send_offsets_to_transaction(self, positions, group_metadata, timeout=-1):
        """Commit a consumer group's offsets as part of the transaction.

        Args:
            positions: List of `TopicPartition` with the offsets of the next messages to consume (last + 1).
            group_metadata: What the consumer's consumer_group_metadata() returned.
            timeout: Seconds to wait; -1 or None for ``transaction.timeout.ms``.

        Raises:
            RetriableException: Call it again.
            AbortableException: Abort the transaction.
            FatalException: If the producer cannot be used any more.
            TypeError, KafkaException: If an argument is wrong.
            RuntimeError: If the producer is closed.
        """
        self._transact(CYK_CALL_SEND_OFFSETS, timeout, self._transaction_timeout_us, positions, group_metadata)

    def commit_transaction(self, timeout=-1):
        """Flush and commit the transaction; serves delivery callbacks.

        Args:
            timeout: Seconds to wait; -1 or None for ``transaction.timeout.ms``.

        Raises:
            RetriableException: Call it again, it resumes.
            AbortableException: Abort the transaction.
            FatalException: If the producer cannot be used any more.
            Exception: The first exception that a delivery callback raised; the transaction is ended all the same.
            RuntimeError: If the producer is closed.
        """
        self._transact(CYK_CALL_COMMIT_TRANSACTION, timeout, self._transaction_timeout_us)
        self._in_transaction = False

    def abort_transaction(self, timeout=-1):
        """Drop the transaction's messages and abort it; serves delivery callbacks (with _PURGE_* errors).

        Args:
            timeout: Seconds to wait; -1 or None for ``transaction.timeout.ms``.

        Raises:
            RetriableException: Call it again, it resumes.
            FatalException: If the producer cannot be used any more.
            Exception: The first exception that a delivery callback raised; the transaction is ended all the same.
            RuntimeError: If the producer is closed.
        """
        self._transact(CYK_CALL_ABORT_TRANSACTION, timeout, self._transaction_timeout_us)
        self._in_transaction = False

    # The end

    cdef void _drop_messages(self, cyk_handle_t *handle) noexcept:
        """Take the references out of messages that nobody will be told of; their client is about to go."""
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        cdef rd_kafka_queue_t *queue = cyk_handle_queue(handle)
        cdef rd_kafka_event_t *event
        cdef const rd_kafka_message_t *native
        cdef int64_t deadline = cyk_clock_us() + 5000000
        if rd_kafka_outq_len(rk) == 0:
            return
        with nogil:
            rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        while rd_kafka_outq_len(rk) > 0 and cyk_clock_us() < deadline:
            event = rd_kafka_queue_poll(queue, 0)
            if event is NULL:
                with nogil:
                    cyk_queue_wait(queue, 1000, 0)
                continue
            if rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR:
                while True:
                    native = rd_kafka_event_message_next(event)
                    if native is NULL:
                        break
                    if not <uintptr_t>native._private & 1:
                        Py_XDECREF(<PyObject *>native._private)
            with nogil:
                rd_kafka_event_destroy(event)

    def close(self, timeout=-1):
        """Abort an open transaction, deliver all messages, and free the producer. Closing twice is harmless.

        Args:
            timeout: Seconds to wait for delivery; -1 or None for no limit (each message has its own,
                ``message.timeout.ms``). Messages left over then, or on `wakeup`, are purged, and their callbacks
                told so.

        Returns:
            bool: True.

        Raises:
            Exception: The first exception that a delivery callback raised; the producer is closed all the same.
            KeyboardInterrupt: On Ctrl-C, within 50 ms, as what other signal handlers raise; the producer is left open.
        """
        cdef int64_t deadline = deadline_after(as_timeout_us(timeout))
        cdef cyk_handle_t *handle
        cdef object first_exception = None
        if self._closed:
            return True
        handle = self._enter()
        self._signalled = False
        try:
            while not self._closed and (self._in_transaction or self._outstanding(handle) > 0):
                try:
                    if self._in_transaction:
                        try:
                            self.abort_transaction(timeout)
                        except KafkaException:
                            # Fenced, or the coordinator is away: the broker ends the transaction by itself.
                            self._in_transaction = False
                    if self._flush(handle, deadline):
                        self.purge()
                        self._flush(handle, deadline_after(5000000))
                        break
                except (KeyboardInterrupt, SystemExit):
                    raise
                except BaseException as exc:
                    if self._signalled:
                        raise
                    if self._closed:
                        break
                    if first_exception is None:
                        first_exception = exc
                    else:
                        report_unraisable(exc, self)
        finally:
            self._exit(handle)
        self._release()
        if first_exception is not None:
            raise first_exception
        return True

    cdef int _let_go(self) except -1:
        self._topics.clear()
        self._last_topic = None
        self._last_native_topic = NULL
        self._deadlines = None
        return 0

    def __enter__(self):
        self._check_open()
        return self

    def __exit__(self, exc_type, exc_value, exc_traceback):
        self.close()
        return None
