"""Producing to the embedded cluster."""

import array
import gc
import sys
import weakref

import pytest

from cykafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from cykafka.testing import ApiKey, MockCluster
from tests.mock.conftest import poll_until, take


def delivered(producer: Producer, *args, **kwargs) -> Message:
    """Produce one message and return its report, which must be good."""
    reports = []
    producer.produce(*args, on_delivery=lambda error, message: reports.append((error, message)), **kwargs)
    assert producer.flush(20) == 0
    ((error, message),) = reports
    assert error is None
    return message


def consumed(make_consumer, topic: str, partition: int = 0) -> Message:
    consumer = make_consumer()
    consumer.assign([TopicPartition(topic, partition, 0)])
    return take(consumer, 1)[0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (b"", b""),
        (b"bytes", b"bytes"),
        ("text é", "text é".encode()),
        (bytearray(b"array"), b"array"),
        (memoryview(b"view"), b"view"),
        (memoryview(b"0123456789")[2:5], b"234"),
        (array.array("i", [1, 2]), array.array("i", [1, 2]).tobytes()),
        (bytearray(), b""),
        (b"x" * 200_000, b"x" * 200_000),
    ],
)
def test_values_of_every_kind_arrive(producer, make_consumer, value, expected):
    report = delivered(producer, "topic", value, b"key", 0)
    assert (report.value(), report.key(), report.partition(), report.offset()) == (expected, b"key", 0, 0)
    message = consumed(make_consumer, "topic")
    assert (message.value(), message.key()) == (expected, b"key")


def test_report_tells_status_latency_timestamp_and_opaque(producer):
    opaque = object()
    report = delivered(producer, "topic", "v", timestamp=1234, headers={"a": "b"}, opaque=opaque)
    assert report.status() == "persisted"
    assert 0 < report.latency() < 20
    assert report.timestamp() == (2, 1234) or report.timestamp() == (1, 1234)
    assert report.headers() == [("a", b"b")]
    assert report.opaque() is opaque
    assert report.error() is None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"a": "text", "b": b"bytes", "c": None}, [("a", b"text"), ("b", b"bytes"), ("c", None)]),
        ([("same", "1"), ("same", "2")], [("same", b"1"), ("same", b"2")]),
        ((("t", b""),), [("t", b"")]),
        ([["list", memoryview(b"view")]], [("list", b"view")]),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_headers_of_every_shape_arrive(producer, make_consumer, headers, expected):
    delivered(producer, "topic", "v", partition=0, headers=headers)
    message = consumed(make_consumer, "topic")
    assert message.headers() == expected
    assert message.headers() == expected


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"topic": 1}, TypeError),
        ({"topic": None}, TypeError),
        ({"topic": b"bytes"}, TypeError),
        ({"topic": ""}, ValueError),
        ({"topic": "a\0b"}, ValueError),
        ({"value": 5}, TypeError),
        ({"value": object()}, TypeError),
        ({"key": 5}, TypeError),
        ({"value": memoryview(b"01234567")[::2]}, BufferError),
        ({"partition": "x"}, TypeError),
        ({"timestamp": "x"}, TypeError),
        ({"timestamp": -5}, ValueError),
        ({"headers": "text"}, TypeError),
        ({"headers": [("a",)]}, TypeError),
        ({"headers": [("a", 5)]}, TypeError),
        ({"headers": [(5, b"a")]}, TypeError),
        ({"headers": ["ab"]}, TypeError),
        ({"on_delivery": 5}, TypeError),
        ({"unknown": 5}, TypeError),
        ({"value": b"x" * 2_000_000}, KafkaException),
    ],
)
def test_bad_arguments_are_refused_and_leave_the_producer_usable(producer, arguments, error):
    with pytest.raises(error):
        producer.produce(**{"topic": "topic", **arguments})
    assert len(producer) == 0
    delivered(producer, "topic", "good")


def test_oversized_message_names_its_error(producer):
    with pytest.raises(KafkaException) as caught:
        producer.produce("topic", b"x" * 2_000_000)
    assert caught.value.args[0] == KafkaError.MSG_SIZE_TOO_LARGE


def test_unknown_partition_is_told_in_the_report_or_at_once(producer):
    delivered(producer, "topic", "first")
    reports = []
    try:
        producer.produce("topic", "v", partition=99, on_delivery=lambda e, m: reports.append(e))
        producer.flush(20)
        error = reports[0]
    except KafkaException as exception:
        error = exception.args[0]
    assert error == KafkaError._UNKNOWN_PARTITION


def test_full_queue_raises_buffererror_and_keeps_what_was_there(mock_cluster):
    with Producer(
        {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "queue.buffering.max.messages": 2,
            "linger.ms": 50,
        }
    ) as producer:
        delivered_values = []
        for value in ("1", "2"):
            producer.produce("topic", value, on_delivery=lambda e, m: delivered_values.append(m.value()))
        with pytest.raises(BufferError, match="poll"):
            producer.produce("topic", "3")
        assert len(producer) == 2
        producer.flush(20)
        assert sorted(delivered_values) == [b"1", b"2"]


def test_full_queue_with_timeout_waits_for_room(mock_cluster):
    with Producer(
        {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "queue.buffering.max.messages": 5,
            "linger.ms": 1,
        }
    ) as producer:
        reports = []
        for i in range(50):
            producer.produce("topic", str(i), on_delivery=lambda e, m: reports.append(e), timeout=20)
        producer.flush(20)
        assert reports == [None] * 50


def test_full_queue_with_timeout_gives_up_at_the_deadline():
    with Producer({"bootstrap.servers": "127.0.0.1:9", "queue.buffering.max.messages": 1, "logger": QUIET}) as producer:
        producer.produce("topic", "1")
        with pytest.raises(BufferError):
            producer.produce("topic", "2", timeout=0.1)
        producer.purge()
        producer.flush(5)


class _Quiet:
    def log(self, *args):
        pass


QUIET = _Quiet()


def test_purge_tells_the_callbacks():
    errors = []
    # Without brokers, so that no event about one counts too.
    with Producer({"log_level": 0}) as producer:
        for _ in range(3):
            producer.produce("topic", "v", on_delivery=lambda e, m: errors.append((e.code(), m.status())))
        assert len(producer) == 3
        producer.purge()
        assert producer.flush(5) == 0
    assert errors == [(KafkaError._PURGE_QUEUE, "not_persisted")] * 3


def test_close_with_timeout_purges_and_tells_the_callbacks():
    errors = []
    producer = Producer({"bootstrap.servers": "127.0.0.1:9", "logger": QUIET})
    producer.produce("topic", "v", on_delivery=lambda e, m: errors.append(e.code()))
    assert producer.close(0.05) is True
    assert errors == [KafkaError._PURGE_QUEUE]
    assert producer.close() is True


def test_timed_out_in_queue_is_reported(mock_cluster):
    errors = []
    with Producer({"bootstrap.servers": "127.0.0.1:9", "message.timeout.ms": 200, "logger": QUIET}) as producer:
        producer.produce("topic", "v", on_delivery=lambda e, m: errors.append((e.code(), m.status())))
        producer.flush(10)
    assert errors == [(KafkaError._MSG_TIMED_OUT, "not_persisted")]


def test_broker_error_fails_the_message(mock_cluster, producer):
    delivered(producer, "topic", "first")
    mock_cluster.push_request_errors(ApiKey.PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
    errors = []
    producer.produce("topic", "v", on_delivery=lambda e, m: errors.append((e.code(), m.error().code(), m.status())))
    producer.flush(10)
    assert errors == [(KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.MSG_SIZE_TOO_LARGE, "not_persisted")]


def test_retriable_broker_error_is_retried(mock_cluster, producer):
    delivered(producer, "topic", "first")
    mock_cluster.push_request_errors(ApiKey.PRODUCE, [KafkaError.NOT_ENOUGH_REPLICAS] * 2)
    assert delivered(producer, "topic", "v").status() == "persisted"


def test_default_delivery_callback_and_only_errors(mock_cluster):
    servers = mock_cluster.bootstrap_servers
    seen = []
    with Producer({"bootstrap.servers": servers, "on_delivery": lambda e, m: seen.append(m.value())}) as producer:
        producer.produce("topic", "default")
        producer.produce("topic", "own", on_delivery=lambda e, m: seen.append("own"))
    assert sorted(map(str, seen)) == sorted([str(b"default"), "own"])
    seen.clear()
    with Producer(
        {
            "bootstrap.servers": servers,
            "on_delivery": lambda e, m: seen.append(e),
            "delivery.report.only.error": True,
        }
    ) as producer:
        producer.produce("topic", "good")
        producer.flush(20)
        mock_cluster.push_request_errors(ApiKey.PRODUCE, [KafkaError.TOPIC_AUTHORIZATION_FAILED])
        producer.produce("topic", "bad")
    assert seen == [KafkaError.TOPIC_AUTHORIZATION_FAILED]


def test_message_kept_by_the_callback_outlives_the_event(producer):
    kept = []
    for i in range(100):
        producer.produce(
            "topic", f"value {i}", f"key {i}", headers={"n": str(i)}, on_delivery=lambda e, m: kept.append(m)
        )
    producer.flush(20)
    producer.close()
    assert sorted(m.value() for m in kept) == sorted(f"value {i}".encode() for i in range(100))
    assert all(m.headers()[0][0] == "n" and m.key().startswith(b"key") for m in kept)


def test_references_to_callbacks_and_payloads_are_given_back(mock_cluster):
    class Callback:
        def __call__(self, error, message):
            pass

    callback, opaque, payload = Callback(), Callback(), b"z" * 100_000
    before = (sys.getrefcount(callback), sys.getrefcount(opaque), sys.getrefcount(payload))
    producer = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers})
    for _ in range(50):
        producer.produce("topic", payload, on_delivery=callback, opaque=opaque)
    producer.flush(20)
    for _ in range(5):
        producer.produce("topic", payload, on_delivery=callback, opaque=opaque)
    gone = weakref.ref(producer)
    del producer
    gc.collect()
    assert gone() is None
    assert (sys.getrefcount(callback), sys.getrefcount(opaque), sys.getrefcount(payload)) == before


def test_produce_batch_with_everything(producer, make_consumer):
    reports = []
    batch = [
        {"value": "1", "key": "k1", "headers": {"h": "1"}, "timestamp": 111},
        {"value": b"2", "callback": lambda e, m: reports.append(("own", m.value()))},
        {"value": None, "key": b"k3"},
    ]
    count = producer.produce_batch(
        "topic", batch, partition=0, on_delivery=lambda e, m: reports.append(("default", m.value()))
    )
    assert count == 3
    producer.flush(20)
    assert reports == [("default", b"1"), ("own", b"2"), ("default", None)]
    consumer = make_consumer()
    consumer.assign([TopicPartition("topic", 0, 0)])
    messages = take(consumer, 3)
    assert [m.value() for m in messages] == [b"1", b"2", None]
    assert messages[0].headers() == [("h", b"1")]
    assert messages[0].timestamp() == (1, 111)


def test_produce_batch_marks_what_was_not_enqueued(mock_cluster):
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "queue.buffering.max.messages": 2}) as producer:
        batch = [{"value": str(i)} for i in range(4)]
        assert producer.produce_batch("topic", batch) == 2
        assert [message.get("_error") for message in batch] == [
            None,
            None,
            KafkaError._QUEUE_FULL,
            KafkaError._QUEUE_FULL,
        ]
        producer.flush(20)
        assert producer.produce_batch("topic", batch[2:]) == 2
        assert all("_error" not in message for message in batch)


@pytest.mark.parametrize("messages", ["text", ({"value": "1"},), [5], [{"value": 5}], [{"callback": 5}]])
def test_produce_batch_refuses_bad_batches(producer, messages):
    with pytest.raises(TypeError):
        producer.produce_batch("topic", messages)


def test_idempotent_producer_survives_lost_responses(mock_cluster, make_consumer):
    reports = []
    # One request at a time: the mock brokers do not check sequence numbers, so that a later batch would overtake a failed one.
    with Producer(
        {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "enable.idempotence": True,
            "linger.ms": 0,
            "max.in.flight": 1,
        }
    ) as producer:
        delivered(producer, "topic", "0", partition=0)
        mock_cluster.push_request_errors(
            ApiKey.PRODUCE, [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.REQUEST_TIMED_OUT]
        )
        for i in range(1, 20):
            producer.produce("topic", str(i), partition=0, on_delivery=lambda e, m: reports.append(e))
        producer.flush(20)
    assert reports == [None] * 19
    consumer = make_consumer()
    consumer.assign([TopicPartition("topic", 0, 0)])
    assert [m.value() for m in take(consumer, 20)] == [str(i).encode() for i in range(20)]


def test_context_manager_flushes(mock_cluster):
    reports = []
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 5000}) as producer:
        producer.produce("topic", "v", on_delivery=lambda e, m: reports.append(e))
    assert reports == [None]
    assert producer.closed


def test_poll_returns_the_number_of_events_and_does_not_wait_longer_than_needed(producer):
    for _ in range(3):
        producer.produce("topic", "v", partition=0)
    total = 0
    while total < 3:
        served = producer.poll(20)
        assert served > 0
        total += served
    assert producer.poll(0) == 0
    assert producer.poll(0.0005) == 0


def test_keyword_configuration(mock_cluster):
    with Producer(bootstrap_servers=mock_cluster.bootstrap_servers, linger_ms=1) as producer:
        delivered(producer, "topic", "v")
    with Producer({"linger.ms": 1}, bootstrap_servers=mock_cluster.bootstrap_servers) as producer:
        delivered(producer, "topic", "v")
    with Producer(
        {"bootstrap.servers": mock_cluster.bootstrap_servers, "default.topic.config": {"acks": "all"}}
    ) as producer:
        delivered(producer, "topic", "v")


def test_a_subclass_may_add_to_produce(mock_cluster):
    class Prefixing(Producer):
        def produce(self, topic, value=None, **kwargs):
            super().produce(topic, b"prefix " + value, **kwargs)

    reports = []
    with Prefixing({"bootstrap.servers": mock_cluster.bootstrap_servers}) as producer:
        producer.produce("topic", b"v", on_delivery=lambda e, m: reports.append(m.value()))
    assert reports == [b"prefix v"]


def test_topic_error_reaches_the_report(mock_cluster):
    mock_cluster.set_topic_error("forbidden", KafkaError.TOPIC_AUTHORIZATION_FAILED)
    errors = []
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "message.timeout.ms": 3000}) as producer:
        producer.produce("forbidden", "v", on_delivery=lambda e, m: errors.append(e.code()))
        poll_until(producer, lambda: errors)
    assert errors[0] in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._MSG_TIMED_OUT)


def test_many_topics_share_one_producer(mock_cluster, make_consumer):
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers}) as producer:
        for i in range(50):
            producer.produce(f"topic-{i % 5}", str(i), partition=0)
    consumer: Consumer = make_consumer()
    consumer.assign([TopicPartition(f"topic-{i}", 0, 0) for i in range(5)])
    by_topic: dict[str, list[bytes]] = {}
    for message in take(consumer, 50):
        by_topic.setdefault(message.topic(), []).append(message.value())
    assert by_topic == {f"topic-{n}": [str(i).encode() for i in range(n, 50, 5)] for n in range(5)}


def test_mock_cluster_fixture_is_the_packages_own(mock_cluster):
    assert isinstance(mock_cluster, MockCluster)
