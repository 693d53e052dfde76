cdef class AvailablePartitions:
    cdef TopicHandle _topic
    cdef int32_t _count
    cdef tuple _known

    cdef tuple _partitions(self)


cdef class ProducerRecord:
    cdef public object topic
    cdef public object value
    cdef public object key
    cdef public object partition
    cdef public object timestamp
    cdef public object headers
    cdef public dict state


cdef class ProducerHooks:
    # Bound methods of the interceptors, in their order.
    cdef tuple _on_send
    cdef tuple _on_acknowledgement
    cdef object _partitioner
    cdef bint _only_errors
    cdef int64_t _metadata_timeout_us

    cdef int send(self, ProducerRecord record) except -1
    cdef int acknowledge(self, ProducerRecord record, object error, object message) except -1
    cdef int32_t choose(self, Producer producer, object topic, object key, int64_t timeout_us) except -2


cdef class Acknowledgement:
    # The delivery callback of a message that interceptors have seen.
    cdef ProducerHooks _hooks
    cdef ProducerRecord _record
    cdef object _callback


cdef class ConsumerHooks:
    cdef tuple _on_consume
    cdef tuple _on_commit

    cdef int consume(self, Message message) except -1
    cdef int commit(self, object error, list partitions) except -1
