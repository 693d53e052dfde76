cdef class Message:
    cdef object _topic
    cdef object _key
    cdef object _value
    cdef object _headers
    cdef object _error
    cdef object _opaque
    cdef int64_t _offset
    cdef int64_t _timestamp
    cdef int64_t _latency_us
    # The monotonic clock; 0 if not known.
    cdef int64_t _sent_ns
    cdef int64_t _received_ns
    cdef int32_t _partition
    cdef int32_t _leader_epoch
    cdef int16_t _delivery_count
    cdef int16_t _status
    cdef int _timestamp_type
    # Headers not yet turned into Python objects; owned.
    cdef rd_kafka_headers_t *_native_headers
    # A delivery report's message while its callback runs; borrowed from the event, see detach().
    cdef const rd_kafka_message_t *_borrowed
    cdef int detach(self) except -1
    cdef void _become_trackable(self) noexcept


cdef Message make_message(rd_kafka_message_t *native, object topic)
cdef Message borrow_report(const rd_kafka_message_t *native, object topic, int64_t now_us, Message reuse)
