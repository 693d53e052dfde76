# Errors: KafkaError, the exceptions, and the helpers for the three ways in which librdkafka reports failure.
# Pure data; may be used by any thread.


cdef class KafkaError:
    """KafkaError(code=None, reason=None, fatal=False, retriable=False, txn_requires_abort=False, *, error=None)\n--\n
    An error or event reported by librdkafka or by a broker.

    Compares and hashes by its code, also with plain integers: ``error == KafkaError._PARTITION_EOF``. The codes are
    attributes of the class: those of librdkafka begin with an underscore, those of the broker do not.

    Args:
        code: Error code, ``rd_kafka_resp_err_t``; the keyword ``error`` will do, too.
        reason: Human-readable text; librdkafka's own description of the code if not given.
        fatal: The client instance cannot be used any more.
        retriable: The operation may be tried again.
        txn_requires_abort: The current transaction must be aborted.

    Raises:
        TypeError: If an argument has the wrong type.
    """

    def __init__(self, code=None, reason=None, fatal=False, retriable=False, txn_requires_abort=False, *, error=None):
        if code is None:
            code = error
        if reason is not None and not isinstance(reason, str):
            raise TypeError(f"reason must be str or None, not {type(reason).__name__}")
        self._code = as_index(code, "code")
        self._reason = reason
        self._fatal = bool(fatal)
        self._retriable = bool(retriable)
        self._txn_requires_abort = bool(txn_requires_abort)

    def code(self):
        """Return the error code, one of the integer attributes of this class."""
        return self._code

    def name(self):
        """Return the name of the code, for example ``"_TIMED_OUT"`` (``rd_kafka_err2name``)."""
        return (<bytes>rd_kafka_err2name(<rd_kafka_resp_err_t>self._code)).decode()

    def str(self):
        """Return the human-readable text of the error."""
        if self._reason is not None:
            return self._reason
        return (<bytes>rd_kafka_err2str(<rd_kafka_resp_err_t>self._code)).decode("utf-8", "replace")

    def fatal(self):
        """Return True if the client instance is unusable (``rd_kafka_error_is_fatal``)."""
        return self._fatal

    def retriable(self):
        """Return True if the operation may be retried (``rd_kafka_error_is_retriable``)."""
        return self._retriable

    def txn_requires_abort(self):
        """Return True if the transaction must be aborted (``rd_kafka_error_txn_requires_abort``)."""
        return self._txn_requires_abort

    def __repr__(self):
        fatal = "FATAL," if self._fatal else ""
        return f'KafkaError{{{fatal}code={self.name()},val={self._code},str="{self.str()}"}}'

    def __str__(self):
        return self.__repr__()

    def __hash__(self):
        return self._code

    def __richcmp__(self, other, int op):
        cdef int mine = self._code
        cdef int theirs
        if isinstance(other, KafkaError):
            theirs = (<KafkaError>other)._code
        elif isinstance(other, int):
            try:
                theirs = other
            except OverflowError:
                return NotImplemented
        else:
            return NotImplemented
        if op == Py_EQ:
            return mine == theirs
        if op == Py_NE:
            return mine != theirs
        if op == Py_LT:
            return mine < theirs
        if op == Py_LE:
            return mine <= theirs
        if op == Py_GT:
            return mine > theirs
        return mine >= theirs

    def __reduce__(self):
        return (type(self), (self._code, self._reason, self._fatal, self._retriable, self._txn_requires_abort))


class KafkaException(Exception):
    """An operation failed; ``args[0]`` is the `KafkaError` that says why.

    Raised as the subclass that tells what may be done about it, where librdkafka says so: `FatalException`,
    `AbortableException`, `RetriableException`.
    """


class RetriableException(KafkaException):
    """The operation may be tried again as it is (`KafkaError.retriable`)."""


class AbortableException(KafkaException):
    """The transaction must be aborted, then it may be tried again (`KafkaError.txn_requires_abort`)."""


class FatalException(KafkaException):
    """The client instance cannot be used any more (`KafkaError.fatal`): close it and make a new one."""


class IllegalStateException(RuntimeError):
    """A share consumer was asked for something that its state does not allow."""


class ConcurrentModificationException(RuntimeError):
    """A share consumer, which only one thread may use at a time, was used by two."""


cdef KafkaError make_error(rd_kafka_resp_err_t code, object reason=None):
    """Return a KafkaError without flags; reason None means librdkafka's description of the code."""
    cdef KafkaError error = KafkaError.__new__(KafkaError)
    error._code = <int>code
    error._reason = reason
    return error


cdef KafkaError take_error(rd_kafka_error_t *error, str doing=None):
    """Turn a native error object into a KafkaError, with its flags, and destroy it."""
    cdef KafkaError result = KafkaError.__new__(KafkaError)
    result._code = <int>rd_kafka_error_code(error)
    text = decode_text(rd_kafka_error_string(error))
    result._reason = text if doing is None else f"{doing}: {text}"
    result._fatal = rd_kafka_error_is_fatal(error)
    result._retriable = rd_kafka_error_is_retriable(error)
    result._txn_requires_abort = rd_kafka_error_txn_requires_abort(error)
    rd_kafka_error_destroy(error)
    return result


def make_exception(KafkaError error not None):
    """Return the exception that fits the error's flags: fatal before abortable before retriable.

    Args:
        error: The error to wrap.

    Returns:
        KafkaException: An instance of it or of one of its subclasses, not yet raised.
    """
    if error._fatal:
        return FatalException(error)
    if error._txn_requires_abort:
        return AbortableException(error)
    if error._retriable:
        return RetriableException(error)
    return KafkaException(error)


cdef int report_unraisable(object exception, object source) except -1:
    """Hand an exception that nobody can be given to sys.unraisablehook."""
    # Python reports what is being raised, which a caught exception is not any more.
    PyErr_SetObject(type(exception), exception)
    PyErr_WriteUnraisable(source)
    return 0


cdef int check_err(rd_kafka_resp_err_t err, str doing) except -1:
    """Raise if a function that returns a code failed; `doing` says at what."""
    if err != RD_KAFKA_RESP_ERR_NO_ERROR:
        raise KafkaException(make_error(err, f"{doing}: {decode_text(rd_kafka_err2str(err))}"))
    return 0


cdef int check_error(rd_kafka_error_t *error, str doing=None) except -1:
    """Raise if a function that returns an error object failed; takes ownership of the object."""
    if error is not NULL:
        raise make_exception(take_error(error, doing))
    return 0


cdef int check_ptr(const void *ptr, str doing) except -1:
    """Raise if a function that returns a pointer failed and left its code in rd_kafka_last_error()."""
    if ptr is NULL:
        check_err(rd_kafka_last_error(), doing)
        raise KafkaException(make_error(RD_KAFKA_RESP_ERR__FAIL, doing))
    return 0


def _add_error_codes():
    """Give KafkaError an integer attribute for each code that the vendored librdkafka knows."""
    cdef const rd_kafka_err_desc *descs
    cdef size_t cnt, i
    cdef dict namespace = <dict>(<PyTypeObject *>KafkaError).tp_dict
    rd_kafka_get_err_descs(&descs, &cnt)
    for i in range(cnt):
        # The marks of the range of internal codes (_BEGIN, _END) are no errors.
        if descs[i].name is not NULL and descs[i].desc is not NULL:
            namespace[(<bytes>descs[i].name).decode()] = <int>descs[i].code
    PyType_Modified(<PyTypeObject *>KafkaError)


_add_error_codes()
