# Columns to messages: rows of Arrow data are enqueued in C, and their delivery is counted for the batch as a whole.
#
# The opaque pointer of such a message is no pointer: bit 0 is set, as in no reference; bits 1 to 47 are the number
# of the row, and those above the number of the batch in the producer's table of summaries. So a row costs no memory,
# and a report no look-up but one index. The table's references are Python's; it is used with the GIL held.

cdef int SUMMARY_BITS = 16
cdef Py_ssize_t SUMMARY_MAX = 1 << 16
cdef int64_t ROW_MAX = 1LL << 47

# Rows are enqueued in chunks; between them the thread looks at signals and whether the producer was closed.
cdef int64_t PRODUCE_CHUNK = 10000

_ROLES = ("key", "value", "headers", "partition", "timestamp", "topic")
_EXPECTED = {
    "key": "binary, string or fixed-size binary, also large, as views or dictionary-encoded",
    "value": "binary, string or fixed-size binary, also large, as views or dictionary-encoded",
    "headers": "a list of structs of key and value, or a map, both binary or string",
    "partition": "an integer",
    "timestamp": "a timestamp, or int64 milliseconds",
    "topic": "string, also large, as views or dictionary-encoded",
}


cdef class DeliverySummary:
    """What has become of the rows of one `Producer.produce_arrow`; may be read by any thread.

    Made by produce_arrow(); changes while poll() or flush() serves delivery reports.
    """

    def __init__(self):
        raise TypeError("DeliverySummary is made by Producer.produce_arrow()")

    def __dealloc__(self):
        if self.native is not NULL:
            cyk_delivery_destroy(self.native)

    cdef tuple _read(self):
        cdef int64_t enqueued, delivered, failed
        cdef bint complete
        cyk_delivery_read(self.native, &enqueued, &delivered, &failed, &complete)
        return enqueued, delivered, failed, complete

    @property
    def enqueued(self):
        """Number of rows that were enqueued."""
        return self._read()[0]

    @property
    def delivered(self):
        """Number of rows that brokers have acknowledged."""
        return self._read()[1]

    @property
    def failed(self):
        """Number of rows that have failed for good, those among them that were refused and never enqueued."""
        return self._read()[2]

    @property
    def complete(self):
        """True once every row that was enqueued is delivered or has failed."""
        return bool(self._read()[3])

    @property
    def failures(self):
        """Rows that have failed until now: list of (row number, `KafkaError`), counted from 0 over all batches."""
        cdef cyk_failure_t buffer[256]
        cdef size_t i, count
        cdef list result = []
        while True:
            count = cyk_delivery_failures(self.native, len(result), buffer, 256)
            for i in range(count):
                result.append((buffer[i].row, make_error(buffer[i].err)))
            if count < 256:
                return result

    def __repr__(self):
        enqueued, delivered, failed, complete = self._read()
        return (f"<DeliverySummary: {enqueued} enqueued, {delivered} delivered, {failed} failed, "
                f"{'complete' if complete else 'not complete'}>")


# Summaries of a producer

cdef Py_ssize_t _remember_summary(Producer producer, DeliverySummary summary) except -1:
    """Give the summary a number."""
    cdef Py_ssize_t i
    if producer._summaries is NULL:
        producer._summaries = <PyObject **>calloc(SUMMARY_MAX, sizeof(PyObject *))
        if producer._summaries is NULL:
            raise MemoryError
    for _ in range(SUMMARY_MAX):
        i = producer._next_summary
        producer._next_summary = (i + 1) % SUMMARY_MAX
        if producer._summaries[i] is NULL:
            Py_INCREF(summary)
            producer._summaries[i] = <PyObject *>summary
            return i
    raise BufferError(f"{SUMMARY_MAX} batches wait for their delivery reports: call poll() to serve them, or produce "
                      "larger batches")


cdef int _finish_summary(Producer producer, Py_ssize_t number) except -1:
    """Forget a summary that is complete and tell who wants to know."""
    cdef DeliverySummary summary = <DeliverySummary>producer._summaries[number]
    producer._summaries[number] = NULL
    Py_DECREF(summary)
    callback = summary._on_delivery
    if callback is not None:
        summary._on_delivery = None
        callback(summary)
    return 0


cdef int report_row(Producer producer, const rd_kafka_message_t *native) except -1:
    """Count the delivery report of a row."""
    cdef uint64_t opaque = <uint64_t><uintptr_t>native._private
    cdef Py_ssize_t number = <Py_ssize_t>(opaque >> 48)
    cdef DeliverySummary summary = <DeliverySummary>producer._summaries[number]
    if cyk_delivery_report(summary.native, <int64_t>((opaque & 0xFFFFFFFFFFFF) >> 1), native.err):
        _finish_summary(producer, number)
    return 0


cdef void forget_summaries(Producer producer) noexcept:
    """Let go of the summaries that will never be complete; the producer is about to go."""
    cdef Py_ssize_t i
    if producer._summaries is NULL:
        return
    for i in range(SUMMARY_MAX):
        if producer._summaries[i] is not NULL:
            Py_DECREF(<object>producer._summaries[i])
    free(producer._summaries)
    producer._summaries = NULL


# Reading the data

cdef class _ArrowSource:
    """Batches of an object that speaks the PyCapsule protocol, one after another."""

    def __cinit__(self, data):
        memset(&self._own_schema, 0, sizeof(ArrowSchema))
        memset(&self._current, 0, sizeof(ArrowArray))
        if hasattr(data, "__arrow_c_stream__"):
            self._capsules = data.__arrow_c_stream__()
            self._stream = <ArrowArrayStream *>PyCapsule_GetPointer(self._capsules, "arrow_array_stream")
            self._check(self._stream.get_schema(self._stream, &self._own_schema))
            self.schema = &self._own_schema
        elif hasattr(data, "__arrow_c_array__"):
            self._capsules = data.__arrow_c_array__()
            self.schema = <ArrowSchema *>PyCapsule_GetPointer(self._capsules[0], "arrow_schema")
            self._array = <ArrowArray *>PyCapsule_GetPointer(self._capsules[1], "arrow_array")
        else:
            raise TypeError(
                f"data must have __arrow_c_stream__ or __arrow_c_array__ (a table of pyarrow, polars, pandas, DuckDB "
                f"...), not {type(data).__name__}")
        if strcmp(self.schema.format, "+s") != 0:
            raise TypeError(f"data must be a table or record batch, not an array of Arrow type "
                            f"{decode_text(self.schema.format)!r}")

    def __dealloc__(self):
        self._drop()
        if self._own_schema.release is not NULL:
            self._own_schema.release(&self._own_schema)

    cdef void _drop(self) noexcept:
        if self._current.release is not NULL:
            self._current.release(&self._current)

    cdef int _check(self, int result) except -1:
        cdef const char *text
        if result != 0:
            text = self._stream.get_last_error(self._stream)
            reason = decode_text(text) or _os.strerror(result)
            raise RuntimeError(f"Failed to read the data: {reason}")
        return 0

    cdef ArrowArray *next_batch(self) except? NULL:
        """Return the next batch, valid until the next call; NULL at the end."""
        cdef ArrowArray *array = self._array
        cdef int result
        if self._stream is NULL:
            self._array = NULL
            return array
        self._drop()
        with nogil:
            result = self._stream.get_next(self._stream, &self._current)
        self._check(result)
        return NULL if self._current.release is NULL else &self._current

    cdef int find(self, str role, object name) except -2:
        """Return the index of a column, -1 if there is none and need not be."""
        if name is None:
            return -1
        if not isinstance(name, str):
            raise TypeError(f"name of the {role} column must be str or None, not {type(name).__name__}")
        names = [decode_text(self.schema.children[i].name) for i in range(self.schema.n_children)]
        count = names.count(name)
        if count > 1:
            raise ValueError(f"the data has {count} columns named {name!r}")
        if count == 0:
            if name == role:
                return -1
            raise ValueError(f"the data has no column {name!r} for the {role}; it has {', '.join(map(repr, names))}")
        return names.index(name)


# Producing

cdef int _open_columns(_ArrowSource source, cyk_rows_t *rows, const int *columns, const ArrowArray *batch) except -1:
    """Open the columns of a batch for reading."""
    cdef cyk_cells_t **cells = [&rows.key, &rows.value, &rows.headers, &rows.partitions, &rows.timestamps,
                                &rows.topics]
    cdef cyk_want_t *wants = [CYK_WANT_BYTES, CYK_WANT_BYTES, CYK_WANT_HEADERS, CYK_WANT_INTEGER,
                              CYK_WANT_TIMESTAMP, CYK_WANT_BYTES]
    cdef int i, result
    cyk_rows_begin(rows, batch)
    for i in range(6):
        if columns[i] < 0:
            continue
        result = cyk_cells_open(cells[i], source.schema.children[columns[i]], batch.children[columns[i]], batch.offset,
                                wants[i])
        if result < 0:
            raise MemoryError
        if result > 0:
            child = source.schema.children[columns[i]]
            described = decode_text(child.format)
            if child.dictionary is not NULL:
                described = f"dictionary of {decode_text(child.dictionary.format)}"
            raise TypeError(f"column {decode_text(child.name)!r} has Arrow type {described!r}, but the {_ROLES[i]} must "
                            f"be {_EXPECTED[_ROLES[i]]}: cast it")
    return 0


cdef object _bad_row(_ArrowSource source, cyk_rows_t *rows, const int *columns, cyk_rows_status_t status):
    """Return the exception for a row that cannot be a message."""
    cdef int role = {<int>CYK_ROWS_NO_TOPIC: 5, <int>CYK_ROWS_BAD_PARTITION: 3, <int>CYK_ROWS_BAD_TIMESTAMP: 4,
                     <int>CYK_ROWS_NO_HEADER_KEY: 2}.get(<int>status, -1)
    where = f"row {rows.first + rows.row}"
    if role >= 0:
        where = f"column {decode_text(source.schema.children[columns[role]].name)!r}, {where}"
    if status == CYK_ROWS_NO_TOPIC:
        return ValueError(f"{where}: the topic must not be null or empty")
    if status == CYK_ROWS_BAD_PARTITION:
        return ValueError(f"{where}: {rows.number} is not a partition number: it must be between -1 and 2147483647")
    if status == CYK_ROWS_BAD_TIMESTAMP:
        return ValueError(f"{where}: {rows.number} is not a timestamp that a message can have: it must not be before "
                          "1970, nor beyond 64 bits of milliseconds")
    if status == CYK_ROWS_NO_HEADER_KEY:
        return ValueError(f"{where}: the key of a header must not be null")
    return ValueError(f"{where}: the row is null")


cdef int _refuse_row(Producer producer, cyk_rows_t *rows, DeliverySummary summary) except -1:
    """Note the row in turn as failed and skip it; raises if no other row would fare better."""
    cdef rd_kafka_resp_err_t err = rows.err
    if err not in (RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
                   RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE,
                   RD_KAFKA_RESP_ERR__INVALID_ARG, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED):
        producer._raise_produce_error(err)
    cyk_delivery_refuse(summary.native, rows.first + rows.row, err)
    rows.row += 1
    return 0


cdef int _produce_batch(Producer producer, cyk_handle_t *handle, _ArrowSource source, cyk_rows_t *rows,
                        const int *columns, DeliverySummary summary, int64_t deadline) except -1:
    """Enqueue all rows of the batch that was opened."""
    cdef cyk_rows_status_t status
    cdef int64_t left
    cdef bint was_empty = False
    while rows.row < rows.length:
        with nogil:
            status = cyk_rows_produce(rows, PRODUCE_CHUNK)
            cyk_delivery_add(summary.native, rows.enqueued)
        PyErr_CheckSignals()
        producer._check_open()
        if status == CYK_ROWS_DONE:
            continue
        if status == CYK_ROWS_FULL:
            left = time_left(deadline)
            if left == 0 or was_empty and rd_kafka_outq_len(rows.rk) == 0:
                raise BufferError(
                    f"No room in the local queue for row {rows.first + rows.row}: raise timeout, or "
                    "queue.buffering.max.messages and queue.buffering.max.kbytes")
            if producer._in_event_loop:
                # The loop's thread serves the reports, perhaps before this one sees them.
                producer._check_woken(handle)
                left = min(left, 2000)
            else:
                producer._serve_queue(handle)
            producer._check_open()
            was_empty = rd_kafka_outq_len(rows.rk) == 0
            if not was_empty and producer._wait(handle, left) == CYK_WAIT_WOKEN:
                raise KafkaException(make_error(RD_KAFKA_RESP_ERR__INTR, "Interrupted by wakeup()"))
        elif status == CYK_ROWS_NEW_TOPIC:
            name = PyUnicode_DecodeUTF8(rows.topic, rows.topic_len, "surrogateescape")
            if cyk_rows_add_topic(rows, rows.topic, rows.topic_len, producer._native_topic(name)) != 0:
                raise MemoryError
        elif status == CYK_ROWS_REFUSED:
            _refuse_row(producer, rows, summary)
        else:
            raise _bad_row(source, rows, columns, status)
    return 0


cdef DeliverySummary produce_columns(Producer producer, object topic, object data, tuple names, object on_delivery,
                                     object timeout):
    """Do what `Producer.produce_arrow` promises."""
    cdef int64_t timeout_us = as_timeout_us(timeout)
    cdef int64_t deadline = 0 if timeout_us == 0 else deadline_after(timeout_us)
    cdef DeliverySummary summary
    cdef Py_ssize_t number
    cdef int columns[6]
    cdef int i
    cdef cyk_rows_t rows
    cdef ArrowArray *batch
    cdef _ArrowSource source
    cdef cyk_handle_t *handle
    if on_delivery is not None and not callable(on_delivery):
        raise TypeError(f"on_delivery must be callable, not {type(on_delivery).__name__}")
    source = _ArrowSource(data)
    for i in range(6):
        columns[i] = -1 if i == 5 and topic is not None else source.find(_ROLES[i], names[i])
    if columns[0] < 0 and columns[1] < 0:
        raise ValueError("the data has neither a column for the key nor one for the value: name one by key= or value=")
    if topic is None and columns[5] < 0:
        raise ValueError("topic is None and the data has no column for it: name one by topic_column=")
    if columns[3] < 0 and producer._hooks is not None and producer._hooks._partitioner is not None:
        raise ValueError("produce_arrow() does not call a partitioner written in Python: put the partition numbers "
                         "into a column and name it by partition=, or configure one of librdkafka's partitioners")
    memset(&rows, 0, sizeof(rows))
    rows.partition = -1
    handle = producer._enter()
    try:
        rows.rk = cyk_handle_rk(handle)
        if topic is not None:
            rows.rkt = producer._native_topic(topic)
        summary = DeliverySummary.__new__(DeliverySummary)
        summary.native = cyk_delivery_new()
        if summary.native is NULL:
            raise MemoryError
        summary._on_delivery = on_delivery
        number = _remember_summary(producer, summary)
        rows.opaque_base = <uint64_t>number << 48 | 1
        try:
            while True:
                batch = source.next_batch()
                if batch is NULL:
                    break
                _open_columns(source, &rows, columns, batch)
                _produce_batch(producer, handle, source, &rows, columns, summary, deadline)
        except BaseException as exc:
            exc.summary = summary
            raise
        finally:
            if cyk_delivery_close(summary.native):
                _finish_summary(producer, number)
        return summary
    finally:
        cyk_rows_clear(&rows)
        producer._exit(handle)
