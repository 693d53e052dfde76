cdef extern from "arrow_decode.h" nogil:
    ctypedef enum cyk_type_t:
        CYK_TYPE_PADDING
    ctypedef struct cyk_field_t:
        char *name
        size_t name_len
        cyk_type_t type
        char unit
        size_t size
    ctypedef struct cyk_decoder_t:
        bint json
        bint big_endian
        bint keep_corrupt
        bint stop_at_corrupt
        cyk_field_t *fields
        size_t field_cnt
        size_t size


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
        int64_t offset
        int64_t n_children
        ArrowArray **children
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
        size_t expected
        bint stopped
    int cyk_message_batch_init(cyk_message_batch_t *mb, const int *columns, size_t column_cnt, int64_t max_bytes,
                               const cyk_decoder_t *decoder) noexcept
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


cdef extern from "arrow_produce.h" nogil:
    ctypedef struct cyk_cells_t:
        pass
    ctypedef enum cyk_want_t:
        CYK_WANT_BYTES
        CYK_WANT_INTEGER
        CYK_WANT_TIMESTAMP
        CYK_WANT_HEADERS
    int cyk_cells_open(cyk_cells_t *cells, const ArrowSchema *schema, const ArrowArray *array, int64_t offset,
                       cyk_want_t want) noexcept

    ctypedef enum cyk_rows_status_t:
        CYK_ROWS_DONE
        CYK_ROWS_FULL
        CYK_ROWS_NEW_TOPIC
        CYK_ROWS_REFUSED
        CYK_ROWS_NO_TOPIC
        CYK_ROWS_BAD_PARTITION
        CYK_ROWS_BAD_TIMESTAMP
        CYK_ROWS_NO_HEADER_KEY
        CYK_ROWS_NULL
    ctypedef struct cyk_rows_t:
        rd_kafka_t *rk
        rd_kafka_topic_t *rkt
        int32_t partition
        cyk_cells_t key
        cyk_cells_t value
        cyk_cells_t headers
        cyk_cells_t partitions
        cyk_cells_t timestamps
        cyk_cells_t topics
        uint64_t opaque_base
        int64_t first
        int64_t row
        int64_t length
        int64_t enqueued
        rd_kafka_resp_err_t err
        const char *topic
        size_t topic_len
        int64_t number
    void cyk_rows_begin(cyk_rows_t *rows, const ArrowArray *batch) noexcept
    cyk_rows_status_t cyk_rows_produce(cyk_rows_t *rows, int64_t most) noexcept
    int cyk_rows_add_topic(cyk_rows_t *rows, const char *name, size_t len, rd_kafka_topic_t *rkt) noexcept
    void cyk_rows_clear(cyk_rows_t *rows) noexcept

    ctypedef struct cyk_failure_t:
        int64_t row
        rd_kafka_resp_err_t err
    ctypedef struct cyk_delivery_t:
        pass
    cyk_delivery_t *cyk_delivery_new() noexcept
    void cyk_delivery_destroy(cyk_delivery_t *delivery) noexcept
    bint cyk_delivery_report(cyk_delivery_t *delivery, int64_t row, rd_kafka_resp_err_t err) noexcept
    bint cyk_delivery_close(cyk_delivery_t *delivery) noexcept
    void cyk_delivery_refuse(cyk_delivery_t *delivery, int64_t row, rd_kafka_resp_err_t err) noexcept
    void cyk_delivery_add(cyk_delivery_t *delivery, int64_t enqueued) noexcept
    void cyk_delivery_read(cyk_delivery_t *delivery, int64_t *enqueued, int64_t *delivered, int64_t *failed,
                           bint *complete) noexcept
    size_t cyk_delivery_failures(cyk_delivery_t *delivery, size_t first, cyk_failure_t *out, size_t cnt) noexcept


cdef class RecordBatch:
    cdef cyk_batch_t *native
    cdef readonly list errors
    cdef readonly list partition_ends


cdef class Decoder:
    cdef cyk_decoder_t native
    cdef readonly dict fields
    cdef readonly str on_error
    cdef int _fill(self, object fields, object on_error, bint json) except -1


cdef class RecordBatchStream:
    cdef Decoder _decoder
    cdef Consumer _consumer
    cdef list _columns
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


cdef class DeliverySummary:
    cdef cyk_delivery_t *native
    cdef object _on_delivery
    cdef tuple _read(self)


cdef class _ArrowSource:
    # Capsules, which own what the pointers below refer to.
    cdef object _capsules
    cdef ArrowSchema *schema
    cdef ArrowSchema _own_schema
    cdef ArrowArrayStream *_stream
    cdef ArrowArray *_array
    cdef ArrowArray _current
    cdef void _drop(self) noexcept
    cdef int _check(self, int result) except -1
    cdef ArrowArray *next_batch(self) except? NULL
    cdef int find(self, str role, object name) except -2


cdef int report_row(Producer producer, const rd_kafka_message_t *native) except -1
cdef void forget_summaries(Producer producer) noexcept
