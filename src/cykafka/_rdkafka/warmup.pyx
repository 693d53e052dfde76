# Warming a producer up: see warmup.c. Belongs to Producer.warmup().

cdef list warm_up(Producer producer, object topics, int64_t timeout_us):
    """Connect to the leaders of topics; returns the sorted ids of these brokers."""
    cdef BlockingCall call
    cdef cyk_handle_t *handle
    cdef rd_kafka_topic_partition_list_t *wanted
    cdef int i
    if isinstance(topics, str):
        topics = [topics]
    try:
        topics = list(topics)
    except TypeError:
        raise TypeError(f"topics must be a list of topic names, not {type(topics).__name__}") from None
    handle = producer._enter()
    try:
        call = producer._new_call(handle, CYK_CALL_WARMUP, timeout_us)
        wanted = call.native.partitions = rd_kafka_topic_partition_list_new(max(len(topics), 1))
        for topic in topics:
            # Made here, so that produce() finds it.
            producer._native_topic(topic)
            rd_kafka_topic_partition_list_add(wanted, encode_name(topic, "topic"), -1)
        producer._run(call)
        if call.native.err != RD_KAFKA_RESP_ERR_NO_ERROR:
            unknown = [decode_name(wanted.elems[i].topic) for i in range(wanted.cnt) if wanted.elems[i].offset < 0]
            doing = f"Failed to get the leaders of {unknown[0]!r}" if unknown else "Failed to connect to all leaders"
            raise make_exception(make_error(
                call.native.err, f"{doing}: {decode_text(rd_kafka_err2str(call.native.err))}"))
        return sorted([call.native.brokers.elems[i].partition for i in range(call.native.brokers.cnt)])
    finally:
        producer._exit(handle)
