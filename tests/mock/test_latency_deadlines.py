"""Deadlines of messages: what is late is told once, and not sent."""

import gc
import sys
import threading
import time

import pytest

from cykafka import KafkaError, Producer, SerializingProducer, TopicPartition
from cykafka.testing import ApiKey
from tests.mock.conftest import poll_until, take
from tests.support.clients import Reports, wait_until


@pytest.fixture(params=[False, True], ids=["plain", "idempotent"])
def make(request, mock_cluster):
    """Function that makes a producer; each test runs with and without idempotence."""
    mock_cluster.create_topic("t", 1, 1)
    made = []

    def make_producer(**properties):
        config = {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "linger.ms": 0,
            "enable.idempotence": request.param,
            "retry.backoff.ms": 10,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 50,
            "log_level": 0,
            **{name.replace("_", "."): value for name, value in properties.items()},
        }
        made.append(Producer(config))
        return made[-1]

    yield make_producer
    for producer in made:
        producer.close(0)


def read_all(make_consumer, count):
    """Return the values of partition 0, of which there must be as many as said."""
    consumer = make_consumer(enable_partition_eof=True)
    consumer.assign([TopicPartition("t", 0, 0)])
    messages = take(consumer, count)
    late = [m for m in consumer.consume(10, 1.0, min_messages=2) if m.error() is None]
    assert late == []
    return [m.value() for m in messages]


def test_in_time_it_is_a_message_like_any_other(make, make_consumer):
    reports = Reports()
    producer = make()
    producer.produce("t", "v", "k", headers={"h": b"x"}, timestamp=5, on_delivery=reports, opaque="o", deadline=60)
    assert producer.flush(60) == 0
    assert reports.errors == [None]
    message = reports.messages[0]
    assert (message.value(), message.key(), message.headers(), message.opaque()) == (b"v", b"k", [("h", b"x")], "o")
    assert message.status() == "persisted"
    assert read_all(make_consumer, 1) == [b"v"]


def test_what_was_never_sent_is_known_not_to_be_there(make, mock_cluster, make_consumer):
    """librdkafka's own report: the broker is away, and the message is out of the queue at its deadline."""
    reports, others = Reports(), Reports()
    producer = make()
    producer.produce("t", b"first")
    assert producer.flush(60) == 0
    mock_cluster.set_broker_down(1)
    for i in range(5):
        producer.produce("t", b"late %d" % i, on_delivery=reports, deadline=0.1)
        producer.produce("t", b"other %d" % i, on_delivery=others)
    poll_until(producer, lambda: len(reports) == 5)
    assert reports.errors == [KafkaError._MSG_TIMED_OUT] * 5
    assert [m.value() for m in reports.messages] == [b"late %d" % i for i in range(5)]
    mock_cluster.set_broker_up(1)
    assert producer.flush(60) == 0
    assert others.errors == [None] * 5
    assert len(reports) == 5
    # Those around them are there, in order and without a gap that a broker would complain of.
    assert read_all(make_consumer, 6) == [b"first", *(b"other %d" % i for i in range(5))]


def test_a_message_in_the_queue_is_not_persisted(make):
    reports = Reports()
    producer = make(bootstrap_servers="127.0.0.1:1")
    producer.produce("t", b"v", partition=0, on_delivery=reports, deadline=0.05)
    poll_until(producer, lambda: len(reports) == 1)
    assert reports.errors == [KafkaError._MSG_TIMED_OUT]
    assert reports.statuses[0] in {"not_persisted", "possibly_persisted"}
    # The queue is looked through once a second as long as the topic is not known.
    assert producer.flush(60) == 0
    assert len(reports) == 1


def test_one_in_flight_is_told_at_its_deadline(make, mock_cluster, make_consumer):
    """It may arrive later: nothing more is said about it then."""
    reports, others = Reports(), Reports()
    producer = make()
    producer.warmup("t", 60)
    mock_cluster.set_broker_rtt(1, 1.5)
    producer.produce("t", "v", "k", headers={"h": "x"}, on_delivery=reports, opaque="o", deadline=0.2)
    start = time.monotonic()
    poll_until(producer, lambda: len(reports) == 1)
    assert time.monotonic() - start >= 0.19
    message = reports.messages[0]
    assert reports.errors == [KafkaError._MSG_TIMED_OUT]
    assert "deadline" in reports.errors[0].str()
    assert message.status() == "possibly_persisted"
    assert (message.topic(), message.value(), message.key()) == ("t", b"v", b"k")
    assert (message.headers(), message.opaque(), message.offset()) == ([("h", b"x")], "o", None)
    assert 0.19 <= message.latency() < 30
    mock_cluster.set_broker_rtt(1, 0)
    producer.produce("t", b"after", on_delivery=others)
    assert producer.flush(60) == 0
    assert (len(reports), others.errors) == (1, [None])
    assert read_all(make_consumer, 2) == [b"v", b"after"]


def test_a_poll_without_time_out_wakes_up_for_a_deadline(make, mock_cluster):
    reports = Reports()
    producer = make()
    producer.warmup("t", 60)
    mock_cluster.set_broker_rtt(1, 3)
    producer.produce("t", b"v", on_delivery=reports, deadline=0.1)
    assert producer.poll() == 1
    assert reports.errors == [KafkaError._MSG_TIMED_OUT]


def test_deadlines_in_any_order(make):
    order = []
    producer = make(bootstrap_servers="127.0.0.1:1")
    deadlines = [0.3, 0.1, 0.5, 0.2, 0.4, 0.15, 0.45]
    for deadline in deadlines:
        producer.produce("t", str(deadline), on_delivery=lambda _, m: order.append(float(m.value())), deadline=deadline)
    poll_until(producer, lambda: len(order) == len(deadlines))
    assert order == sorted(deadlines)


def test_a_retry_that_would_be_late_is_not_made(make, mock_cluster, make_consumer):
    """A plain producer drops it; an idempotent one must repeat its batch, and what it may repeat is told as such."""
    reports, others = Reports(), Reports()
    producer = make(retry_backoff_ms=400, retry_backoff_max_ms=400)
    producer.warmup("t", 60)
    mock_cluster.push_partition_request_errors("t", 0, ApiKey.PRODUCE, [KafkaError.NOT_LEADER_FOR_PARTITION])
    producer.produce("t", b"late", on_delivery=reports, deadline=0.15)
    poll_until(producer, lambda: len(reports) == 1)
    assert reports.errors == [KafkaError._MSG_TIMED_OUT]
    producer.produce("t", b"other", on_delivery=others)
    assert producer.flush(60) == 0
    assert (len(reports), others.errors) == (1, [None])
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    values = [m.value() for m in take(consumer, 1)]
    assert values[0] in ({b"other"} if reports.statuses == ["not_persisted"] else {b"late", b"other"})


def test_many_deadlines_beside_a_broker_that_comes_and_goes(make, mock_cluster, make_consumer):
    """Every message is told exactly once, and what is told as not persisted is not there."""
    reports = Reports()
    producer = make()
    stop = threading.Event()

    def disturb():
        while not stop.wait(0.05):
            mock_cluster.set_broker_down(1)
            stop.wait(0.05)
            mock_cluster.set_broker_up(1)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for i in range(2000):
            producer.produce("t", str(i), on_delivery=reports, deadline=(None, 0.005, 0.05, 10)[i % 4])
            producer.poll(0.0005)
    finally:
        stop.set()
        thread.join()
    assert producer.flush(60) == 0
    told = [int(m.value()) for m in reports.messages]
    assert sorted(told) == list(range(2000))
    assert {error.code() for error in reports.errors if error} <= {KafkaError._MSG_TIMED_OUT}
    delivered = {int(m.value()) for m in reports.messages if m.error() is None}
    absent = {int(m.value()) for m in reports.messages if m.status() == "not_persisted"}
    assert not any(i % 4 == 0 for i in absent)
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    there = {int(m.value()) for m in take(consumer, len(delivered), 60)}
    while batch := consumer.consume(1000, 1.0):
        there |= {int(m.value()) for m in batch}
    assert delivered <= there
    assert not absent & there


def test_rows_of_a_batch_have_deadlines_too(make):
    reports = Reports()
    producer = make(bootstrap_servers="127.0.0.1:1")
    rows = [{"value": b"a", "deadline": 0.05}, {"value": b"b"}, {"value": b"c", "deadline": 0.1}]
    assert producer.produce_batch("t", rows, on_delivery=reports) == 3
    poll_until(producer, lambda: len(reports) == 2)
    assert [m.value() for m in reports.messages] == [b"a", b"c"]
    producer.purge()
    assert producer.flush(60) == 0
    assert [m.value() for m in reports.messages] == [b"a", b"c", b"b"]


def test_a_large_payload_is_held_until_librdkafka_lets_go(make, mock_cluster):
    reports = Reports()
    producer = make()
    producer.warmup("t", 60)
    mock_cluster.set_broker_rtt(1, 1.0)
    payload = bytearray(b"x" * 100_000)
    producer.produce("t", payload, on_delivery=reports, copy=False, deadline=0.1)
    poll_until(producer, lambda: len(reports) == 1)
    with pytest.raises(BufferError):
        payload.clear()
    assert reports.messages[0].value() == bytes(payload)
    assert producer.flush(60) == 0
    payload.clear()
    assert len(reports) == 1


def test_the_default_callback_and_errors_only(mock_cluster):
    reports = Reports()
    config = {"bootstrap.servers": "127.0.0.1:1", "on_delivery": reports, "delivery.report.only.error": True}
    with Producer({**config, "log_level": 0}) as producer:
        producer.produce("t", b"v", deadline=0.05)
        poll_until(producer, lambda: len(reports) == 1)
        assert reports.errors == [KafkaError._MSG_TIMED_OUT]


def test_callbacks_at_deadlines_may_raise_and_produce(make):
    calls = []
    producer = make(bootstrap_servers="127.0.0.1:1")

    def again(error, message):
        calls.append(message.value())
        if message.value() == b"1":
            producer.produce("t", b"2", on_delivery=again, deadline=0.05)
            raise LookupError(message.value())

    producer.produce("t", b"1", on_delivery=again, deadline=0.05)
    with pytest.raises(LookupError):
        wait_until(lambda: producer.poll(0.05) and False)
    poll_until(producer, lambda: len(calls) == 2)
    assert calls == [b"1", b"2"]


def test_references_are_given_back(make):
    producer = make()
    reports = Reports()
    opaque, payload, key = object(), b"p" * 1000, b"k" * 1000
    before = [sys.getrefcount(x) for x in (opaque, payload, key, reports)]
    for _ in range(500):
        producer.produce("t", payload, key, on_delivery=reports, opaque=opaque, deadline=60)
    assert producer.flush(60) == 0
    reports.messages.clear()
    assert [sys.getrefcount(x) for x in (opaque, payload, key, reports)] == before
    producer.close()
    stuck = make(bootstrap_servers="127.0.0.1:1")
    for _ in range(500):
        stuck.produce("t", payload, key, on_delivery=reports, opaque=opaque, deadline=60)
    del stuck
    gc.collect()


def test_a_future_with_a_deadline(make):
    producer = make(bootstrap_servers="127.0.0.1:1")
    reports = Reports()
    producer.produce("t", b"v", on_delivery=reports, deadline=0.05)
    future = producer.send("t", b"w")
    poll_until(producer, lambda: len(reports) == 1)
    assert not future.done()


def test_a_background_thread_serves_deadlines(mock_cluster):
    reports = Reports()
    with Producer({"bootstrap.servers": "127.0.0.1:1", "poll_in_background": True, "log_level": 0}) as producer:
        producer.produce("t", b"v", on_delivery=reports, deadline=0.05)
        wait_until(lambda: len(reports) == 1)
        producer.close(0)


def test_serializing_producers_pass_it_on():
    reports = Reports()
    with SerializingProducer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}) as producer:
        producer.produce("t", value=b"v", on_delivery=reports, deadline=0.05)
        poll_until(producer, lambda: len(reports) == 1)
        assert reports.errors == [KafkaError._MSG_TIMED_OUT]
        producer.close(0)


@pytest.mark.parametrize(
    ("deadline", "error"),
    [(0, ValueError), (-2, ValueError), (float("nan"), ValueError), ("1", TypeError), (True, TypeError)],
)
def test_wrong_deadlines(producer, deadline, error):
    with pytest.raises(error, match="deadline must be"):
        producer.produce("t", b"v", deadline=deadline)
    assert len(producer) == 0


@pytest.mark.parametrize("deadline", [None, -1, float("inf"), 1e12])
def test_no_deadline(producer, deadline):
    producer.produce("t", b"v", deadline=deadline)
    assert producer.flush(60) == 0
