# Messages as columns: batches and streams of them for Arrow libraries, by the Arrow PyCapsule protocol.
#
# A batch's memory is counted by references in C: capsules, and what was imported from them, outlive the batch, the
# consumer and, at exit, the interpreter. Filling one needs no GIL; only error events become Python objects.

# Messages are put into columns in chunks that stay in the processor's cache.
cdef Py_ssize_t ARROW_CHUNK = 512

# In the order of the CYK_MESSAGE_ constants.
_COLUMN_NAMES = ("key", "value", "topic", "partition", "offset", "timestamp", "timestamp_type", "headers")


cdef void _free_schema(object capsule) noexcept:
    cdef ArrowSchema *schema = <ArrowSchema *>PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release is not NULL:
        schema.release(schema)
    free(schema)


cdef void _free_array(object capsule) noexcept:
    cdef ArrowArray *array = <ArrowArray *>PyCapsule_GetPointer(capsule, "arrow_array")
    if array.release is not NULL:
        array.release(array)
    free(array)


cdef void _free_stream(object capsule) noexcept:
    cdef ArrowArrayStream *stream = <ArrowArrayStream *>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if stream.release is not NULL:
        stream.release(stream)
    free(stream)


cdef object export_schema(const cyk_column_t *column):
    """Return a capsule with the schema of a column."""
    cdef ArrowSchema *schema = <ArrowSchema *>malloc(sizeof(ArrowSchema))
    if schema is NULL or cyk_column_export_schema(column, schema) != 0:
        free(schema)
        raise MemoryError
    return PyCapsule_New(schema, "arrow_schema", _free_schema)


cdef object export_array(cyk_batch_t *batch):
    """Return a capsule with the data of a batch."""
    cdef ArrowArray *array = <ArrowArray *>malloc(sizeof(ArrowArray))
    if array is NULL or cyk_batch_export_array(batch, array) != 0:
        free(array)
        raise MemoryError
    return PyCapsule_New(array, "arrow_array", _free_array)


cdef object export_stream(object source):
    """Return a capsule with a stream over a `RecordBatchStream` or a `_SingleBatch`, which it keeps alive."""
    cdef _StreamSource state = _StreamSource(source)
    cdef ArrowArrayStream *stream = <ArrowArrayStream *>malloc(sizeof(ArrowArrayStream))
    if stream is NULL:
        raise MemoryError
    stream.get_schema = _stream_schema
    stream.get_next = _stream_next
    stream.get_last_error = _stream_error
    stream.release = _stream_release
    stream.private_data = <void *>state
    Py_INCREF(state)
    return PyCapsule_New(stream, "arrow_array_stream", _free_stream)


cdef class RecordBatch:
    """Rows of messages as columns of Arrow memory, made by `Consumer.consume_arrow`.

    Any Arrow library takes it (``__arrow_c_array__``, ``__arrow_c_stream__``) without a copy and as often as wanted;
    the memory lives as long as any of them needs it. May be used by any thread.

    Attributes:
        errors: Error events that came with the messages, as a list of `Message` (see `Message.error`).
        partition_ends: Partitions whose end was reached, as a list of `TopicPartition` with the offset of the next
            message (needs ``enable.partition.eof=true``).
    """

    def __init__(self):
        raise TypeError("RecordBatch is made by Consumer.consume_arrow()")

    def __dealloc__(self):
        if self.native is not NULL:
            with nogil:
                cyk_batch_release(self.native)

    def __len__(self):
        return cyk_batch_root(self.native).length

    def __bool__(self):
        return cyk_batch_root(self.native).length > 0 or bool(self.errors) or bool(self.partition_ends)

    def __repr__(self):
        return (f"<RecordBatch of {self.num_rows} rows: {', '.join(self.column_names)}; "
                f"{len(self.errors)} errors, {len(self.partition_ends)} partition ends>")

    @property
    def num_rows(self):
        """Number of rows."""
        return cyk_batch_root(self.native).length

    @property
    def num_columns(self):
        """Number of columns."""
        return cyk_batch_root(self.native).child_cnt

    @property
    def column_names(self):
        """Names of the columns, in order."""
        cdef cyk_column_t *root = cyk_batch_root(self.native)
        return [decode_name(root.children[i].name) for i in range(root.child_cnt)]

    @property
    def nbytes(self):
        """Bytes of memory that the columns hold."""
        return cyk_batch_size(self.native)

    def __arrow_c_schema__(self):
        """Return the schema as a PyCapsule (Arrow PyCapsule protocol)."""
        return export_schema(cyk_batch_root(self.native))

    def __arrow_c_array__(self, requested_schema=None):
        """Return schema and data as PyCapsules (Arrow PyCapsule protocol); another schema is never produced."""
        return self.__arrow_c_schema__(), export_array(self.native)

    def __arrow_c_stream__(self, requested_schema=None):
        """Return the batch as a stream of one batch (Arrow PyCapsule protocol)."""
        return export_stream(_SingleBatch(self))


class _SingleBatch:
    """Source of a stream that has one batch."""

    def __init__(self, batch):
        self._batch = batch

    def __arrow_c_schema__(self):
        return self._batch.__arrow_c_schema__()

    def _next_batch(self):
        batch, self._batch = self._batch, None
        return batch


# Consuming

cdef int _parse_columns(object columns, Decoder decoder, int *numbers, size_t *count) except -1:
    """Translate column names into CYK_MESSAGE_ numbers."""
    count[0] = 0
    if columns is None:
        columns = [name for name in _COLUMN_NAMES if decoder is None or name != "value" and name not in decoder.fields]
    elif isinstance(columns, (str, bytes)):
        raise TypeError(f"columns must be a list of names, not {type(columns).__name__}")
    for name in columns:
        try:
            number = _COLUMN_NAMES.index(name)
        except ValueError:
            raise ValueError(f"no such column: {name!r}; there are {', '.join(_COLUMN_NAMES)}") from None
        if any(numbers[i] == number for i in range(count[0])):
            raise ValueError(f"column {name!r} is named twice")
        numbers[count[0]] = number
        count[0] += 1
        if decoder is not None and name in decoder.fields:
            raise ValueError(f"column {name!r} is a field of decode, too: leave it out of columns")
    if count[0] == 0 and decoder is None:
        raise ValueError("columns must name one column at least")
    return 0


cdef Decoder _parse_decode(object decode):
    if decode is not None and not isinstance(decode, Decoder):
        raise TypeError(f"decode must be a JsonDecoder or StructDecoder, not {type(decode).__name__}")
    return decode


cdef int64_t _parse_max_bytes(object max_bytes) except -1:
    if max_bytes is None:
        return CYK_COLUMN_BYTES_MAX
    if not 1 <= max_bytes <= CYK_COLUMN_BYTES_MAX:
        raise ValueError(f"max_bytes must be between 1 and {CYK_COLUMN_BYTES_MAX}, not {max_bytes}")
    return max_bytes


cdef Py_ssize_t _append_messages(Consumer consumer, cyk_message_batch_t *mb, RecordBatch batch,
                                 list messages) except -1:
    """Put messages that an earlier call had left into the batch; returns how many fitted."""
    cdef Py_ssize_t taken = 0
    cdef Message message
    cdef Span topic, key, value
    cdef cyk_row_t row
    cdef int result
    for message in messages:
        if message._error is not None:
            _report_event(batch, message)
            taken += 1
            continue
        get_span(message._topic, &topic, "topic")
        get_span(message._key, &key, "key")
        get_span(message._value, &value, "value")
        row.topic = topic.ptr
        row.topic_len = topic.size
        row.key = key.ptr
        row.key_len = key.size
        row.value = value.ptr
        row.value_len = value.size
        row.partition = message._partition
        row.offset = message._offset
        row.timestamp = message._timestamp
        row.timestamp_type = message._timestamp_type
        row.headers = message._native_headers
        with nogil:
            result = cyk_message_batch_append_row(mb, &row)
        if result < 0 and taken == 0:
            raise MemoryError
        if result == 0 and taken == 0:
            _raise_corrupt(consumer)
        if result <= 0:
            break
        taken += 1
    return taken


cdef int _raise_corrupt(Consumer consumer) except -1:
    """Raise for the message that comes next, which is passed over by that."""
    cdef Message message = consumer._return_unreturned(1)[0]
    exc = ValueError(f"the value of {message._topic} [{message._partition}] @ {message._offset} is not what the fields "
                     "of decode say")
    exc.message = message
    raise exc


cdef int _report_event(RecordBatch batch, Message message) except -1:
    """Sort an event to those that the batch reports."""
    if (<KafkaError>message._error)._code == RD_KAFKA_RESP_ERR__PARTITION_EOF:
        batch.partition_ends.append(TopicPartition(message._topic, message._partition, message._offset))
    else:
        batch.errors.append(message)
    return 0


cdef int _report_events(Consumer consumer, cyk_message_batch_t *mb, RecordBatch batch) except -1:
    cdef rd_kafka_message_t *native
    cdef size_t first = 0
    try:
        while first < mb.event_cnt:
            native = mb.events[first]
            first += 1
            _report_event(batch, consumer._take(native))
    finally:
        # Those that were taken are destroyed.
        memmove(mb.events, mb.events + first, (mb.event_cnt - first) * sizeof(rd_kafka_message_t *))
        mb.event_cnt -= first
    return 0


cdef RecordBatch consume_columns(Consumer consumer, object num_messages, object timeout, object columns,
                                 object min_messages, object max_bytes, object decode):
    """Do what `Consumer.consume_arrow` promises."""
    cdef Py_ssize_t most = num_messages
    cdef Py_ssize_t least = min_messages
    cdef int64_t deadline = deadline_after(as_timeout_us(timeout))
    cdef int64_t left
    cdef int numbers[8]
    cdef size_t number_cnt
    cdef Py_ssize_t capacity, fetched, taken
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t total = 0
    cdef rd_kafka_message_t **natives = NULL
    cdef rd_kafka_queue_t *queue
    cdef cyk_handle_t *handle
    cdef cyk_message_batch_t mb
    cdef Decoder decoder = _parse_decode(decode)
    cdef RecordBatch batch = RecordBatch.__new__(RecordBatch)
    batch.errors = []
    batch.partition_ends = []
    if not 0 <= most <= MAX_BATCH:
        raise ValueError(f"num_messages must be between 0 and 1000000 (1M), not {num_messages}")
    if not 0 <= least <= max(most, 1):
        raise ValueError(f"min_messages must be between 0 and num_messages, not {min_messages}")
    _parse_columns(columns, decoder, numbers, &number_cnt)
    memset(&mb, 0, sizeof(mb))
    left = _parse_max_bytes(max_bytes)
    handle = consumer._enter()
    try:
        if cyk_message_batch_init(&mb, numbers, number_cnt, left, native_decoder(decoder)) != 0:
            raise MemoryError
        if most == 0:
            batch.native = mb.batch
            cyk_batch_keep(mb.batch)
            return batch
        if consumer._unreturned is not None:
            taken = _append_messages(consumer, &mb, batch, consumer._unreturned[:most])
            consumer._return_unreturned(taken)
            batch.native = mb.batch
            cyk_batch_keep(mb.batch)
            return batch
        queue = cyk_handle_queue(handle)
        capacity = min(most, max(least, ARROW_CHUNK))
        natives = <rd_kafka_message_t **>malloc(capacity * sizeof(rd_kafka_message_t *))
        if natives is NULL:
            raise MemoryError
        # As many as have to be waited for are held as they are: an interrupted call keeps them for the next one.
        try:
            consumer._serve_meanwhile(handle)
            while True:
                if count == 0 and cyk_handle_pending(handle):
                    consumer._serve_pending(handle)
                    consumer._check_open()
                with nogil:
                    fetched = rd_kafka_consume_batch_queue(queue, 0, natives + count, capacity - count)
                if fetched > 0:
                    count += fetched
                if count >= least and count > 0:
                    break
                if cyk_handle_pending(handle):
                    if count == 0:
                        continue
                    break
                left = time_left(deadline)
                if left == 0 or consumer._wait(handle, left) == CYK_WAIT_WOKEN:
                    break
        except BaseException:
            if count > 0:
                consumer._unreturned = consumer._make_messages(natives, count)
            raise
        mb.expected = min(most, count + rd_kafka_queue_length(queue))
        # What else is there is taken without waiting.
        with nogil:
            while True:
                taken = cyk_message_batch_append(&mb, natives, count)
                if taken < count:
                    break
                total += count
                count = 0
                if total == most or cyk_handle_pending(handle):
                    break
                count = rd_kafka_consume_batch_queue(queue, 0, natives, min(ARROW_CHUNK, most - total))
                if count <= 0:
                    break
        if 0 <= taken < count or taken < 0:
            taken = max(taken, 0)
            consumer._unreturned = consumer._make_messages(natives + taken, count - taken)
            if cyk_batch_root(mb.batch).length == 0 and mb.event_cnt == 0:
                if mb.stopped:
                    _raise_corrupt(consumer)
                raise MemoryError
        batch.native = mb.batch
        cyk_batch_keep(mb.batch)
        _report_events(consumer, &mb, batch)
        return batch
    finally:
        with nogil:
            cyk_message_batch_clear(&mb)
        free(natives)
        consumer._exit(handle)


# Streams

cdef RecordBatchStream make_record_batch_stream(Consumer consumer, object num_messages, object timeout,
                                                object columns, object min_messages, object max_rows,
                                                object until_end, object max_bytes, object decode):
    """Do what `Consumer.arrow_batches` promises."""
    cdef int numbers[8]
    cdef size_t number_cnt
    cdef RecordBatchStream stream = RecordBatchStream.__new__(RecordBatchStream)
    stream._batch_rows = num_messages
    if not 1 <= stream._batch_rows <= MAX_BATCH:
        raise ValueError(f"num_messages must be between 1 and 1000000 (1M), not {num_messages}")
    stream._min_messages = min_messages
    if not 0 <= stream._min_messages <= stream._batch_rows:
        raise ValueError(f"min_messages must be between 0 and num_messages, not {min_messages}")
    stream._decoder = _parse_decode(decode)
    _parse_columns(columns, stream._decoder, numbers, &number_cnt)
    as_timeout_us(timeout)
    _parse_max_bytes(max_bytes)
    stream._rows_left = -1
    if max_rows is not None:
        if max_rows < 0:
            raise ValueError(f"max_rows must be >= 0 or None, not {max_rows}")
        stream._rows_left = max_rows
    if until_end and str(consumer._config.get("enable.partition.eof", "false")).lower() not in ("true", "t", "1"):
        raise ValueError("until_end needs enable.partition.eof=true in the consumer's configuration")
    stream._consumer = consumer
    stream._columns = [_COLUMN_NAMES[numbers[i]] for i in range(number_cnt)]
    stream._timeout = timeout
    stream._until_end = until_end
    stream._ended = set()
    stream._max_bytes = max_bytes
    return stream


cdef class RecordBatchStream:
    """Batches of messages, made by `Consumer.arrow_batches`.

    Iterate over it for one `RecordBatch` after another, with errors and partition ends reported by each. Or give it
    to an Arrow library as a whole (``__arrow_c_stream__``): ``pyarrow.RecordBatchReader.from_stream(stream)``,
    ``polars.DataFrame(stream)``; there an error event ends the stream with its text, after the rows before it, and
    so does an exception of a callback. To be read by one thread at a time.

    Attributes:
        num_rows: Rows returned until now.
    """

    def __init__(self):
        raise TypeError("RecordBatchStream is made by Consumer.arrow_batches()")

    @property
    def column_names(self):
        """Names of the columns, in order."""
        names = list(self._columns)
        if self._decoder is not None:
            names += self._decoder.column_names
        return names

    def __iter__(self):
        return self

    def __next__(self):
        cdef RecordBatch batch
        cdef Py_ssize_t most = self._batch_rows
        if self._rows_left >= 0:
            most = min(most, self._rows_left)
        if self._done or most == 0:
            raise StopIteration
        batch = consume_columns(self._consumer, most, self._timeout, self._columns,
                                min(self._min_messages, most), self._max_bytes, self._decoder)
        if not batch:
            # The time is over, or wakeup() was called.
            self._done = True
            raise StopIteration
        self.num_rows += cyk_batch_root(batch.native).length
        if self._rows_left >= 0:
            self._rows_left -= cyk_batch_root(batch.native).length
        if self._until_end and batch.partition_ends:
            self._ended.update(batch.partition_ends)
            self._done = self._ended.issuperset(self._consumer.assignment())
        return batch

    def _next_batch(self):
        """Return the next batch that has rows, None at the end; raises what is reported apart otherwise."""
        cdef RecordBatch batch
        if self._error is not None:
            raise self._error
        for batch in self:
            if batch.errors:
                self._error = make_exception((<Message>batch.errors[0])._error)
            if cyk_batch_root(batch.native).length > 0:
                return batch
            if self._error is not None:
                raise self._error
        return None

    def __arrow_c_schema__(self):
        """Return the schema as a PyCapsule (Arrow PyCapsule protocol)."""
        cdef int numbers[8]
        cdef size_t number_cnt
        cdef cyk_message_batch_t mb
        _parse_columns(self._columns, self._decoder, numbers, &number_cnt)
        memset(&mb, 0, sizeof(mb))
        try:
            if cyk_message_batch_init(&mb, numbers, number_cnt, CYK_COLUMN_BYTES_MAX,
                                      native_decoder(self._decoder)) != 0:
                raise MemoryError
            return export_schema(cyk_batch_root(mb.batch))
        finally:
            cyk_message_batch_clear(&mb)

    def __arrow_c_stream__(self, requested_schema=None):
        """Return the stream as a PyCapsule (Arrow PyCapsule protocol); it continues where iterating has got to."""
        return export_stream(self)


cdef class _StreamSource:
    """What a C stream refers to."""

    def __cinit__(self, source):
        self.source = source


cdef int _keep_error(_StreamSource state, object exc) noexcept:
    """Remember an exception for get_last_error(); returns the errno."""
    try:
        state.error = f"{type(exc).__name__}: {exc}".encode("utf-8", "replace").replace(b"\0", b" ")
    except BaseException:
        state.error = b"unknown error"
    return 5


cdef int _stream_schema(ArrowArrayStream *stream, ArrowSchema *out) noexcept with gil:
    cdef _StreamSource state = <_StreamSource>stream.private_data
    cdef ArrowSchema *schema
    try:
        capsule = state.source.__arrow_c_schema__()
        schema = <ArrowSchema *>PyCapsule_GetPointer(capsule, "arrow_schema")
        memcpy(out, schema, sizeof(ArrowSchema))
        schema.release = NULL
        return 0
    except BaseException as exc:
        return _keep_error(state, exc)


cdef int _stream_next(ArrowArrayStream *stream, ArrowArray *out) noexcept with gil:
    cdef _StreamSource state = <_StreamSource>stream.private_data
    cdef RecordBatch batch
    try:
        batch = state.source._next_batch()
        if batch is None:
            memset(out, 0, sizeof(ArrowArray))
            return 0
        if cyk_batch_export_array(batch.native, out) != 0:
            raise MemoryError
        return 0
    except KeyboardInterrupt as exc:
        # The reader turns this into an exception of its own; the interrupt itself must not be lost.
        PyErr_SetInterrupt()
        return _keep_error(state, exc)
    except BaseException as exc:
        return _keep_error(state, exc)


cdef const char *_stream_error(ArrowArrayStream *stream) noexcept with gil:
    cdef _StreamSource state = <_StreamSource>stream.private_data
    return NULL if state.error is None else <const char *>state.error


cdef void _stream_release(ArrowArrayStream *stream) noexcept with gil:
    cdef object state = <object>stream.private_data
    stream.release = NULL
    Py_DECREF(state)
