# Conversions between Python and C values: text, bytes, time-outs, headers. No state; the caller holds the GIL.

# The longest stretch without looking at signals, wakeup() and close(); Ctrl-C is promised within 50 ms.
cdef int64_t SLICE_US = 40000
cdef int64_t FOREVER = -1
cdef const char *EMPTY = b""


cdef object decode_text(const char *text):
    """Decode librdkafka's text, None for NULL; it may quote bytes that are not UTF-8."""
    if text is NULL:
        return None
    return PyUnicode_DecodeUTF8(text, strlen(text), "replace")


cdef object decode_name(const char *name):
    """Decode a name that must survive a round trip (topic, group, metadata), None for NULL."""
    if name is NULL:
        return None
    return PyUnicode_DecodeUTF8(name, strlen(name), "surrogateescape")


cdef inline object as_index(object value, str what):
    """Return an int, given one or what stands for one; a float is refused, where C would cut it."""
    if type(value) is int:
        return value
    try:
        return PyNumber_Index(value)
    except TypeError:
        raise TypeError(f"{what} must be int, not {type(value).__name__}") from None


cdef bytes encode_name(object name, str what):
    """Encode a name for C, refusing what C would cut short."""
    if not isinstance(name, str):
        raise TypeError(f"{what} must be str, not {type(name).__name__}")
    cdef bytes encoded
    # Errors without the text itself: it may be a secret.
    try:
        encoded = (<str>name).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError(f"{what} must not contain lone surrogates") from None
    if b"\0" in encoded:
        raise ValueError(f"{what} must not contain a NUL character")
    return encoded


cdef int64_t as_timeout_us(object timeout) except -2:
    """Convert seconds to microseconds, rounding up; None and -1 mean FOREVER."""
    cdef double seconds
    if timeout is None:
        return FOREVER
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        try:
            seconds = timeout.__float__()
        except AttributeError:
            raise TypeError(f"timeout must be a number of seconds or None, not {type(timeout).__name__}") from None
    else:
        seconds = timeout
    if seconds == -1.0:
        return FOREVER
    if not seconds >= 0.0:
        raise ValueError(f"timeout must be >= 0 seconds, or -1 or None to wait without limit, not {timeout!r}")
    if seconds > 1e12:
        return FOREVER
    return <int64_t>ceil(seconds * 1e6)


cdef int as_timeout_ms(object timeout) except -2:
    """Convert seconds to the milliseconds of an admin option, rounding up; None and -1 stay -1."""
    cdef int64_t us = as_timeout_us(timeout)
    if us < 0:
        return -1
    return <int>min((us + 999) // 1000, 2147483647)


cdef inline int64_t deadline_after(int64_t timeout_us) noexcept:
    """Return the clock value at which the time-out ends, FOREVER if it does not."""
    return FOREVER if timeout_us < 0 else cyk_clock_us() + timeout_us


cdef inline int64_t time_left(int64_t deadline) noexcept:
    """Return the microseconds until the deadline, at most one slice; 0 when it has passed."""
    cdef int64_t left
    if deadline < 0:
        return SLICE_US
    left = deadline - cyk_clock_us()
    if left <= 0:
        return 0
    return left if left < SLICE_US else SLICE_US


cdef struct Span:
    # A borrowed run of bytes: valid until release_span(), and while the Python object lives.
    const char *ptr
    Py_ssize_t size
    bint has_view
    Py_buffer view


cdef int get_span(object data, Span *span, str what) except -1:
    """Borrow the bytes of str, bytes, None or any object with the buffer protocol."""
    span.has_view = False
    if data is None:
        span.ptr = NULL
        span.size = 0
    elif type(data) is bytes:
        span.ptr = PyBytes_AS_STRING(data)
        span.size = PyBytes_GET_SIZE(data)
    elif isinstance(data, str):
        span.ptr = PyUnicode_AsUTF8AndSize(data, &span.size)
    elif PyObject_CheckBuffer(data):
        PyObject_GetBuffer(data, &span.view, PyBUF_SIMPLE)
        span.has_view = True
        # A NULL pointer would make an empty value a missing one (a tombstone).
        span.ptr = <const char *>span.view.buf if span.view.buf is not NULL else EMPTY
        span.size = span.view.len
    else:
        raise TypeError(f"{what} must be str, a bytes-like object or None, not {type(data).__name__}")
    return 0


cdef inline void release_span(Span *span) noexcept:
    """Give back what get_span() borrowed."""
    if span.has_view:
        span.has_view = False
        PyBuffer_Release(&span.view)


cdef rd_kafka_headers_t *make_headers(object headers) except? NULL:
    """Build native headers from a dict or an iterable of (name, value) pairs; NULL if there are none."""
    cdef rd_kafka_headers_t *native
    cdef Span value_span
    cdef const char *name_ptr
    cdef Py_ssize_t name_size
    if isinstance(headers, dict):
        pairs = headers.items()
    elif isinstance(headers, (list, tuple)):
        pairs = headers
    else:
        raise TypeError(
            f"headers must be a dict or a list of (str, str | bytes | None) pairs, not {type(headers).__name__}")
    if not headers:
        return NULL
    native = rd_kafka_headers_new(len(headers))
    try:
        for pair in pairs:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(f"headers must be (name, value) pairs, not {pair!r:.100}")
            name, value = pair
            if not isinstance(name, str):
                raise TypeError(f"header name must be str, not {type(name).__name__}")
            name_ptr = PyUnicode_AsUTF8AndSize(name, &name_size)
            get_span(value, &value_span, f"value of header {name!r}")
            err = rd_kafka_header_add(native, name_ptr, name_size, value_span.ptr, value_span.size)
            release_span(&value_span)
            check_err(err, f"header {name!r}")
    except BaseException:
        rd_kafka_headers_destroy(native)
        raise
    return native


cdef list read_headers(const rd_kafka_headers_t *native):
    """Return headers as a list of (str, bytes or None), in order, duplicates kept."""
    cdef const char *name
    cdef const void *value
    cdef size_t size
    cdef size_t i = 0
    cdef list result = []
    while rd_kafka_header_get_all(native, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR:
        result.append((
            decode_name(name),
            None if value is NULL else PyBytes_FromStringAndSize(<const char *>value, size)))
        i += 1
    return result
