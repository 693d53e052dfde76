"""From ``kafka.*`` options, written for the Java client, to configuration properties of librdkafka."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from cykafka.spark.errors import OptionError

PREFIX = "kafka."

#: Java's names of properties that librdkafka calls otherwise.
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "max.request.size": "message.max.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}

_NOT_NEEDED = "librdkafka has no such setting; leave it out"
_JAVA_CLASS = "it names a Java class, and no Java runs here; leave it out"
_REFUSED = {
    "max.poll.records": f"{_NOT_NEEDED} (limit a batch with 'maxOffsetsPerTrigger' or 'maxRecordsPerPartition')",
    "max.block.ms": f"{_NOT_NEEDED} (a full queue is waited for)",
    "default.api.timeout.ms": f"{_NOT_NEEDED} (see 'fetchOffset.numRetries' and 'kafka.socket.timeout.ms')",
    "metric.reporters": _JAVA_CLASS,
    "auto.include.jmx.reporter": _NOT_NEEDED,
    "metrics.num.samples": _NOT_NEEDED,
    "metrics.recording.level": _NOT_NEEDED,
    "metrics.sample.window.ms": _NOT_NEEDED,
    "exclude.internal.topics": f"{_NOT_NEEDED} (topics are matched as they are named)",
    "partitioner.class": (
        f"{_JAVA_CLASS}; use 'kafka.partitioner' (murmur2_random, which is Java's default and the default "
        "here, "
        "consistent_random, ...) or a column 'partition'"
    ),
    "partitioner.ignore.keys": f"{_NOT_NEEDED} (use 'kafka.partitioner')",
    "partitioner.adaptive.partitioning.enable": _NOT_NEEDED,
    "partitioner.availability.timeout.ms": _NOT_NEEDED,
    "ssl.protocol": f"{_NOT_NEEDED} (OpenSSL takes the newest TLS that both sides know)",
    "ssl.enabled.protocols": f"{_NOT_NEEDED} (OpenSSL takes the newest TLS that both sides know)",
    "ssl.provider": _JAVA_CLASS,
    "ssl.keymanager.algorithm": _NOT_NEEDED,
    "ssl.trustmanager.algorithm": _NOT_NEEDED,
    "ssl.secure.random.implementation": _NOT_NEEDED,
    "ssl.engine.factory.class": _JAVA_CLASS,
    "security.providers": _JAVA_CLASS,
    "sasl.client.callback.handler.class": _JAVA_CLASS,
    "sasl.login.callback.handler.class": _JAVA_CLASS,
    "sasl.login.class": _JAVA_CLASS,
}
_REFUSED_FOR_SOURCE = {
    "auto.offset.reset": "the source keeps the offsets itself: use 'startingOffsets' and 'failOnDataLoss'",
    "key.deserializer": "keys are read as bytes: use 'keyFormat' or DataFrame operations",
    "value.deserializer": "values are read as bytes: use 'valueFormat' or DataFrame operations",
    "enable.auto.commit": "Spark's checkpoint keeps the offsets; for lag tools use 'commitGroupId'",
    "enable.auto.offset.store": "Spark's checkpoint keeps the offsets; for lag tools use 'commitGroupId'",
    "interceptor.classes": f"{_JAVA_CLASS} (and interceptors could break the query)",
    "enable.partition.eof": "the source needs it and sets it itself",
    "partition.assignment.strategy": "Spark assigns partitions to tasks; leave it out",
}
_REFUSED_FOR_SINK = {
    "key.serializer": "the column 'key' is string or binary and written as it is; leave it out",
    "value.serializer": "the column 'value' is string or binary and written as it is; leave it out",
    "interceptor.classes": _JAVA_CLASS,
    "transactional.id": "it is made from the query: use 'delivery' exactly_once and 'transactionalIdPrefix'",
}
_SOURCE_DEFAULTS: dict[str, str | int | bool] = {
    # The Java client's default; librdkafka's is read_committed.
    "isolation.level": "read_uncommitted",
    # What a task reads is there already: there is nothing to wait for, and a request that waits at the end
    # of a partition would hold up the next task.
    "fetch.wait.max.ms": 5,
    # A task drains its queue faster than the network fills it. By default librdkafka stops fetching for a
    # second whenever 100,000 messages wait.
    "fetch.queue.backoff.ms": 1,
    "queued.min.messages": 1_000_000,
    "queued.max.messages.kbytes": 65_536,
}
# Idle clients are kept for later tasks; that a broker closes their connections is no news.
_QUIET: dict[str, str | int | bool] = {"log.connection.close": False}
_SOURCE_FIXED: dict[str, str | int | bool] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
}
_SINK_DEFAULTS: dict[str, str | int | bool] = {
    # As the Java client does: the same key goes to the same partition, and retries keep the order.
    "partitioner": "murmur2_random",
    "enable.idempotence": True,
    # Rows come faster than they go out: fuller batches cost less, and a flush at the end does not linger.
    "linger.ms": 20,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 131_072,
}

Config = dict[str, str | int | bool]


def source_config(kafka: Mapping[str, str]) -> Config:
    """Make the configuration of the source's consumers, without a group id.

    Args:
        kafka: Options that begin with ``kafka.``, without that prefix.

    Raises:
        OptionError: An option cannot be passed on; the message says what to use instead.
    """
    translated = translate(kafka, _REFUSED_FOR_SOURCE)
    if "request.timeout.ms" in translated:
        # In librdkafka the name is a setting of producers alone.
        translated["socket.timeout.ms"] = translated.pop("request.timeout.ms")
    return {**_QUIET, **_SOURCE_DEFAULTS, **translated, **_SOURCE_FIXED}


def sink_config(kafka: Mapping[str, str]) -> Config:
    """Make the configuration of the sink's producers.

    Args:
        kafka: Options that begin with ``kafka.``, without that prefix.

    Raises:
        OptionError: An option cannot be passed on; the message says what to use instead.
    """
    translated = translate(kafka, _REFUSED_FOR_SINK)
    if "buffer.memory" in translated:
        bytes_ = _number("buffer.memory", str(translated.pop("buffer.memory")))
        translated["queue.buffering.max.kbytes"] = max(bytes_ // 1024, 1)
    return {**_QUIET, **_SINK_DEFAULTS, **translated}


def translate(kafka: Mapping[str, str], refused_here: Mapping[str, str] | None = None) -> Config:
    """Translate what the Java client calls differently and refuse what exists in Java alone.

    Args:
        kafka: Options that begin with ``kafka.``, without that prefix.
        refused_here: Properties that may not be set, and what to do instead.

    Raises:
        OptionError: A property is refused, or its value cannot be translated.
    """
    refused = {**_REFUSED, **(refused_here or {})}
    left = {name: value for name, value in kafka.items() if not name.startswith("ssl.")}
    result: Config = dict(_translate_tls({n: v for n, v in kafka.items() if n.startswith("ssl.")}))
    for name, value in left.items():
        if name in refused:
            raise OptionError(PREFIX + name, refused[name])
        if name == "sasl.jaas.config":
            _merge(result, _parse_jaas(value), kafka)
        else:
            result[_RENAMED.get(name, name)] = value
    return result


def check_bootstrap(kafka: Mapping[str, str]) -> None:
    """Check that there are servers to ask.

    Raises:
        OptionError: ``kafka.bootstrap.servers`` is missing.
    """
    if not kafka.get("bootstrap.servers", "").strip():
        raise OptionError(
            "kafka.bootstrap.servers", "must be set to the addresses of Kafka's brokers: host:port,host:port"
        )


def _merge(result: Config, more: Mapping[str, str], given: Mapping[str, str]) -> None:
    for name, value in more.items():
        if name in given and given[name] != value:
            raise OptionError(f"{PREFIX}{name}", f"contradicts '{PREFIX}sasl.jaas.config'; set one of them")
        result[name] = value


def _number(name: str, text: str) -> int:
    if not text.strip().isdecimal():
        raise OptionError(PREFIX + name, f"must be a number, not '{text}'")
    return int(text)


def _translate_tls(tls: Mapping[str, str]) -> dict[str, str]:
    result = dict(tls)
    for name in tls:
        if name in _REFUSED:
            raise OptionError(PREFIX + name, _REFUSED[name])
    _translate_truststore(result)
    _translate_keystore(result)
    renamed = {_RENAMED.get(name, name): value for name, value in result.items()}
    if renamed.get("ssl.endpoint.identification.algorithm") == "":
        renamed["ssl.endpoint.identification.algorithm"] = "none"
    return renamed


def _translate_truststore(tls: dict[str, str]) -> None:
    kind = tls.pop("ssl.truststore.type", None)
    location = tls.pop("ssl.truststore.location", None)
    if location is not None:
        if (kind or "").upper() != "PEM":
            raise OptionError(
                "kafka.ssl.truststore.location",
                f"{kind or 'JKS'} trust stores can be read by Java alone; export the certificates as PEM and "
                "set "
                "'kafka.ssl.ca.location' (keytool -exportcert -rfc)",
            )
        tls["ssl.ca.location"] = location
    if "ssl.truststore.password" in tls:
        raise OptionError("kafka.ssl.truststore.password", "PEM files of certificates have no password; leave it out")


def _translate_keystore(tls: dict[str, str]) -> None:
    kind = (tls.pop("ssl.keystore.type", None) or "").upper()
    location = tls.get("ssl.keystore.location")
    if location is None:
        return
    if kind == "PEM":
        del tls["ssl.keystore.location"]
        tls["ssl.certificate.location"] = tls["ssl.key.location"] = location
        return
    is_pkcs12 = kind == "PKCS12" or (not kind and Path(location).suffix.lower() in {".p12", ".pfx"})
    if not is_pkcs12:
        raise OptionError(
            "kafka.ssl.keystore.location",
            f"{kind or 'JKS'} key stores can be read by Java alone; use a PKCS#12 file with "
            "'kafka.ssl.keystore.type' "
            "PKCS12, or PEM files with 'kafka.ssl.certificate.location' and 'kafka.ssl.key.location'",
        )


def _parse_jaas(text: str) -> dict[str, str]:
    """Translate a JAAS entry of a log-in that needs no Java, without ever repeating the secret in it."""
    option = "kafka.sasl.jaas.config"
    found = re.fullmatch(r"\s*([\w.]+)\s+(?:required|requisite|sufficient|optional)\b(.*?);?\s*", text, re.DOTALL)
    if found is None:
        raise OptionError(option, "must be '<log-in module> required name=\"value\" ...;'")
    module = found[1].rsplit(".", 1)[-1]
    arguments = {
        name: re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
        for name, quoted, plain in re.findall(r'([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))', found[2])
    }
    if module in {"PlainLoginModule", "ScramLoginModule"}:
        _need(option, module, arguments, ("username", "password"))
        result = {"sasl.username": arguments["username"], "sasl.password": arguments["password"]}
        if module == "PlainLoginModule":
            result["sasl.mechanism"] = "PLAIN"
        return result
    if module == "OAuthBearerLoginModule":
        _need(option, module, arguments, ("clientId", "clientSecret"))
        result = {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": arguments["clientId"],
            "sasl.oauthbearer.client.secret": arguments["clientSecret"],
        }
        if "scope" in arguments:
            result["sasl.oauthbearer.scope"] = arguments["scope"]
        return result
    raise OptionError(
        option,
        f"the log-in module {found[1]} works in Java only; use librdkafka's properties 'kafka.sasl.*' "
        "instead "
        "(for Kerberos 'kafka.sasl.kerberos.keytab' and 'kafka.sasl.kerberos.principal')",
    )


def _need(option: str, module: str, arguments: Mapping[str, str], names: Iterable[str]) -> None:
    missing = [name for name in names if not arguments.get(name)]
    if missing:
        raise OptionError(option, f"{module} needs {' and '.join(missing)}")
