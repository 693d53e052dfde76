cdef extern from "sasl_loader.h" nogil:
    int cyk_sasl_load(char *error, size_t size)


cdef class ClientConfig:
    cdef rd_kafka_conf_t *native
    cdef readonly dict properties
    # Forms of the values that logs and errors must not show.
    cdef list secrets
    cdef object error_cb
    cdef object stats_cb
    cdef object throttle_cb
    cdef object oauth_cb
    cdef object on_delivery
    cdef object on_commit
    cdef object logger
    # Settings of ours: how long to spin, (kind of thread, CPU) pairs, the start of threads' names, measuring stages.
    cdef int64_t spin_us
    cdef list cpus
    cdef bytes thread_prefix
    cdef bint measure
    # Nothing is configured that makes OAUTHBEARER tokens.
    cdef bint has_no_token
    # The client is a share consumer.
    cdef bint share
    # What it is for, as the text of an error says it; None if the caller says it.
    cdef str what
    cdef int _set(self, object name, object value) except -1
    cdef int _set_own(self, str name, object value) except -1
    cdef int _apply_own(self, cyk_handle_t *handle) except -1
    cdef str effective(self, str name)
    cdef bint flag(self, str name) except -1
    cdef int64_t milliseconds(self, str name) except -1
    cdef rd_kafka_t *create(self, rd_kafka_type_t kind, cyk_handle_t *handle, int collect) except NULL
