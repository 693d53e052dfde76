# What an event loop needs of a client: to be told when there is something to serve, and to answer later.
#
# Functions instead of methods, since they are for cykafka.aio and not for users. Each is called on the loop's thread,
# and none waits, except where said otherwise.


def watch(Client client not None, int fd):
    """Have a byte written to a descriptor when there is something to serve, and leave all serving to its reader.

    A byte is written when one of the client's queues stops being empty and on wakeup(), not for what is there already.

    Args:
        client: The client.
        fd: A descriptor that does not block; it must stay open until this is called again. -1 to end it.

    Raises:
        RuntimeError: If the client is closed.
    """
    cdef cyk_handle_t *handle
    if fd < 0 and (client._closed or client._generation != cyk_fork_generation):
        return
    handle = client._enter()
    client._in_event_loop = fd >= 0
    with nogil:
        cyk_handle_notify(handle, fd)
    client._exit(handle)


def destroy(Client client not None):
    """Free a client whose messages are delivered or whose group is left; waits, so for a thread that may."""
    client._release()


def waiting(Client client not None):
    """Return how many messages and events wait to be taken or served; 0 if the client is closed."""
    return 0 if client._handle is NULL else cyk_handle_waiting(client._handle)


def has_callbacks(Client client not None):
    """Return whether callbacks wait for the next call, which messages in hand should not hold up."""
    return client._handle is not NULL and cyk_handle_pending(client._handle) > 0


def take_wakeup(Client client not None):
    """Return True once for each wakeup() that no call has answered."""
    return client._handle is not NULL and bool(cyk_handle_take_wakeup(client._handle))


def serve_tokens(Client client not None):
    """Ask the OAUTHBEARER callback for a token if librdkafka wants one.

    Raises:
        Exception: What the callback raised; librdkafka has been told.
    """
    cdef cyk_handle_t *handle
    if client._oauth_cb is None or client._closed:
        return
    handle = client._enter()
    try:
        if cyk_handle_sasl_queue(handle) is not NULL:
            serve_token_requests(client, handle)
    finally:
        client._exit(handle)


def answer_token(Client client not None, answer):
    """Hand over the token that a callback promised by returning `answer_later`.

    Args:
        client: The client.
        answer: What a callback returns, or an exception if there is no token.

    Raises:
        TypeError, KafkaException: If it is not a token; librdkafka has been told.
        RuntimeError: If the client is closed.
    """
    cdef cyk_handle_t *handle = client._enter()
    try:
        if isinstance(answer, BaseException):
            refuse_token(client, handle, answer)
            return
        try:
            set_token(client, handle, answer)
        except BaseException as exc:
            refuse_token(client, handle, exc)
            raise
    finally:
        client._exit(handle)


def cancel_call(Client client not None, unsigned long thread, bint cancel):
    """Make the blocking call that a thread is in raise `KafkaException` with code _INTR, or take that back.

    Any thread may call this.

    Args:
        client: The client.
        thread: The thread's identifier, as `threading.get_ident` returns it.
        cancel: False once the thread has left the call.
    """
    if cancel:
        # A new set, so that threads that look at the old one need no lock.
        client._cancelled_threads = {*(client._cancelled_threads or ()), thread}
    elif client._cancelled_threads is not None:
        client._cancelled_threads = client._cancelled_threads - {thread} or None


def use_futures(Producer producer not None, unseen_failure not None):
    """Have delivery reports resolve the futures given to `produce_future`; produce() is not for users any more then.

    Args:
        producer: The producer.
        unseen_failure: Called as ``unseen_failure(error, message)`` for a message that failed after its future had
            been cancelled; must not raise.
    """
    producer._unseen_failure = unseen_failure


def has_hooks(Producer producer not None):
    """Return whether Python code runs in produce(): a partitioner or interceptors."""
    return producer._hooks is not None


def await_partitions(Producer producer not None, topic):
    """Wait until a partitioner written in Python can choose from a topic's partitions; not for the loop's thread.

    Raises:
        KafkaException: If the topic's metadata does not come, for ``topic.metadata.propagation.max.ms``.
        RuntimeError: If the producer is closed.
    """
    producer._check_open()
    if producer._hooks is not None and producer._hooks._partitioner is not None:
        partition_count(producer, topic, producer._hooks._metadata_timeout_us)


def produce_future(Producer producer not None, future, topic, value, key, int32_t partition, timestamp, headers):
    """Enqueue a message, with a future for its report; arguments and errors as `Producer.produce`.

    Args:
        producer: The producer, for which `use_futures` was called.
        future: Anything with set_result(), set_exception() and done().
        topic: Topic name.
        value: Payload.
        key: Key.
        partition: Partition number, or -1.
        timestamp: Milliseconds since the epoch UTC; 0 for now.
        headers: Headers.
    """
    cdef rd_kafka_resp_err_t err
    cdef int64_t native_timestamp = 0
    cdef Sending sending
    producer._check_open()
    sending.copy = KEEP_CONSTANT
    if timestamp is not None:
        native_timestamp = timestamp
        if native_timestamp < 0:
            raise ValueError(f"timestamp must be >= 0 milliseconds, not {timestamp}")
    if (type(value) is bytes and PyBytes_GET_SIZE(value) < ZERO_COPY_BYTES and (key is None or type(key) is bytes)
            and native_timestamp == 0 and headers is None):
        err = producer._enqueue_bytes(topic, value, key, partition, future)
    else:
        err = producer._enqueue(topic, value, key, partition, future, native_timestamp, headers, None, sending)
    if err != RD_KAFKA_RESP_ERR_NO_ERROR:
        producer._raise_produce_error(err)


def set_aborting(Producer producer not None, bint aborting):
    """Say whether a transaction is being aborted, so that futures of its messages need not be awaited."""
    producer._aborting = aborting


cdef int fail_future(Producer producer, object future, Message message) except -1:
    """Give a future the exception of its message."""
    message.detach()
    exception = make_exception(message._error)
    exception.message = message
    future.set_exception(exception)
    if producer._aborting:
        # Counts as retrieved, so that the loop does not report it.
        future.exception()
    return 0


def hurry(Producer producer not None):
    """Have brokers send what is enqueued without waiting for ``linger.ms``, until `relax`; harmless if on already."""
    cdef cyk_handle_t *handle = producer._enter()
    cdef rd_kafka_t *rk = cyk_handle_rk(handle)
    cdef bint again = producer._hurrying
    producer._hurrying = True
    with nogil:
        if again:
            cyk_flush_again(rk)
        else:
            cyk_flush_begin(rk)
    producer._exit(handle)


def relax(Producer producer not None):
    """Let brokers wait for ``linger.ms`` again; harmless if they do."""
    if producer._hurrying and producer._handle is not NULL:
        producer._hurrying = False
        cyk_flush_end(cyk_handle_rk(producer._handle))


def defer_rebalance(Consumer consumer not None):
    """In a rebalance callback: let the rebalance wait for `answer_rebalance`, whatever the callback returns or raises."""
    cdef cyk_event_t *event
    if consumer._rebalance is NULL or consumer._deferred is not NULL:
        raise RuntimeError("there is no rebalance to defer")
    event = <cyk_event_t *>calloc(1, sizeof(cyk_event_t))
    if event is NULL:
        raise MemoryError
    event.type = CYK_EVENT_REBALANCE
    event.err = consumer._rebalance.err
    event.partitions = consumer._rebalance.partitions
    consumer._rebalance.partitions = NULL
    consumer._deferred = event


def answer_rebalance(Consumer consumer not None):
    """Assign or unassign after a deferred rebalance, unless assign() or the like was called since.

    Raises:
        KafkaException: If librdkafka refuses.
    """
    cdef cyk_event_t *event = consumer._deferred
    cdef cyk_handle_t *handle
    consumer._deferred = NULL
    if event is NULL:
        return
    try:
        if consumer._assigned_by_callback or consumer._closed:
            return
        handle = consumer._enter()
        try:
            consumer._apply_rebalance(handle, event)
        finally:
            consumer._exit(handle)
    finally:
        cyk_event_destroy(event)


def waits_for_all(Consumer consumer not None):
    """Return whether consume() waits for all messages if it is not told how many it shall wait for."""
    return consumer._wait_for_all


def fetch(Consumer consumer not None, Py_ssize_t most):
    """Return up to so many messages that are there; runs no callbacks.

    Raises:
        RuntimeError: If the consumer is closed.
    """
    cdef cyk_handle_t *handle = consumer._enter()
    cdef rd_kafka_queue_t *queue = cyk_handle_queue(handle)
    cdef rd_kafka_message_t *batch[CHUNK]
    cdef Py_ssize_t wanted, fetched
    cdef list result = []
    try:
        while len(result) < most:
            wanted = min(most - len(result), CHUNK)
            with nogil:
                fetched = rd_kafka_consume_batch_queue(queue, 0, batch, wanted)
            if fetched > 0:
                consumer._append_messages(result, batch, fetched)
                if consumer._hooks is not None:
                    for message in result[len(result) - fetched:]:
                        consumer._hooks.consume(message)
            if fetched < wanted:
                break
        return result
    finally:
        consumer._exit(handle)


def give_back(Consumer consumer not None, list messages not None):
    """Let the next poll() or consume() return these messages first."""
    if messages:
        consumer._unreturned = messages + (consumer._unreturned or [])


def begin_close(Consumer consumer not None):
    """Begin to leave the group.

    Returns:
        bool: False if there is nothing to wait for, because of a fatal error.

    Raises:
        RuntimeError: If the consumer is closed.
    """
    cdef cyk_handle_t *handle = consumer._enter()
    cdef rd_kafka_error_t *error
    cdef bint fatal = False
    try:
        error = rd_kafka_consumer_close_queue(cyk_handle_rk(handle), cyk_handle_own_queue(handle))
        if error is not NULL:
            fatal = rd_kafka_error_is_fatal(error)
            rd_kafka_error_destroy(error)
        return not fatal
    finally:
        consumer._exit(handle)


def serve_close(Consumer consumer not None):
    """Serve the callbacks that leaving the group brings.

    Returns:
        bool: True when the group has been left; then close() is short.

    Raises:
        Exception: What a callback raised; what was not yet served is served by the next call.
        RuntimeError: If the consumer is closed.
    """
    cdef cyk_handle_t *handle = consumer._enter()
    cdef rd_kafka_event_t *event
    try:
        while True:
            event = rd_kafka_queue_poll(cyk_handle_own_queue(handle), 0)
            if event is NULL:
                break
            if not cyk_handle_collect(handle, event):
                rd_kafka_event_destroy(event)
        consumer._serve_pending(handle)
        return bool(rd_kafka_consumer_closed(cyk_handle_rk(handle)))
    finally:
        consumer._exit(handle)


def serve_results(AdminRequests client not None):
    """Resolve the futures of requests that have been answered; no thread does it from the first call on."""
    cdef cyk_handle_t *handle = client._enter()
    cdef rd_kafka_event_t *event
    client._thread = client._thread or serve_results
    try:
        while True:
            event = rd_kafka_queue_poll(client._results, 0)
            if event is NULL:
                break
            try:
                client._resolve(handle, <Py_ssize_t>rd_kafka_event_opaque(event), event)
            finally:
                rd_kafka_event_destroy(event)
    finally:
        client._exit(handle)
