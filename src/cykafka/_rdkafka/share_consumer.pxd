cdef class ShareConsumer(Client):
    cdef object _on_acknowledged
    cdef bint _explicit
    # The thread that is inside a method, and how deep: callbacks call methods.
    cdef unsigned long _user
    cdef int _depth
    # Messages of a poll() in which a callback raised, for the next one.
    cdef list _unreturned

    cdef cyk_handle_t *_claim(self) except NULL
    cdef void _unclaim(self, cyk_handle_t *handle) noexcept
    cdef int _serve_all(self, cyk_handle_t *handle) except -1
    cdef int _acknowledge(self, object topic, int32_t partition, int64_t offset, object ack_type) except -1
