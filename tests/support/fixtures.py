"""Fixtures that hand out real Kafka servers and topics."""

from __future__ import annotations

import os
import re
import uuid
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeVar

import pytest

from tests.support import wire
from tests.support.errors import MissingToolError
from tests.support.kafka import KafkaCluster, KafkaServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.security import SecureKafkaServer

_EXTERNAL = "KAFKA_BOOTSTRAP_SERVERS"
_LONGEST_TEST_NAME = 80

C = TypeVar("C", bound=KafkaCluster)


class HasBootstrapServers(Protocol):
    """Anything that says where its brokers are."""

    @property
    def bootstrap_servers(self) -> str:
        """Addresses as `bootstrap.servers` takes them."""


@dataclass(frozen=True)
class ExternalKafka:
    """A cluster that was there before the tests; a test that wants to stop or look into it is skipped.

    Attributes:
        bootstrap_servers: Addresses of its plain-text listeners.
    """

    bootstrap_servers: str

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        pytest.skip(f"{name} needs a Kafka server that the tests start themselves: unset {_EXTERNAL}")


class TopicFactory(Protocol):
    """Type of the `topic` fixture; see there."""

    def __call__(
        self,
        partitions: int = 1,
        replication_factor: int = 1,
        *,
        config: Mapping[str, str] | None = None,
        cluster: HasBootstrapServers | None = None,
    ) -> str:
        """Create a topic and return its name."""


@contextmanager
def running(cluster: C) -> Iterator[C]:
    """Run a cluster for the length of a `with` block; skip the test when Java or Maven is missing.

    Args:
        cluster: Cluster that is not started.
    """
    with closing(cluster):
        try:
            cluster.start()
        except MissingToolError as error:
            pytest.skip(str(error))
        yield cluster


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer | ExternalKafka]:
    """One Kafka node for the session, or the cluster that `KAFKA_BOOTSTRAP_SERVERS` names.

    A test that stops or freezes it must bring it back, as `with kafka.killed():` does.
    """
    external = os.environ.get(_EXTERNAL)
    if external:
        yield ExternalKafka(external)
        return
    with running(KafkaServer()) as server:
        yield server


@pytest.fixture(scope="session")
def kafka3_session() -> Iterator[KafkaCluster]:
    """Three Kafka nodes for the session, started by the first test that asks; use `kafka3`."""
    with running(KafkaCluster(3)) as cluster:
        yield cluster


@pytest.fixture
def kafka3(kafka3_session: KafkaCluster) -> Iterator[KafkaCluster]:
    """Three Kafka nodes; those that the test stopped or froze are brought back after it."""
    yield kafka3_session
    kafka3_session.restore()


@pytest.fixture(scope="session")
def kafka_secure() -> Iterator[SecureKafkaServer]:
    """One Kafka node with TLS, SASL and access control; see `SecureKafkaServer`."""
    pytest.importorskip("cryptography", reason="certificates for the tests need the package cryptography")
    from tests.support.security import SecureKafkaServer

    with running(SecureKafkaServer()) as server:
        yield server


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> Iterator[TopicFactory]:
    """Function that creates a topic with a name of its own, after the test's name, and returns that name.

    `topic(partitions=1, replication_factor=1, config={...}, cluster=kafka3)`; without `cluster` on the
    `kafka` fixture. On a cluster that was there before the tests, the topic is deleted after the test.
    """
    test = re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.name).strip("-")[:_LONGEST_TEST_NAME]
    to_delete: list[tuple[str, str]] = []

    def create(
        partitions: int = 1,
        replication_factor: int = 1,
        *,
        config: Mapping[str, str] | None = None,
        cluster: HasBootstrapServers | None = None,
    ) -> str:
        target = request.getfixturevalue("kafka") if cluster is None else cluster
        name = f"{test}-{uuid.uuid4().hex[:8]}"
        wire.create_topic(target.bootstrap_servers, name, partitions, replication_factor, config)
        if isinstance(target, ExternalKafka):
            to_delete.append((target.bootstrap_servers, name))
        return name

    yield create
    for bootstrap_servers, name in to_delete:
        wire.delete_topic(bootstrap_servers, name)
