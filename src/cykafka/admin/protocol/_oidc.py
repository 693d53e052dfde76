"""Tokens from a token endpoint by client credentials (RFC 6749 section 4.4), in bounded time and size."""

import base64
import binascii
import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any

from cykafka._rdkafka.core import KafkaError, KafkaException
from cykafka.admin.protocol._errors import failure
from cykafka.admin.protocol._settings import flag, trust

_LARGEST_ANSWER = 1024 * 1024
_DEFAULT_LIFE = 300.0


def _failed(why: str) -> KafkaException:
    return failure(KafkaError._AUTHENTICATION, f"No token from sasl.oauthbearer.token.endpoint.url: {why}")


def fetch_token(properties: Mapping[str, Any], timeout: float) -> tuple[str, float, dict[str, str]]:
    """Get a token.

    Args:
        properties: The sasl.oauthbearer.* and https.* properties.
        timeout: Seconds.

    Returns:
        tuple: Token, when it expires in seconds since 1970, SASL extensions.

    Raises:
        KafkaException: If there is none in time (``_AUTHENTICATION``).
    """
    grant = str(properties.get("sasl.oauthbearer.grant.type", "client_credentials"))
    if grant != "client_credentials":
        raise _failed(f"sasl.oauthbearer.grant.type {grant} is not supported here; oauth_cb can get such a token")
    client, secret = (_credential(properties, part) for part in ("id", "secret"))
    if not client or not secret:
        raise _failed("sasl.oauthbearer.client.id and sasl.oauthbearer.client.secret must be set")
    form = {"grant_type": grant}
    if properties.get("sasl.oauthbearer.scope"):
        form["scope"] = str(properties["sasl.oauthbearer.scope"])
    # As librdkafka and the Java client send them by default: not encoded as a form (RFC 6749 section 2.3.1).
    credentials = base64.b64encode(f"{client}:{secret}".encode()).decode()
    headers = {
        "Accept": "application/json",
        "Authorization": f"Basic {credentials}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    url = str(properties.get("sasl.oauthbearer.token.endpoint.url") or "")
    answer = _post(url, urllib.parse.urlencode(form), headers, properties, timeout)
    try:
        parsed = json.loads(answer)
    except ValueError:
        raise _failed("the answer is not JSON") from None
    token = parsed.get("access_token") if isinstance(parsed, dict) else None
    if not isinstance(token, str) or not token:
        raise _failed("the answer has no access_token")
    return token, _expiry(token, parsed), _extensions(properties)


def _credential(properties: Mapping[str, Any], part: str) -> str:
    prefix = "sasl.oauthbearer.client"
    return str(properties.get(f"{prefix}.{part}") or properties.get(f"{prefix}.credentials.client.{part}") or "")


def _post(url: str, form: str, headers: dict[str, str], properties: Mapping[str, Any], timeout: float) -> bytes:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise _failed("it must be an http or https address")
    if parts.scheme == "https":
        context = (
            ssl.create_default_context() if not _own_trust(properties) else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )
        try:
            trust(context, properties, "https")
        except (OSError, ValueError) as error:
            raise _failed(f"https.ca.location or https.ca.pem cannot be used: {error}") from None
        if not flag(properties, "enable.ssl.certificate.verification", default=True):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=timeout, context=context
        )
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    late = threading.Event()

    def cut() -> None:
        late.set()
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)

    # The time-out of a socket starts anew with each byte; this one does not.
    timer = threading.Timer(timeout, cut)
    timer.daemon = True
    timer.start()
    try:
        connection.request("POST", urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, "")), form, headers)
        with contextlib.closing(connection.getresponse()) as response:
            answer = response.read(_LARGEST_ANSWER + 1)
            status = response.status
    except (OSError, http.client.HTTPException, ValueError) as error:
        timed_out = late.is_set() or isinstance(error, TimeoutError)
        # Of what is no HTTP only the kind: the text is the endpoint's, who knows our secret.
        reason = f"{type(error).__name__}: {error}" if isinstance(error, OSError) else type(error).__name__
        raise _failed("it did not answer in time" if timed_out else reason) from None
    finally:
        timer.cancel()
        connection.close()
    if late.is_set():
        raise _failed("it did not answer in time")
    if status != http.client.OK:
        raise _failed(f"it answered with HTTP status {status}")
    if len(answer) > _LARGEST_ANSWER:
        raise _failed(f"the answer is larger than {_LARGEST_ANSWER} bytes")
    return answer


def _own_trust(properties: Mapping[str, Any]) -> bool:
    return bool(properties.get("https.ca.location") or properties.get("https.ca.pem"))


def _expiry(token: str, answer: dict[str, Any]) -> float:
    now = time.time()
    claims: Any = None
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, ValueError, binascii.Error):
        claims = None
    expires = claims.get("exp") if isinstance(claims, dict) else None
    if isinstance(expires, bool) or not isinstance(expires, (int, float)):
        lasts = answer.get("expires_in")
        expires = now + (lasts if isinstance(lasts, (int, float)) and not isinstance(lasts, bool) else _DEFAULT_LIFE)
    if expires <= now:
        raise _failed("the token has expired")
    return float(expires)


def _extensions(properties: Mapping[str, Any]) -> dict[str, str]:
    text = str(properties.get("sasl.oauthbearer.extensions") or "")
    return dict(pair.strip().partition("=")[::2] for pair in text.split(",") if pair.strip())
