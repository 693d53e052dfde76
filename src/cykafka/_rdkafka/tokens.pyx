# SASL/OAUTHBEARER tokens: the user's callback is asked when librdkafka wants a token, and gets its failure back.
#
# Requests for tokens have a queue of their own, which every method that serves or waits looks into. A thread of the
# client does it for an application that calls none of them for a while: the token must not expire meanwhile, since the
# group's heartbeats go on without the application.

# The threads that look after tokens, and what ends each.
_patrols = _weakref.WeakKeyDictionary()

# What a thread looks after, and how long a request may wait for somebody else to serve it, in seconds.
_TOKEN_PATROL = 1.0

_NO_TOKEN = ("OAUTHBEARER needs oauth_cb, or sasl.oauthbearer.method=oidc with sasl.oauthbearer.client.id, "
             ".client.secret and .token.endpoint.url")


cdef int start_tokens(Client client, cyk_handle_t *handle, ClientConfig config) except -1:
    """Get the first token, and see to it that others follow."""
    if client._oauth_cb is not None:
        cyk_handle_set_sasl_queue(handle)
        # librdkafka asks for the first token as soon as the client exists, and cannot connect without it.
        client._serve_meanwhile(handle)
        client._check_open()
        _start_patrol(client)
    elif config.has_no_token:
        # Does nothing unless OAUTHBEARER is in use.
        rd_kafka_oauthbearer_set_token_failure(cyk_handle_rk(handle), _NO_TOKEN.encode())
    return 0


def _start_patrol(Client client not None):
    """Start the thread that serves requests for tokens late; it ends when the client is closed or dropped."""
    end = client._patrol_end = _threading.Event()
    reference = _weakref.ref(client, lambda _: end.set())
    thread = _threading.Thread(target=_patrol_tokens, args=(reference, end), daemon=True,
                               name=f"cykafka-tokens {client._native_name}")
    thread.start()
    _patrols[thread] = end


@_atexit.register
def _end_patrols():
    # Before the clients are destroyed, which is registered earlier: a thread must not hold one at the very end.
    patrols = list(_patrols.items())
    for _, end in patrols:
        end.set()
    for thread, _ in patrols:
        thread.join(5)


def _patrol_tokens(reference, end):
    """Serve requests for tokens that nobody has served for a while; holds no reference while it waits."""
    waited = False
    while not end.wait(_TOKEN_PATROL):
        client = reference()
        if client is not None:
            waited = _serve_late_tokens(client, waited)
        del client


def _serve_late_tokens(Client client not None, waited):
    """Serve requests if there were some last time too; returns whether there are."""
    cdef cyk_handle_t *handle
    if client._closed:
        return False
    try:
        handle = client._enter()
        try:
            if not rd_kafka_queue_length(cyk_handle_sasl_queue(handle)):
                return False
            if waited:
                client._serve_meanwhile(handle)
            return True
        finally:
            client._exit(handle)
    except BaseException as exc:
        # librdkafka has been told, so that error_cb will be.
        if not client._closed:
            report_unraisable(exc, client)
        return False


cdef int serve_token_requests(Client client, cyk_handle_t *handle) except -1:
    """Answer the requests for tokens that wait."""
    cdef rd_kafka_event_t *event
    while True:
        with nogil:
            event = cyk_handle_take_refresh(handle)
        if event is NULL:
            return 0
        try:
            config = decode_text(rd_kafka_event_config_string(event)) or ""
        finally:
            rd_kafka_event_destroy(event)
        refresh_token(client, handle, config)


cdef int refresh_token(Client client, cyk_handle_t *handle, object config) except -1:
    """Ask the callback for a token and hand it, or the failure, to librdkafka."""
    try:
        answer = client._oauth_cb(config)
        if answer is not answer_later:
            set_token(client, handle, answer)
    except BaseException as exc:
        refuse_token(client, handle, exc)
        raise
    return 0


cdef int refuse_token(Client client, cyk_handle_t *handle, object reason) except -1:
    """Tell librdkafka that there is no token; it asks again after a while."""
    cdef bytes text = f"oauth_cb failed: {type(reason).__name__}: {reason}".encode("utf-8", "replace")
    text = text.replace(b"\0", b" ")
    rd_kafka_oauthbearer_set_token_failure(cyk_handle_rk(handle), text)
    return 0


cdef int set_token(Client client, cyk_handle_t *handle, object answer) except -1:
    """Give librdkafka what the callback returned; no text of an error quotes it."""
    cdef char errstr[512]
    cdef const char **extensions = NULL
    cdef rd_kafka_resp_err_t err
    cdef bytes token, principal
    cdef Py_ssize_t i
    cdef list texts
    if not isinstance(answer, tuple) or not 2 <= len(answer) <= 4:
        raise TypeError(
            "oauth_cb must return (token, expiry_seconds_since_epoch[, principal[, extensions_dict]]), "
            f"not {type(answer).__name__}")
    token = encode_name(answer[0], "OAUTHBEARER token")
    for form in secret_forms(answer[0]):
        cyk_handle_add_secret(handle, form, True)
    principal = encode_name((answer[2] if len(answer) > 2 else None) or "", "OAUTHBEARER principal")
    pairs = (answer[3] if len(answer) > 3 else None) or {}
    if not isinstance(pairs, dict):
        raise TypeError(f"OAUTHBEARER extensions must be a dict, not {type(pairs).__name__}")
    texts = [encode_name(text, "OAUTHBEARER extension") for pair in pairs.items() for text in pair]
    try:
        lifetime_ms = int(float(answer[1]) * 1000)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"the expiry that oauth_cb returns must be seconds since 1970, not {type(answer[1]).__name__}") from None
    # Beyond that librdkafka's microseconds overflow.
    lifetime_ms = max(0, min(lifetime_ms, 4102444800000))
    try:
        if texts:
            extensions = <const char **>malloc(len(texts) * sizeof(char *))
            if extensions is NULL:
                raise MemoryError
            for i in range(len(texts)):
                extensions[i] = <const char *>(<bytes>texts[i])
        err = rd_kafka_oauthbearer_set_token(cyk_handle_rk(handle), token, lifetime_ms, principal, extensions,
                                             len(texts), errstr, sizeof(errstr))
    finally:
        free(extensions)
    if err != RD_KAFKA_RESP_ERR_NO_ERROR:
        raise KafkaException(make_error(err, f"oauth_cb returned an unusable token: {decode_text(errstr)}"))
    return 0
