# Message: what a consumer returns and a delivery callback gets. Used by one thread at a time, as any Python object.
#
# A consumed message owns copies of its bytes, so that keeping one does not pin librdkafka's fetch buffer; its
# headers are detached from the native message and parsed when they are asked for. A delivery report borrows the
# native message while its callback runs, and copies it only if the callback kept the Message.

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define cyk_only_reference(op) 0
    #else
    #define cyk_only_reference(op) (Py_REFCNT(op) == 1)
    #endif
    """
    bint cyk_only_reference(PyObject *op) noexcept

TIMESTAMP_NOT_AVAILABLE = 0
TIMESTAMP_CREATE_TIME = 1
TIMESTAMP_LOG_APPEND_TIME = 2


@cython.freelist(4096)
cdef class Message:
    """Message(topic=None, partition=-1, offset=-1001, key=None, value=None, headers=None, error=None, timestamp=(0, 0), latency=None, leader_epoch=-1, delivery_count=-1)\n--\n
    A message, or an error or event about a partition; `error` tells which.

    Clients make messages; making one by hand is meant for tests.

    Args:
        topic: Topic name.
        partition: Partition number.
        offset: Offset in the partition.
        key: Key, bytes.
        value: Value (payload), bytes.
        headers: List of (name, value) pairs.
        error: `KafkaError` if this is not a message but an error or event.
        timestamp: (type, milliseconds since the epoch UTC), the type one of the TIMESTAMP_* constants.
        latency: Seconds from produce() to the broker's acknowledgement.
        leader_epoch: Leader epoch of the offset (KIP-320).
        delivery_count: How often a share group has delivered the message (KIP-932).

    Raises:
        TypeError: If an argument has the wrong type.
    """

    def __init__(self, topic=None, partition=-1, offset=-1001, key=None, value=None, headers=None, error=None,
                 timestamp=(0, 0), latency=None, leader_epoch=-1, delivery_count=-1):
        self._topic = topic
        self._partition = -1 if partition is None else as_index(partition, "partition")
        self._offset = -1001 if offset is None else as_index(offset, "offset")
        self._key = key
        self._value = value
        self._headers = headers
        self._error = error
        if timestamp is None:
            timestamp = (0, 0)
        if not isinstance(timestamp, tuple) or len(timestamp) != 2:
            raise TypeError("timestamp must be a tuple of (int, int)")
        self._timestamp_type = as_index(timestamp[0], "timestamp type")
        self._timestamp = as_index(timestamp[1], "timestamp")
        self._latency_us = -1 if latency is None or latency < 0 else <int64_t>(latency * 1e6 + 0.5)
        self._leader_epoch = -1 if leader_epoch is None else as_index(leader_epoch, "leader_epoch")
        self._delivery_count = -1 if delivery_count is None else as_index(delivery_count, "delivery_count")
        self._status = -1

    def __dealloc__(self):
        if self._native_headers is not NULL:
            rd_kafka_headers_destroy(self._native_headers)

    cdef int detach(self) except -1:
        """Copy what is still borrowed, so that the native message may go."""
        cdef const rd_kafka_message_t *native = self._borrowed
        cdef rd_kafka_headers_t *headers
        if native is NULL:
            return 0
        self._borrowed = NULL
        if native.payload is not NULL:
            self._value = PyBytes_FromStringAndSize(<const char *>native.payload, native.len)
        if native.key is not NULL:
            self._key = PyBytes_FromStringAndSize(<const char *>native.key, native.key_len)
        if rd_kafka_message_headers(native, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR:
            self._headers = read_headers(headers)
            self._become_trackable()
        return 0

    cdef void _become_trackable(self) noexcept:
        # Messages are made untracked: bytes and str cannot be part of a reference cycle. Other objects can.
        if not PyObject_GC_IsTracked(<PyObject *>self):
            PyObject_GC_Track(<PyObject *>self)

    def topic(self):
        """Return the topic name, or None."""
        return self._topic

    def partition(self):
        """Return the partition number, or None."""
        return self._partition if self._partition >= 0 else None

    def offset(self):
        """Return the offset, or None if there is none."""
        return self._offset if self._offset >= 0 else None

    def key(self):
        """Return the key as bytes, or None."""
        if self._borrowed is not NULL:
            self.detach()
        return self._key

    def value(self):
        """Return the value (payload) as bytes, or None; for an error, its text."""
        if self._borrowed is not NULL:
            self.detach()
        return self._value

    def headers(self):
        """Return the headers as a list of (str, bytes or None) pairs in order, or None if there are none."""
        if self._borrowed is not NULL:
            self.detach()
        if self._native_headers is not NULL:
            self._headers = read_headers(self._native_headers)
            rd_kafka_headers_destroy(self._native_headers)
            self._native_headers = NULL
            self._become_trackable()
        return self._headers

    def error(self):
        """Return the `KafkaError` if this is an error or event, None if it is a proper message."""
        return self._error

    def timestamp(self):
        """Return (type, milliseconds since the epoch UTC); the type is one of the TIMESTAMP_* constants."""
        return (self._timestamp_type, self._timestamp)

    def latency(self):
        """Return seconds from produce() to the broker's acknowledgement, None for a consumed message.

        From ``rd_kafka_message_latency``; microsecond resolution.
        """
        return self._latency_us / 1e6 if self._latency_us >= 0 else None

    def sent_ns(self):
        """Return when the request with the message was written to the socket, None for a consumed message.

        The clock is that of ``time.monotonic_ns()``; resolution of a microsecond. None also for a message that was not
        acknowledged by a broker.
        """
        return self._sent_ns or None

    def received_ns(self):
        """Return when the broker's response came: with this message, or with its acknowledgement in a delivery report.

        It is read when the last byte of the response has been read from the socket, by the thread that reads it, in
        nanoseconds of ``time.monotonic_ns()``: a clock that never jumps. As a time of day it is
        ``time.time_ns() - time.monotonic_ns() + message.received_ns()``. None if there was no response.
        """
        return self._received_ns or None

    def leader_epoch(self):
        """Return the leader epoch of the offset, or None (KIP-320)."""
        return self._leader_epoch if self._leader_epoch >= 0 else None

    def delivery_count(self):
        """Return how often the share group has delivered this message, None outside of share groups (KIP-932)."""
        return self._delivery_count if self._delivery_count >= 0 else None

    def status(self):
        """Return the persistence status of a delivery report, else None (``rd_kafka_message_status``).

        Returns:
            str | None: ``"not_persisted"`` (may be produced again safely), ``"possibly_persisted"`` (producing it
            again may make a duplicate) or ``"persisted"``.
        """
        if self._status == RD_KAFKA_MSG_STATUS_PERSISTED:
            return "persisted"
        if self._status == RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED:
            return "possibly_persisted"
        if self._status == RD_KAFKA_MSG_STATUS_NOT_PERSISTED:
            return "not_persisted"
        return None

    def opaque(self):
        """Return the object given to produce() as ``opaque``, or None."""
        return self._opaque

    def deserialized_key(self):
        """Return the key as a deserializing consumer left it, else as `key` does."""
        return self.key()

    def deserialized_value(self):
        """Return the value as a deserializing consumer left it, else as `value` does."""
        return self.value()

    def set_topic(self, topic):
        """Set the topic name."""
        self._topic = topic
        self._become_trackable()

    def set_key(self, key):
        """Set the key to any object, as a deserializer does."""
        self.detach()
        self._key = key
        self._become_trackable()

    def set_value(self, value):
        """Set the value to any object, as a deserializer does."""
        self.detach()
        self._value = value
        self._become_trackable()

    def set_headers(self, headers):
        """Set the headers."""
        self.headers()
        self._headers = headers
        self._become_trackable()

    def set_error(self, error):
        """Set the error."""
        self._error = error
        self._become_trackable()

    def __len__(self):
        value = self.value()
        return 0 if value is None else len(value)

    def __bool__(self):
        # An empty value is still a message: `if message:` asks whether poll() returned one.
        return True

    def __repr__(self):
        if self._error is not None:
            return f"<Message {self._topic} [{self._partition}] @ {self._offset}: {self._error!r}>"
        return f"<Message {self._topic} [{self._partition}] @ {self._offset}>"

    def _state(self):
        return (self._topic, self._partition, self._offset, self.key(), self.value(), self.headers(), self._error,
                self.timestamp(), self.latency(), self._leader_epoch, self._delivery_count)

    def __eq__(self, other):
        if not isinstance(other, Message):
            return NotImplemented
        return self._state() == (<Message>other)._state()

    __hash__ = None

    def __reduce__(self):
        return (type(self), self._state())


cdef inline Message new_message():
    """Make an empty Message that the garbage collector does not look at."""
    cdef Message message = Message.__new__(Message)
    PyObject_GC_UnTrack(<PyObject *>message)
    return message


cdef Message make_message(rd_kafka_message_t *native, object topic):
    """Copy a consumed message; its headers are taken out of the native one, which stays the caller's."""
    cdef Message message = new_message()
    cdef cyk_fields_t fields
    cyk_message_fields(native, &fields)
    message._topic = topic
    message._partition = native.partition
    message._offset = native.offset
    message._latency_us = -1
    message._delivery_count = -1
    message._status = -1
    message._timestamp = fields.timestamp
    message._timestamp_type = fields.timestamp_type
    message._leader_epoch = fields.leader_epoch
    message._received_ns = fields.received_ns
    if native.payload is not NULL:
        message._value = PyBytes_FromStringAndSize(<const char *>native.payload, native.len)
    if native.key is not NULL:
        message._key = PyBytes_FromStringAndSize(<const char *>native.key, native.key_len)
    if native.err != RD_KAFKA_RESP_ERR_NO_ERROR:
        error = make_error(native.err, decode_text(rd_kafka_message_errstr(native)))
        error._fatal = native.err == RD_KAFKA_RESP_ERR__FATAL
        message._error = error
    elif cyk_message_has_headers(native) and rd_kafka_message_detach_headers(
            native, &message._native_headers) != RD_KAFKA_RESP_ERR_NO_ERROR:
        message._native_headers = NULL
    return message


cdef Message borrow_report(const rd_kafka_message_t *native, object topic, int64_t now_us, Message reuse):
    """Make the Message of a delivery report; the caller detaches it before the event is destroyed.

    `reuse` is the Message of an earlier report that nobody kept and whose bytes nobody asked for.
    """
    cdef Message message = reuse
    cdef cyk_report_fields_t fields
    if message is None:
        message = new_message()
        message._delivery_count = -1
        message._leader_epoch = -1
    if message._topic is not topic:
        message._topic = topic
    cyk_report_fields(native, now_us, &fields)
    message._partition = native.partition
    message._offset = native.offset
    message._latency_us = fields.latency_us
    message._status = fields.status
    message._timestamp = fields.timestamp
    message._timestamp_type = fields.timestamp_type
    if native.err != RD_KAFKA_RESP_ERR_NO_ERROR:
        message._error = make_error(native.err)
    elif message._error is not None:
        message._error = None
    message._borrowed = native
    return message
