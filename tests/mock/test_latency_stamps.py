"""Local stamps of messages, in nanoseconds of the monotonic clock."""

import pickle
import time

import pytest

from cykafka import Consumer, KafkaError, Message, Producer, TopicPartition
from tests.mock.conftest import poll_until, take
from tests.support.clients import Reports


def test_a_report_tells_when_it_was_sent_and_acknowledged(mock_cluster, producer):
    producer.warmup("t", 60)
    mock_cluster.set_broker_rtt(1, 0.1)
    reports = Reports()
    before = time.monotonic_ns()
    producer.produce("t", b"v", partition=0, on_delivery=reports)
    poll_until(producer, lambda: len(reports) == 1)
    message = reports.messages[0]
    # Both clocks are read in microseconds at some places.
    assert before - 2000 <= message.sent_ns() < message.received_ns() <= time.monotonic_ns()
    assert message.received_ns() - message.sent_ns() >= 99_000_000


def test_a_message_tells_when_it_came(producer, make_consumer):
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    stamps = []
    for how in (lambda: consumer.poll(60), lambda: consumer.consume(1, 60)[0]) * 3:
        before = time.monotonic_ns()
        producer.produce("t", b"v", partition=0)
        assert producer.flush(60) == 0
        message = how()
        assert message.error() is None
        assert before <= message.received_ns() <= time.monotonic_ns()
        assert message.sent_ns() is None
        stamps.append(message.received_ns())
    assert stamps == sorted(stamps)
    assert len(set(stamps)) == len(stamps)


def test_messages_of_one_response_have_one_stamp(mock_cluster, make_consumer):
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 200}) as producer:
        for _ in range(100):
            producer.produce("t", b"v", partition=0)
        producer.flush(60)
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    assert len({m.received_ns() for m in take(consumer, 100)}) == 1


def test_without_a_response_there_is_no_stamp(mock_cluster):
    reports = Reports()
    with Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}) as producer:
        producer.produce("t", b"v", on_delivery=reports)
        producer.purge()
        producer.flush(60)
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "acks": 0}) as producer:
        producer.produce("t", b"v", on_delivery=reports)
        producer.flush(60)
    assert reports.errors == [KafkaError._PURGE_QUEUE, None]
    assert [(m.sent_ns(), m.received_ns()) for m in reports.messages] == [(None, None)] * 2


def test_events_have_no_stamp(make_consumer, mock_cluster):
    mock_cluster.create_topic("t", 1, 1)
    consumer = make_consumer(enable_partition_eof=True)
    consumer.assign([TopicPartition("t", 0, 0)])
    event = consumer.poll(60)
    assert event.error() == KafkaError._PARTITION_EOF
    assert event.received_ns() is None


def test_stamps_stay_on_their_machine():
    """Another process has another clock: a pickled message has none."""
    message = Message("t", 0, 0, b"k", b"v")
    assert (message.sent_ns(), message.received_ns()) == (None, None)
    assert pickle.loads(pickle.dumps(message)).received_ns() is None


@pytest.mark.parametrize("how", ["poll", "consume"])
def test_a_consumer_measures_how_long_messages_lie_about(mock_cluster, producer, how):
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "group.id": "g", "latency_histograms": True}
    with Consumer(config) as consumer:
        assert set(consumer.latency_histograms) == {"delivery"}
        for i in range(20):
            producer.produce("t", str(i), partition=0)
        producer.flush(60)
        # One response brings them all.
        consumer.assign([TopicPartition("t", 0, 0)])
        take(consumer, 1)
        time.sleep(0.3)
        got = 1
        while got < 20:
            got += len(consumer.consume(50, 60)) if how == "consume" else consumer.poll(60) is not None
        delivery = consumer.latency_histograms["delivery"]
        assert delivery.count == 20
        assert delivery.percentile(50) >= 290_000
