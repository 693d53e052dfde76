# Deadlines of messages. librdkafka does not send a message after its deadline (see librdkafka/patches); this part
# tells of one that was sent before it and is not acknowledged by then. What librdkafka tells later is not told again.
#
# The caller holds the GIL. Entries of messages that were reported in time stay, emptied, until their time has come.

# So long is waited for librdkafka's own report, which knows whether the message was sent at all.
cdef int64_t DEADLINE_GRACE_US = 5000


cdef int64_t as_deadline(object deadline) except -1:
    """Return the clock value at which a number of seconds from now ends, 0 for None and -1."""
    cdef double seconds
    if deadline is None:
        return 0
    if isinstance(deadline, bool) or not isinstance(deadline, (int, float)):
        raise TypeError(f"deadline must be a number of seconds or None, not {type(deadline).__name__}")
    seconds = deadline
    if seconds == -1.0 or seconds > 1e9:
        return 0
    if not seconds > 0.0:
        raise ValueError(f"deadline must be > 0 seconds from now, or None, not {deadline!r}")
    return cyk_clock_us() + <int64_t>ceil(seconds * 1e6)


# Not a matter for the garbage collector, as Delivery.
@cython.final
@cython.no_gc
@cython.freelist(1024)
cdef class Timed:
    """What the report of a message with a deadline is made of, unless librdkafka reports in time."""

    cdef bint settle(self) noexcept:
        """Return true for the first of the two that report the message; drops what the other would need."""
        if self.settled:
            return False
        self.settled = True
        self.callback = self.opaque = self.topic = self.key = self.value = self.headers = None
        return True


cdef object _constant_bytes(object data, Span *span):
    """Return data, or a copy of it if it may change."""
    if span.ptr is NULL or isinstance(data, (bytes, str)):
        return data
    return PyBytes_FromStringAndSize(span.ptr, span.size)


cdef object _as_bytes(object data):
    """Return what a message has of a str, a bytes-like object or None."""
    if data is None or type(data) is bytes:
        return data
    return data.encode() if isinstance(data, str) else bytes(data)


cdef Timed make_timed(object topic, object value, Span *value_span, object key, Span *key_span, int32_t partition,
                      object callback, object headers, object opaque, bint copied):
    """Keep what a report will need; a payload that is not copied is the caller's to keep."""
    cdef Timed timed = Timed.__new__(Timed)
    timed.callback = callback
    timed.opaque = opaque
    timed.topic = topic
    timed.key = _constant_bytes(key, key_span)
    timed.value = _constant_bytes(value, value_span) if copied else value
    if headers is not None:
        timed.headers = [(name, _as_bytes(data))
                         for name, data in (headers.items() if isinstance(headers, dict) else headers)]
    timed.partition = partition
    timed.enqueued_us = cyk_clock_us()
    return timed


cdef Message _overdue(Timed timed, int64_t now_us):
    """Make the Message of a report that librdkafka has not made in time."""
    cdef Message message = new_message()
    message._topic = timed.topic
    message._partition = timed.partition
    message._offset = -1001
    message._key = _as_bytes(timed.key)
    message._value = _as_bytes(timed.value)
    message._headers = timed.headers or None
    message._opaque = timed.opaque
    message._error = make_error(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, "Local: Message timed out: its deadline has passed")
    message._timestamp = -1
    message._latency_us = now_us - timed.enqueued_us
    message._leader_epoch = -1
    message._delivery_count = -1
    message._status = RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED
    message._become_trackable()
    return message


@cython.final
cdef class Deadlines:
    """The messages with deadlines of a producer, as a heap: the earliest is at index 0."""

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.length):
            Py_DECREF(<object>self.entries[i].timed)
        free(self.entries)

    cdef int push(self, int64_t at_us, Timed timed) except -1:
        cdef Py_ssize_t child, parent
        cdef Expiry *entries
        # The empty ones go first; with deadlines of one length there are no others in front.
        while self.length and (<Timed>self.entries[0].timed).settled:
            self.pop()
        if self.length == self.capacity:
            entries = <Expiry *>realloc(self.entries, (2 * self.capacity + 64) * sizeof(Expiry))
            if entries is NULL:
                raise MemoryError
            self.entries = entries
            self.capacity = 2 * self.capacity + 64
        Py_INCREF(timed)
        child = self.length
        self.length += 1
        while child:
            parent = (child - 1) // 2
            if self.entries[parent].at_us <= at_us:
                break
            self.entries[child] = self.entries[parent]
            child = parent
        self.entries[child].at_us = at_us
        self.entries[child].timed = <PyObject *>timed
        return 0

    cdef Timed pop(self):
        """Take the earliest out; there must be one."""
        cdef Timed timed = <Timed>self.entries[0].timed
        cdef Expiry last
        cdef Py_ssize_t parent = 0
        cdef Py_ssize_t child = 1
        self.length -= 1
        last = self.entries[self.length]
        while child < self.length:
            if child + 1 < self.length and self.entries[child + 1].at_us < self.entries[child].at_us:
                child += 1
            if last.at_us <= self.entries[child].at_us:
                break
            self.entries[parent] = self.entries[child]
            parent = child
            child = 2 * parent + 1
        self.entries[parent] = last
        Py_DECREF(timed)
        return timed

    cdef Timed overdue(self, int64_t now_us):
        """Take out and return the earliest that is over and was not reported, None if there is none."""
        cdef Timed timed
        while self.length and (self.entries[0].at_us <= now_us or (<Timed>self.entries[0].timed).settled):
            timed = self.pop()
            if not timed.settled:
                return timed
        return None

    cdef int64_t limit(self, int64_t wait_us) noexcept:
        """Shorten a wait so that it ends when the earliest is over."""
        cdef int64_t left
        if not self.length:
            return wait_us
        left = self.entries[0].at_us - cyk_clock_us()
        return min(wait_us, max(left, 0))


cdef int serve_deadlines(Producer producer) except -1:
    """Report the messages that are overdue; returns how many. All are served even if a callback raises."""
    cdef Deadlines deadlines = producer._deadlines
    cdef int64_t now_us = cyk_clock_us()
    cdef int served = 0
    cdef Timed timed
    cdef Message message
    cdef object callback
    cdef object first_exception = None
    while True:
        timed = deadlines.overdue(now_us)
        if timed is None:
            break
        served += 1
        callback = producer._on_delivery if timed.callback is None else timed.callback
        message = None if callback is None else _overdue(timed, now_us)
        timed.settle()
        if callback is None:
            continue
        try:
            callback(message._error, message)
        except BaseException as exc:
            if first_exception is None:
                first_exception = exc
            else:
                report_unraisable(exc, producer)
    if first_exception is not None:
        raise first_exception
    return served
