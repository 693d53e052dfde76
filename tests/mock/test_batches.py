"""Batches out and in: rows that fail, waiting for room, fewest and most messages, reports served together."""

import threading
import time

import pytest

from cykafka import KafkaError, Producer, TopicPartition
from cykafka.testing import ApiKey
from tests.mock.conftest import take
from tests.support.clients import Reports, interrupted


@pytest.fixture
def small(mock_cluster):
    """A producer whose queue takes ten messages."""
    config = {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "queue.buffering.max.messages": 10,
        "linger.ms": 0,
    }
    with Producer(config) as producer:
        yield producer


def values(count):
    return [{"value": str(i).encode(), "partition": 0} for i in range(count)]


def test_a_batch_larger_than_the_queue_waits_for_room(small, make_consumer):
    reports = Reports()
    rows = values(200)
    assert small.produce_batch("t", rows, on_delivery=reports, timeout=60) == 200
    assert not any("_error" in row for row in rows)
    assert small.flush(30) == 0
    assert reports.errors == [None] * 200
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    assert [m.value() for m in take(consumer, 200)] == [row["value"] for row in rows]


def test_without_room_in_time_the_rest_fails(mock_cluster):
    config = {"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 10, "log_level": 0}
    with Producer(config) as producer:
        rows = values(15)
        assert producer.produce_batch("t", rows, timeout=0.1) == 10
        assert [row.get("_error") for row in rows] == [None] * 10 + [KafkaError._QUEUE_FULL] * 5
        producer.close(0)


def test_an_interrupted_batch_tells_what_was_not_enqueued():
    with Producer({"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 10, "log_level": 0}) as producer:
        rows = values(15)
        with interrupted():
            producer.produce_batch("t", rows, timeout=60)
        assert [row.get("_error") for row in rows] == [None] * 10 + [KafkaError._INTR] * 5
        assert len(producer) == 10
        producer.close(0)


def test_a_callback_that_raises_ends_a_waiting_batch(small):
    class Stop(Exception):
        pass

    calls = 0

    def on_delivery(error, message):
        nonlocal calls
        calls += 1
        if calls == 1:
            raise Stop

    rows = values(30)
    with pytest.raises(Stop):
        small.produce_batch("t", rows, on_delivery=on_delivery, timeout=60)
    enqueued = sum("_error" not in row for row in rows)
    assert 10 <= enqueued < 30
    assert {row["_error"].code() for row in rows[enqueued:]} == {KafkaError._INTR}
    assert small.flush(30) == 0
    assert calls == enqueued


def test_wakeup_ends_the_waiting_of_a_batch():
    with Producer({"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 1, "log_level": 0}) as producer:
        timer = threading.Timer(0.1, producer.wakeup)
        timer.start()
        assert producer.produce_batch("t", values(3), timeout=60) == 1
        timer.join()
        producer.close(0)


def test_rows_fail_each_for_itself(mock_cluster):
    """A row too large, and one for a partition that is not there, are told apart from rows that are sent."""
    mock_cluster.create_topic("t", 1, 1)
    reports = Reports()
    with Producer(bootstrap_servers=mock_cluster.bootstrap_servers, message_max_bytes=2000, linger_ms=0) as producer:
        producer.produce("t", b"first")
        assert producer.flush(30) == 0
        rows = [
            {"value": b"a"},
            {"value": b"x" * 5000},
            {"value": b"b", "headers": [("h", b"x" * 5000)]},
            {"value": b"c", "partition": 7},
            {"value": b"d", "on_delivery": reports},
        ]
        assert producer.produce_batch("t", rows, on_delivery=reports) == 2
        assert [row.get("_error") for row in rows] == [
            None,
            KafkaError.MSG_SIZE_TOO_LARGE,
            KafkaError.MSG_SIZE_TOO_LARGE,
            KafkaError._UNKNOWN_PARTITION,
            None,
        ]
        assert producer.flush(30) == 0
        assert [m.value() for m in reports.messages] == [b"a", b"d"]


def test_a_failed_delivery_is_reported_to_its_row(mock_cluster):
    mock_cluster.create_topic("t", 2, 1)
    mock_cluster.push_partition_request_errors("t", 1, ApiKey.PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
    reports = {0: Reports(), 1: Reports()}
    with Producer(bootstrap_servers=mock_cluster.bootstrap_servers, linger_ms=0) as producer:
        rows = [{"value": b"v", "partition": p, "on_delivery": reports[p], "opaque": p} for p in (0, 1)]
        assert producer.produce_batch("t", rows) == 2
        assert producer.flush(30) == 0
        assert reports[0].errors == [None]
        assert reports[1].errors == [KafkaError.MSG_SIZE_TOO_LARGE]
        assert [report.messages[0].opaque() for report in reports.values()] == [0, 1]


@pytest.mark.parametrize(
    ("row", "error", "text"),
    [
        ({"timestamp": -1}, ValueError, "timestamp of message at index 1 must be >= 0"),
        ({"timestamp": "now"}, TypeError, "timestamp of message at index 1 must be an int, not str"),
        ({"partition": "0"}, TypeError, "partition of message at index 1 must be an int, not str"),
        ({"value": 1.5}, TypeError, "message at index 1: value must be str, a bytes-like object or None, not float"),
        ({"headers": [("h",)]}, TypeError, "message at index 1: headers must be"),
        ({"key": object()}, TypeError, "message at index 1: key must be str"),
        ({"callback": "no"}, TypeError, "callback of message at index 1 must be callable"),
    ],
)
def test_wrong_fields_are_told_with_their_row(producer, row, error, text):
    rows = [{"value": b"before"}, row, {"value": b"after"}]
    with pytest.raises(error, match=text):
        producer.produce_batch("t", rows)
    assert len(producer) == 1
    assert [row.get("_error") for row in rows] == [None, KafkaError._INTR, KafkaError._INTR]


def test_interceptors_see_each_row_once(mock_cluster):
    seen = []

    class Watch:
        def on_send(self, record):
            seen.append(record.value)

    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "queue.buffering.max.messages": 10, "linger.ms": 0}
    with Producer({**config, "interceptors": [Watch()]}) as producer:
        rows = values(50)
        assert producer.produce_batch("t", rows, timeout=60) == 50
        assert seen == [row["value"] for row in rows]
        assert producer.flush(30) == 0


def test_a_batch_that_its_callback_changes(small):
    """A callback served meanwhile may shorten the list; nothing is read beyond its end."""
    rows = values(50)

    def on_delivery(error, message):
        del rows[20:]

    assert small.produce_batch("t", rows, on_delivery=on_delivery, timeout=60) == 20
    small.flush(30)


def test_consume_waits_for_the_fewest_and_takes_the_most(producer, make_consumer):
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    producer.produce_batch("t", values(7))
    producer.flush(30)
    batch = consumer.consume(5, 60, min_messages=5)
    assert len(batch) == 5
    batch += consumer.consume(5, 0.3, min_messages=5)
    assert len(batch) == 7
    timer = threading.Timer(0.2, lambda: producer.produce_batch("t", values(3)))
    timer.start()
    late = consumer.consume(100, 60, min_messages=3)
    timer.join()
    producer.flush(30)
    assert 3 <= len(late) <= 100
    assert [m.offset() for m in batch + late] == list(range(len(batch) + len(late)))


def test_consume_returns_what_there_is_at_its_deadline(producer, make_consumer):
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    producer.produce_batch("t", values(3))
    producer.flush(30)
    first = take(consumer, 1)
    start = time.monotonic()
    batch = consumer.consume(1000, 0.4, min_messages=1000)
    assert time.monotonic() - start >= 0.39
    assert len(first) + len(batch) <= 3
    assert consumer.consume(1000, 0, min_messages=1000) == []


def test_reports_of_a_batch_are_served_by_one_poll(mock_cluster):
    """They come as one event, and the GIL is taken once for it."""
    mock_cluster.create_topic("t", 1, 1)
    reports = Reports()
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 60_000, "batch.num.messages": 5000}
    with Producer(config) as producer:
        producer.produce_batch("t", values(5000), on_delivery=reports)
        assert producer.poll(60) == 5000
        assert reports.errors == [None] * 5000
