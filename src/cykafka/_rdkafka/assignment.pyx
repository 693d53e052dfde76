# What consumers do with their assignment and say about it: changing it, pausing, and how far behind they are.


cdef int drop_unreturned(Consumer consumer, object partitions) except -1:
    """Drop the messages of these partitions that an interrupted consume() had fetched; others stay."""
    cdef Message message
    if consumer._unreturned is not None:
        dropped = {(tp.topic, tp.partition) for tp in partitions}
        consumer._unreturned = [message for message in consumer._unreturned
                                if (message._topic, message._partition) not in dropped] or None
    return 0


cdef cyk_handle_t *enter_group(Consumer consumer) except NULL:
    """Do as Client._enter() for a call that asks the group's state machine: refused once another thread ends it."""
    cdef cyk_handle_t *handle
    cdef unsigned long me = PyThread_get_thread_ident()
    cdef bint answering = consumer._rebalance is not NULL and consumer._rebalance_thread == me
    if consumer._closing_thread != 0 and consumer._closing_thread != me and not answering:
        raise consumer._closed_error()
    handle = consumer._enter()
    consumer._asking += 1
    return handle


cdef void exit_group(Consumer consumer, cyk_handle_t *handle) noexcept:
    """Give back what enter_group() returned."""
    consumer._asking -= 1
    consumer._exit(handle)


cdef int change_assignment(Consumer consumer, object partitions, int how) except -1:
    """Replace (0), add to (1) or take from (2) the assignment; None for no partitions."""
    cdef rd_kafka_topic_partition_list_t *native = NULL
    cdef rd_kafka_error_t *error = NULL
    cdef rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR
    cdef cyk_handle_t *handle = enter_group(consumer)
    cdef rd_kafka_t *rk = cyk_handle_rk(handle)
    try:
        if partitions is not None or how:
            native = make_topic_partitions(partitions)
        consumer._assigned_by_callback = True
        if how == 0:
            consumer._unreturned = None
        elif how == 2:
            drop_unreturned(consumer, read_topic_partitions(native))
        with nogil:
            if how == 0:
                err = rd_kafka_assign(rk, native)
            elif how == 1:
                error = rd_kafka_incremental_assign(rk, native)
            else:
                error = rd_kafka_incremental_unassign(rk, native)
        check_error(error)
        check_err(err, "Failed to set assignment" if native is not NULL else "Failed to remove assignment")
    finally:
        if native is not NULL:
            rd_kafka_topic_partition_list_destroy(native)
        exit_group(consumer, handle)
    return 0


cdef int pause_or_resume(Consumer consumer, object partitions, bint pause) except -1:
    """Pause or resume partitions, and remember which are paused."""
    cdef rd_kafka_resp_err_t err
    cdef cyk_handle_t *handle = consumer._enter()
    cdef rd_kafka_t *rk = cyk_handle_rk(handle)
    cdef rd_kafka_topic_partition_list_t *native = NULL
    try:
        native = make_topic_partitions(partitions)
        with nogil:
            err = rd_kafka_pause_partitions(rk, native) if pause else rd_kafka_resume_partitions(rk, native)
        doing = "Failed to pause partitions" if pause else "Failed to resume partitions"
        check_err(err, doing)
        for tp in read_topic_partitions(native):
            if tp.error is not None:
                raise KafkaException(make_error(
                    <rd_kafka_resp_err_t>(<int>tp.error.code()),
                    f"{doing}: {tp.topic} [{tp.partition}]: {tp.error.str()}"))
            if pause and tp not in consumer._paused:
                consumer._paused.append(tp)
            elif not pause and tp in consumer._paused:
                consumer._paused.remove(tp)
    finally:
        if native is not NULL:
            rd_kafka_topic_partition_list_destroy(native)
        consumer._exit(handle)
    return 0


cdef object measure_lag(Consumer consumer, object partitions, bint query, object timeout):
    """Do what `Consumer.lag` promises."""
    cdef int64_t position, end
    cdef int64_t deadline = deadline_after(as_timeout_us(timeout))
    cdef cyk_handle_t *handle = consumer._enter()
    cdef TopicPartition tp
    cdef dict result = {}
    try:
        for item in (consumer.assignment() if partitions is None else partitions):
            if not isinstance(item, TopicPartition):
                raise TypeError(f"expected a list of TopicPartition, but it contains {type(item).__name__}")
            tp = <TopicPartition>item
            cyk_partition_progress(cyk_handle_rk(handle), encode_name(tp.topic, "topic"), tp.partition, &position,
                                   &end)
            if query:
                if position < 0:
                    position = consumer.committed([tp], _seconds_left(deadline))[0].offset
                end = consumer.get_watermark_offsets(tp, _seconds_left(deadline))[1]
            result[TopicPartition(tp.topic, tp.partition)] = (
                None if position < 0 or end < 0 else max(0, end - position))
    finally:
        consumer._exit(handle)
    return result


cdef object _seconds_left(int64_t deadline):
    return -1 if deadline < 0 else max(deadline - cyk_clock_us(), 0) / 1e6


def group_metadata_generation(group_metadata):
    """Return the generation (KIP-848: the member epoch) that a consumer had in its group.

    Args:
        group_metadata: What `Consumer.consumer_group_metadata` returned.

    Returns:
        int: Generation; -1 if the consumer was no member. Kafka commits offsets of -1 without asking whose they are.

    Raises:
        TypeError: If it is not bytes.
        KafkaException: If it is no group metadata.
    """
    cdef rd_kafka_consumer_group_metadata_t *native = NULL
    if not isinstance(group_metadata, bytes):
        raise TypeError(f"group_metadata must be bytes, not {type(group_metadata).__name__}")
    check_error(rd_kafka_consumer_group_metadata_read(&native, PyBytes_AS_STRING(group_metadata),
                                                      PyBytes_GET_SIZE(group_metadata)), "Invalid group_metadata")
    generation = rd_kafka_consumer_group_metadata_generation_id(native)
    rd_kafka_consumer_group_metadata_destroy(native)
    return generation
