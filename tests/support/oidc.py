"""A small OpenID Connect provider: signs tokens, and hands them out over HTTP."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.parse
import uuid
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.support.ports import LOOPBACK

if TYPE_CHECKING:
    import ssl

    from typing_extensions import Self

_TOKEN_PATH = "/token"
_KEYS_PATH = "/keys"
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _number(value: int) -> str:
    return _base64url(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class TokenIssuer:
    """Signs JSON web tokens (RS256) with a key of its own.

    Args:
        name: Value of the `iss` claim.
        audience: Value of the `aud` claim.
    """

    def __init__(self, name: str = "urn:cykafka:tests", audience: str = "kafka") -> None:
        self.name = name
        self.audience = audience
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._key_id = uuid.uuid4().hex

    def keys(self) -> str:
        """The public key as a JSON web key set."""
        public = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self._key_id}
        return json.dumps({"keys": [{**key, "n": _number(public.n), "e": _number(public.e)}]})

    def token(self, subject: str, *, lifetime: float = 300.0, audience: str | None = None, scope: str = "kafka") -> str:
        """Make a signed token.

        Args:
            subject: The `sub` claim: the Kafka principal.
            lifetime: Seconds from now until it expires; negative for one that has expired.
            audience: The `aud` claim; None for the issuer's.
            scope: The `scope` claim.
        """
        now = time.time()
        header = {"alg": "RS256", "typ": "JWT", "kid": self._key_id}
        claims = {
            "iss": self.name,
            "sub": subject,
            "aud": self.audience if audience is None else audience,
            "scope": scope,
            "iat": int(min(now, now + lifetime)),
            "exp": int(now + lifetime),
            "jti": uuid.uuid4().hex,
        }
        signed = ".".join(_base64url(json.dumps(part).encode()) for part in (header, claims))
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_base64url(signature)}"


@dataclass(frozen=True)
class Answer:
    """What a token endpoint that misbehaves answers with.

    Attributes:
        body: The body.
        status: The HTTP status.
        content_type: Value of Content-Type.
        hang: Send the header and half of the body, then nothing until the provider ends.
    """

    body: str = "{}"
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = "application/json"
    hang: bool = False


@dataclass(frozen=True)
class TokenRequest:
    """One request for a token that an `OidcProvider` got.

    Attributes:
        client_id: Who asked, or an empty string.
        form: The form fields.
    """

    client_id: str
    form: dict[str, str]


class OidcProvider:
    """Hands out tokens over HTTP on a free loopback port, in threads of this process; a context manager.

    It serves the grants `client_credentials` (by basic authentication or form fields) and `jwt-bearer` (any
    assertion).

    Args:
        issuer: Signs the tokens.
        clients: Secret by client id; the id becomes the token's subject.
        lifetime: Seconds that each token is valid.
        tls: Server-side context for HTTPS; None for HTTP.
    """

    def __init__(
        self,
        issuer: TokenIssuer,
        clients: dict[str, str],
        *,
        lifetime: float = 300.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.issuer = issuer
        self.clients = clients
        self.lifetime = lifetime
        #: Requests for tokens so far, oldest first.
        self.requests: list[TokenRequest] = []
        #: Tokens handed out so far, oldest first.
        self.issued: list[str] = []
        #: Statuses to fail the next requests for tokens with, in order.
        self.failures: deque[HTTPStatus] = deque()
        #: Answers to all requests for tokens instead of tokens, as long as it is set.
        self.misbehaviour: Answer | None = None
        #: Set when the provider ends.
        self.ended = threading.Event()
        self._tls = tls
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        provider = self

        class Handler(_Handler):
            def answer_token(self, request: TokenRequest, secret: str) -> Answer:
                return provider.answer(request, secret)

            def wait(self) -> None:
                provider.ended.wait()

            def answer_keys(self) -> str:
                return provider.issuer.keys()

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._server.daemon_threads = True
        if self._tls is not None:
            self._server.socket = self._tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="oidc-provider")
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        assert self._server is not None
        assert self._thread is not None
        self.ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def token_url(self) -> str:
        """Where clients ask for tokens: `sasl.oauthbearer.token.endpoint.url`."""
        return self._url(_TOKEN_PATH)

    @property
    def keys_url(self) -> str:
        """Where servers get the public key: `sasl.oauthbearer.jwks.endpoint.url` of a broker."""
        return self._url(_KEYS_PATH)

    def answer(self, request: TokenRequest, secret: str) -> Answer:
        """Decide on one request for a token.

        Args:
            request: The request.
            secret: The secret that came with it.
        """
        self.requests.append(request)
        if self.misbehaviour is not None:
            return self.misbehaviour
        if self.failures:
            status = self.failures.popleft()
            return Answer(json.dumps({"error": "server_error", "error_description": status.phrase}), status)
        if request.form.get("grant_type") == _JWT_BEARER:
            subject = request.client_id or next(iter(self.clients))
        elif self.clients.get(request.client_id) == secret:
            subject = request.client_id
        else:
            body = {"error": "invalid_client", "error_description": "unknown client or wrong secret"}
            return Answer(json.dumps(body), HTTPStatus.UNAUTHORIZED)
        token = self.issuer.token(subject, lifetime=self.lifetime, scope=request.form.get("scope", "kafka"))
        self.issued.append(token)
        body = {"access_token": token, "token_type": "Bearer"}
        return Answer(json.dumps({**body, "expires_in": int(self.lifetime)}))

    def _url(self, path: str) -> str:
        assert self._server is not None
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://localhost:{self._server.server_address[1]}{path}"


class _Handler(BaseHTTPRequestHandler):
    def answer_token(self, request: TokenRequest, secret: str) -> Answer:
        raise NotImplementedError

    def wait(self) -> None:
        raise NotImplementedError

    def answer_keys(self) -> str:
        raise NotImplementedError

    def do_GET(self) -> None:
        if self.path == _KEYS_PATH:
            self._send(Answer(self.answer_keys()))
        else:
            self._send(Answer(status=HTTPStatus.NOT_FOUND))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        if self.path != _TOKEN_PATH:
            self._send(Answer(status=HTTPStatus.NOT_FOUND))
            return
        form = dict(urllib.parse.parse_qsl(body))
        client_id, secret = form.get("client_id", ""), form.get("client_secret", "")
        scheme, _, credentials = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "basic":
            client_id, _, secret = base64.b64decode(credentials).decode().partition(":")
        self._send(self.answer_token(TokenRequest(client_id, form), secret))

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep the tests' output free of a line for each request."""

    def _send(self, answer: Answer) -> None:
        data = answer.body.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        # A client that has given up is no business of the provider's.
        with suppress(OSError):
            if answer.hang:
                self.wfile.write(data[: len(data) // 2])
                self.wait()
            else:
                self.wfile.write(data)
