# Hooks: partitioners and interceptors written in Python. They run on the thread that calls produce(), poll() and
# their like, never on librdkafka's; a client without any has no hooks object, and tests one pointer a call.


cdef class AvailablePartitions:
    """The partitions of a topic that have a leader right now: a sequence of numbers, found out when it is used.

    Meant for the call that it was given to: keeping it keeps the client's connections, also after close().
    """

    cdef tuple _partitions(self):
        cdef int32_t i
        if self._known is None:
            self._known = tuple([i for i in range(self._count)
                                 if cyk_topic_partition_available(self._topic.native, i)])
        return self._known

    def __len__(self):
        return len(self._partitions())

    def __getitem__(self, index):
        return self._partitions()[index]

    def __iter__(self):
        return iter(self._partitions())

    def __contains__(self, partition):
        return partition in self._partitions()

    def __reversed__(self):
        return reversed(self._partitions())

    def index(self, value, *args):
        """Return the place of a partition, as ``tuple.index``."""
        return self._partitions().index(value, *args)

    def count(self, value):
        """Return 1 if a partition is there, else 0."""
        return self._partitions().count(value)

    def __repr__(self):
        return f"AvailablePartitions{self._partitions()}"


_abc.Sequence.register(AvailablePartitions)


cdef class ProducerRecord:
    """ProducerRecord(topic, value=None, key=None, partition=-1, timestamp=0, headers=None)\n--\n
    A message on its way into a producer, as its interceptors see and change it.

    Args:
        topic: Topic name.
        value: Value as it was given to produce(); of a `SerializingProducer` what its serializer returned.
        key: Key, as the value.
        partition: Partition number, -1 to let the partitioner choose.
        timestamp: Milliseconds since the epoch UTC, 0 for now.
        headers: List of (name, value) pairs, the interceptors' own to change; None for an empty one.

    Attributes:
        state: A dict in which an interceptor may keep something from on_send() to on_acknowledgement().
    """

    def __init__(self, topic, value=None, key=None, partition=-1, timestamp=0, headers=None):
        self.topic = topic
        self.value = value
        self.key = key
        self.partition = partition
        self.timestamp = timestamp
        self.headers = [] if headers is None else headers
        self.state = {}

    def __repr__(self):
        return f"<ProducerRecord {self.topic} [{self.partition}]>"


cdef tuple _methods(object interceptors, str name):
    """Return the methods of this name that the interceptors have, in their order."""
    cdef list methods = []
    for interceptor in interceptors:
        method = getattr(interceptor, name, None)
        if method is not None:
            if not callable(method):
                raise TypeError(f"{name} of interceptor {interceptor!r} must be a method")
            methods.append(method)
    return tuple(methods)


cdef list _take_interceptors(dict config):
    """Take the interceptors out of a configuration."""
    cdef object interceptors = config.pop("interceptors", None)
    if interceptors is None:
        return []
    if not isinstance(interceptors, (list, tuple)):
        raise TypeError(f"interceptors must be a list of interceptors, not {type(interceptors).__name__}")
    for interceptor in interceptors:
        if isinstance(interceptor, type):
            raise TypeError(f"interceptors must be objects, not classes: {interceptor.__name__}() instead of "
                            f"{interceptor.__name__}")
        if not any(hasattr(interceptor, name)
                   for name in ("on_send", "on_acknowledgement", "on_consume", "on_commit")):
            raise TypeError(f"interceptor {interceptor!r} has none of the methods on_send, on_acknowledgement, "
                            "on_consume and on_commit")
    return list(interceptors)


cdef ProducerHooks take_producer_hooks(dict config):
    """Take what are no properties of librdkafka out of a producer's configuration; None if nothing needs hooks."""
    cdef ProducerHooks hooks = ProducerHooks.__new__(ProducerHooks)
    cdef list interceptors = _take_interceptors(config)
    partitioner = config.get("partitioner")
    if callable(partitioner):
        native_name = getattr(partitioner, "native_name", None)
        if native_name is None:
            hooks._partitioner = config.pop("partitioner")
        else:
            config["partitioner"] = native_name
    hooks._on_send = _methods(interceptors, "on_send")
    hooks._on_acknowledgement = _methods(interceptors, "on_acknowledgement")
    if hooks._partitioner is None and not hooks._on_send and not hooks._on_acknowledgement:
        return None
    return hooks


cdef ConsumerHooks take_consumer_hooks(dict config):
    """Take the interceptors out of a consumer's configuration; None if it needs no hooks."""
    cdef ConsumerHooks hooks = ConsumerHooks.__new__(ConsumerHooks)
    cdef list interceptors = _take_interceptors(config)
    hooks._on_consume = _methods(interceptors, "on_consume")
    hooks._on_commit = _methods(interceptors, "on_commit")
    if not hooks._on_consume and not hooks._on_commit:
        return None
    return hooks


cdef inline bint _is_data(object value) noexcept:
    return value is None or isinstance(value, (bytes, str)) or PyObject_CheckBuffer(value)


cdef int _check_record(ProducerRecord record, tuple before) except -1:
    """Raise if an interceptor has put something into a record that cannot be produced."""
    topic, value, key, partition, timestamp, headers = before
    if record.headers is None:
        record.headers = []
    for name, changed, fits in (
            ("topic", record.topic is not topic, isinstance(record.topic, str)),
            ("value", record.value is not value, _is_data(record.value)),
            ("key", record.key is not key, _is_data(record.key)),
            ("partition", record.partition is not partition, isinstance(record.partition, int)),
            ("timestamp", record.timestamp is not timestamp, isinstance(record.timestamp, int)),
            ("headers", record.headers != headers, _are_headers(record.headers))):
        if changed and not fits:
            raise TypeError(f"on_send() has set the record's {name} to {getattr(record, name)!r:.100}")
    return 0


cdef bint _are_headers(object headers) except -1:
    if not isinstance(headers, list):
        return False
    for pair in headers:
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], str) and _is_data(pair[1])):
            return False
    return True


cdef class ProducerHooks:
    """The partitioner and the interceptors of a producer."""

    cdef int send(self, ProducerRecord record) except -1:
        """Let the interceptors change a record; what a failing one has changed is undone."""
        for method in self._on_send:
            before = (record.topic, record.value, record.key, record.partition, record.timestamp,
                      list(record.headers))
            try:
                method(record)
                _check_record(record, before)
            except Exception as exc:
                (record.topic, record.value, record.key, record.partition, record.timestamp, record.headers) = before
                report_unraisable(exc, method)
        return 0

    cdef int acknowledge(self, ProducerRecord record, object error, object message) except -1:
        for method in self._on_acknowledgement:
            try:
                method(record, error, message)
            except Exception as exc:
                report_unraisable(exc, method)
        return 0

    cdef int32_t choose(self, Producer producer, object topic, object key, int64_t timeout_us) except -2:
        """Ask the partitioner; -1 if it leaves the choice to librdkafka."""
        cdef int32_t count = partition_count(producer, topic, timeout_us)
        cdef AvailablePartitions available = AvailablePartitions.__new__(AvailablePartitions)
        # Waiting for the count, or a garbage collection, ran code that may have closed the producer.
        producer._check_open()
        available._topic = producer._topics[topic]
        available._count = count
        if isinstance(key, str):
            key = (<str>key).encode()
        partition = self._partitioner(topic, key, count, available)
        if partition is None or partition == -1:
            return -1
        if isinstance(partition, bool) or not hasattr(partition, "__index__"):
            raise TypeError(f"the partitioner must return a partition number, not {type(partition).__name__}")
        if not 0 <= partition < count:
            raise ValueError(f"the partitioner returned {partition}, but {topic!r} has the partitions 0 to "
                             f"{count - 1}")
        return partition


cdef class Acknowledgement:
    """Tells the interceptors of a delivery, then the callback."""

    def __call__(self, error, message):
        self._hooks.acknowledge(self._record, error, message)
        if self._callback is not None and not (self._hooks._only_errors and error is None):
            self._callback(error, message)


cdef int32_t partition_count(Producer producer, object topic, int64_t timeout_us) except -1:
    """Return how many partitions a topic has, from cached metadata; waits for them if there are none yet."""
    cdef rd_kafka_resp_err_t err
    cdef rd_kafka_topic_t *rkt = producer._native_topic(topic)
    cdef int32_t count = cyk_topic_partition_count(rkt, &err)
    cdef int64_t deadline, left
    cdef cyk_handle_t *handle
    cdef TopicHandle holder
    if count > 0:
        return count
    # close() by another thread must not free the topic meanwhile.
    holder = producer._topics[topic]
    deadline = deadline_after(timeout_us)
    handle = producer._enter()
    try:
        while True:
            if err != RD_KAFKA_RESP_ERR_NO_ERROR:
                check_err(err, f"Unable to choose a partition of topic {topic!r}")
            left = time_left(deadline)
            if left == 0:
                raise KafkaException(make_error(
                    RD_KAFKA_RESP_ERR__TIMED_OUT,
                    f"Unable to choose a partition of topic {topic!r}: its metadata did not arrive in time"))
            with nogil:
                count = cyk_topic_await_partitions(holder.native, left, &err)
            if count > 0:
                return count
            producer._check_signals()
            producer._check_open()
            producer._serve_meanwhile(handle)
            producer._check_woken(handle)
    finally:
        producer._exit(handle)


cdef rd_kafka_resp_err_t _enqueue_chosen(Producer producer, object topic, object value, object key, int32_t partition,
                                         object callback, int64_t timestamp, object headers, object opaque,
                                         Sending sending, int64_t timeout_us) except *:
    """Choose the partition, then enqueue; waits for room."""
    cdef ProducerHooks hooks = producer._hooks
    cdef rd_kafka_resp_err_t err
    cdef int64_t deadline = deadline_after(timeout_us)
    if partition == -1 and hooks._partitioner is not None:
        partition = hooks.choose(producer, topic, key, timeout_us if timeout_us else hooks._metadata_timeout_us)
        producer._check_open()
    err = producer._enqueue(topic, value, key, partition, callback, timestamp, headers, opaque, sending)
    if err == RD_KAFKA_RESP_ERR__QUEUE_FULL and timeout_us != 0:
        err = producer._enqueue_waiting(topic, value, key, partition, callback, timestamp, headers, opaque, sending,
                                        FOREVER if deadline < 0 else max(deadline - cyk_clock_us(), 0))
    return err


cdef rd_kafka_resp_err_t enqueue_hooked(Producer producer, object topic, object value, object key, int32_t partition,
                                        object callback, int64_t timestamp, object headers, object opaque,
                                        Sending sending, int64_t timeout_us) except *:
    """Do what `Producer._enqueue` does, and wait for room, with the hooks of the producer."""
    cdef ProducerHooks hooks = producer._hooks
    cdef rd_kafka_resp_err_t err
    cdef ProducerRecord record
    cdef Acknowledgement acknowledgement = None
    if not hooks._on_send and not hooks._on_acknowledgement:
        return _enqueue_chosen(producer, topic, value, key, partition, callback, timestamp, headers, opaque,
                               sending, timeout_us)
    record = ProducerRecord(topic, value, key, partition, timestamp,
                            list(headers.items() if isinstance(headers, dict) else headers or ()))
    hooks.send(record)
    if hooks._on_acknowledgement:
        acknowledgement = Acknowledgement.__new__(Acknowledgement)
        acknowledgement._hooks = hooks
        acknowledgement._record = record
        acknowledgement._callback = producer._on_delivery if callback is None else callback
        callback = acknowledgement
    try:
        producer._check_open()
        err = _enqueue_chosen(producer, record.topic, record.value, record.key, record.partition, callback,
                              record.timestamp, record.headers or None, opaque, sending, timeout_us)
    except Exception as exc:
        error = exc.args[0] if isinstance(exc, KafkaException) and exc.args else None
        if not isinstance(error, KafkaError):
            error = make_error(RD_KAFKA_RESP_ERR__INVALID_ARG, f"{type(exc).__name__}: {exc}")
        hooks.acknowledge(record, error, None)
        raise
    if err != RD_KAFKA_RESP_ERR_NO_ERROR:
        hooks.acknowledge(record, make_error(err), None)
    return err


cdef class ConsumerHooks:
    """The interceptors of a consumer."""

    cdef int consume(self, Message message) except -1:
        if message._error is None:
            for method in self._on_consume:
                try:
                    method(message)
                except Exception as exc:
                    report_unraisable(exc, method)
        return 0

    cdef int commit(self, object error, list partitions) except -1:
        for method in self._on_commit:
            try:
                method(error, partitions)
            except Exception as exc:
                report_unraisable(exc, method)
        return 0
