"""Ctrl-C in calls that a slow or silent cluster keeps waiting; the others are in test_lifetime.py."""

import time

import pytest

from cykafka import Consumer, Producer, TopicPartition
from cykafka.testing import ApiKey
from tests.mock.conftest import poll_until, take
from tests.support.clients import interrupted

TP = TopicPartition("t", 0, 0)
#: Generous: the promise is 50 ms, but no timing is a pass or a fail on a busy machine.
BOUND = 5.0


@pytest.fixture
def transactional(mock_cluster):
    producer = Producer(
        {"bootstrap.servers": mock_cluster.bootstrap_servers, "transactional.id": "tx", "linger.ms": 0, "log_level": 0}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("t", b"v", partition=0)
    producer.flush(30)
    yield producer
    producer.close(1)


def check(interruption, record_property):
    record_property("seconds from signal to exception", interruption.delay)
    assert interruption.delay < BOUND


@pytest.mark.parametrize("call", ["commit_transaction", "abort_transaction", "send_offsets_to_transaction"])
def test_transaction_calls_can_be_interrupted_and_repeated(mock_cluster, transactional, record_property, call):
    with Consumer({"bootstrap.servers": mock_cluster.bootstrap_servers, "group.id": "g"}) as consumer:
        arguments = ([TP], consumer.consumer_group_metadata()) if call.startswith("send") else ()
    mock_cluster.set_broker_rtt(1, 2)
    with interrupted() as interruption:
        getattr(transactional, call)(*arguments, 30)
    check(interruption, record_property)
    # The native call that was given up ends by itself after half a second; before that it might still succeed.
    time.sleep(0.7)
    mock_cluster.set_broker_rtt(1, 0)
    if call.startswith("send"):
        transactional.abort_transaction(30)
    else:
        getattr(transactional, call)(30)
    transactional.begin_transaction()
    transactional.commit_transaction(30)


def test_closing_within_a_transaction_can_be_interrupted(mock_cluster, transactional, record_property):
    mock_cluster.set_broker_rtt(1, 2)
    with interrupted() as interruption:
        transactional.close(30)
    check(interruption, record_property)
    assert not transactional.closed
    mock_cluster.set_broker_rtt(1, 0)
    transactional.close(30)
    assert transactional.closed


def test_synchronous_commit_can_be_interrupted(mock_cluster, make_consumer, record_property):
    mock_cluster.create_topic("t", 1)
    consumer = make_consumer()
    consumer.subscribe(["t"])
    poll_until(consumer, consumer.assignment)
    mock_cluster.push_broker_request_errors(1, ApiKey.OFFSET_COMMIT, [(0, 2.0)])
    with interrupted() as interruption:
        consumer.commit(offsets=[TopicPartition("t", 0, 3)], asynchronous=False)
    check(interruption, record_property)
    assert not consumer.closed


def test_closing_a_consumer_can_be_interrupted(mock_cluster, make_consumer, producer, record_property):
    """The commit that close() waits for takes long; the consumer stays usable for another close()."""
    mock_cluster.create_topic("t", 1)
    producer.produce("t", b"v", partition=0)
    producer.flush(30)
    consumer = make_consumer(auto_commit_interval_ms=60000)
    consumer.subscribe(["t"])
    take(consumer, 1)
    mock_cluster.push_broker_request_errors(1, ApiKey.OFFSET_COMMIT, [(0, 2.0)])
    with interrupted() as interruption:
        consumer.close()
    check(interruption, record_property)
    consumer.close()
    assert consumer.closed


def test_metadata_calls_of_a_slow_cluster_can_be_interrupted(mock_cluster, make_consumer, record_property):
    mock_cluster.create_topic("t", 1)
    consumer = make_consumer()
    consumer.list_topics(timeout=30)
    for call in (
        lambda: consumer.list_topics(timeout=30),
        lambda: consumer.get_watermark_offsets(TP, 30),
        lambda: consumer.offsets_for_times([TP], 30),
        lambda: consumer.committed([TP], 30),
    ):
        mock_cluster.set_broker_rtt(1, 1)
        with interrupted() as interruption:
            call()
        check(interruption, record_property)
        mock_cluster.set_broker_rtt(1, 0)
    assert consumer.list_topics("t", 30).topics


def test_an_interrupted_callback_leaves_the_rest_queued(mock_cluster, producer):
    """KeyboardInterrupt out of a callback comes out of the serving call; no report is lost by it."""
    seen = []

    def on_delivery(error, message):
        seen.append(message.value())
        if len(seen) == 1:
            raise KeyboardInterrupt

    for i in range(10):
        producer.produce("t", str(i), partition=0, on_delivery=on_delivery)
    with pytest.raises(KeyboardInterrupt):
        producer.flush(30)
    assert producer.flush(30) == 0
    assert seen == [str(i).encode() for i in range(10)]
