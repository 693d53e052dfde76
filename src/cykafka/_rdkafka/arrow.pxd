cdef extern from "arrow_native.h" nogil:
    struct ArrowSchema:
        const char *format
        const char *name
        int64_t flags
        int64_t n_children
        ArrowSchema **children
        ArrowSchema *dictionary
        void (*release)(ArrowSchema *) noexcept nogil
    struct ArrowArray:
        int64_t length
        void (*release)(ArrowArray *) noexcept nogil
    struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream *, ArrowSchema *) noexcept nogil
        int (*get_next)(ArrowArrayStream *, ArrowArray *) noexcept nogil
        const char *(*get_last_error)(ArrowArrayStream *) noexcept nogil
        void (*release)(ArrowArrayStream *) noexcept nogil
        void *private_data

    ctypedef struct cyk_column_t:
        const char *name
        int64_t length
        size_t child_cnt
        cyk_column_t **children
    ctypedef struct cyk_batch_t:
        pass
    void cyk_batch_keep(cyk_batch_t *batch) noexcept
    void cyk_batch_release(cyk_batch_t *batch) noexcept
    cyk_column_t *cyk_batch_root(cyk_batch_t *batch) noexcept
    size_t cyk_batch_size(const cyk_batch_t *batch) noexcept
    int cyk_batch_export_array(cyk_batch_t *batch, ArrowArray *out) noexcept
    int cyk_column_export_schema(const cyk_column_t *column, ArrowSchema *out) noexcept

    int64_t CYK_COLUMN_BYTES_MAX
    int CYK_MESSAGE_COLUMNS
    ctypedef struct cyk_message_batch_t:
        cyk_batch_t *batch
        rd_kafka_message_t **events
        size_t event_cnt
    int cyk_message_batch_init(cyk_message_batch_t *mb, const int *columns, size_t column_cnt,
                               int64_t max_bytes) noexcept
    void cyk_message_batch_clear(cyk_message_batch_t *mb) noexcept
    Py_ssize_t cyk_message_batch_append(cyk_message_batch_t *mb, rd_kafka_message_t **messages, size_t cnt) noexcept
    ctypedef struct cyk_row_t:
        const char *topic
        size_t topic_len
        const void *key
        size_t key_len
        const void *value
        size_t value_len
        int32_t partition
        int64_t offset
        int64_t timestamp
        int timestamp_type
        const rd_kafka_headers_t *headers
    int cyk_message_batch_append_row(cyk_message_batch_t *mb, const cyk_row_t *row) noexcept


cdef class RecordBatch:
    cdef cyk_batch_t *native
    cdef readonly list errors
    cdef readonly list partition_ends


cdef class RecordBatchStream:
    cdef Consumer _consumer
    cdef readonly tuple column_names
    cdef Py_ssize_t _batch_rows
    cdef object _timeout
    cdef Py_ssize_t _min_messages
    cdef int64_t _rows_left
    cdef bint _until_end
    cdef set _ended
    cdef object _max_bytes
    cdef readonly int64_t num_rows
    cdef object _error
    cdef bint _done


cdef class _StreamSource:
    # Where batches come from, and the last error as a C text.
    cdef object source
    cdef bytes error
