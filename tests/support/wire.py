"""The few requests of the Kafka protocol that test helpers need, over a plain socket.

They keep the set-up and the checks of tests apart from the client under test.
"""

from __future__ import annotations

import socket
import struct
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping

_METADATA = 3
_FIND_COORDINATOR = 10
_API_VERSIONS = 18
_SASL_HANDSHAKE = 17
_CREATE_TOPICS = 19
_DELETE_TOPICS = 20
_INIT_PRODUCER_ID = 22
_SASL_AUTHENTICATE = 36
_UNKNOWN_TOPIC_OR_PARTITION = 3
_COORDINATOR_LOAD_IN_PROGRESS = 14
_COORDINATOR_NOT_AVAILABLE = 15
_GROUP_COORDINATOR = 0
_TRANSACTION_COORDINATOR = 1
_POLL_SECONDS = 0.02

T = TypeVar("T")


class ProtocolError(Exception):
    """A server answered with an error code.

    Args:
        request: Name of the request.
        code: Error code of the Kafka protocol.
        message: The server's explanation, or an empty string.
    """

    def __init__(self, request: str, code: int, message: str = "") -> None:
        super().__init__(f"{request}: error code {code} {message}".rstrip())
        self.code = code


@dataclass(frozen=True)
class Partition:
    """One partition in the metadata; `leader` is -1 when there is none."""

    id: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True)
class Topic:
    """One topic in the metadata, with its error code (0: none)."""

    name: str
    error: int
    partitions: tuple[Partition, ...]


@dataclass(frozen=True)
class Metadata:
    """What one broker knows about the cluster; brokers are `host:port` by id."""

    brokers: dict[int, str]
    controller: int
    topics: dict[str, Topic]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        chunk = self._data[self._at : self._at + count]
        if len(chunk) < count:
            raise ProtocolError("answer", -1, "ends early")
        self._at += count
        return chunk

    def int8(self) -> int:
        return int.from_bytes(self.take(1), "big", signed=True)

    def int16(self) -> int:
        return int.from_bytes(self.take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def string(self) -> str:
        return self.take(max(0, self.int16())).decode()

    def array(self, item: Callable[[], T]) -> tuple[T, ...]:
        return tuple(item() for _ in range(self.int32()))


def _string(text: str | None) -> bytes:
    if text is None:
        return struct.pack(">h", -1)
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _array(items: list[bytes]) -> bytes:
    return struct.pack(">i", len(items)) + b"".join(items)


class Connection:
    """One connection to a broker; use `connect`."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._correlation = 0

    def request(self, key: int, version: int, body: bytes) -> _Reader:
        """Send a request with a classic (not flexible) header and read the answer after its header."""
        self._correlation += 1
        message = struct.pack(">hhi", key, version, self._correlation) + _string("cykafka-tests") + body
        self._socket.sendall(struct.pack(">i", len(message)) + message)
        answer = _Reader(self._receive(struct.unpack(">i", self._receive(4))[0]))
        answer.int32()
        return answer

    def _receive(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            chunk = self._socket.recv(count - len(data))
            if not chunk:
                raise ConnectionResetError("the server closed the connection")
            data += chunk
        return data

    def api_versions(self) -> dict[int, tuple[int, int]]:
        """Oldest and newest version of each request the broker knows, by API key."""
        answer = self.request(_API_VERSIONS, 0, b"")
        _check("ApiVersions", answer.int16())
        entries = answer.array(lambda: (answer.int16(), answer.int16(), answer.int16()))
        return {key: (oldest, newest) for key, oldest, newest in entries}

    def sasl_handshake(self, mechanism: str) -> tuple[str, ...]:
        """Choose a SASL mechanism.

        Returns:
            The mechanisms of this listener.

        Raises:
            ProtocolError: The mechanism is not one of them.
        """
        answer = self.request(_SASL_HANDSHAKE, 1, _string(mechanism))
        code = answer.int16()
        mechanisms = answer.array(answer.string)
        _check("SaslHandshake", code, f"mechanisms: {', '.join(mechanisms)}")
        return mechanisms

    def sasl_authenticate(self, token: bytes) -> bytes:
        """Send one SASL message.

        Returns:
            The server's SASL message.

        Raises:
            ProtocolError: The server refused.
        """
        answer = self.request(_SASL_AUTHENTICATE, 0, struct.pack(">i", len(token)) + token)
        code = answer.int16()
        message = answer.string()
        _check("SaslAuthenticate", code, message)
        return answer.take(answer.int32())

    def metadata(self) -> Metadata:
        """Every broker and topic that the broker knows."""
        answer = self.request(_METADATA, 5, struct.pack(">i?", -1, False))
        answer.int32()

        def broker() -> tuple[int, str]:
            node, host, port, _rack = answer.int32(), answer.string(), answer.int32(), answer.string()
            return node, f"{host}:{port}"

        def partition() -> Partition:
            answer.int16()
            number, leader = answer.int32(), answer.int32()
            replicas, in_sync = answer.array(answer.int32), answer.array(answer.int32)
            answer.array(answer.int32)
            return Partition(number, leader, replicas, in_sync)

        def topic() -> Topic:
            error, name, _internal = answer.int16(), answer.string(), answer.int8()
            return Topic(name, error, answer.array(partition))

        brokers = dict(answer.array(broker))
        answer.string()
        controller = answer.int32()
        return Metadata(brokers, controller, {each.name: each for each in answer.array(topic)})

    def find_coordinator(self, key: str, key_type: int) -> int:
        """Ask for a coordinator, which creates its internal topic.

        Args:
            key: Group id or transactional id.
            key_type: 0 for groups, 1 for transactions.

        Returns:
            The error code; 0 when there is one.
        """
        answer = self.request(_FIND_COORDINATOR, 2, _string(key) + struct.pack(">b", key_type))
        answer.int32()
        return answer.int16()

    def init_producer_id(self) -> int:
        """Ask for the id of an idempotent producer.

        Returns:
            The error code; 0 when there is one.
        """
        answer = self.request(_INIT_PRODUCER_ID, 1, _string(None) + struct.pack(">i", 60000))
        answer.int32()
        return answer.int16()

    def create_topic(
        self,
        name: str,
        *,
        partitions: int,
        replication_factor: int,
        config: Mapping[str, str] | None,
        timeout: float,
    ) -> None:
        """Create a topic; the brokers learn of it a moment later.

        Raises:
            ProtocolError: The cluster refused.
        """
        entries = [_string(key) + _string(value) for key, value in (config or {}).items()]
        body = _string(name) + struct.pack(">ih", partitions, replication_factor) + _array([]) + _array(entries)
        answer = self.request(_CREATE_TOPICS, 4, _array([body]) + struct.pack(">i?", int(timeout * 1000), False))
        answer.int32()
        answer.array(lambda: _check(f"CreateTopics {answer.string()}", answer.int16(), answer.string()))

    def delete_topic(self, name: str, *, timeout: float) -> None:
        """Delete a topic.

        Raises:
            ProtocolError: The cluster refused.
        """
        answer = self.request(_DELETE_TOPICS, 3, _array([_string(name)]) + struct.pack(">i", int(timeout * 1000)))
        answer.int32()
        answer.array(lambda: _check(f"DeleteTopics {answer.string()}", answer.int16()))


def _check(request: str, code: int, message: str = "") -> None:
    if code != 0:
        raise ProtocolError(request, code, message)


@contextmanager
def connect(
    address: str, *, timeout: float = 10.0, tls: ssl.SSLContext | None = None, server_name: str = "localhost"
) -> Iterator[Connection]:
    """Open a connection for the length of a `with` block.

    Args:
        address: `host:port`.
        timeout: Seconds for connecting and for each answer.
        tls: Context to encrypt with; None for plain text.
        server_name: Name that the server's certificate must carry.
    """
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout) as plain:
        if tls is None:
            yield Connection(plain)
        else:
            with tls.wrap_socket(plain, server_hostname=server_name) as encrypted:
                yield Connection(encrypted)


def metadata(address: str) -> Metadata:
    """What the broker at `host:port` (plain text) knows about the cluster."""
    with connect(address) as connection:
        return connection.metadata()


def create_topic(
    bootstrap_servers: str,
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    config: Mapping[str, str] | None = None,
    timeout: float = 30.0,
) -> None:
    """Create a topic over plain text and wait until every broker knows all its leaders.

    Args:
        bootstrap_servers: `host:port` of one or more brokers, separated by commas.
        name: Topic name.
        partitions: Number of partitions.
        replication_factor: Number of replicas.
        config: Topic properties.
        timeout: Seconds.

    Raises:
        ProtocolError: The cluster refused.
        TimeoutError: The brokers did not learn of it in time.
        OSError: No broker could be reached.
    """
    with _connect_any(bootstrap_servers, timeout) as connection:
        connection.create_topic(
            name, partitions=partitions, replication_factor=replication_factor, config=config, timeout=timeout
        )
        brokers = connection.metadata().brokers
    deadline = time.monotonic() + timeout
    for address in brokers.values():
        with connect(address) as connection:
            while not _has_leaders(connection.metadata().topics.get(name)):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"broker {address} does not know topic {name} after {timeout:g} s")
                time.sleep(_POLL_SECONDS)


def warm_up(address: str, timeout: float = 60.0) -> None:
    """Let a new broker get ready for groups, transactions and idempotent producers.

    Otherwise the first of each waits through the back-off of a client's retries: for internal topics that
    the cluster creates on demand, and for the broker's first block of producer ids.

    Args:
        address: `host:port` of the broker.
        timeout: Seconds for each of the three.

    Raises:
        ProtocolError: The broker refused.
        TimeoutError: It was not ready in time.
    """
    with connect(address) as connection:
        for key_type in (_GROUP_COORDINATOR, _TRANSACTION_COORDINATOR):
            ask = partial(connection.find_coordinator, "any", key_type)
            _ask_until_ready("FindCoordinator", ask, timeout)
        _ask_until_ready("InitProducerId", connection.init_producer_id, timeout)


def _ask_until_ready(request: str, ask: Callable[[], int], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while code := ask():
        if code not in (_COORDINATOR_NOT_AVAILABLE, _COORDINATOR_LOAD_IN_PROGRESS):
            raise ProtocolError(request, code)
        if time.monotonic() > deadline:
            raise TimeoutError(f"{request}: not ready after {timeout:g} s")
        time.sleep(_POLL_SECONDS)


def delete_topic(bootstrap_servers: str, name: str, timeout: float = 30.0) -> None:
    """Delete a topic over plain text; no error when there is none of that name.

    Args:
        bootstrap_servers: `host:port` of one or more brokers, separated by commas.
        name: Topic name.
        timeout: Seconds.
    """
    with _connect_any(bootstrap_servers, timeout) as connection:
        try:
            connection.delete_topic(name, timeout=timeout)
        except ProtocolError as error:
            if error.code != _UNKNOWN_TOPIC_OR_PARTITION:
                raise


def _has_leaders(topic: Topic | None) -> bool:
    return topic is not None and bool(topic.partitions) and all(each.leader >= 0 for each in topic.partitions)


@contextmanager
def _connect_any(bootstrap_servers: str, timeout: float) -> Iterator[Connection]:
    with ExitStack() as stack:
        for address in bootstrap_servers.split(","):
            with suppress(OSError):
                connection = stack.enter_context(connect(address.strip(), timeout=timeout))
                break
        else:
            raise ConnectionError(f"no broker answers at {bootstrap_servers}")
        yield connection
