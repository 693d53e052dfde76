cdef struct Expiry:
    # When a message is reported unless that has been done; the reference is owned.
    int64_t at_us
    PyObject *timed


cdef class Timed:
    cdef object callback
    cdef object opaque
    cdef object topic
    cdef object key
    cdef object value
    cdef object headers
    cdef int32_t partition
    cdef int64_t enqueued_us
    # Reported, by whomever.
    cdef bint settled
    cdef bint settle(self) noexcept


cdef class Deadlines:
    cdef Expiry *entries
    cdef Py_ssize_t length
    cdef Py_ssize_t capacity
    cdef int push(self, int64_t at_us, Timed timed) except -1
    cdef Timed pop(self)
    cdef Timed overdue(self, int64_t now_us)
    cdef int64_t limit(self, int64_t wait_us) noexcept
