"""A broker on a loopback socket that answers as a test says, or does not."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cykafka.admin.protocol import Api, api
from tests.support.ports import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Self

_API_VERSIONS = 18


def frame(body: bytes) -> bytes:
    """A response with its length before it."""
    return len(body).to_bytes(4, "big") + body


class FakeBroker:
    """A context manager that serves connections on threads of its own, which end with it.

    Args:
        answer: Called with the request's row, version, correlation id and body; returns the bytes to send with
            their length, b"" to close the connection, None to say nothing.
        versions: Lowest and highest version by request that ApiVersions names.

    Attributes:
        requests: Names of the requests that came, in order.
    """

    def __init__(
        self,
        answer: Callable[[Api, int, int, bytes], bytes | None],
        versions: Mapping[str, tuple[int, int]],
    ) -> None:
        self.requests: list[str] = []
        self._answer = answer
        self._versions = versions
        self._server = socket.create_server((LOOPBACK, 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    @property
    def bootstrap_servers(self) -> str:
        """Address, as `bootstrap.servers` takes it."""
        return f"{LOOPBACK}:{self._server.getsockname()[1]}"

    @property
    def connections(self) -> int:
        """How many connections were made."""
        return len(self._open)

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *exc_info: object) -> None:
        for each in (self._server, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10)

    def reply(self, row: Api, version: int, correlation: int, body: Mapping[str, Any]) -> bytes:
        """A right response."""
        tags = b"\0" if row.is_flexible(version) and row.key != _API_VERSIONS else b""
        return frame(correlation.to_bytes(4, "big") + tags + row.encode_response(body, version))

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self._open.append(connection)
                self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while len(length := stream.read(4)) == 4:
                data = stream.read(int.from_bytes(length, "big"))
                key, version, correlation = (
                    int.from_bytes(data[start:end], "big") for start, end in ((0, 2), (2, 4), (4, 8))
                )
                row = api(key)
                self.requests.append(row.name)
                answer = self._answer(row, version, correlation, data)
                if answer is None:
                    continue
                if not answer:
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
                    return
                connection.sendall(answer)

    def api_versions(self, version: int, correlation: int) -> bytes:
        """The response that names the versions."""
        keys = [
            {"api_key": api(name).key, "min_version": lowest, "max_version": highest}
            for name, (lowest, highest) in self._versions.items()
        ]
        return self.reply(api("ApiVersions"), version, correlation, {"api_keys": keys})
