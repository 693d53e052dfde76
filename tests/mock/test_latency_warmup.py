"""Warming up: after it, every leader is connected and the first message waits for nothing but its own request."""

import asyncio
import threading

import pytest

from cykafka import KafkaError, KafkaException, Producer, aio
from cykafka.testing import ApiKey, MockCluster
from tests.support.clients import Reports, interrupted, wait_until


@pytest.fixture
def brokers():
    """A cluster of three brokers with two topics that all of them lead."""
    with MockCluster(3) as cluster:
        for topic in ("t", "u"):
            cluster.create_topic(topic, 6, 1)
            for partition in range(6):
                cluster.set_leader(topic, partition, partition % 3 + 1)
        cluster.start_request_tracking()
        yield cluster


def requested(cluster):
    """Return which brokers got which requests."""
    return {(request.broker_id, request.api_key) for request in cluster.requests()}


@pytest.mark.parametrize("idempotent", [False, True])
def test_every_leader_is_connected_before_the_first_message(brokers, idempotent):
    config = {"bootstrap.servers": brokers.bootstrap_servers, "linger.ms": 0, "enable.idempotence": idempotent}
    with Producer(config) as producer:
        assert producer.warmup(["t", "u"], 60) == [1, 2, 3]
        connected = requested(brokers)
        assert {(broker, ApiKey.API_VERSIONS) for broker in (1, 2, 3)} <= connected
        assert any(api == ApiKey.INIT_PRODUCER_ID for _, api in connected) == idempotent
        assert not any(api == ApiKey.PRODUCE for _, api in connected)
        brokers.clear_requests()
        reports = Reports()
        for partition in range(6):
            producer.produce("t", b"v", partition=partition, on_delivery=reports)
        assert producer.flush(60) == 0
        assert reports.errors == [None] * 6
        # No connection, no question for metadata or an id was left for the messages.
        assert requested(brokers) == {(broker, ApiKey.PRODUCE) for broker in (1, 2, 3)}


def test_the_leaders_are_named(brokers):
    brokers.create_topic("one", 1, 1)
    brokers.set_leader("one", 0, 2)
    with Producer({"bootstrap.servers": brokers.bootstrap_servers.split(",")[0]}) as producer:
        assert producer.warmup("one", 60) == [2]
        assert (2, ApiKey.API_VERSIONS) in requested(brokers)


def test_warm_already(brokers):
    with Producer({"bootstrap.servers": brokers.bootstrap_servers}) as producer:
        producer.warmup(["t"], 60)
        brokers.clear_requests()
        assert producer.warmup(["t"], 60) == [1, 2, 3]
        assert not any(api == ApiKey.API_VERSIONS for _, api in requested(brokers))


def test_a_lost_connection_is_made_again(brokers):
    with Producer({"bootstrap.servers": brokers.bootstrap_servers, "log_level": 0}) as producer:
        producer.warmup(["t"], 60)
        brokers.set_broker_down(3)
        timer = threading.Timer(0.3, brokers.set_broker_up, (3,))
        timer.start()
        wait_until(lambda: producer.warmup(["t"], 60) == [1, 2, 3] and not timer.is_alive())
        timer.join()


def test_a_leader_that_cannot_be_reached(brokers):
    brokers.set_broker_down(3)
    with Producer({"bootstrap.servers": brokers.bootstrap_servers, "log_level": 0}) as producer:
        with pytest.raises(KafkaException) as caught:
            producer.warmup(["t"], 0.5)
        assert caught.value.args[0].code() == KafkaError._TIMED_OUT
        assert "Failed to connect to all leaders" in str(caught.value)
        producer.produce("t", b"v", partition=0)
        assert producer.flush(60) == 0


def test_a_topic_that_is_not_there(brokers):
    brokers.set_topic_error("t", KafkaError.UNKNOWN_TOPIC_OR_PART)
    with Producer({"bootstrap.servers": brokers.bootstrap_servers}) as producer:
        with pytest.raises(KafkaException, match="leaders of 't'") as caught:
            producer.warmup(["u", "t"], 3)
        assert caught.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_a_topic_that_may_not_be_written(brokers):
    brokers.set_topic_error("t", KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with Producer({"bootstrap.servers": brokers.bootstrap_servers}) as producer:
        with pytest.raises(KafkaException, match="leaders of 't'") as caught:
            producer.warmup(["t"], 60)
        assert caught.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_a_topic_that_is_made_by_asking(brokers):
    with Producer({"bootstrap.servers": brokers.bootstrap_servers}) as producer:
        assert producer.warmup(["new"], 60)
        producer.produce("new", b"v")
        assert producer.flush(60) == 0


def test_no_cluster_at_all():
    with Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}) as producer:
        with pytest.raises(KafkaException):
            producer.warmup(["t"], 0.2)
        assert producer.warmup([], 0.2) == []
        with interrupted():
            producer.warmup(["t"])
        threading.Timer(0.1, producer.wakeup).start()
        with pytest.raises(KafkaException) as caught:
            producer.warmup(["t"])
        assert caught.value.args[0].code() == KafkaError._INTR


@pytest.mark.parametrize("topics", [5, [5], [b"t"], None])
def test_wrong_topics(producer, topics):
    with pytest.raises(TypeError):
        producer.warmup(topics, 1)
    with pytest.raises(ValueError, match="topic must not be empty"):
        producer.warmup([""], 1)


def test_in_an_event_loop(brokers):
    async def main():
        async with aio.Producer({"bootstrap.servers": brokers.bootstrap_servers}) as producer:
            assert await producer.warmup(["t"], 60) == [1, 2, 3]

    asyncio.run(main())
