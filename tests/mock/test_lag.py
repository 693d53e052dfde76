"""Consumer.lag() and Consumer.keepalive()."""

import time

import pytest

from cykafka import KafkaError, TopicPartition
from tests.mock.conftest import poll_until, take


def test_lag_follows_what_is_consumed(make_consumer, producer):
    for i in range(10):
        producer.produce("topic", str(i), partition=i % 2)
    producer.flush(20)
    consumer = make_consumer()
    assert consumer.lag() == {}
    consumer.assign([TopicPartition("topic", 0, 0), TopicPartition("topic", 1, 2)])
    first, second = TopicPartition("topic", 0), TopicPartition("topic", 1)
    assert set(consumer.lag()) == {first, second}
    taken = take(consumer, 3)
    left = {first: 5, second: 3}
    for message in taken:
        left[TopicPartition("topic", message.partition())] -= 1
    poll_lag = consumer.lag()
    assert {tp: lag for tp, lag in poll_lag.items() if lag is not None} == {
        tp: lag for tp, lag in left.items() if poll_lag[tp] is not None
    }
    take(consumer, 5)
    assert consumer.lag() == {first: 0, second: 0}
    assert consumer.lag([second]) == {second: 0}


def test_lag_before_the_first_message_and_of_partitions_that_are_not_assigned(make_consumer, producer):
    for i in range(10):
        producer.produce("topic", str(i), partition=0)
    producer.flush(20)
    consumer = make_consumer()
    consumer.assign([TopicPartition("topic", 0, 4)])
    tp = TopicPartition("topic", 0)
    # Nothing has been consumed, but fetching says where the end is.
    deadline = time.monotonic() + 20
    while consumer.lag()[tp] is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert consumer.lag() == {tp: 6}
    other = TopicPartition("topic", 3)
    assert consumer.lag([other]) == {other: None}
    with pytest.raises(TypeError):
        consumer.lag(["topic"])


def test_lag_by_asking_the_cluster(make_consumer, producer):
    for i in range(10):
        producer.produce("topic", str(i), partition=0)
    producer.flush(20)
    consumer = make_consumer(enable_auto_commit=False)
    tp = TopicPartition("topic", 0)
    assert consumer.lag([tp], query=True, timeout=20) == {tp: None}
    consumer.commit(offsets=[TopicPartition("topic", 0, 3)], asynchronous=False)
    assert consumer.lag([tp], query=True, timeout=20) == {tp: 7}
    consumer.subscribe(["topic"])
    take(consumer, 2)
    consumer.pause([tp])
    for i in range(5):
        producer.produce("topic", str(i), partition=0)
    producer.flush(20)
    assert consumer.lag([tp], query=True, timeout=20) == {tp: 10}


def test_lag_sends_nothing_unless_asked(make_consumer, producer, mock_cluster):
    producer.produce("topic", "v", partition=0)
    producer.flush(20)
    consumer = make_consumer()
    consumer.assign([TopicPartition("topic", 0, 0)])
    take(consumer, 1)
    mock_cluster.set_broker_down(1)
    assert consumer.lag() == {TopicPartition("topic", 0): 0}


def test_keepalive_counts_as_a_poll(make_consumer, mock_cluster):
    mock_cluster.create_topic("topic", 1, 1)
    properties = {"max_poll_interval_ms": 6000, "session_timeout_ms": 6000, "heartbeat_interval_ms": 500}
    kept, silent = (make_consumer(group_id=name, **properties) for name in ("kept", "silent"))
    for consumer in (kept, silent):
        consumer.subscribe(["topic"])
        poll_until(consumer, consumer.assignment)
    end = time.monotonic() + 8
    while time.monotonic() < end:
        kept.keepalive()
        time.sleep(0.2)

    def error_of(consumer):
        message = consumer.poll(1)
        return message.error() if message is not None else None

    assert error_of(kept) is None
    assert error_of(silent) == KafkaError._MAX_POLL_EXCEEDED
    kept.close()
    with pytest.raises(RuntimeError):
        kept.keepalive()
