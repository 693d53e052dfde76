cdef class BlockingCall:
    cdef cyk_call_t *native
    cdef int set_topic(self, object topic, str what) except -1


cdef class Client:
    cdef cyk_handle_t *_handle
    cdef int _generation
    cdef bint _closed
    cdef bint _signalled
    cdef int64_t _spin_us
    cdef object _error_cb
    cdef object _stats_cb
    cdef object _throttle_cb
    cdef object _oauth_cb
    # Ends the thread that looks after tokens.
    cdef object _patrol_end
    cdef object _logger
    cdef readonly dict _config
    cdef dict _histograms
    cdef str _native_name
    # An event loop serves the callbacks: calls that wait on other threads leave them to it.
    cdef bint _in_event_loop
    # Threads whose blocking call is to end, because the task that awaits it was cancelled.
    cdef set _cancelled_threads
    cdef object __weakref__

    cdef int _start(self, ClientConfig config, rd_kafka_type_t kind, int collect) except -1
    cdef int _check_open(self) except -1
    cdef object _closed_error(self)
    cdef int _check_signals(self) except -1
    cdef cyk_handle_t *_enter(self) except NULL
    cdef void _exit(self, cyk_handle_t *handle) noexcept
    cdef int _release(self, int64_t deadline=*) except -1
    cdef int _let_go(self) except -1
    cdef int _serve_pending(self, cyk_handle_t *handle) except -1
    cdef int _serve_event(self, cyk_handle_t *handle, cyk_event_t *event) except -1
    cdef int _serve_meanwhile(self, cyk_handle_t *handle) except -1
    cdef cyk_wait_t _wait(self, cyk_handle_t *handle, int64_t timeout_us) except? CYK_WAIT_TIMEOUT
    cdef int _check_woken(self, cyk_handle_t *handle) except -1
    cdef KafkaError _explain(self, cyk_handle_t *handle, KafkaError error)
    cdef int _check_reached(self, cyk_handle_t *handle, rd_kafka_resp_err_t err, str doing) except -1
    cdef int _run(self, BlockingCall call) except -1
    cdef BlockingCall _new_call(self, cyk_handle_t *handle, cyk_call_op_t op, int64_t timeout_us)
