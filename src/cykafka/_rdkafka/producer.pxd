cdef enum:
    # What is done with a payload: copied, kept if it is large and cannot change, kept in any case.
    COPY
    KEEP_CONSTANT
    KEEP


cdef struct Sending:
    # How a message is to be sent, besides what is in it.
    int copy
    # The clock value from which on it must not be sent and is reported, 0 if it has none.
    int64_t deadline_us


cdef class TopicHandle:
    cdef rd_kafka_topic_t *native
    cdef cyk_handle_t *_handle
    cdef int _generation


cdef class Delivery:
    # What produce() remembers for a message beyond a bare callback; referenced by the message's opaque pointer.
    cdef object callback
    cdef object opaque
    cdef object value
    # The payload, if it is that of a buffer and not copied: the export keeps its owner from moving or freeing it.
    cdef Py_buffer view
    cdef bint has_view
    # Its deadline, None if it has none.
    cdef Timed timed


cdef class Producer(Client):
    cdef dict _topics
    cdef object _last_topic
    cdef rd_kafka_topic_t *_last_native_topic
    cdef object _on_delivery
    cdef int64_t _transaction_timeout_us
    cdef bint _in_transaction
    # A transactional call whose caller was interrupted: librdkafka allows no other until it has ended.
    cdef BlockingCall _interrupted
    cdef bint _only_errors
    # What runs user code in produce(), and the thread that serves callbacks; None if there is none.
    cdef ProducerHooks _hooks
    cdef object _background
    # None until a message has one.
    cdef Deadlines _deadlines
    # Messages in the delivery report events that are being served right now, by this or by outer frames.
    cdef Py_ssize_t _reports_held
    cdef Py_ssize_t _reports_served
    # An event loop waits for reports: brokers send without lingering (event_loop.pyx).
    cdef bint _hurrying
    # Callbacks are futures; what is called with (error, message) where one was cancelled before its message failed.
    cdef object _unseen_failure
    # A transaction is being aborted: that its messages fail is no news.
    cdef bint _aborting
    # Deliveries of produce_arrow() that are not complete, by the number in their messages' opaque; owned.
    cdef PyObject **_summaries
    cdef Py_ssize_t _next_summary

    cdef rd_kafka_topic_t *_native_topic(self, object topic) except NULL
    cdef rd_kafka_resp_err_t _enqueue(self, object topic, object value, object key, int32_t partition,
                                      object callback, int64_t timestamp, object headers, object opaque,
                                      Sending sending) except *
    cdef rd_kafka_resp_err_t _enqueue_waiting(self, object topic, object value, object key, int32_t partition,
                                              object callback, int64_t timestamp, object headers, object opaque,
                                              Sending sending, int64_t timeout_us) except *
    cdef rd_kafka_resp_err_t _enqueue_bytes(self, object topic, object value, object key, int32_t partition,
                                            object callback) except *
    cdef int _serve_queue(self, cyk_handle_t *handle) except -1
    cdef cyk_wait_t _wait(self, cyk_handle_t *handle, int64_t timeout_us) except? CYK_WAIT_TIMEOUT
    cdef int _serve_reports(self, rd_kafka_event_t *event) except -1
    cdef Py_ssize_t _outstanding(self, cyk_handle_t *handle) noexcept
    cdef bint _flush(self, cyk_handle_t *handle, int64_t deadline) except -1
    cdef int _run_serving(self, BlockingCall call) except -1
    cdef int _await_interrupted(self, cyk_handle_t *handle) except -1
    cdef int _answer(self, cyk_handle_t *handle) except -1
    cdef void _drop_messages(self, cyk_handle_t *handle) noexcept
