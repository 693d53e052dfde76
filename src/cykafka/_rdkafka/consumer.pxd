cdef class Consumer(Client):
    cdef object _on_assign
    cdef object _on_revoke
    cdef object _on_lost
    cdef object _on_commit
    # The interceptors; None if there are none.
    cdef ConsumerHooks _hooks
    cdef bint _wait_for_all
    # Set by assign() and its like inside a rebalance callback: the default action is not wanted any more.
    cdef bint _assigned_by_callback
    # The rebalance whose callback is running, and on which thread; NULL if none is.
    cdef cyk_event_t *_rebalance
    cdef unsigned long _rebalance_thread
    # A rebalance that is answered later, by answer_rebalance() (event_loop.pyx); owned.
    cdef cyk_event_t *_deferred
    # The thread that is in close(), 0 if none is.
    cdef unsigned long _closing_thread
    # Calls that wait for an answer of the group's state machine, which gives none once it has ended.
    cdef int _asking
    cdef list _paused
    # Messages that a consume() had fetched when it was interrupted, for the next call.
    cdef list _unreturned
    # Topic names that messages share, by native topic; small, since a pointer may be used again for another topic.
    cdef const rd_kafka_topic_t *_name_keys[32]
    cdef list _names
    cdef list _native_names

    cdef object _topic_name(self, const rd_kafka_topic_t *rkt)
    cdef int _on_rebalance(self, cyk_handle_t *handle, cyk_event_t *event) except -1
    cdef int _apply_rebalance(self, cyk_handle_t *handle, cyk_event_t *event) except -1
    cdef Message _take(self, rd_kafka_message_t *native)
    cdef Message _take_hooked(self, rd_kafka_message_t *native)
    cdef list _make_messages(self, rd_kafka_message_t **batch, Py_ssize_t count)
    cdef int _append_messages(self, list result, rd_kafka_message_t **batch, Py_ssize_t count) except -1
    cdef rd_kafka_topic_partition_list_t *_offsets_of(self, object message, object offsets, str doing) except NULL
