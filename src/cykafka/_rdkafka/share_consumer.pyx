# ShareConsumer: consuming as a member of a share group (KIP-932). Owns what Client owns.
#
# One thread at a time, as in Java: a second one gets ConcurrentModificationException. librdkafka cannot wake a share
# consumer that it lets wait, so the waiting is done here, on its queue, and librdkafka is asked without waiting.

cdef extern from "pythread.h" nogil:
    unsigned long PyThread_get_thread_ident()

cdef object _messages_class = None


cdef object _as_messages(list messages):
    """Wrap messages in `cykafka.Messages`, which is pure Python and so not known before it is needed."""
    global _messages_class
    if _messages_class is None:
        from cykafka._model import Messages
        _messages_class = Messages
    return _messages_class(messages)


cdef object _share_exception(KafkaError error):
    """Return the exception for an error of a share consumer."""
    if error._code == RD_KAFKA_RESP_ERR__STATE:
        return IllegalStateException(error.str())
    if error._code == RD_KAFKA_RESP_ERR__CONFLICT:
        return ConcurrentModificationException(error.str())
    return make_exception(error)


cdef class ShareConsumer(Client):
    """ShareConsumer(config={}, **properties)\n--\n
    Consumes messages as a member of a share group (KIP-932): each message goes to one member, like from a queue.

    A message is acquired for a time that the broker sets (``group.share.record.lock.duration.ms``) and must be
    acknowledged in that time, else it goes to another member. With ``share.acknowledgement.mode=implicit``, the
    default, the next poll() or commit accepts all messages of the one before; with ``explicit`` call `acknowledge`
    for each. Needs brokers from Kafka 4.2 on; librdkafka calls it a preview.

    Args:
        config: Configuration properties of librdkafka by name (``group.id`` is required), and the callbacks
            ``error_cb``, ``stats_cb``, ``throttle_cb``, ``oauth_cb`` and ``logger``. Keyword arguments are merged
            into it, with underscores for dots.

    Callbacks run on the thread that calls poll(), a commit or close(); they may call any method of the consumer.
    Only one thread may use a share consumer at a time; `wakeup` is for any thread.

    Raises:
        TypeError: If the configuration is not a dict, or a value has the wrong type.
        ValueError: If there is no ``group.id``, or a property is not for share consumers.
        KafkaException: If librdkafka refuses a property or value (_INVALID_ARG, with its own text).
    """

    def __init__(self, *args, **kwargs):
        config_dict = merge_config(args, kwargs, type(self).__name__)
        cdef ClientConfig config = ClientConfig(config_dict, None, ("on_commit",))
        if not config.properties.get("group.id"):
            raise ValueError("Failed to create consumer: group.id must be set")
        if config.on_commit is not None:
            raise ValueError(
                "Failed to create share consumer: on_commit is not for share consumers, see "
                "set_acknowledgement_commit_callback()")
        config.share = True
        self._config = config_dict
        mode = config.effective("share.acknowledgement.mode")
        if mode not in ("implicit", "explicit"):
            # librdkafka takes any text, and then acknowledges nothing.
            raise ValueError(
                f"Failed to create share consumer: share.acknowledgement.mode must be implicit or explicit, not {mode}")
        self._explicit = mode == "explicit"
        try:
            self._start(config, RD_KAFKA_CONSUMER, 0)
        except KafkaException as error:
            raise ValueError(f"Failed to create share consumer: {error.args[0].str()}") from None

    def _kind(self):
        return "ShareConsumer"

    cdef object _closed_error(self):
        return IllegalStateException("Share consumer closed")

    cdef cyk_handle_t *_claim(self) except NULL:
        """Return the handle, for one thread at a time; ends with _unclaim()."""
        cdef cyk_handle_t *handle
        cdef unsigned long me = PyThread_get_thread_ident()
        if self._closed and self._generation == cyk_fork_generation:
            raise self._closed_error()
        if self._depth and self._user != me:
            raise ConcurrentModificationException(
                f"ShareConsumer is in use by thread {self._user}: it is for one thread at a time, use one for each")
        handle = self._enter()
        self._user = me
        self._depth += 1
        return handle

    cdef void _unclaim(self, cyk_handle_t *handle) noexcept:
        self._depth -= 1
        self._exit(handle)

    # Messages

    def poll(self, timeout=-1):
        """Return the next batch of messages, serving callbacks while it waits.

        Acknowledgements that were not sent yet are sent. With implicit acknowledgement, the messages of the previous
        batch are accepted.

        Args:
            timeout: Seconds to wait, with microsecond resolution; -1 or None for no limit.

        Returns:
            Messages: Messages, some of which may be errors (see `Message.error`); empty on time-out or `wakeup`.
            ``max.poll.records`` bounds the batch, softly.

        Raises:
            Exception: What a callback raised; no message is lost by that.
            KafkaException: If fetching fails, TOPIC_AUTHORIZATION_FAILED for example; polling again tries again.
            IllegalStateException: If nothing is subscribed, a message of the previous batch is not acknowledged
                (explicit acknowledgement), or the consumer is closed.
            ConcurrentModificationException: If another thread is using the consumer.
            KeyboardInterrupt: On Ctrl-C, within 50 ms.
        """
        cdef int64_t deadline = deadline_after(as_timeout_us(timeout))
        cdef int64_t left
        cdef rd_kafka_messages_t *batch
        cdef rd_kafka_error_t *error
        cdef rd_kafka_share_t *share
        cdef cyk_handle_t *handle = self._claim()
        try:
            share = cyk_handle_share(handle)
            while True:
                self._serve_all(handle)
                if self._unreturned is not None:
                    messages, self._unreturned = self._unreturned, None
                    return _as_messages(messages)
                with nogil:
                    error = rd_kafka_share_poll(share, 0, &batch)
                if error is not NULL:
                    raise _share_exception(take_error(error))
                if batch is not NULL:
                    self._unreturned = _take_batch(batch)
                    continue
                if cyk_handle_pending(handle):
                    continue
                left = time_left(deadline)
                if left == 0 or self._wait(handle, left) == CYK_WAIT_WOKEN:
                    return _as_messages([])
        finally:
            self._unclaim(handle)

    def acknowledge(self, message, ack_type=1):
        """Say what shall become of a message; sent by the next poll() or commit.

        Args:
            message: `Message` from poll().
            ack_type: `AcknowledgeType`: ACCEPT, RELEASE (deliver it again) or REJECT (never deliver it again).

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If the message has no topic or offset, or there is no such type.
            IllegalStateException: If acknowledgement is implicit, the message is not acquired (any more), or the
                consumer is closed.
            ConcurrentModificationException: If another thread is using the consumer.
        """
        if not isinstance(message, Message):
            raise TypeError(f"message must be a Message, not {type(message).__name__}")
        if (<Message>message)._topic is None:
            raise ValueError("Failed to acknowledge: the message has no topic")
        self._acknowledge((<Message>message)._topic, (<Message>message)._partition, (<Message>message)._offset,
                          ack_type)

    def acknowledge_offset(self, topic, partition, offset, ack_type=1):
        """Say what shall become of a message whose place is known; sent by the next poll() or commit.

        Args:
            topic: Topic name.
            partition: Partition number.
            offset: Offset.
            ack_type: `AcknowledgeType`: ACCEPT, RELEASE (deliver it again) or REJECT (never deliver it again).

        Raises:
            TypeError, ValueError, IllegalStateException, ConcurrentModificationException: As `acknowledge`.
        """
        self._acknowledge(topic, as_index(partition, "partition"), as_index(offset, "offset"), ack_type)

    cdef int _acknowledge(self, object topic, int32_t partition, int64_t offset, object ack_type) except -1:
        cdef rd_kafka_resp_err_t err
        cdef bytes native_topic = encode_name(topic, "topic")
        cdef cyk_handle_t *handle
        cdef int kind
        if not isinstance(ack_type, int):
            raise TypeError(f"ack_type must be an AcknowledgeType, not {type(ack_type).__name__}")
        if not SHARE_ACKNOWLEDGE_TYPE_ACCEPT <= ack_type <= SHARE_ACKNOWLEDGE_TYPE_REJECT:
            raise ValueError(f"ack_type must be an AcknowledgeType, ACCEPT (1), RELEASE (2) or REJECT (3): {ack_type}")
        if partition < 0 or offset < 0:
            raise ValueError(f"Failed to acknowledge: partition {partition} and offset {offset} must not be negative")
        kind = ack_type
        handle = self._claim()
        try:
            if not self._explicit:
                raise IllegalStateException(
                    "Failed to acknowledge: messages are accepted by the next poll() or commit, unless "
                    "share.acknowledgement.mode is explicit")
            err = rd_kafka_share_acknowledge_offset(cyk_handle_share(handle), native_topic, partition, offset, kind)
            if err == RD_KAFKA_RESP_ERR__STATE:
                raise IllegalStateException(
                    f"Failed to acknowledge: {topic} [{partition}] @ {offset} is not acquired: it was acknowledged "
                    "and sent already, or did not come from the last poll()")
            if err != RD_KAFKA_RESP_ERR_NO_ERROR:
                raise _share_exception(make_error(err, f"Failed to acknowledge {topic} [{partition}] @ {offset}: "
                                                       f"{decode_text(rd_kafka_err2str(err))}"))
        finally:
            self._unclaim(handle)
        return 0

    def commit_async(self):
        """Send the acknowledgements now, without waiting for the broker.

        With implicit acknowledgement, the messages of the last batch are accepted.

        Raises:
            Exception: What a callback raised.
            KafkaException: If librdkafka refuses.
            IllegalStateException: If the consumer is closed.
            ConcurrentModificationException: If another thread is using the consumer.
        """
        cdef rd_kafka_error_t *error
        cdef rd_kafka_share_t *share
        cdef cyk_handle_t *handle = self._claim()
        try:
            share = cyk_handle_share(handle)
            with nogil:
                error = rd_kafka_share_commit_async(share)
            if error is not NULL:
                raise _share_exception(take_error(error, "Failed to commit"))
            self._serve_all(handle)
        finally:
            self._unclaim(handle)

    def commit_sync(self, timeout=60):
        """Send the acknowledgements and wait for the broker.

        With implicit acknowledgement, the messages of the last batch are accepted.

        Args:
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            dict[TopicPartition, KafkaException | None]: What came of it, by partition; empty if there was nothing
            to commit.

        Raises:
            Exception: What a callback raised.
            KafkaException: If librdkafka refuses; _INTR if `wakeup` was called.
            IllegalStateException: If the consumer is closed.
            ConcurrentModificationException: If another thread is using the consumer, also one that goes on with a
                commit given up before.
            KeyboardInterrupt: On Ctrl-C, within 50 ms; the commit goes on in the background.
        """
        cdef BlockingCall call
        cdef rd_kafka_error_t *error
        cdef int64_t timeout_us = as_timeout_us(timeout)
        cdef cyk_handle_t *handle = self._claim()
        try:
            call = self._new_call(handle, CYK_CALL_SHARE_COMMIT, timeout_us)
            self._run(call)
            error = call.native.error
            call.native.error = NULL
            if error is not NULL:
                raise _share_exception(take_error(error, "Failed to commit"))
            self._serve_all(handle)
            result = {}
            for partition in read_topic_partitions(call.native.partitions):
                failure = (<TopicPartition>partition).error
                (<TopicPartition>partition).error = None
                (<TopicPartition>partition).offset = OFFSET_INVALID
                result[partition] = None if failure is None else make_exception(failure)
            return result
        finally:
            self._unclaim(handle)

    def set_acknowledgement_commit_callback(self, callback):
        """Set what is called when the broker has answered to acknowledgements.

        Args:
            callback: Called as ``callback(offsets, exception)``: a dict of `TopicPartition` to the set of offsets, and
                None or a `KafkaException`. None to have nothing called.

        Raises:
            TypeError: If it is neither callable nor None.
            IllegalStateException: If the consumer is closed.
            ConcurrentModificationException: If another thread is using the consumer.
        """
        cdef rd_kafka_error_t *error
        cdef int collect = callback is not None
        cdef cyk_handle_t *handle
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable or None, not {type(callback).__name__}")
        handle = self._claim()
        try:
            with nogil:
                error = cyk_share_collect_acknowledgements(handle, collect)
            if error is not NULL:
                raise _share_exception(take_error(error, "Failed to set the callback"))
            self._on_acknowledged = callback
        finally:
            self._unclaim(handle)

    cdef int _serve_event(self, cyk_handle_t *handle, cyk_event_t *event) except -1:
        cdef dict offsets
        cdef TopicPartition partition
        if event.type != CYK_EVENT_ACKNOWLEDGED:
            return Client._serve_event(self, handle, event)
        if self._on_acknowledged is not None:
            offsets = {}
            for partition in read_topic_partitions(event.partitions):
                offset = partition.offset
                partition.offset = OFFSET_INVALID
                offsets.setdefault(partition, set()).add(offset)
            self._on_acknowledged(offsets, None if event.err == RD_KAFKA_RESP_ERR_NO_ERROR
                                  else KafkaException(make_error(event.err)))
        return 0

    cdef int _serve_all(self, cyk_handle_t *handle) except -1:
        """Run the callbacks that wait; one of them may close the consumer."""
        self._serve_meanwhile(handle)
        if cyk_handle_pending(handle):
            self._serve_pending(handle)
            if self._closed:
                raise self._closed_error()
        return 0

    # Subscription

    def subscribe(self, topics):
        """Consume these topics; replaces an earlier subscription.

        Args:
            topics: List of topic names, no regular expressions; none to `unsubscribe`.

        Raises:
            TypeError: If topics is not a list of str.
            ValueError: If a name is empty or stands twice.
            KafkaException: If librdkafka refuses.
            IllegalStateException: If the consumer is closed.
            ConcurrentModificationException: If another thread is using the consumer.
        """
        cdef rd_kafka_topic_partition_list_t *native
        cdef rd_kafka_resp_err_t err
        cdef rd_kafka_share_t *share
        cdef cyk_handle_t *handle
        if not isinstance(topics, (list, tuple, set, frozenset)):
            raise TypeError(f"expected list of topic names (str), not {type(topics).__name__}")
        native = rd_kafka_topic_partition_list_new(<int>len(topics))
        try:
            for topic in topics:
                rd_kafka_topic_partition_list_add(native, encode_name(topic, "topic"), -1)
            if "" in topics or len(set(topics)) < len(topics):
                raise ValueError(f"Failed to subscribe: a topic name is empty or stands twice in {list(topics)}")
            handle = self._claim()
            try:
                share = cyk_handle_share(handle)
                with nogil:
                    err = rd_kafka_share_subscribe(share, native)
                _check_share(err, "Failed to subscribe")
            finally:
                self._unclaim(handle)
        finally:
            rd_kafka_topic_partition_list_destroy(native)

    def unsubscribe(self):
        """Leave the group; what is acquired goes to other members.

        Raises:
            KafkaException: If librdkafka refuses.
            IllegalStateException: If the consumer is closed.
            ConcurrentModificationException: If another thread is using the consumer.
        """
        cdef rd_kafka_resp_err_t err
        cdef rd_kafka_share_t *share
        cdef cyk_handle_t *handle = self._claim()
        try:
            share = cyk_handle_share(handle)
            with nogil:
                err = rd_kafka_share_unsubscribe(share)
            _check_share(err, "Failed to unsubscribe")
        finally:
            self._unclaim(handle)

    def subscription(self):
        """Return the names of the topics subscribed to.

        Raises:
            KafkaException: If librdkafka refuses.
            IllegalStateException: If the consumer is closed.
            ConcurrentModificationException: If another thread is using the consumer.
        """
        cdef rd_kafka_topic_partition_list_t *native = NULL
        cdef rd_kafka_resp_err_t err
        cdef rd_kafka_share_t *share
        cdef cyk_handle_t *handle = self._claim()
        try:
            share = cyk_handle_share(handle)
            with nogil:
                err = rd_kafka_share_subscription(share, &native)
            _check_share(err, "Failed to get the subscription")
            return [decode_name(native.elems[i].topic) for i in range(native.cnt)]
        finally:
            if native is not NULL:
                rd_kafka_topic_partition_list_destroy(native)
            self._unclaim(handle)

    # Closing

    def close(self):
        """Send the acknowledgements, leave the group, free the consumer; serves callbacks. Closing twice is harmless.

        Takes up to ``socket.timeout.ms`` when no broker answers. What was acquired but not acknowledged goes to other
        members.

        Raises:
            Exception: The first exception that a callback raised; the consumer is closed all the same.
            KafkaException: If leaving failed; the consumer is closed all the same.
            ConcurrentModificationException: If another thread is using the consumer.
            KeyboardInterrupt: On Ctrl-C, within 50 ms; leaving the group then goes on in the background.
        """
        cdef BlockingCall call
        cdef rd_kafka_error_t *error
        cdef cyk_handle_t *handle
        cdef object first_exception = None
        if self._closed:
            return
        handle = self._claim()
        try:
            call = self._new_call(handle, CYK_CALL_SHARE_CLOSE, FOREVER)
            if cyk_call_start(call.native) != 0:
                raise MemoryError("cannot start a thread for a blocking call")
            while not self._call_done(call, SLICE_US):
                PyErr_CheckSignals()
                self._serve_meanwhile(handle)
            error = call.native.error
            call.native.error = NULL
            if error is not NULL and rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__STATE:
                # Closed already, by a close() that was interrupted.
                rd_kafka_error_destroy(error)
            elif error is not NULL:
                first_exception = _share_exception(take_error(error, "Failed to close"))
            while cyk_handle_pending(handle) and not self._closed:
                try:
                    self._serve_pending(handle)
                except (KeyboardInterrupt, SystemExit):
                    raise
                except BaseException as exc:
                    if first_exception is None:
                        first_exception = exc
                    else:
                        report_unraisable(exc, self)
        finally:
            self._unclaim(handle)
        self._release()
        if first_exception is not None:
            raise first_exception

    cdef int _let_go(self) except -1:
        self._on_acknowledged = None
        self._unreturned = None
        return 0

    def __enter__(self):
        self._check_open()
        return self

    def __exit__(self, exc_type, exc_value, exc_traceback):
        self.close()
        return None


cdef int _check_share(rd_kafka_resp_err_t err, str doing) except -1:
    """Raise if a function of share consumers failed."""
    if err != RD_KAFKA_RESP_ERR_NO_ERROR:
        raise _share_exception(make_error(err, f"{doing}: {decode_text(rd_kafka_err2str(err))}"))
    return 0


cdef list _take_batch(rd_kafka_messages_t *batch):
    """Copy a batch of native messages and destroy it, also if that fails half-way."""
    cdef rd_kafka_message_t *native
    cdef const rd_kafka_topic_t *last = NULL
    cdef Message message
    cdef list result = []
    topic = None
    try:
        for i in range(rd_kafka_messages_count(batch)):
            native = rd_kafka_messages_get(batch, i)
            if native.rkt is not last:
                last = native.rkt
                topic = None if last is NULL else decode_name(rd_kafka_topic_name(last))
            message = make_message(native, topic)
            message._delivery_count = rd_kafka_message_delivery_count(native)
            result.append(message)
    finally:
        with nogil:
            rd_kafka_messages_destroy(batch)
    return result
