"""What the connection takes from a client's configuration: the same properties, by the same names."""

import os
import re
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cykafka._rdkafka.core import KafkaError
from cykafka.admin.protocol._errors import failure

_DEFAULT_PORT = 9092
_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_ADDRESS = re.compile(r"(?:\w+://)?(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>\d+))?")
_TRUE = ("true", "t", "1")
_FALSE = ("false", "f", "0")


@dataclass(frozen=True)
class Settings:
    """Settings of connections; nothing of it shows in its repr but addresses.

    Attributes:
        bootstrap: Host and port of the first brokers to ask.
        protocol: security.protocol.
        properties: All properties.
        timeout: Seconds that a request may last.
        setup_timeout: Seconds that it may take to connect, with TLS and SASL.
        largest_response: Bytes of the largest response.
        client_id: Name of the client.
    """

    bootstrap: tuple[tuple[str, int], ...]
    protocol: str
    properties: Mapping[str, Any] = field(repr=False)
    timeout: float
    setup_timeout: float
    largest_response: int
    client_id: str

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Settings":
        """Read a configuration.

        Args:
            config: Properties of librdkafka and callbacks by name.

        Raises:
            KafkaException: If a property that this layer needs is missing or wrong; its text names it.
        """
        given = {name: value for name, value in config.items() if value is not None}
        servers = given.get("bootstrap.servers") or given.get("metadata.broker.list")
        if not servers:
            raise _wrong("bootstrap.servers", "is not set: name at least one broker as host:port")
        protocol = str(given.get("security.protocol", "plaintext")).lower()
        if protocol not in _PROTOCOLS:
            raise _wrong("security.protocol", f"must be one of {', '.join(_PROTOCOLS)}, not {protocol!r}")
        return cls(
            tuple(_address(text.strip()) for text in str(servers).split(",") if text.strip()),
            protocol,
            given,
            number(given, "socket.timeout.ms", 60000) / 1000,
            number(given, "socket.connection.setup.timeout.ms", 30000) / 1000,
            number(given, "receive.message.max.bytes", 100_000_000),
            str(given.get("client.id", "rdkafka")),
        )

    @property
    def uses_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.protocol.endswith("ssl")

    @property
    def uses_sasl(self) -> bool:
        """Whether connections authenticate by SASL."""
        return self.protocol.startswith("sasl")

    def tls_context(self) -> ssl.SSLContext:
        """Make the context for TLS.

        Raises:
            KafkaException: If a certificate or key cannot be read or used (``_SSL``).
        """
        try:
            return _tls_context(self.properties)
        except (OSError, ValueError) as error:
            raise failure(KafkaError._SSL, f"TLS cannot be set up from the ssl.* properties: {error}") from None


def number(properties: Mapping[str, Any], name: str, default: int) -> int:
    """Read a whole number.

    Raises:
        KafkaException: If it is none.
    """
    try:
        return int(properties.get(name, default))
    except (TypeError, ValueError):
        raise _wrong(name, "must be a whole number") from None


def flag(properties: Mapping[str, Any], name: str, default: bool) -> bool:
    """Read a boolean, as librdkafka takes it.

    Raises:
        KafkaException: If it is none.
    """
    text = str(properties.get(name, default)).lower()
    if text not in _TRUE + _FALSE:
        raise _wrong(name, "must be true or false")
    return text in _TRUE


def _wrong(name: str, why: str) -> Exception:
    return failure(KafkaError._INVALID_ARG, f"Configuration property {name} {why}")


def _address(text: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(text)
    if match is None or not 0 < int(match["port"] or _DEFAULT_PORT) < 65536:
        raise _wrong("bootstrap.servers", f"has {text!r}, which is no host:port")
    return match["v6"] or match["host"], int(match["port"] or _DEFAULT_PORT)


def trust(context: ssl.SSLContext, properties: Mapping[str, Any], prefix: str) -> None:
    """Add the certificate authorities to trust: from a file or folder, a PEM string, or the system's store.

    Args:
        context: What to add them to.
        properties: Properties by name.
        prefix: What stands before ``.ca.location`` and ``.ca.pem``.
    """
    pem = properties.get(f"{prefix}.ca.pem")
    location = properties.get(f"{prefix}.ca.location")
    if pem:
        context.load_verify_locations(cadata=str(pem))
    elif location and location != "probe":
        path = Path(location)
        context.load_verify_locations(**{"capath" if path.is_dir() else "cafile": str(path)})
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)


def _tls_context(properties: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = str(
        properties.get("ssl.endpoint.identification.algorithm", "https")
    ).lower() == "https" and flag(properties, "enable.ssl.certificate.verification", default=True)
    if flag(properties, "enable.ssl.certificate.verification", default=True):
        trust(context, properties, "ssl")
    else:
        context.verify_mode = ssl.CERT_NONE
    if "ssl.cipher.suites" in properties:
        context.set_ciphers(str(properties["ssl.cipher.suites"]))
    if "ssl.crl.location" in properties:
        context.load_verify_locations(cafile=str(properties["ssl.crl.location"]))
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    _show_certificate(context, properties)
    return context


def _show_certificate(context: ssl.SSLContext, properties: Mapping[str, Any]) -> None:
    password = properties.get("ssl.key.password")
    secret = str(password) if password else _no_password
    if "ssl.keystore.location" in properties:
        _load_pem(context, *_from_pkcs12(properties), None)
    elif "ssl.certificate.pem" in properties or "ssl.key.pem" in properties:
        certificate = str(properties.get("ssl.certificate.pem", "")) or _text(properties, "ssl.certificate.location")
        key = str(properties.get("ssl.key.pem", "")) or _text(properties, "ssl.key.location")
        _load_pem(context, certificate.encode(), key.encode(), secret)
    elif "ssl.certificate.location" in properties:
        context.load_cert_chain(str(properties["ssl.certificate.location"]), properties.get("ssl.key.location"), secret)


def _no_password() -> str:
    raise ValueError("the key is encrypted: set ssl.key.password")


def _text(properties: Mapping[str, Any], name: str) -> str:
    return Path(properties[name]).read_text() if name in properties else ""


def _load_pem(context: ssl.SSLContext, certificate: bytes, key: bytes, password: Any) -> None:
    """Give a context what Python's ssl module reads from files only: from one that lives for that long."""
    handle, name = tempfile.mkstemp(prefix="cykafka-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(certificate.rstrip() + b"\n" + key)
        context.load_cert_chain(name, None, password)
    finally:
        Path(name).unlink()


def _from_pkcs12(properties: Mapping[str, Any]) -> tuple[bytes, bytes]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        raise ValueError(
            "ssl.keystore.location needs the package cryptography here; or give the same as PEM by "
            "ssl.certificate.location and ssl.key.location"
        ) from None
    password = properties.get("ssl.keystore.password")
    key, certificate, others = pkcs12.load_key_and_certificates(
        Path(properties["ssl.keystore.location"]).read_bytes(), str(password).encode() if password else None
    )
    if key is None or certificate is None:
        raise ValueError("ssl.keystore.location has no private key with its certificate")
    pem = serialization.Encoding.PEM
    chain = b"".join(each.public_bytes(pem) for each in (certificate, *others))
    plain = serialization.NoEncryption()
    return chain, key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
