# Configuration: a dict (or keyword arguments) to librdkafka's configuration object. Made and used by one thread.

# Set by the package when it is imported; the core imports nothing of it.
_client_software_version = "unknown"

cdef dict _CALLBACK_KEYS = {
    "error_cb": "error_cb",
    "stats_cb": "stats_cb",
    "throttle_cb": "throttle_cb",
    "oauth_cb": "oauth_cb",
    "on_delivery": "on_delivery",
    "dr_cb": "on_delivery",
    "on_commit": "on_commit",
    "logger": "logger",
}

# Settings of the clients themselves, which librdkafka does not know: of some, and of all.
cdef frozenset _OWN_KEYS = frozenset(("interceptors", "poll_in_background"))
cdef tuple _CLIENT_KEYS = ("spin_us", "cpu_affinity", "thread_prefix", "latency_histograms")

# Callbacks of some clients only: to the others they are unknown properties.
cdef tuple _OWN_CALLBACKS = ("on_delivery", "on_commit")

# What Python programs use in place of librdkafka's own callbacks.
cdef dict _INSTEAD = {
    "rebalance_cb": "pass on_assign, on_revoke and on_lost to subscribe()",
    "offset_commit_cb": "use on_commit",
    "dr_msg_cb": "use on_delivery",
    "log_cb": "use logger",
}

# Names in which underscores do not stand for dots.
cdef frozenset _UNDERSCORED = frozenset(("log_level", *_CALLBACK_KEYS, *_INSTEAD, *_OWN_KEYS, *_CLIENT_KEYS))

cdef dict _THREAD_KINDS = {
    "main": CYK_THREAD_MAIN,
    "background": CYK_THREAD_BACKGROUND,
    "broker": CYK_THREAD_BROKER,
}
cdef int64_t MOST_SPIN_US = 3600000000


def merge_config(args, kwargs, str what):
    """Merge the configuration arguments of a client's constructor into one dict.

    Args:
        args: Positional arguments: none, or one mapping of property names to values.
        kwargs: Keyword arguments; underscores stand for the dots of a property name.
        what: Name of the client class, for error messages.

    Returns:
        dict: Property names to values, as given.

    Raises:
        TypeError: If there is no configuration or it is not a mapping with str keys.
    """
    if len(args) > 1:
        raise TypeError(f"{what} takes one configuration dict, not {len(args)} positional arguments")
    if not args and not kwargs and "config" not in kwargs:
        raise TypeError(f"expected configuration dict: {what}({{'bootstrap.servers': 'host:9092', ...}})")
    kwargs = dict(kwargs)
    base = args[0] if args else kwargs.pop("config", kwargs.pop("conf", {}))
    if not isinstance(base, dict):
        raise TypeError(f"expected configuration dict, not {type(base).__name__}")
    merged = dict(base)
    for name, value in kwargs.items():
        if "." not in name and name not in _UNDERSCORED:
            name = name.replace("_", ".")
        merged[name] = value
    for name in merged:
        if not isinstance(name, str):
            raise TypeError(f"configuration property names must be str, not {type(name).__name__}: {name!r}")
    return merged


cdef object _as_property_value(str name, object value):
    """Return librdkafka's text form of a Python value, None to reset the property to its default."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _numbers.Integral):
        return str(int(value))
    if isinstance(value, (_numbers.Real, _decimal.Decimal)):
        # Neither "1/2" nor "1E+1": librdkafka reads what it can of a number and drops the rest.
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, _os.PathLike):
        return _os.fspath(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    raise TypeError(
        f"configuration property {name!r} must be str, int, float, bool or None, not {type(value).__name__}")


cdef int64_t as_spin_us(object value) except -1:
    """Check a number of microseconds to spin, given as a number or its text."""
    cdef int64_t spin_us
    try:
        if isinstance(value, bool):
            raise TypeError
        spin_us = int(value)
    except (TypeError, ValueError):
        raise TypeError(f"spin_us must be a whole number of microseconds, not {value!r:.50}") from None
    if not 0 <= spin_us <= MOST_SPIN_US:
        raise ValueError(f"spin_us must be between 0 and {MOST_SPIN_US} microseconds, not {spin_us}")
    return spin_us


cdef set _parse_cpus(object value):
    """Return the numbers of the CPUs that an int, a text such as "0,2-3", or an iterable of ints names."""
    cpus = set()
    if isinstance(value, int) and not isinstance(value, bool):
        cpus = {value}
    elif isinstance(value, str):
        try:
            for part in value.split(","):
                first, _, last = part.partition("-")
                cpus.update(range(int(first), min(int(last or first), 65535) + 1))
        except ValueError:
            raise ValueError(f"cpu_affinity: not a list of CPUs such as '0,2-3': {value!r:.50}") from None
    else:
        try:
            cpus = set(value)
        except TypeError:
            cpus = {None}
        if not all(type(cpu) is int for cpu in cpus):
            raise TypeError(f"cpu_affinity must name CPUs by their numbers, not {value!r:.50}")
    if not cpus:
        raise ValueError("cpu_affinity names no CPU")
    for cpu in sorted(cpus):
        if not 0 <= cpu < 2 ** 31 or not cyk_cpu_usable(cpu):
            if not _sys.platform.startswith("linux"):
                raise ValueError("cpu_affinity can be set on Linux only")
            raise ValueError(f"cpu_affinity: this process may not use CPU {cpu}, or there is no such CPU")
    return cpus


cdef class ClientConfig:
    """A configuration on its way into a client: the native object and the Python callbacks.

    Owns the native object until create() gives it away.
    """

    def __cinit__(self):
        self.native = rd_kafka_conf_new()

    def __dealloc__(self):
        if self.native is not NULL:
            rd_kafka_conf_destroy(self.native)

    def __init__(self, dict config not None, str what=None, tuple callbacks=()):
        self.what = what
        self.properties = {}
        self.secrets = []
        config = dict(config)
        for key, attribute in _CALLBACK_KEYS.items():
            if attribute in _OWN_CALLBACKS and attribute not in callbacks:
                continue
            value = config.pop(key, None)
            if value is not None:
                self._set_callback(key, attribute, value)
        for key in _CLIENT_KEYS:
            value = config.pop(key, None)
            if value is not None:
                self._set_own(key, value)
        topic_config = config.pop("default.topic.config", None)
        config.setdefault("client.software.name", "cykafka")
        config.setdefault("client.software.version", _client_software_version)
        # Plugins may add properties, so they are loaded before those are set.
        if "plugin.library.paths" in config:
            self._set("plugin.library.paths", config.pop("plugin.library.paths"))
        for key, value in config.items():
            self._set(key, value)
        if topic_config is not None:
            if not isinstance(topic_config, dict):
                raise TypeError(f"default.topic.config must be a dict, not {type(topic_config).__name__}")
            for key, value in topic_config.items():
                self._set(key, value)

    def _set_callback(self, str key, str attribute, value):
        if key == "logger":
            if not callable(getattr(value, "log", None)):
                raise TypeError("logger must have a log(level, message, *args) method, as logging.Logger has")
        elif not callable(value):
            if key in ("on_delivery", "dr_cb", "on_commit"):
                raise KafkaException(make_error(RD_KAFKA_RESP_ERR__INVALID_ARG, f"{key} requires a callable object"))
            # The class that users of confluent_kafka expect.
            kind = ValueError if key == "throttle_cb" else TypeError
            raise kind(f"expected {key} property as a callable function")
        if attribute == "error_cb":
            self.error_cb = value
        elif attribute == "stats_cb":
            self.stats_cb = value
        elif attribute == "throttle_cb":
            self.throttle_cb = value
        elif attribute == "oauth_cb":
            self.oauth_cb = value
        elif attribute == "on_delivery":
            self.on_delivery = value
        elif attribute == "on_commit":
            self.on_commit = value
        else:
            self.logger = value

    cdef int _set(self, object name, object value) except -1:
        cdef char errstr[512]
        cdef bytes native_name = encode_name(name, "configuration property name")
        cdef object text
        if name in _INSTEAD:
            raise KafkaException(make_error(RD_KAFKA_RESP_ERR__INVALID_ARG,
                                            f'Property "{name}" cannot be set: {_INSTEAD[name]}'))
        try:
            text = _as_property_value(name, value)
        except TypeError:
            # That there is no such property is the better thing to say; one that there is goes back to its default.
            if rd_kafka_conf_set(self.native, native_name, NULL, errstr, sizeof(errstr)) != RD_KAFKA_CONF_UNKNOWN:
                raise
            raise KafkaException(make_error(RD_KAFKA_RESP_ERR__INVALID_ARG, decode_text(errstr))) from None
        cdef bytes native_value = None if text is None else encode_name(text, f"value of property {name!r}")
        result = rd_kafka_conf_set(self.native, native_name,
                                   NULL if native_value is None else <const char *>native_value,
                                   errstr, sizeof(errstr))
        if result != RD_KAFKA_CONF_OK:
            raise KafkaException(make_error(RD_KAFKA_RESP_ERR__INVALID_ARG, decode_text(errstr)))
        self.properties[name] = text
        if text is not None:
            self.secrets += secrets_in(name, text)
        return 0

    cdef int _set_own(self, str name, object value) except -1:
        """Check and keep a setting of ours."""
        if name == "spin_us":
            self.spin_us = as_spin_us(value)
        elif name == "cpu_affinity":
            by_kind = value if isinstance(value, dict) else dict.fromkeys(_THREAD_KINDS, value)
            unknown = sorted(str(kind) for kind in by_kind if kind not in _THREAD_KINDS)
            if unknown:
                raise ValueError(f"cpu_affinity: no kind of thread is called {unknown[0]!r:.50}; there are "
                                 f"{', '.join(_THREAD_KINDS)}")
            self.cpus = [(_THREAD_KINDS[kind], cpu) for kind, cpus in by_kind.items() for cpu in _parse_cpus(cpus)]
        elif name == "thread_prefix":
            self.thread_prefix = encode_name(value, name)
            if not 1 <= len(self.thread_prefix) <= 15:
                raise ValueError(f"thread_prefix must have 1 to 15 bytes, not {value!r:.50}")
        elif not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, not {value!r:.50}")
        else:
            self.measure = value
        return 0

    cdef int _apply_own(self, cyk_handle_t *handle) except -1:
        """Prepare a handle for what the settings of ours ask for."""
        if self.cpus is not None:
            for kind, cpu in self.cpus:
                cyk_handle_add_cpu(handle, kind, cpu)
        if self.thread_prefix is not None:
            cyk_handle_name_threads(handle, self.thread_prefix)
        if self.measure and cyk_handle_measure(handle) != 0:
            raise MemoryError
        return 0

    cdef str effective(self, str name):
        """Return the value that a property has, also by default, in librdkafka's text form."""
        cdef char buffer[512]
        cdef size_t size = sizeof(buffer)
        if rd_kafka_conf_get(self.native, name.encode(), buffer, &size) != RD_KAFKA_CONF_OK:
            raise KafkaException(make_error(RD_KAFKA_RESP_ERR__INVALID_ARG,
                                            f"No such configuration property: {name!r}"))
        return decode_text(buffer)

    cdef int64_t milliseconds(self, str name) except -1:
        """Return the effective value of a property in milliseconds."""
        return int(self.effective(name))

    cdef bint flag(self, str name) except -1:
        """Return the effective value of a boolean property."""
        return self.effective(name) == "true"

    cdef rd_kafka_t *create(self, rd_kafka_type_t kind, cyk_handle_t *handle, int collect) except NULL:
        """Make the client; on success the native configuration belongs to it."""
        cdef char errstr[512]
        cdef int status
        cdef rd_kafka_t *rk
        cdef rd_kafka_conf_t *native = self.native
        collect |= CYK_COLLECT_THROTTLE if self.throttle_cb is not None else 0
        collect |= CYK_COLLECT_ERROR if self.error_cb is not None else 0
        collect |= CYK_COLLECT_STATS if self.stats_cb is not None else 0
        collect |= CYK_COLLECT_OAUTHBEARER if self.oauth_cb is not None else 0
        if self.logger is not None:
            collect |= CYK_COLLECT_LOG
            self._set("log.queue", "true")
        if self.effective("security.protocol").startswith("sasl_") and self.effective("sasl.mechanisms") == "GSSAPI":
            with nogil:
                status = cyk_sasl_load(errstr, sizeof(errstr))
            if status == -1:
                raise KafkaException(make_error(RD_KAFKA_RESP_ERR__INVALID_ARG, decode_text(errstr)))
        self._apply_own(handle)
        client_id, client_secret = (self.properties.get(f"sasl.oauthbearer.client.{part}") for part in ("id", "secret"))
        if client_id and client_secret:
            # What basic authentication sends, in base64.
            self.secrets += secret_forms(f"{client_id}:{client_secret}")
        for secret in self.secrets:
            cyk_handle_add_secret(handle, <bytes>secret, False)
        self.has_no_token = (
            self.oauth_cb is None and self.effective("sasl.oauthbearer.method") == "default"
            and not self.flag("enable.sasl.oauthbearer.unsecure.jwt"))
        cyk_conf_collect(native, handle, collect)
        cyk_conf_intercept(native, handle)
        with nogil:
            if self.share:
                rk = cyk_share_consumer_new(native, errstr, sizeof(errstr))
            else:
                rk = rd_kafka_new(kind, native, errstr, sizeof(errstr))
        if rk is NULL:
            # The configuration stays ours on failure, and so does its opaque pointer to the handle.
            text = decode_text(errstr)
            if text.startswith("ssl.key."):
                text += ": it must be a private key in PEM, and ssl.key.password the right one if it is encrypted"
            raise KafkaException(make_error(
                rd_kafka_last_error(), text if self.what is None else f"Failed to create {self.what}: {text}"))
        self.native = NULL
        return rk
