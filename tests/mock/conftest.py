"""What the tests on the embedded mock cluster share."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cykafka import Consumer, Message, Producer
from cykafka.testing import MockCluster

pytestmark = pytest.mark.mock


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/mock/" in str(item.path):
            item.add_marker(pytest.mark.mock)


@pytest.fixture
def producer(mock_cluster: MockCluster) -> Iterator[Producer]:
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0}) as client:
        yield client


@pytest.fixture
def make_consumer(mock_cluster: MockCluster) -> Iterator[Callable[..., Consumer]]:
    made: list[Consumer] = []

    def make(**properties: Any) -> Consumer:
        config = {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "group.id": "group",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
            "session.timeout.ms": 6000,
            "topic.metadata.refresh.interval.ms": 500,
        }
        config.update(
            {
                name.replace("_", ".") if "cb" not in name and name != "on_commit" else name: v
                for name, v in properties.items()
            }
        )
        made.append(Consumer(config))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


def take(consumer: Consumer, count: int, timeout: float = 20.0) -> list[Message]:
    """Consume until there are as many messages as asked for; fail if time is over."""
    messages: list[Message] = []
    end = time.monotonic() + timeout
    while len(messages) < count:
        assert time.monotonic() < end, f"only {len(messages)} of {count} messages"
        messages += [m for m in consumer.consume(count - len(messages), 0.2) if m.error() is None]
    return messages


def poll_until(client: Any, condition: Callable[[], Any], timeout: float = 20.0) -> None:
    """Poll a client until a condition holds; fail if time is over."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "condition never came true"
        client.poll(0.05)
