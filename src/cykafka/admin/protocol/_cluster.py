"""The brokers of a cluster: which one a request is for, connections to them, and another try elsewhere."""

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cykafka._rdkafka.core import KafkaError, KafkaException
from cykafka.admin.protocol._connection import Connection
from cykafka.admin.protocol._errors import MISROUTED, broker_error, failure, timed_out
from cykafka.admin.protocol._sasl import Authenticator
from cykafka.admin.protocol._schema import Api, api
from cykafka.admin.protocol._settings import Settings

_PAUSE = 0.1
_KEPT = 2
_COORDINATORS = {"group": 0, "transaction": 1, "share": 2}
_HARMLESS = ("Describe", "List", "Find", "Metadata", "ApiVersions", "OffsetFetch", "ConsumerGroupDescribe",
             "ShareGroupDescribe", "StreamsGroupDescribe", "GetTelemetry")  # fmt: skip


@dataclass(frozen=True)
class Coordinator:
    """The broker that coordinates a group or transactional id.

    Args:
        kind: ``group``, ``transaction`` or ``share``.
        key: Group id or transactional id; for ``share``, ``group:topic id:partition``.
    """

    kind: Literal["group", "transaction", "share"]
    key: str


@dataclass(frozen=True)
class Leader:
    """The broker that leads a partition.

    Args:
        topic: Topic name.
        partition: Partition number.
    """

    topic: str
    partition: int


#: Which broker a request is for: a broker id, the controller, a coordinator, a leader; None for any broker.
Route: TypeAlias = "int | Literal['controller'] | Coordinator | Leader | None"


class Cluster:
    """Sends requests to the brokers that they are for.

    Args:
        config: Configuration of a client: properties of librdkafka and callbacks by name.

    Thread-safe; each request has a connection of its own for as long as it lasts. Not for use in a forked
    child: make a new one there.

    Raises:
        KafkaException: If a property is wrong (``_INVALID_ARG``).
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.settings = Settings.from_config(config)
        self._authenticator = Authenticator(self.settings.properties)
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._closed = False
        self._kept: dict[tuple[str, int], list[Connection]] = {}
        self._used: set[Connection] = set()
        self._brokers: dict[int, tuple[str, int]] = {}
        self._controller = -1

    def close(self) -> None:
        """Close all connections; requests in other threads fail. Closing twice is harmless."""
        with self._lock:
            self._closed = True
            connections = [*self._used, *(each for kept in self._kept.values() for each in kept)]
            self._kept.clear()
        for connection in connections:
            if self._pid == os.getpid():
                connection.close()

    def set_credentials(self, username: str, password: str) -> None:
        """Authenticate new connections as another user; idle ones are closed."""
        with self._lock:
            self._authenticator = Authenticator(
                {**self.settings.properties, "sasl.username": username, "sasl.password": password}
            )
            idle = [each for kept in self._kept.values() for each in kept]
            self._kept.clear()
        for connection in idle:
            connection.close()

    def request(
        self,
        row: Api,
        body: Mapping[str, Any],
        *,
        to: Route = None,
        version: int | None = None,
        deadline: float,
    ) -> dict[str, Any]:
        """Send a request and return its response.

        Tried again until the deadline: what could not be sent, what the wrong broker refused, and, for requests
        that change nothing, what broke off.

        Args:
            row: The request's row.
            body: Its fields.
            to: Which broker it is for.
            version: Its version; None for the newest that both sides have.
            deadline: `time.monotonic` until which the response must be there.

        Raises:
            TypeError, ValueError: If a field is wrong.
            KafkaException: If there is no response; see `Connection`. Errors within the response are not raised.
        """
        harmless = row.name.startswith(_HARMLESS)
        while True:
            sent = False
            try:
                connection = self._borrow(to, deadline)
                try:
                    chosen = connection.version(row, version)
                    sent = True
                    response = connection.request(row, body, chosen, deadline)
                finally:
                    self._give_back(connection)
            except KafkaException as error:
                self._forget_brokers(to)
                again = error.args[0].code() in {KafkaError._TRANSPORT, KafkaError._RESOLVE} and (harmless or not sent)
                if not again or not self._pause(deadline):
                    raise
                continue
            # To a broker of the caller's choice it would go again; a controller that is just being elected settles.
            routed = to is not None and not isinstance(to, int)
            again = _misrouted(response) if routed else response.get("error_code") == KafkaError.NOT_CONTROLLER
            if not again or not self._pause(deadline):
                return response
            self._forget_brokers(to)

    def brokers(self, deadline: float) -> dict[int, tuple[str, int]]:
        """Return host and port of all brokers by id, asked anew."""
        self._refresh(deadline)
        with self._lock:
            return dict(self._brokers)

    def metadata(self, topics: list[str] | None, deadline: float) -> dict[str, Any]:
        """Return a metadata response for some topics, or for all."""
        names = None if topics is None else [{"name": name} for name in topics]
        body = {"topics": names, "allow_auto_topic_creation": False}
        return self.request(api("Metadata"), body, deadline=deadline)

    def _pause(self, deadline: float) -> bool:
        if self._closed or time.monotonic() + _PAUSE >= deadline:
            return False
        time.sleep(_PAUSE)
        return True

    def _check(self) -> None:
        if self._pid != os.getpid():
            raise RuntimeError("The client was made before this process was forked: make a new one in the child")
        if self._closed:
            raise failure(KafkaError._DESTROY, "The client was closed")

    def _borrow(self, to: Route, deadline: float) -> Connection:
        self._check()
        if to is None:
            return self._any(deadline)
        broker = self._locate(to, deadline)
        with self._lock:
            address = self._brokers.get(broker)
        if address is None:
            self._refresh(deadline)
            with self._lock:
                address = self._brokers.get(broker)
        if address is None:
            raise failure(
                KafkaError._UNKNOWN_BROKER, f"The cluster has no broker {broker}: it has {sorted(self._brokers)}"
            )
        return self._connection(address, deadline)

    def _any(self, deadline: float) -> Connection:
        with self._lock:
            addresses = list(dict.fromkeys((*self._brokers.values(), *self.settings.bootstrap)))
            addresses.sort(key=lambda address: not self._kept.get(address))
        errors: list[KafkaException] = []
        for position, address in enumerate(addresses):
            left = deadline - time.monotonic()
            # A broker that does not answer leaves time for the others.
            share = deadline - left + left / (len(addresses) - position)
            try:
                return self._connection(address, share)
            except KafkaException as error:
                errors.append(error)
                if error.args[0].code() not in {KafkaError._TRANSPORT, KafkaError._RESOLVE, KafkaError._TIMED_OUT}:
                    raise
        raise errors[-1]

    def _connection(self, address: tuple[str, int], deadline: float) -> Connection:
        while True:
            with self._lock:
                kept = self._kept.get(address)
                connection = kept.pop() if kept else None
                if connection is not None:
                    self._used.add(connection)
            if connection is None:
                break
            if connection.idle:
                return connection
            self._give_back(connection, keep=False)
        self._check()
        connection = Connection(*address, self.settings, self._authenticator, deadline)
        with self._lock:
            self._used.add(connection)
            closed = self._closed
        if closed:
            self._give_back(connection, keep=False)
            self._check()
        return connection

    def _give_back(self, connection: Connection, *, keep: bool = True) -> None:
        with self._lock:
            self._used.discard(connection)
            kept = self._kept.setdefault(connection.address, [])
            if keep and not connection.closed and not self._closed and len(kept) < _KEPT:
                kept.append(connection)
                return
        connection.close()

    def _forget_brokers(self, to: Route) -> None:
        if to is not None:
            with self._lock:
                self._controller = -1
                self._brokers.clear()

    def _refresh(self, deadline: float) -> None:
        answer = self.metadata([], deadline)
        with self._lock:
            self._brokers = {each["node_id"]: (each["host"], each["port"]) for each in answer["brokers"]}
            self._controller = answer["controller_id"]

    def _locate(self, to: Route, deadline: float) -> int:
        if isinstance(to, int):
            return to
        while True:
            code, broker = self._ask_where(to, deadline)
            if broker >= 0 and not code:
                return broker
            if code and code not in MISROUTED:
                raise KafkaException(broker_error(code))
            if not self._pause(deadline):
                raise timed_out(f"finding the broker for {to}")

    def _ask_where(self, to: Route, deadline: float) -> tuple[int, int]:
        if isinstance(to, Coordinator):
            # The newest versions ask for many at once, the oldest know groups only.
            body = {"key": to.key, "key_type": _COORDINATORS[to.kind]}
            row = api("FindCoordinator")
            answer = self._find_coordinator(row, body, deadline)
            return answer["error_code"], answer["node_id"]
        if isinstance(to, Leader):
            for topic in self.metadata([to.topic], deadline)["topics"]:
                if topic["error_code"]:
                    return topic["error_code"], -1
                for partition in topic["partitions"]:
                    if partition["partition_index"] == to.partition:
                        return partition["error_code"], partition["leader_id"]
            return KafkaError.UNKNOWN_TOPIC_OR_PART, -1
        with self._lock:
            controller = self._controller
        if controller < 0:
            self._refresh(deadline)
        return 0, self._controller

    def _find_coordinator(self, row: Api, body: dict[str, Any], deadline: float) -> dict[str, Any]:
        if body["key_type"] < 2:
            return self.request(row, body, version=3, deadline=deadline)
        body = {"key_type": body["key_type"], "coordinator_keys": [body["key"]]}
        found = self.request(row, body, deadline=deadline)["coordinators"]
        if not found:
            raise failure(KafkaError._BAD_MSG, "FindCoordinator response names no coordinator")
        return dict(found[0])


def _misrouted(value: Any) -> bool:
    if isinstance(value, dict):
        return value.get("error_code") in MISROUTED or any(_misrouted(each) for each in value.values())
    return isinstance(value, list) and any(_misrouted(each) for each in value)
