"""Whether a configuration lets a client in, and what it is told if not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from cykafka import Consumer, KafkaError, KafkaException, Producer
from cykafka.admin import AdminClient
from tests.support.clients import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.support.security import SecureKafkaServer

_WAIT = 20.0
_QUICK = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200}


def _by_producer(config: dict[str, Any]) -> str:
    producer = Producer(config)
    try:
        return str(producer.list_topics(timeout=_WAIT).cluster_id)
    finally:
        producer.close(0)


def _by_consumer(config: dict[str, Any]) -> str:
    consumer = Consumer({**config, "group.id": "access"})
    try:
        return str(consumer.list_topics(timeout=_WAIT).cluster_id)
    finally:
        consumer.close()


def _by_admin(config: dict[str, Any]) -> str:
    with AdminClient(config) as admin:
        return str(admin.describe_cluster(request_timeout=_WAIT).result(2 * _WAIT).cluster_id)


def _by_operator(config: dict[str, Any]) -> str:
    with AdminClient(config) as admin:
        return str(admin.request("DescribeCluster", {}, timeout=_WAIT).result(2 * _WAIT)["cluster_id"])


#: Ways to reach a cluster: function of a configuration that returns the cluster's id.
CLIENTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "producer": _by_producer,
    "consumer": _by_consumer,
    "admin": _by_admin,
    "operator": _by_operator,
}

#: Runs a test with each of them.
each_client = pytest.mark.parametrize("client", CLIENTS)


def assert_lets_in(server: SecureKafkaServer, config: Mapping[str, Any], client: str | None = None) -> None:
    """Check that a client, or each kind of client, reaches the cluster.

    Args:
        server: The server.
        config: Client configuration.
        client: A key of `CLIENTS`; None for all.
    """
    for name in CLIENTS if client is None else (client,):
        assert CLIENTS[name](dict(config)) == server.cluster_id, name


def refusal(config: Mapping[str, Any], *codes: int) -> str:
    """Return what error_cb is told, once it gets one of the codes; the error of a call must name the same reason.

    Args:
        config: Client configuration that must not be let in.
        codes: Codes of `KafkaError`.
    """
    errors: list[KafkaError] = []
    producer = Producer({**_QUICK, **config, "error_cb": errors.append, "log_level": 0})

    def told() -> KafkaError | None:
        producer.poll(0.1)
        return next((error for error in errors if error.code() in codes), None)

    try:
        error = wait_until(told)
        reason = error.str().partition(" (after ")[0].removeprefix("Failed to acquire SASL OAUTHBEARER token: ")

        def told_by_a_call() -> bool:
            with pytest.raises(KafkaException) as caught:
                producer.list_topics(timeout=0.5)
            return reason.partition(": ")[2] in caught.value.args[0].str()

        # Not always by the first one: another attempt may have failed in another way meanwhile.
        wait_until(told_by_a_call)
    finally:
        producer.close(0)
    return str(error.str())


def operator_refusal(config: Mapping[str, Any], *codes: int) -> str:
    """Return why the operator's connection is refused, which must have one of the codes."""
    with AdminClient({**config, "log_level": 0}) as admin, pytest.raises(KafkaException) as caught:
        admin.request("DescribeCluster", {}, timeout=_WAIT).result(2 * _WAIT)
    assert caught.value.args[0].code() in codes, caught.value
    return str(caught.value.args[0].str())


def produce_and_consume(config: Mapping[str, Any], topic: str, group: str) -> None:
    """Send a message through a topic and back, as a member of a group."""
    value = f"{time.time()}".encode()
    producer = Producer(dict(config))
    try:
        reports: list[KafkaError | None] = []
        producer.produce(topic, value, on_delivery=lambda error, message: reports.append(error))
        assert producer.flush(_WAIT) == 0
        assert reports == [None]
    finally:
        producer.close(0)
    consumer = Consumer({**config, "group.id": group, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        message = wait_until(lambda: consumer.poll(0.5), timeout=60)
        assert message.error() is None, message.error()
        assert message.value() == value
        consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()
