# Consumer: polls the consumer queue. Messages are copied out; callbacks are served before messages are fetched.
#
# Order: rebalances and other events that librdkafka hands over together with messages are served by the *next*
# call, before it fetches, so that no message is in hand when user code runs (and may raise), and messages that
# came before a rebalance are seen before its callback.

# consume() without `min_messages` waits for all messages, as confluent_kafka does; see cykafka._compat.
_consume_waits_for_all = False

cdef Py_ssize_t MAX_BATCH = 1000000

cdef enum:
    # How many messages consume() copies and destroys at a time.
    CHUNK = 256


def set_consume_waits_for_all(waits):
    """Choose whether consumers made from now on wait in consume() until all messages asked for are there.

    Args:
        waits: True for confluent_kafka's behaviour, False to return as soon as there is a message.
    """
    global _consume_waits_for_all
    _consume_waits_for_all = bool(waits)


cdef class Consumer(Client):
    """Consumer(config={}, **properties)\n--\n
    Consumes messages, as a member of a group (`subscribe`) or by itself (`assign`).

    Args:
        config: Configuration properties of librdkafka by name (``group.id`` is required), and the callbacks
            ``error_cb``, ``stats_cb``, ``throttle_cb``, ``oauth_cb``, ``on_commit`` and ``logger``. Keyword
            arguments are merged into it, with underscores for dots. ``interceptors`` is a list of objects with
            methods of `cykafka.interceptors.ConsumerInterceptor`.

    Callbacks run on the thread that calls poll(), consume() or close(); they may call any method of the consumer.
    All methods may be called by any thread. Iterating over a consumer polls without limit and raises errors.

    Raises:
        TypeError: If the configuration is not a dict, or a value has the wrong type.
        ValueError: If there is no ``group.id``.
        KafkaException: If librdkafka refuses a property or value (_INVALID_ARG, with its own text).
    """

    def __init__(self, *args, **kwargs):
        config_dict = merge_config(args, kwargs, type(self).__name__)
        cdef dict properties = dict(config_dict)
        cdef ConsumerHooks hooks = take_consumer_hooks(properties)
        cdef ClientConfig config = ClientConfig(properties, "consumer", ("on_commit",))
        cdef int collect = CYK_COLLECT_REBALANCE
        if not config.properties.get("group.id"):
            raise ValueError("Failed to create consumer: group.id must be set")
        self._config = config_dict
        self._on_commit = config.on_commit
        self._wait_for_all = _consume_waits_for_all
        self._paused = []
        self._names = [None] * 32
        self._native_names = [None] * 32
        self._hooks = hooks
        if self._on_commit is not None or (hooks is not None and hooks._on_commit):
            collect |= CYK_COLLECT_OFFSET_COMMIT
        self._start(config, RD_KAFKA_CONSUMER, collect)

    def __dealloc__(self):
        if self._deferred is not NULL:
            cyk_event_destroy(self._deferred)

    def _kind(self):
        return "Consumer"

    cdef object _closed_error(self):
        return RuntimeError("Consumer closed")

    # Messages

    cdef object _topic_name(self, const rd_kafka_topic_t *rkt):
        """Return the name of a topic as a str that all its messages share."""
        cdef size_t slot = (<size_t>rkt >> 6) & 31
        cdef const char *name = rd_kafka_topic_name(rkt)
        if self._name_keys[slot] is rkt and strcmp(<bytes>self._native_names[slot], name) == 0:
            return self._names[slot]
        text = decode_name(name)
        self._native_names[slot] = <bytes>name
        self._names[slot] = text
        self._name_keys[slot] = rkt
        return text

    cdef Message _take(self, rd_kafka_message_t *native):
        """Copy a native message and destroy it."""
        try:
            return make_message(native, None if native.rkt is NULL else self._topic_name(native.rkt))
        finally:
            rd_kafka_message_destroy(native)

    cdef Message _take_hooked(self, rd_kafka_message_t *native):
        """The same for a consumer with interceptors; a message in hand when Ctrl-C comes goes to the next call."""
        cdef Message message = self._take(native)
        try:
            self._hooks.consume(message)
        except BaseException:
            self._unreturned = [message]
            raise
        return message

    cdef int _append_messages(self, list result, rd_kafka_message_t **batch, Py_ssize_t count) except -1:
        """Copy native messages to the end of a list and destroy them all, also if that fails half-way."""
        cdef Py_ssize_t i
        cdef const rd_kafka_topic_t *last_topic = NULL
        cdef object topic = None
        try:
            for i in range(count):
                if batch[i].rkt is not last_topic:
                    last_topic = batch[i].rkt
                    topic = None if last_topic is NULL else self._topic_name(last_topic)
                result.append(make_message(batch[i], topic))
        finally:
            with nogil:
                for i in range(count):
                    rd_kafka_message_destroy(batch[i])
        return 0

    cdef list _make_messages(self, rd_kafka_message_t **batch, Py_ssize_t count):
        """Copy and destroy native messages."""
        cdef list result = []
        self._append_messages(result, batch, count)
        return result

    def poll(self, timeout=-1):
        """Return the next message or event, serving callbacks while it waits.

        Args:
            timeout: Seconds to wait, with microsecond resolution; -1 or None for no limit.

        Returns:
            Message | None: A message, or an error or event (see `Message.error`); None on time-out or `wakeup`.

        Raises:
            Exception: What a callback raised; no message is lost by that.
            KeyboardInterrupt: On Ctrl-C, within 50 ms.
            RuntimeError: If the consumer is closed, also by another thread meanwhile.
        """
        cdef int64_t timeout_us = as_timeout_us(timeout)
        cdef int64_t deadline = 0
        cdef int64_t left
        cdef rd_kafka_message_t *native
        cdef cyk_handle_t *handle = self._enter()
        try:
            if self._unreturned is not None:
                return self._return_unreturned(1)[0]
            if self._oauth_cb is not None:
                self._serve_meanwhile(handle)
            while True:
                if cyk_handle_pending(handle):
                    self._serve_pending(handle)
                    self._check_open()
                # Without waiting, and so without releasing the GIL: prefetched messages cost no thread switch.
                native = cyk_consumer_take(handle)
                if native is not NULL:
                    if self._histograms is not None:
                        cyk_handle_measure_messages(handle, &native, 1)
                    return self._take(native) if self._hooks is None else self._take_hooked(native)
                if cyk_handle_pending(handle):
                    continue
                if timeout_us == 0:
                    return None
                if deadline == 0:
                    deadline = deadline_after(timeout_us)
                left = time_left(deadline)
                if left == 0 or self._wait(handle, left) == CYK_WAIT_WOKEN:
                    return None
        finally:
            self._exit(handle)

    def consume(self, num_messages=1, timeout=-1, *, min_messages=None):
        """Return a batch of messages and events, serving callbacks while it waits.

        Args:
            num_messages: Return at most so many, 0 to 1,000,000.
            timeout: Seconds to wait, with microsecond resolution; -1 or None for no limit.
            min_messages: Wait until there are so many, or the time is over. 1 if not given: return as soon as there
                is something (after ``install_as_confluent_kafka()``: num_messages, as in confluent_kafka).

        Returns:
            list[Message]: Messages, and errors or events (see `Message.error`); empty on time-out or `wakeup`.

        Raises:
            Exception: What a callback raised; no message is lost by that.
            ValueError: If a number is out of range.
            KeyboardInterrupt: On Ctrl-C, within 50 ms; messages fetched until then are returned by the next call.
            RuntimeError: If the consumer is closed, also by another thread meanwhile.
        """
        cdef Py_ssize_t most = num_messages
        cdef Py_ssize_t least
        cdef Py_ssize_t count = 0
        cdef Py_ssize_t fetched, wanted
        cdef int64_t timeout_us = as_timeout_us(timeout)
        cdef int64_t deadline = deadline_after(timeout_us)
        cdef int64_t left
        cdef rd_kafka_message_t *batch[CHUNK]
        cdef rd_kafka_queue_t *queue
        cdef cyk_handle_t *handle
        cdef list result = []
        if not 0 <= most <= MAX_BATCH:
            raise ValueError(f"num_messages must be between 0 and 1000000 (1M), not {num_messages}")
        least = (most if self._wait_for_all else 1) if min_messages is None else min_messages
        if not 0 <= least <= max(most, 1):
            raise ValueError(f"min_messages must be between 0 and num_messages, not {min_messages}")
        handle = self._enter()
        queue = cyk_handle_queue(handle)
        try:
            if most == 0:
                return result
            if self._unreturned is not None:
                return self._return_unreturned(most)
            if self._oauth_cb is not None:
                self._serve_meanwhile(handle)
            while True:
                # With messages in hand callbacks wait for the next call: they might raise.
                if count == 0 and cyk_handle_pending(handle):
                    self._serve_pending(handle)
                    self._check_open()
                # In chunks, so that a message is copied and destroyed while it is in the processor's cache.
                wanted = min(most - count, CHUNK)
                with nogil:
                    fetched = rd_kafka_consume_batch_queue(queue, 0, batch, wanted)
                if fetched > 0:
                    if self._histograms is not None:
                        cyk_handle_measure_messages(handle, batch, fetched)
                    self._append_messages(result, batch, fetched)
                    count += fetched
                    if self._hooks is not None:
                        for message in result[count - fetched:]:
                            self._hooks.consume(message)
                    if count == most:
                        return result
                    if fetched == wanted:
                        continue
                if count >= least and count > 0:
                    return result
                if cyk_handle_pending(handle):
                    if count == 0:
                        continue
                    # A callback, a rebalance above all, is not held up for the sake of a fuller batch.
                    return result
                left = time_left(deadline)
                if left == 0 or self._wait(handle, left) == CYK_WAIT_WOKEN:
                    return result
        except BaseException:
            # Their positions have moved on: what is in hand goes to the next call.
            if count > 0:
                self._unreturned = result
            raise
        finally:
            self._exit(handle)

    def _return_unreturned(self, Py_ssize_t most):
        """Return messages that an interrupted consume() had fetched."""
        cdef list result = self._unreturned[:most]
        self._unreturned = self._unreturned[most:] or None
        return result

    def consume_arrow(self, num_messages=10000, timeout=-1, *, columns=None, min_messages=1, max_bytes=None,
                      decode=None):
        """Return a batch of messages as columns, serving callbacks while it waits.

        The columns are made straight from librdkafka's buffers, without a Python object per message; no Arrow library
        is needed, and any takes the result: ``pyarrow.record_batch(batch)``, ``polars.DataFrame(batch)``.

        Args:
            num_messages: Return at most so many messages and events, 0 to 1,000,000.
            timeout: Seconds to wait, with microsecond resolution; -1 or None for no limit.
            columns: Names of the columns wanted, in that order; all if not given: ``key`` and ``value`` (binary),
                ``topic`` (utf8), ``partition`` (int32), ``offset`` (int64), ``timestamp`` (microseconds, UTC; null
                if not available), ``timestamp_type`` (int32, a TIMESTAMP_* constant) and ``headers`` (list of
                structs of ``key``, utf8, and ``value``, binary; null if there are none).
            min_messages: Wait until there are so many, or the time is over.
            max_bytes: Largest size of a column's data, by default and at most 2,147,483,647, what Arrow's 32-bit
                offsets can hold. What does not fit is returned by the next call; a larger message comes alone.
            decode: `JsonDecoder` or `StructDecoder`: the fields of the values as further columns, and no ``value``
                unless columns names it.

        Returns:
            RecordBatch: The messages, and apart from them errors and partition ends; no rows on time-out or `wakeup`.

        Raises:
            Exception: What a callback raised; no message is lost by that.
            TypeError, ValueError: If a number is out of range, or there is no such column. ValueError also for a
                corrupt value, if decode says ``on_error="raise"``.
            KeyboardInterrupt: On Ctrl-C, within 50 ms; messages fetched until then are returned by the next call.
            RuntimeError: If the consumer is closed, also by another thread meanwhile.
        """
        return consume_columns(self, num_messages, timeout, columns, min_messages, max_bytes, decode)

    def arrow_batches(self, num_messages=10000, timeout=-1, *, columns=None, min_messages=1, max_rows=None,
                      until_end=False, max_bytes=None, decode=None):
        """Return a stream of messages as columns: an iterator of batches that Arrow libraries read as a whole, too.

        Args:
            num_messages: Rows of a batch at most, 1 to 1,000,000.
            timeout: End the stream when nothing has come for so many seconds; -1 or None for no limit.
            columns: Names of the columns wanted, as in `consume_arrow`.
            min_messages: Wait until a batch has so many rows, or the time is over.
            max_rows: End the stream after so many rows; None for no limit.
            until_end: End the stream when every assigned partition has been read to its end, as it was when it was
                reached. Needs ``enable.partition.eof=true``.
            max_bytes: Largest size of a column's data, as in `consume_arrow`.
            decode: `JsonDecoder` or `StructDecoder`, as in `consume_arrow`.

        Returns:
            RecordBatchStream: Nothing is consumed before it is read. `wakeup` ends it, too.

        Raises:
            TypeError, ValueError: If an argument is wrong.
            RuntimeError: If the consumer is closed.
        """
        self._check_open()
        return make_record_batch_stream(self, num_messages, timeout, columns, min_messages, max_rows, until_end,
                                        max_bytes, decode)

    def __iter__(self):
        self._check_open()
        return self

    def __next__(self):
        cdef object message
        while True:
            message = self.poll()
            if message is None:
                # wakeup() ends the loop.
                raise StopIteration
            error = (<Message>message)._error
            if error is None:
                return message
            if (<KafkaError>error)._code != RD_KAFKA_RESP_ERR__PARTITION_EOF:
                raise make_exception(error)

    # Rebalancing

    cdef int _serve_event(self, cyk_handle_t *handle, cyk_event_t *event) except -1:
        if event.type == CYK_EVENT_REBALANCE:
            return self._on_rebalance(handle, event)
        if event.type == CYK_EVENT_OFFSET_COMMIT:
            if event.err != RD_KAFKA_RESP_ERR__NO_OFFSET:
                error = None if event.err == RD_KAFKA_RESP_ERR_NO_ERROR else make_error(event.err)
                if self._hooks is not None:
                    self._hooks.commit(error, read_topic_partitions(event.partitions))
                if self._on_commit is not None:
                    self._on_commit(error, read_topic_partitions(event.partitions))
            return 0
        return Client._serve_event(self, handle, event)

    cdef int _on_rebalance(self, cyk_handle_t *handle, cyk_event_t *event) except -1:
        """Run the rebalance callback, then assign or unassign unless the callback did."""
        cdef object callback = None
        if event.err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
            callback = self._on_assign
        elif event.err == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
            callback = self._on_revoke
            if self._on_lost is not None and rd_kafka_assignment_lost(cyk_handle_rk(handle)):
                callback = self._on_lost
        self._assigned_by_callback = False
        self._rebalance = event
        self._rebalance_thread = PyThread_get_thread_ident()
        try:
            if callback is not None:
                callback(self, read_topic_partitions(event.partitions))
        finally:
            self._rebalance = NULL
            if not self._assigned_by_callback and self._deferred is NULL:
                self._apply_rebalance(handle, event)
        return 0

    cdef int _apply_rebalance(self, cyk_handle_t *handle, cyk_event_t *event) except -1:
        """Do what librdkafka expects of a rebalance callback."""
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        cdef rd_kafka_error_t *error = NULL
        cdef rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR
        cdef rd_kafka_resp_err_t what = event.err
        cdef rd_kafka_topic_partition_list_t *partitions = event.partitions
        cdef const char *protocol
        cdef bint cooperative
        with nogil:
            protocol = rd_kafka_rebalance_protocol(rk)
            cooperative = protocol is not NULL and strcmp(protocol, "COOPERATIVE") == 0
            if what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
                if cooperative:
                    error = rd_kafka_incremental_assign(rk, partitions)
                else:
                    err = rd_kafka_assign(rk, partitions)
            elif what == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS and cooperative:
                error = rd_kafka_incremental_unassign(rk, partitions)
            else:
                err = rd_kafka_assign(rk, NULL)
        check_error(error, "Failed to apply the rebalance")
        check_err(err, "Failed to apply the rebalance")
        return 0

    def subscribe(self, topics, on_assign=None, on_revoke=None, on_lost=None):
        """Join the group for these topics; replaces an earlier subscription.

        Args:
            topics: List of topic names; a name that begins with ``^`` is a regular expression.
            on_assign: Called as ``on_assign(consumer, partitions)`` with a list of `TopicPartition` before they are
                consumed; offsets set in it take effect only by calling assign() (or incremental_assign()) in it.
            on_revoke: Called as ``on_revoke(consumer, partitions)`` before partitions are given up.
            on_lost: Called instead of on_revoke if the partitions are lost already, so that commits would fail.

        Raises:
            TypeError: If topics is not a list of str, or a callback is not callable.
            KafkaException: If librdkafka refuses.
            RuntimeError: If the consumer is closed.
        """
        cdef rd_kafka_topic_partition_list_t *native
        cdef rd_kafka_resp_err_t err
        cdef cyk_handle_t *handle
        cdef rd_kafka_t *rk
        if isinstance(topics, (str, bytes)) or not isinstance(topics, (list, tuple, set, frozenset)):
            raise TypeError(f"expected list of topic names (str), not {type(topics).__name__}")
        for what, callback in (("on_assign", on_assign), ("on_revoke", on_revoke), ("on_lost", on_lost)):
            if callback is not None and not callable(callback):
                raise TypeError(f"{what} expects a callable, not {type(callback).__name__}")
        handle = enter_group(self)
        rk = cyk_handle_rk(handle)
        native = rd_kafka_topic_partition_list_new(<int>len(topics))
        try:
            for topic in topics:
                rd_kafka_topic_partition_list_add(native, encode_name(topic, "topic"), -1)
            with nogil:
                err = rd_kafka_subscribe(rk, native)
            check_err(err, "Failed to set subscription")
            self._on_assign = on_assign
            self._on_revoke = on_revoke
            self._on_lost = on_lost
        finally:
            rd_kafka_topic_partition_list_destroy(native)
            exit_group(self, handle)

    def unsubscribe(self):
        """Leave the group; partitions are revoked by the next poll().

        Raises:
            KafkaException: If librdkafka refuses.
            RuntimeError: If the consumer is closed.
        """
        cdef rd_kafka_resp_err_t err
        cdef cyk_handle_t *handle = enter_group(self)
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        try:
            with nogil:
                err = rd_kafka_unsubscribe(rk)
            check_err(err, "Failed to remove subscription")
        finally:
            exit_group(self, handle)

    def subscription(self):
        """Return the list of topic names and patterns that are subscribed to.

        Raises:
            RuntimeError: If the consumer is closed.
        """
        cdef rd_kafka_topic_partition_list_t *native = NULL
        cdef rd_kafka_resp_err_t err
        cdef cyk_handle_t *handle = enter_group(self)
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        try:
            with nogil:
                err = rd_kafka_subscription(rk, &native)
            check_err(err, "Failed to get subscription")
            return [decode_name(native.elems[i].topic) for i in range(native.cnt)]
        finally:
            if native is not NULL:
                rd_kafka_topic_partition_list_destroy(native)
            exit_group(self, handle)

    def assign(self, partitions):
        """Consume these partitions, from their offsets if they have one; replaces the assignment.

        Args:
            partitions: List of `TopicPartition`.

        Raises:
            TypeError: If it is not a list of `TopicPartition`.
            KafkaException: If librdkafka refuses.
            RuntimeError: If the consumer is closed.
        """
        if partitions is None:
            raise TypeError("expected a list of TopicPartition, not None: unassign() drops the assignment")
        change_assignment(self, partitions, 0)

    def unassign(self):
        """Stop consuming and drop the assignment.

        Raises:
            KafkaException: If librdkafka refuses.
            RuntimeError: If the consumer is closed.
        """
        change_assignment(self, None, 0)

    def incremental_assign(self, partitions):
        """Add partitions to the assignment (cooperative rebalancing, KIP-429); arguments and errors as `assign`."""
        change_assignment(self, partitions, 1)

    def incremental_unassign(self, partitions):
        """Take partitions out of the assignment (KIP-429); arguments and errors as `assign`."""
        change_assignment(self, partitions, 2)

    def assignment(self):
        """Return the assigned partitions as a list of `TopicPartition`.

        Raises:
            RuntimeError: If the consumer is closed.
        """
        cdef rd_kafka_topic_partition_list_t *native = NULL
        cdef rd_kafka_resp_err_t err
        cdef cyk_handle_t *handle = enter_group(self)
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        try:
            with nogil:
                err = rd_kafka_assignment(rk, &native)
            check_err(err, "Failed to get assignment")
            return read_topic_partitions(native)
        finally:
            if native is not NULL:
                rd_kafka_topic_partition_list_destroy(native)
            exit_group(self, handle)

    def pause(self, partitions):
        """Stop fetching from assigned partitions; they stay assigned.

        Args:
            partitions: List of `TopicPartition`.

        Raises:
            TypeError: If it is not a list of `TopicPartition`.
            KafkaException: If a partition is not assigned.
            RuntimeError: If the consumer is closed.
        """
        pause_or_resume(self, partitions, True)

    def resume(self, partitions):
        """Fetch again from paused partitions; arguments and errors as `pause`."""
        pause_or_resume(self, partitions, False)

    def paused(self):
        """Return the assigned partitions that are paused, as a list of `TopicPartition`.

        Raises:
            RuntimeError: If the consumer is closed.
        """
        assigned = set(self.assignment())
        self._paused = [tp for tp in self._paused if tp in assigned]
        return [TopicPartition(tp.topic, tp.partition) for tp in self._paused]

    # Positions and offsets

    def seek(self, partition, timeout=-1):
        """Continue at another offset: an absolute one, or OFFSET_BEGINNING, OFFSET_END, OFFSET_STORED.

        Messages fetched before are not returned any more.

        Args:
            partition: `TopicPartition` with the offset, or a list of them (``rd_kafka_seek_partitions``).
            timeout: Seconds to wait until it has taken effect; -1 or None for no limit.

        Raises:
            TypeError: If it is neither.
            KafkaException: If a partition is not assigned or not yet consumed, or time is over.
            RuntimeError: If the consumer is closed.
        """
        cdef BlockingCall call
        cdef int64_t timeout_us = as_timeout_us(timeout)
        cdef cyk_handle_t *handle
        partitions = [partition] if isinstance(partition, TopicPartition) else partition
        handle = self._enter()
        try:
            # Without a limit librdkafka waits on its own reply only, so an hour is as good as for ever.
            call = self._new_call(handle, CYK_CALL_SEEK, 3600000000 if timeout_us < 0 else timeout_us)
            call.native.partitions = make_topic_partitions(partitions)
            drop_unreturned(self, read_topic_partitions(call.native.partitions))
            self._run(call)
            error = call.native.error
            call.native.error = NULL
            check_error(error, "Failed to seek")
            for tp in read_topic_partitions(call.native.partitions):
                if tp.error is not None:
                    raise KafkaException(make_error(
                        <rd_kafka_resp_err_t>(<int>tp.error.code()),
                        f"Failed to seek to offset {tp.offset}: {tp.topic} [{tp.partition}]: {tp.error.str()}"))
        finally:
            self._exit(handle)

    def commit(self, message=None, offsets=None, asynchronous=True):
        """Commit offsets for the group.

        Args:
            message: Commit the offset after this message.
            offsets: Commit these: list of `TopicPartition` with the offset of the next message to consume.
                With neither, the current assignment's stored offsets are committed.
            asynchronous: Do not wait for the broker; the outcome goes to ``on_commit``.

        Returns:
            list[TopicPartition] | None: With asynchronous=False what was committed; check the error of each.

        Raises:
            ValueError: If both message and offsets are given.
            TypeError: If an argument has the wrong type.
            KafkaException: If the commit fails, _NO_OFFSET if there was nothing to commit, _INVALID_ARG if the message
                is an error.
            RuntimeError: If the consumer is closed.
        """
        cdef rd_kafka_topic_partition_list_t *native = NULL
        cdef rd_kafka_queue_t *queue = NULL
        cdef rd_kafka_event_t *event = NULL
        cdef rd_kafka_resp_err_t err
        cdef cyk_handle_t *handle = self._enter()
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        try:
            if message is not None or offsets is not None:
                native = self._offsets_of(message, offsets, "commit")
            if asynchronous:
                with nogil:
                    err = rd_kafka_commit(rk, native, 1)
                check_err(err, "Commit failed")
                return None
            queue = rd_kafka_queue_new(rk)
            with nogil:
                err = rd_kafka_commit_queue(rk, native, queue, NULL, NULL)
            check_err(err, "Commit failed")
            while event is NULL:
                with nogil:
                    cyk_queue_wait(queue, SLICE_US, 0)
                    event = rd_kafka_queue_poll(queue, 0)
                PyErr_CheckSignals()
                self._check_open()
                self._serve_meanwhile(handle)
                if event is NULL:
                    self._check_woken(handle)
            committed = read_topic_partitions(rd_kafka_event_topic_partition_list(event))
            err = rd_kafka_event_error(event)
            if self._hooks is not None and err != RD_KAFKA_RESP_ERR__NO_OFFSET:
                self._hooks.commit(None if err == RD_KAFKA_RESP_ERR_NO_ERROR else make_error(err), committed)
            self._check_reached(handle, err, "Commit failed")
            return committed
        finally:
            if event is not NULL:
                rd_kafka_event_destroy(event)
            if queue is not NULL:
                rd_kafka_queue_destroy(queue)
            if native is not NULL:
                rd_kafka_topic_partition_list_destroy(native)
            self._exit(handle)

    cdef rd_kafka_topic_partition_list_t *_offsets_of(self, object message, object offsets, str doing) except NULL:
        """Build the list of offsets that commit() and store_offsets() take."""
        cdef Message source
        if message is not None and offsets is not None:
            raise ValueError("message and offsets are mutually exclusive")
        if message is None:
            return make_topic_partitions(offsets)
        if not isinstance(message, Message):
            raise TypeError(f"expected a Message, not {type(message).__name__}")
        source = <Message>message
        if source._error is not None:
            raise KafkaException(make_error(RD_KAFKA_RESP_ERR__INVALID_ARG,
                                            f"Cannot {doing} offsets for message with error: '{source._error.str()}'"))
        return make_topic_partitions([TopicPartition(
            source._topic, source._partition, source._offset + 1, None,
            source._leader_epoch if source._leader_epoch >= 0 else None)])

    def store_offsets(self, message=None, offsets=None):
        """Store offsets locally, to be committed by the next commit; needs ``enable.auto.offset.store=false``.

        Args:
            message: Store the offset after this message.
            offsets: Store these: list of `TopicPartition`.

        Raises:
            ValueError: Unless exactly one of the two is given.
            TypeError: If an argument has the wrong type.
            KafkaException: If a partition is not assigned, the message is an error, or librdkafka refuses.
            RuntimeError: If the consumer is closed.
        """
        cdef rd_kafka_topic_partition_list_t *native = NULL
        cdef rd_kafka_resp_err_t err
        cdef cyk_handle_t *handle
        cdef rd_kafka_t *rk
        self._check_open()
        if message is None and offsets is None:
            raise ValueError("expected either message or offsets")
        handle = self._enter()
        rk = cyk_handle_rk(handle)
        try:
            native = self._offsets_of(message, offsets, "store")
            with nogil:
                err = rd_kafka_offsets_store(rk, native)
            check_err(err, "StoreOffsets failed")
        finally:
            if native is not NULL:
                rd_kafka_topic_partition_list_destroy(native)
            self._exit(handle)

    def committed(self, partitions, timeout=-1):
        """Return the group's committed offsets (``rd_kafka_committed``).

        Args:
            partitions: List of `TopicPartition`.
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            list[TopicPartition]: With offset, metadata or error; OFFSET_INVALID where there is none.

        Raises:
            TypeError: If it is not a list of `TopicPartition`.
            KafkaException: If the coordinator does not answer in time.
            RuntimeError: If the consumer is closed.
        """
        return self._ask_offsets(CYK_CALL_COMMITTED, partitions, timeout, "Failed to get committed offsets")

    def offsets_for_times(self, partitions, timeout=-1):
        """Return the first offset at or after a time for each partition (``rd_kafka_offsets_for_times``).

        Args:
            partitions: List of `TopicPartition` with milliseconds since the epoch as their offset.
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            list[TopicPartition]: With offset or error; OFFSET_END where no message is that late.

        Raises:
            TypeError: If it is not a list of `TopicPartition`.
            KafkaException: If the brokers do not answer in time.
            RuntimeError: If the consumer is closed.
        """
        return self._ask_offsets(CYK_CALL_OFFSETS_FOR_TIMES, partitions, timeout, "Failed to get offsets")

    def _ask_offsets(self, int op, partitions, timeout, str doing):
        cdef BlockingCall call
        cdef int64_t timeout_us = as_timeout_us(timeout)
        cdef cyk_handle_t *handle = self._enter()
        try:
            call = self._new_call(handle, <cyk_call_op_t>op, timeout_us)
            call.native.partitions = make_topic_partitions(partitions)
            if call.native.partitions.cnt:
                self._run(call)
            self._check_reached(handle, call.native.err, doing)
            return read_topic_partitions(call.native.partitions)
        finally:
            self._exit(handle)

    def position(self, partitions):
        """Return the offset after the last message that was returned, for each partition.

        Args:
            partitions: List of `TopicPartition`.

        Returns:
            list[TopicPartition]: With offset; OFFSET_INVALID where nothing has been consumed.

        Raises:
            TypeError: If it is not a list of `TopicPartition`.
            KafkaException: If librdkafka refuses.
            RuntimeError: If the consumer is closed.
        """
        cdef rd_kafka_resp_err_t err
        cdef cyk_handle_t *handle = self._enter()
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        cdef rd_kafka_topic_partition_list_t *native = NULL
        try:
            native = make_topic_partitions(partitions)
            with nogil:
                err = rd_kafka_position(rk, native)
            check_err(err, "Failed to get position")
            return read_topic_partitions(native)
        finally:
            if native is not NULL:
                rd_kafka_topic_partition_list_destroy(native)
            self._exit(handle)

    def get_watermark_offsets(self, partition, timeout=-1, cached=False):
        """Return the lowest and the next offset of a partition.

        Args:
            partition: `TopicPartition`.
            timeout: Seconds to wait; -1 or None for no limit.
            cached: Return what the last fetch response said, without asking a broker.

        Returns:
            tuple[int, int]: (low, high); with cached=True -1001 where nothing is known yet.

        Raises:
            TypeError: If it is not a `TopicPartition`.
            KafkaException: If the broker does not answer in time.
            RuntimeError: If the consumer is closed.
        """
        cdef int64_t low = 0
        cdef int64_t high = 0
        cdef BlockingCall call
        cdef TopicPartition tp
        cdef int64_t timeout_us = as_timeout_us(timeout)
        cdef cyk_handle_t *handle
        if not isinstance(partition, TopicPartition):
            raise TypeError(f"expected a TopicPartition, not {type(partition).__name__}")
        tp = <TopicPartition>partition
        handle = self._enter()
        try:
            if cached:
                check_err(rd_kafka_get_watermark_offsets(cyk_handle_rk(handle), encode_name(tp.topic, "topic"),
                                                         tp.partition, &low, &high),
                          "Failed to get watermark offsets")
                return (low, high)
            call = self._new_call(handle, CYK_CALL_WATERMARKS, timeout_us)
            call.set_topic(tp.topic, "topic")
            call.native.partition = tp.partition
            self._run(call)
            self._check_reached(handle, call.native.err, "Failed to get watermark offsets")
            return (call.native.low, call.native.high)
        finally:
            self._exit(handle)

    def lag(self, partitions=None, *, query=False, timeout=-1):
        """Return by how many offsets each partition is ahead of this consumer.

        Args:
            partitions: List of assigned `TopicPartition`; all that are assigned if None.
            query: Ask the cluster for the ends of the partitions; otherwise what the last fetch responses said is
                used, and nothing is sent.
            timeout: Seconds that query may take; -1 or None for no limit.

        Returns:
            dict[TopicPartition, int | None]: None where nothing has been fetched yet. With
            ``isolation.level=read_committed`` up to the last stable offset (KIP-98).

        Raises:
            TypeError: If it is not a list of `TopicPartition`.
            KafkaException: If the cluster does not answer in time.
            RuntimeError: If the consumer is closed.
        """
        return measure_lag(self, partitions, query, timeout)

    def keepalive(self):
        """Tell librdkafka that a long piece of work is making progress, so that it stays in the group.

        Counts as a poll() for ``max.poll.interval.ms``, but takes no message and serves no callback: a rebalance
        waits for the next poll(). May be called by any thread.

        Raises:
            RuntimeError: If the consumer is closed.
        """
        cdef cyk_handle_t *handle = self._enter()
        cyk_consumer_alive(handle)
        self._exit(handle)

    # The group

    def memberid(self):
        """Return this consumer's member id, given by the group coordinator, or None before it has joined.

        Raises:
            RuntimeError: If the consumer is closed.
        """
        cdef char *native
        cdef cyk_handle_t *handle = enter_group(self)
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        try:
            with nogil:
                native = rd_kafka_memberid(rk)
            if native is NULL:
                return None
            try:
                return decode_text(native) or None
            finally:
                rd_kafka_mem_free(rk, native)
        finally:
            exit_group(self, handle)

    def consumer_group_metadata(self):
        """Return the group's metadata for `Producer.send_offsets_to_transaction`, as opaque bytes.

        Raises:
            RuntimeError: If the consumer is closed.
        """
        cdef rd_kafka_consumer_group_metadata_t *native
        cdef void *buffer = NULL
        cdef size_t size = 0
        cdef cyk_handle_t *handle = enter_group(self)
        cdef rd_kafka_t *rk = cyk_handle_rk(handle)
        try:
            with nogil:
                native = rd_kafka_consumer_group_metadata(rk)
            if native is NULL:
                return None
            try:
                check_error(rd_kafka_consumer_group_metadata_write(native, &buffer, &size))
                return PyBytes_FromStringAndSize(<const char *>buffer, size)
            finally:
                rd_kafka_consumer_group_metadata_destroy(native)
                if buffer is not NULL:
                    rd_kafka_mem_free(NULL, buffer)
        finally:
            exit_group(self, handle)

    # The end

    def close(self, timeout=-1):
        """Revoke the assignment, commit stored offsets (if auto commit is on), leave the group, free the consumer.

        Serves rebalance and commit callbacks; one that calls it again returns at once. Closing twice is harmless.

        Args:
            timeout: Seconds to wait for all that, up to a minute if brokers do not answer; -1 or None for no limit.
                After that the consumer is closed all the same: what was not committed is not, and the group gives
                its partitions to others when its session is over.

        Raises:
            Exception: The first exception that a callback raised; the consumer is closed all the same.
            KeyboardInterrupt: On Ctrl-C, within 50 ms; leaving the group then goes on in the background.
        """
        cdef rd_kafka_queue_t *queue = NULL
        cdef rd_kafka_event_t *event
        cdef rd_kafka_t *rk
        cdef cyk_handle_t *handle
        cdef int64_t pause_us = 50
        cdef int64_t deadline = deadline_after(as_timeout_us(timeout))
        cdef object first_exception = None
        cdef unsigned long thread = PyThread_get_thread_ident()
        cdef bint outermost = False
        cdef bint fatal = False
        if self._closed or self._closing_thread == thread:
            return
        handle = self._enter()
        rk = cyk_handle_rk(handle)
        try:
            if self._closing_thread == 0:
                self._closing_thread = thread
                outermost = True
                while self._asking > 0:
                    with nogil:
                        cyk_queue_wait(cyk_handle_queue(handle), 1000, 0)
                    PyErr_CheckSignals()
            if self._rebalance is not NULL and self._rebalance_thread == thread and not self._assigned_by_callback:
                # Called by a rebalance callback: librdkafka waits for its answer before it closes.
                self._assigned_by_callback = True
                self._apply_rebalance(handle, self._rebalance)
            queue = rd_kafka_queue_new(rk)
            # Fails if another thread is closing it already, which is waited for, or after a fatal error, which has
            # put the consumer out of its group.
            error = rd_kafka_consumer_close_queue(rk, queue)
            if error is not NULL:
                fatal = rd_kafka_error_is_fatal(error)
                rd_kafka_error_destroy(error)
            while True:
                try:
                    while True:
                        with nogil:
                            event = rd_kafka_queue_poll(queue, 0)
                        if event is NULL:
                            break
                        if not cyk_handle_collect(handle, event):
                            rd_kafka_event_destroy(event)
                    self._serve_pending(handle)
                except (KeyboardInterrupt, SystemExit):
                    raise
                except BaseException as exc:
                    if first_exception is None:
                        first_exception = exc
                    else:
                        report_unraisable(exc, self)
                    continue
                if fatal or self._closed or rd_kafka_consumer_closed(rk) or time_left(deadline) == 0:
                    break
                with nogil:
                    cyk_queue_wait(queue, pause_us, 0)
                # librdkafka does not say when it is done, so look often at first.
                pause_us = min(pause_us * 2, 5000)
                PyErr_CheckSignals()
                self._serve_meanwhile(handle)
        finally:
            if outermost:
                self._closing_thread = 0
            if queue is not NULL:
                rd_kafka_queue_destroy(queue)
            self._exit(handle)
        self._release(deadline)
        if first_exception is not None:
            raise first_exception

    cdef int _let_go(self) except -1:
        self._on_assign = None
        self._on_revoke = None
        self._on_lost = None
        return 0

    def __enter__(self):
        self._check_open()
        return self

    def __exit__(self, exc_type, exc_value, exc_traceback):
        self.close()
        return None
