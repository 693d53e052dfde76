ctypedef void (*native_destroy_t)(void *) noexcept nogil


cdef class NativeArray:
    # Native request objects and how to free them.
    cdef void **items
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef native_destroy_t destroy
    cdef int add(self, void *item) except -1


cdef class AdminOptions:
    cdef rd_kafka_AdminOptions_t *native


cdef class AdminRequests(Client):
    cdef object _lock
    cdef object _thread
    cdef dict _futures
    cdef Py_ssize_t _next_token
    cdef rd_kafka_queue_t *_results
    cdef AdminOptions _options(self, int op, object request_timeout, object operation_timeout=*,
                               object validate_only=*, object broker=*)
    cdef int _expect(self, AdminOptions options, object future) except -1
    cdef int _resolve(self, cyk_handle_t *handle, Py_ssize_t token, rd_kafka_event_t *event) except -1
    cdef int _assign_replicas(self, rd_kafka_NewTopic_t *topic, rd_kafka_NewPartitions_t *partitions, int index,
                              object brokers) except -1


cdef class _AdminClientImpl(AdminRequests):
    pass
