cdef class Histogram:
    cdef cyk_histogram_t *native
    cdef cyk_histogram_t *_get(self) except NULL


cdef Histogram share_histogram(cyk_histogram_t *native)
