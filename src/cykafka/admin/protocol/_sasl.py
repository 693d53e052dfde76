"""SASL mechanisms: PLAIN (RFC 4616), SCRAM (RFC 5802, 7677), OAUTHBEARER (RFC 7628)."""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

from cykafka._rdkafka.core import KafkaError
from cykafka.admin.protocol._errors import failure
from cykafka.admin.protocol._oidc import fetch_token
from cykafka.admin.protocol._settings import flag

_FEWEST_ITERATIONS = 4096
# More would keep the client busy for seconds at the will of whoever answers.
_MOST_ITERATIONS = 1_000_000
_LONGEST_REASON = 300
#: Of a token's life, after which it is renewed.
_RENEW_AFTER = 0.8
_UNSIGNED_LIFE = 3600

#: Yields what to send, is sent what the broker answers, and returns when it is satisfied.
Exchange = Generator[bytes, bytes, None]


def mechanism_of(properties: Mapping[str, Any]) -> str:
    """Return the configured mechanism's name."""
    return str(properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "GSSAPI").upper()


def refused(why: str) -> Exception:
    """Make the exception for a failed authentication."""
    return failure(KafkaError._AUTHENTICATION, f"SASL authentication failed: {why}")


class Authenticator:
    """Makes the exchange of messages that authenticates a connection; keeps tokens until they need renewal.

    Args:
        properties: Properties by name. They are read anew for each connection, so that new credentials count.

    Thread-safe.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self._properties = properties
        self._lock = threading.Lock()
        self._token: tuple[str, float, dict[str, str]] | None = None

    def exchange(self, timeout: float) -> Exchange:
        """Start an exchange.

        Args:
            timeout: Seconds that getting a token may take.

        Raises:
            KafkaException: If the mechanism is not one of this layer's, or there are no credentials.
        """
        mechanism = mechanism_of(self._properties)
        if mechanism == "OAUTHBEARER":
            return _oauthbearer(*self._bearer(timeout))
        if mechanism not in {"PLAIN", *_HASHES}:
            known = ", ".join(("PLAIN", *_HASHES, "OAUTHBEARER"))
            raise failure(
                KafkaError._NOT_IMPLEMENTED,
                f"sasl.mechanism {mechanism} is not supported by operations that librdkafka lacks, only {known}",
            )
        user, password = (self._properties.get(f"sasl.{name}") for name in ("username", "password"))
        if not user or password is None:
            raise refused(f"sasl.username and sasl.password must be set for {mechanism}")
        if mechanism == "PLAIN":
            return _plain(str(user), str(password))
        return _scram(mechanism, str(user), str(password))

    def forget(self) -> None:
        """Drop the token: the next connection gets a new one."""
        with self._lock:
            self._token = None

    def _bearer(self, timeout: float) -> tuple[str, dict[str, str]]:
        with self._lock:
            now = time.time()
            if self._token is None or now >= self._token[1]:
                token, expires, extensions = self._new_token(timeout)
                self._token = (token, now + (expires - now) * _RENEW_AFTER, extensions)
            return self._token[0], self._token[2]

    def _new_token(self, timeout: float) -> tuple[str, float, dict[str, str]]:
        properties = self._properties
        callback = properties.get("oauth_cb")
        if callback is not None:
            return _from_callback(callback, str(properties.get("sasl.oauthbearer.config", "")))
        if str(properties.get("sasl.oauthbearer.method", "default")).lower() == "oidc":
            return fetch_token(properties, timeout)
        if flag(properties, "enable.sasl.oauthbearer.unsecure.jwt", default=False):
            return _unsigned(str(properties.get("sasl.oauthbearer.config", "")))
        raise refused("OAUTHBEARER needs oauth_cb, or sasl.oauthbearer.method=oidc with its properties")


def _plain(user: str, password: str) -> Exchange:
    yield f"\0{user}\0{password}".encode()


_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def _scram(mechanism: str, user: str, password: str) -> Exchange:
    algorithm = _HASHES[mechanism]
    nonce = secrets.token_urlsafe(24)
    name = user.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={nonce}"
    answer = yield f"n,,{first}".encode()
    given = _attributes(answer)
    both, salt, rounds = given.get("r", ""), given.get("s", ""), given.get("i", "")
    if not both.startswith(nonce) or len(both) == len(nonce):
        raise refused("the broker did not take up the client's nonce")
    if not rounds.isdecimal() or not _FEWEST_ITERATIONS <= int(rounds) <= _MOST_ITERATIONS:
        raise refused(f"the broker asks for an iteration count outside {_FEWEST_ITERATIONS}-{_MOST_ITERATIONS}")
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), _decode64(salt), int(rounds))
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    without_proof = f"c=biws,r={both}"
    signed = b",".join((first.encode(), answer, without_proof.encode()))
    signature = hmac.digest(hashlib.new(algorithm, client_key).digest(), signed, algorithm)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    answer = yield f"{without_proof},p={base64.b64encode(proof).decode()}".encode()
    verifier = _attributes(answer)
    if "e" in verifier:
        raise refused(verifier["e"][:_LONGEST_REASON])
    expected = hmac.digest(hmac.digest(salted, b"Server Key", algorithm), signed, algorithm)
    if not hmac.compare_digest(_decode64(verifier.get("v", "")), expected):
        raise refused("the broker does not know the password: its signature is wrong")


def _attributes(message: bytes) -> dict[str, str]:
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise refused("the broker's SCRAM message is not UTF-8") from None
    return {part[0]: part[2:] for part in parts if part[1:2] == "="}


def _decode64(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data:
        raise refused("the broker's SCRAM message lacks its salt or signature")
    return data


def _oauthbearer(token: str, extensions: dict[str, str]) -> Exchange:
    pairs = "".join(f"{key}={value}\x01" for key, value in extensions.items())
    answer = yield f"n,,\x01auth=Bearer {token}\x01{pairs}\x01".encode()
    if answer:
        raise refused(f"the broker refuses the token: {answer[:_LONGEST_REASON].decode(errors='replace')}")


def _from_callback(callback: Callable[[str], Any], config: str) -> tuple[str, float, dict[str, str]]:
    try:
        result = callback(config)
    except Exception as error:
        raise refused(f"oauth_cb raised {type(error).__name__}") from error
    if not isinstance(result, tuple) or not 2 <= len(result) <= 4:
        raise refused("oauth_cb must return (token, expiry) and may add principal and extensions")
    token, expires, *more = result
    extensions = more[1] if len(more) == 2 else {}
    if (
        not isinstance(token, str)
        or not isinstance(expires, (int, float))
        or not isinstance(extensions, (dict, type(None)))
    ):
        raise refused("oauth_cb must return a str, a time in seconds since 1970, a principal and a dict of extensions")
    if expires <= time.time():
        raise refused("oauth_cb returned a token that has expired")
    return token, float(expires), {str(key): str(value) for key, value in (extensions or {}).items()}


def _unsigned(config: str) -> tuple[str, float, dict[str, str]]:
    options = dict(part.partition("=")[::2] for part in config.split())
    life = options.get("lifeSeconds", str(_UNSIGNED_LIFE))
    if not options.get("principal") or not life.isdecimal():
        raise refused("sasl.oauthbearer.config must name principal=, and lifeSeconds= in whole seconds if at all")
    now = time.time()
    claims: dict[str, Any] = {
        options.get("principalClaimName", "sub"): options["principal"],
        "iat": now,
        "exp": now + int(life),
    }
    if "scope" in options:
        claims[options.get("scopeClaimName", "scope")] = options["scope"].split(",")
    parts = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "none"}, claims)
    )
    extensions = {key[10:]: value for key, value in options.items() if key.startswith("extension_")}
    return ".".join(parts) + ".", now + int(life), extensions
