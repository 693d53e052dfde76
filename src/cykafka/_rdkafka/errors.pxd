cdef class KafkaError:
    cdef int _code
    cdef object _reason
    cdef bint _fatal
    cdef bint _retriable
    cdef bint _txn_requires_abort


cdef KafkaError make_error(rd_kafka_resp_err_t code, object reason=*)
cdef KafkaError take_error(rd_kafka_error_t *error, str doing=*)
cdef int check_err(rd_kafka_resp_err_t err, str doing) except -1
cdef int check_error(rd_kafka_error_t *error, str doing=*) except -1
cdef int check_ptr(const void *ptr, str doing) except -1
