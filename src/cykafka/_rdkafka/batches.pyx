# Batches of messages given as dicts. Belongs to Producer.produce_batch(); the caller holds the GIL.

cdef int64_t _row_timestamp(object timestamp, Py_ssize_t index) except -1:
    cdef int64_t native
    if timestamp is None:
        return 0
    try:
        native = PyNumber_Index(timestamp)
    except TypeError:
        raise TypeError(f"timestamp of message at index {index} must be an int, not {type(timestamp).__name__}") from None
    if native < 0:
        raise ValueError(f"timestamp of message at index {index} must be >= 0 milliseconds, not {timestamp}")
    return native


cdef int32_t _row_partition(object partition, int32_t default, Py_ssize_t index) except? -2:
    if partition is None:
        return default
    try:
        return PyNumber_Index(partition)
    except TypeError:
        raise TypeError(f"partition of message at index {index} must be an int, not {type(partition).__name__}") from None


cdef rd_kafka_resp_err_t _enqueue_row(Producer producer, object topic, dict row, int32_t default_partition,
                                      object default_callback, Py_ssize_t index, int64_t timeout_us) except *:
    """Enqueue one message of a batch, waiting for room if there is a time-out; returns librdkafka's error."""
    cdef object value = row.get("value")
    cdef object key = row.get("key")
    cdef object callback = row.get("on_delivery")
    cdef object headers = row.get("headers")
    cdef object opaque = row.get("opaque")
    cdef Sending sending
    cdef int32_t partition = _row_partition(row.get("partition"), default_partition, index)
    cdef int64_t timestamp = _row_timestamp(row.get("timestamp"), index)
    if callback is None:
        callback = row.get("callback")
        if callback is None:
            callback = default_callback
    if callback is not None and not callable(callback):
        raise TypeError(f"callback of message at index {index} must be callable, not {type(callback).__name__}")
    sending.copy = as_copy(row.get("copy"))
    sending.deadline_us = as_deadline(row.get("deadline"))
    if producer._hooks is not None:
        return enqueue_hooked(producer, topic, value, key, partition, callback, timestamp, headers, opaque, sending,
                              timeout_us)
    if timeout_us != 0:
        return producer._enqueue_waiting(topic, value, key, partition, callback, timestamp, headers, opaque, sending,
                                         timeout_us)
    if (type(value) is bytes and PyBytes_GET_SIZE(value) < ZERO_COPY_BYTES and (key is None or type(key) is bytes)
            and timestamp == 0 and headers is None and opaque is None and sending.copy != KEEP
            and not sending.deadline_us):
        return producer._enqueue_bytes(topic, value, key, partition, callback)
    try:
        return producer._enqueue(topic, value, key, partition, callback, timestamp, headers, opaque, sending)
    except (TypeError, ValueError) as exc:
        if type(exc) is not TypeError and type(exc) is not ValueError:
            raise
        # The same error, which now tells the row.
        raise type(exc)(f"message at index {index}: {exc}") from None


cdef object produce_rows(Producer producer, object topic, object messages, int32_t partition, object on_delivery,
                         int64_t timeout_us):
    """Enqueue the rows of a batch in order; returns how many were enqueued."""
    cdef rd_kafka_resp_err_t err
    cdef list rows
    cdef object row
    cdef Py_ssize_t index = 0
    cdef Py_ssize_t enqueued = 0
    cdef int64_t deadline = deadline_after(timeout_us)
    if on_delivery is not None and not callable(on_delivery):
        raise TypeError(f"on_delivery must be callable, not {type(on_delivery).__name__}")
    if not isinstance(messages, list):
        raise TypeError(f"messages must be a list of dicts, not {type(messages).__name__}")
    rows = <list>messages
    try:
        # Not a range: callbacks that are served in between may change the list.
        while index < len(rows):
            row = rows[index]
            if not isinstance(row, dict):
                raise TypeError(f"Message at index {index} must be a dict, not {type(row).__name__}")
            # Interceptors see a message once, so that one with interceptors waits at once.
            err = RD_KAFKA_RESP_ERR__QUEUE_FULL
            if producer._hooks is None:
                err = _enqueue_row(producer, topic, <dict>row, partition, on_delivery, index, 0)
            if err == RD_KAFKA_RESP_ERR__QUEUE_FULL and (timeout_us != 0 or producer._hooks is not None):
                err = _enqueue_row(producer, topic, <dict>row, partition, on_delivery, index,
                                   FOREVER if deadline < 0 else max(deadline - cyk_clock_us(), 0))
                if err == RD_KAFKA_RESP_ERR__QUEUE_FULL:
                    # The time is over, or wakeup() was called: what follows does not wait any more.
                    timeout_us = 0
                    deadline = 0
            if err == RD_KAFKA_RESP_ERR_NO_ERROR:
                enqueued += 1
                (<dict>row).pop("_error", None)
            else:
                (<dict>row)["_error"] = make_error(err, f"Message failed: {decode_text(rd_kafka_err2str(err))}")
            index += 1
    except BaseException:
        error = make_error(RD_KAFKA_RESP_ERR__INTR, "Not enqueued: the batch was interrupted")
        for row in rows[index:]:
            if isinstance(row, dict):
                (<dict>row)["_error"] = error
        raise
    return enqueued
