"""One connection to one broker: TLS, SASL, frames, versions. Whatever goes wrong on it closes it."""

import contextlib
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Any

from cykafka._rdkafka.core import KafkaError, KafkaException
from cykafka._version import __version__
from cykafka.admin.protocol._codec import MalformedError
from cykafka.admin.protocol._errors import failure, timed_out
from cykafka.admin.protocol._sasl import Authenticator, mechanism_of, refused
from cykafka.admin.protocol._schema import Api, UnsupportedFieldError, Versions, api
from cykafka.admin.protocol._settings import Settings

_CHUNK = 256 * 1024
_UNSUPPORTED_VERSION = 35
_LARGEST_BEFORE_LOGIN = 1024 * 1024


class Connection:
    """A connection that one thread at a time uses, one request after the other.

    Args:
        host: Host name or address.
        port: Port.
        settings: Settings.
        authenticator: For SASL.
        deadline: `time.monotonic` until which it must be ready.

    Raises:
        KafkaException: If it cannot be made: ``_RESOLVE``, ``_TRANSPORT``, ``_TIMED_OUT``, ``_SSL``,
            ``_AUTHENTICATION``, or what a malformed answer causes.
    """

    def __init__(self, host: str, port: int, settings: Settings, authenticator: Authenticator, deadline: float) -> None:
        self.address = (host, port)
        self.name = f"{host}:{port}"
        self.closed = False
        self._settings = settings
        self._correlation = 0
        self._versions: dict[int, Versions] = {}
        self._largest = min(settings.largest_response, _LARGEST_BEFORE_LOGIN)
        self._deadline = min(deadline, time.monotonic() + settings.setup_timeout)
        self._socket = self._connect(host, port)
        try:
            self._secure(host)
            self._ask_versions()
            if settings.uses_sasl:
                self._authenticate(authenticator)
        except BaseException:
            self.close()
            raise
        self._largest = settings.largest_response

    def close(self) -> None:
        """Close it; a thread that waits on it gets an error. Closing twice is harmless."""
        self.closed = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    @property
    def idle(self) -> bool:
        """Whether it can take a request: it is open, and nothing came that nobody had asked for."""
        if self.closed:
            return False
        try:
            self._socket.settimeout(0)
            self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def version(self, row: Api, wanted: int | None = None) -> int:
        """Choose the version of a request: the newest that the table and the broker have, or the one wanted.

        Raises:
            KafkaException: If there is none (``_UNSUPPORTED_FEATURE``); its text says what there is.
        """
        theirs = self._versions.get(row.key)
        if theirs is None:
            raise failure(KafkaError._UNSUPPORTED_FEATURE, f"{self.name} does not answer {row.name} requests")
        lowest, highest = max(row.versions.lowest, theirs.lowest), min(row.versions.highest, theirs.highest)
        chosen = highest if wanted is None else wanted
        if not lowest <= chosen <= highest:
            raise failure(
                KafkaError._UNSUPPORTED_FEATURE,
                f"{row.name} cannot be sent to {self.name}"
                + ("" if wanted is None else f" in version {wanted}")
                + f": the broker has versions {theirs}, cykafka has {row.versions}",
            )
        return chosen

    def request(self, row: Api, body: Mapping[str, Any], version: int, deadline: float) -> dict[str, Any]:
        """Send a request and wait for its response.

        Args:
            row: The request's row.
            body: Its fields.
            version: Its version.
            deadline: `time.monotonic` until which the response must be there.

        Raises:
            TypeError, ValueError: If a field is wrong. Nothing was sent, the connection goes on.
            KafkaException: ``_UNSUPPORTED_FEATURE`` likewise. ``_TIMED_OUT``, ``_TRANSPORT``, ``_SSL``,
                ``_BAD_MSG`` for a response that is none: the connection is closed.
        """
        self._deadline = deadline
        self._correlation = (self._correlation + 1) % 2**31
        try:
            data = row.encode_request(body, version, self._correlation, self._settings.client_id)
        except UnsupportedFieldError as error:
            raise failure(KafkaError._UNSUPPORTED_FEATURE, f"{self.name}: {error}") from None
        answer = self._exchange(data, row.name)
        try:
            return row.decode_response(answer, version, self._correlation)
        except MalformedError as error:
            self.close()
            raise failure(KafkaError._BAD_MSG, f"{self.name}: malformed {error}") from None

    def _connect(self, host: str, port: int) -> socket.socket:
        family = {"v4": socket.AF_INET, "v6": socket.AF_INET6}.get(
            str(self._settings.properties.get("broker.address.family", "any")).lower(), socket.AF_UNSPEC
        )
        try:
            addresses = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
        except OSError as error:
            raise failure(KafkaError._RESOLVE, f"{self.name}: {error.strerror}", retriable=True) from None
        reason = "no address"
        for kind, type_, protocol, _, address in addresses:
            made = socket.socket(kind, type_, protocol)
            try:
                made.settimeout(self._left("connect"))
                made.connect(address)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                made.close()
                if isinstance(error, TimeoutError):
                    raise timed_out(f"{self.name}: connect") from None
                reason = error.strerror or str(error)
            except BaseException:
                made.close()
                raise
            else:
                return made
        raise failure(KafkaError._TRANSPORT, f"{self.name}: cannot connect: {reason}", retriable=True)

    def _secure(self, host: str) -> None:
        if not self._settings.uses_tls:
            return
        context = self._settings.tls_context()
        try:
            self._socket.settimeout(self._left("TLS handshake"))
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
        except TimeoutError:
            raise timed_out(f"{self.name}: TLS handshake") from None
        except ssl.SSLCertVerificationError as error:
            raise failure(
                KafkaError._SSL, f"{self.name}: the broker's certificate is refused: {error.verify_message}"
            ) from None
        except (OSError, ValueError) as error:
            raise failure(KafkaError._SSL, f"{self.name}: TLS handshake: {error}") from None

    def _ask_versions(self) -> None:
        row = api("ApiVersions")
        body = {"client_software_name": "cykafka", "client_software_version": __version__}
        answer: dict[str, Any] = {}
        for version in (row.versions.highest, 0):
            self._correlation += 1
            sent = body if version else {}
            data = self._exchange(
                row.encode_request(sent, version, self._correlation, self._settings.client_id), row.name
            )
            try:
                try:
                    answer = row.decode_response(data, version, self._correlation)
                except MalformedError:
                    # A broker that does not know the version answers in version 0.
                    answer = row.decode_response(data, 0, self._correlation)
            except MalformedError as error:
                raise failure(KafkaError._BAD_MSG, f"{self.name}: malformed {error}") from None
            if answer["error_code"] != _UNSUPPORTED_VERSION:
                break
        if answer["error_code"]:
            raise failure(answer["error_code"], f"{self.name}: ApiVersions was refused")
        self._versions = {
            each["api_key"]: Versions(each["min_version"], each["max_version"]) for each in answer["api_keys"] or ()
        }

    def _authenticate(self, authenticator: Authenticator) -> None:
        messages = authenticator.exchange(self._left("SASL"))
        mechanism = mechanism_of(self._settings.properties)
        handshake = api("SaslHandshake")
        answer = self.request(handshake, {"mechanism": mechanism}, self.version(handshake, 1), self._deadline)
        if answer["error_code"]:
            known = ", ".join(answer["mechanisms"] or ())
            raise refused(f"{self.name} does not offer sasl.mechanism {mechanism}, but {known or 'none'}")
        row = api("SaslAuthenticate")
        try:
            message = next(messages)
            while True:
                answer = self.request(row, {"auth_bytes": message}, self.version(row), self._deadline)
                if answer["error_code"]:
                    authenticator.forget()
                    raise refused(f"{self.name}: {answer['error_message'] or 'no reason given'}")
                message = messages.send(answer["auth_bytes"])
        except StopIteration:
            return
        except KafkaException:
            authenticator.forget()
            raise
        finally:
            messages.close()

    def _left(self, doing: str) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise timed_out(f"{self.name}: {doing}")
        return left

    def _exchange(self, data: bytes, doing: str) -> bytes:
        try:
            self._socket.settimeout(self._left(doing))
            self._socket.sendall(len(data).to_bytes(4, "big") + data)
            return self._receive(self._length(doing), doing)
        except TimeoutError:
            self.close()
            raise timed_out(f"{self.name}: {doing}") from None
        except OSError as error:
            self.close()
            kind = KafkaError._SSL if isinstance(error, ssl.SSLError) else KafkaError._TRANSPORT
            reason = error.strerror or str(error)
            raise failure(kind, f"{self.name}: {doing}: {reason}", retriable=kind == KafkaError._TRANSPORT) from None
        except BaseException:
            self.close()
            raise

    def _length(self, doing: str) -> int:
        length = int.from_bytes(self._receive(4, doing), "big", signed=True)
        if not 4 <= length <= self._largest:
            raise failure(
                KafkaError._BAD_MSG,
                f"{self.name}: {doing} response names a length of {length} bytes, at most {self._largest} are "
                "taken: this is no Kafka listener, or one with another security.protocol",
            )
        return length

    def _receive(self, count: int, doing: str) -> bytes:
        data = bytearray()
        while len(data) < count:
            self._socket.settimeout(self._left(doing))
            chunk = self._socket.recv(min(count - len(data), _CHUNK))
            if not chunk:
                raise ConnectionResetError(None, "the broker closed the connection")
            data += chunk
        return bytes(data)
