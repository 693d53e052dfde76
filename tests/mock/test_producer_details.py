"""Producing in detail: what arguments may be, what reports say, what is left behind."""

import array
import ctypes
import gc
import mmap
import os
import signal
import sys
import threading
import weakref

import pytest

from cykafka import (
    TIMESTAMP_CREATE_TIME,
    Consumer,
    FatalException,
    KafkaError,
    Producer,
    TopicPartition,
)
from cykafka.testing import ApiKey
from tests.mock.conftest import poll_until, take
from tests.support.clients import Reports

UNREACHABLE = "127.0.0.1:1"


@pytest.fixture
def stuck():
    """A producer whose messages stay in the queue."""
    client = Producer({"queue.buffering.max.messages": 3, "log_level": 0})
    yield client
    client.close(0)


@pytest.fixture
def read(mock_cluster):
    """Function that reads the messages of partition 0 of a topic."""
    consumer = Consumer({"bootstrap.servers": mock_cluster.bootstrap_servers, "group.id": "reader"})

    def read_messages(topic, count, partition=0):
        consumer.assign([TopicPartition(topic, partition, 0)])
        return take(consumer, count)

    yield read_messages
    consumer.close()


def deliver(producer, *args, **kwargs):
    """Produce one message and return the Message of its report."""
    reports = Reports()
    producer.produce(*args, on_delivery=reports, **kwargs)
    assert producer.flush(30) == 0
    assert reports.errors == [None]
    return reports.messages[0]


def test_all_arguments_by_keyword_arrive(producer, read):
    marker = object()
    reports = Reports()
    producer.produce(
        topic="t",
        value="välue",
        key="kéy",
        partition=2,
        on_delivery=reports,
        timestamp=1_700_000_000_123,
        headers={"a": b"1"},
        opaque=marker,
    )
    assert producer.flush(30) == 0
    report = reports.messages[0]
    assert (report.topic(), report.partition(), report.offset()) == ("t", 2, 0)
    assert report.opaque() is marker
    assert report.status() == "persisted"
    assert 0 < report.latency() < 30
    message = read("t", 1, partition=2)[0]
    assert message.value() == "välue".encode()
    assert message.key() == "kéy".encode()
    assert message.timestamp() == (TIMESTAMP_CREATE_TIME, 1_700_000_000_123)
    assert message.headers() == [("a", b"1")]
    assert message.latency() is None
    assert message.status() is None
    assert message.opaque() is None


def test_all_arguments_by_position_arrive(producer, read):
    reports = Reports()
    producer.produce("t", b"v", b"k", 0, None, reports, 5, [("h", "x")])
    assert producer.flush(30) == 0
    assert len(reports) == 1
    message = read("t", 1)[0]
    assert (message.key(), message.value(), message.headers()) == (b"k", b"v", [("h", b"x")])
    assert message.timestamp()[1] == 5


VALUES = {
    "bytes": (b"\x00\xff", b"\x00\xff"),
    "empty bytes": (b"", b""),
    "str": ("grüße", "grüße".encode()),
    "empty str": ("", b""),
    "none": (None, None),
    "bytearray": (bytearray(b"ab"), b"ab"),
    "empty bytearray": (bytearray(), b""),
    "memoryview": (memoryview(b"abcdef")[1:3], b"bc"),
    "array": (array.array("h", [1, 2]), array.array("h", [1, 2]).tobytes()),
    "ctypes": ((ctypes.c_uint8 * 3)(1, 2, 3), b"\x01\x02\x03"),
    "str subclass": (type("Text", (str,), {})("sub"), b"sub"),
    "bytes subclass": (type("Raw", (bytes,), {})(b"sub"), b"sub"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_value_and_key_types(producer, read, kind):
    given, expected = VALUES[kind]
    report = deliver(producer, "t", given, given, partition=0)
    assert (report.value(), report.key()) == (expected, expected)
    message = read("t", 1)[0]
    assert (message.value(), message.key()) == (expected, expected)


def test_mapped_memory_is_a_value(producer, read):
    with mmap.mmap(-1, 4096) as memory:
        memory[:4] = b"data"
        deliver(producer, "t", memory, partition=0)
    assert read("t", 1)[0].value()[:4] == b"data"


@pytest.mark.parametrize("size", [65535, 65536, 900_000])
@pytest.mark.parametrize("kind", [bytes, bytearray, str])
def test_large_values_arrive_and_are_let_go(producer, read, size, kind):
    pattern = bytes(range(128)) * (size // 128 + 1)
    value = pattern[:size].decode() if kind is str else kind(pattern[:size])
    before = sys.getrefcount(value)
    producer.produce("t", value, partition=0)
    assert producer.flush(30) == 0
    assert sys.getrefcount(value) == before
    assert read("t", 1)[0].value() == pattern[:size]


def test_large_value_is_kept_alive_until_its_report(producer, read):
    expected = b"x" * 100_000
    producer.produce("t", bytes(bytearray(expected)), partition=0)
    gc.collect()
    junk = [b"y" * 100_000 for _ in range(20)]
    assert producer.flush(30) == 0
    assert read("t", 1)[0].value() == expected
    assert len(junk) == 20


HEADERS = {
    "dict": ({"a": "1", "b": b"2", "c": None}, [("a", b"1"), ("b", b"2"), ("c", None)]),
    "list of tuples": ([("a", b"1"), ("a", b"2")], [("a", b"1"), ("a", b"2")]),
    "list of lists": ([["a", b"1"]], [("a", b"1")]),
    "tuple": ((("a", ""),), [("a", b"")]),
    "buffers": ([("a", bytearray(b"x")), ("b", memoryview(b"y"))], [("a", b"x"), ("b", b"y")]),
    "empty name": ([("", b"v")], [("", b"v")]),
    "binary": ([("ü", b"\x00\xff\x00")], [("ü", b"\x00\xff\x00")]),
    "empty dict": ({}, None),
    "empty list": ([], None),
    "none": (None, None),
}


@pytest.mark.parametrize("kind", HEADERS)
def test_header_shapes(producer, read, kind):
    given, expected = HEADERS[kind]
    report = deliver(producer, "t", b"v", headers=given, partition=0)
    assert report.headers() == expected
    assert read("t", 1)[0].headers() == expected


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ("text", "headers must be a dict or a list"),
        (5, "headers must be a dict or a list"),
        ([("a",)], "pairs"),
        (["ab"], "pairs"),
        ([("a", b"", 1)], "pairs"),
        ([(b"a", b"")], "header name must be str, not bytes"),
        ([("a", 5)], "value of header 'a' must be str"),
        ({"a": 1.5}, "value of header 'a' must be str"),
        ({1: b""}, "header name must be str, not int"),
    ],
)
def test_headers_of_wrong_shape_are_refused(producer, headers, text):
    with pytest.raises(TypeError, match=text):
        producer.produce("t", b"v", headers=headers)
    assert len(producer) == 0
    deliver(producer, "t", b"still usable")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"topic": None}, TypeError, "topic must be str, not NoneType"),
        ({"topic": b"t"}, TypeError, "topic must be str, not bytes"),
        ({"topic": 5}, TypeError, "topic must be str, not int"),
        ({"topic": ""}, ValueError, "topic must not be empty"),
        ({"topic": "a\0b"}, ValueError, "NUL"),
        ({"value": 5}, TypeError, "value must be str, a bytes-like object or None, not int"),
        ({"value": {}}, TypeError, "value must be str"),
        ({"key": 1.5}, TypeError, "key must be str"),
        ({"value": "\ud800"}, UnicodeEncodeError, "surrogates"),
        ({"value": memoryview(b"abcd")[::2]}, BufferError, "contiguous"),
        ({"partition": "0"}, TypeError, "partition must be int, not str"),
        ({"partition": 2**40}, OverflowError, "int32"),
        ({"on_delivery": 5}, TypeError, "on_delivery must be callable, not int"),
        ({"callback": "f"}, TypeError, "on_delivery must be callable, not str"),
        ({"timestamp": -1}, ValueError, "timestamp must be >= 0"),
        ({"timestamp": "now"}, TypeError, "timestamp must be int, not str"),
        ({"timeout": -2, "value": b"fits"}, ValueError, "timeout must be >= 0 seconds"),
        ({"timeout": "soon", "value": b"fits"}, TypeError, "timeout must be a number"),
    ],
)
def test_wrong_arguments_are_refused(producer, arguments, error, text):
    with pytest.raises(error, match=text):
        producer.produce(**{"topic": "t", "value": b"v", **arguments})
    assert len(producer) == 0


def test_name_that_kafka_does_not_allow_fails_in_its_report(producer):
    reports = Reports()
    producer.produce("no spaces allowed", b"v", on_delivery=reports)
    assert producer.flush(30) == 0
    assert len(reports) == 1


def test_unknown_topic_is_reported(mock_cluster):
    """A message is never lost silently: the topic's error comes in the report."""
    mock_cluster.create_topic("gone")
    mock_cluster.set_topic_error("gone", KafkaError.TOPIC_AUTHORIZATION_FAILED)
    reports = Reports()
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers}) as producer:
        producer.produce("gone", b"v", on_delivery=reports)
        assert producer.flush(30) == 0
    assert reports.errors == [KafkaError.TOPIC_AUTHORIZATION_FAILED]
    assert reports.statuses == ["not_persisted"]


def test_unanswered_request_is_possibly_persisted(mock_cluster):
    with Producer(
        {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "message.timeout.ms": 1000,
            "retries": 0,
            "log_level": 0,
        }
    ) as producer:
        deliver(producer, "t", b"connects", partition=0)
        mock_cluster.push_broker_request_errors(1, ApiKey.PRODUCE, [(0, 5.0)])
        reports = Reports()
        producer.produce("t", b"v", partition=0, on_delivery=reports)
        assert producer.flush(30) == 0
    assert reports.errors == [KafkaError._MSG_TIMED_OUT]
    assert reports.statuses == ["possibly_persisted"]


def test_acks_zero_has_no_offset(mock_cluster):
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "acks": 0}) as producer:
        report = deliver(producer, "t", b"v")
        assert report.status() == "possibly_persisted"


def test_reports_keep_the_order_of_a_partition(producer):
    reports = Reports()
    for i in range(5000):
        producer.produce("t", str(i), partition=0, on_delivery=reports)
        producer.poll(0)
    assert producer.flush(30) == 0
    assert [message.offset() for message in reports.messages] == list(range(5000))
    assert [int(message.value()) for message in reports.messages] == list(range(5000))


def test_a_kept_report_is_whole_after_the_call(producer):
    """The Message of a report is reused unless the callback kept it."""
    kept = []

    def keep(error, message):
        if message.opaque() % 3 == 0:
            kept.append(message)

    for i in range(200):
        producer.produce("t", f"v{i}", f"k{i}", partition=0, headers={"n": str(i)}, opaque=i, on_delivery=keep)
    producer.flush(30)
    gc.collect()
    assert [message.opaque() for message in kept] == list(range(0, 200, 3))
    for message in kept:
        n = message.opaque()
        assert (message.value(), message.key()) == (f"v{n}".encode(), f"k{n}".encode())
        assert message.headers() == [("n", str(n).encode())]


def test_only_error_reports(mock_cluster):
    """With delivery.report.only.error callbacks hear of failures alone, and no reference is lost."""
    mock_cluster.create_topic("bad")
    mock_cluster.set_topic_error("bad", KafkaError.TOPIC_AUTHORIZATION_FAILED)
    reports = Reports()
    opaque = type("Opaque", (), {})()
    gone = weakref.ref(opaque)
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "delivery.report.only.error": True}
    with Producer(config) as producer:
        producer.produce("good", b"v", on_delivery=reports, opaque=opaque)
        producer.produce("bad", b"v", on_delivery=reports)
        del opaque
        assert producer.flush(30) == 0
        assert gone() is None
    assert reports.errors == [KafkaError.TOPIC_AUTHORIZATION_FAILED]


def test_blocking_produce_serves_reports_until_there_is_room(mock_cluster):
    reports = Reports()
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "queue.buffering.max.messages": 10}
    with Producer(config) as producer:
        for i in range(500):
            producer.produce("t", str(i), partition=0, on_delivery=reports, timeout=30)
        producer.flush(30)
    assert [message.offset() for message in reports.messages] == list(range(500))


def test_blocking_produce_without_limit(mock_cluster):
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "queue.buffering.max.messages": 1}
    reports = Reports()
    with Producer(config) as producer:
        for _ in range(5):
            producer.produce("t", b"v", on_delivery=reports, timeout=None)
            producer.produce("t", b"v", on_delivery=reports, timeout=-1)
    assert len(reports) == 10


def test_blocking_produce_ends_by_wakeup(stuck):
    for _ in range(3):
        stuck.produce("t", b"v")
    stuck.wakeup()
    with pytest.raises(BufferError):
        stuck.produce("t", b"v", timeout=-1)


def test_purge_of_messages_in_flight(mock_cluster):
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0}) as producer:
        deliver(producer, "t", b"connects", partition=0)
        mock_cluster.set_broker_rtt(1, 10)
        mock_cluster.start_request_tracking()
        reports = Reports()
        producer.produce("t", b"v", partition=0, on_delivery=reports)
        poll_until(producer, lambda: any(r.api_key == ApiKey.PRODUCE for r in mock_cluster.requests()))
        producer.purge(in_queue=False, in_flight=False)
        assert producer.poll(0.1) == 0
        producer.purge(in_queue=False)
        assert producer.flush(10) == 0
    assert reports.errors == [KafkaError._PURGE_INFLIGHT]
    assert reports.statuses == ["possibly_persisted"]


def test_purge_without_blocking(stuck):
    reports = Reports()
    stuck.produce("t", b"v", on_delivery=reports)
    stuck.purge(blocking=False)
    assert stuck.flush(10) == 0
    assert reports.errors == [KafkaError._PURGE_QUEUE]


def test_flush_returns_what_is_left(stuck):
    stuck.produce("t", b"v")
    stuck.produce("t", b"v")
    assert stuck.flush(0.05) == 2
    assert stuck.flush(0) == 2
    assert len(stuck) == 2


def test_flush_of_an_idle_producer(producer):
    assert producer.flush() == 0
    assert producer.flush(0) == 0


def test_len_counts_messages_until_they_are_served(producer):
    seen = []
    for _ in range(3):
        producer.produce("t", b"v", partition=0, on_delivery=lambda error, message: seen.append(len(producer)))
    assert len(producer) == 3
    producer.flush(30)
    assert seen == [2, 1, 0]
    assert len(producer) == 0


def test_produce_batch_takes_every_field(producer, read):
    default, own = Reports(), Reports()
    marker = object()
    messages = [
        {"value": b"a", "key": "k", "partition": 1, "timestamp": 77, "headers": {"h": b"x"}},
        {"value": "b", "on_delivery": own, "opaque": marker},
        {"callback": own},
        {},
    ]
    assert producer.produce_batch("t", messages, partition=0, on_delivery=default) == 4
    assert producer.flush(30) == 0
    assert not any("_error" in message for message in messages)
    first = read("t", 1, partition=1)[0]
    assert (first.key(), first.value(), first.headers(), first.timestamp()[1]) == (
        b"k",
        b"a",
        [("h", b"x")],
        77,
    )
    assert [message.value() for message in read("t", 3)] == [b"b", None, None]
    assert len(default) == 2
    assert [message.opaque() for message in own.messages] == [marker, None]


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        (({},), "must be a list of dicts, not tuple"),
        (None, "must be a list of dicts"),
        ([{}, b"v"], "Message at index 1 must be a dict, not bytes"),
        ([{"value": 5}], "value must be str"),
        ([{"callback": 5}], "callback of message at index 0"),
        ([{"headers": 5}], "headers must be"),
    ],
)
def test_produce_batch_refuses_wrong_types(stuck, messages, text):
    with pytest.raises(TypeError, match=text):
        stuck.produce_batch("t", messages)


def test_produce_batch_calls_a_callback_that_is_false(producer):
    """A callable object may have a length of zero, as Reports has before its first report."""
    default, own = Reports(), Reports()
    assert not own
    producer.produce_batch("t", [{"on_delivery": own}, {"callback": own}], on_delivery=default)
    producer.flush(30)
    assert (len(own), len(default)) == (2, 0)


def test_produce_batch_of_nothing(producer):
    assert producer.produce_batch("t", []) == 0


def test_close_delivers_everything(mock_cluster, read):
    reports = Reports()
    producer = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 60000})
    for i in range(100):
        producer.produce("t", str(i), partition=0, on_delivery=reports)
    assert producer.close() is True
    assert reports.errors == [None] * 100
    assert len(read("t", 100)) == 100


def test_context_manager_closes_also_on_an_exception(mock_cluster):
    reports = Reports()

    def fail():
        with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers}) as producer:
            producer.produce("t", b"v", on_delivery=reports)
            raise ZeroDivisionError(producer)

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    assert caught.value.args[0].closed
    assert len(reports) == 1


def test_closing_in_an_argument_of_produce_is_no_crash(mock_cluster):
    """Reading the arguments may run Python code, which may close the producer."""
    producer = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers})

    class Closing(list):
        def __iter__(self):
            producer.close()
            return super().__iter__()

    with pytest.raises(RuntimeError, match="Producer has been closed"):
        producer.produce("t", b"x" * 100_000, headers=Closing([("a", b"b")]))


def test_idempotent_producer_keeps_order_over_retries(mock_cluster, read):
    errors = [KafkaError.REQUEST_TIMED_OUT, KafkaError._TRANSPORT, KafkaError.NOT_ENOUGH_REPLICAS]
    reports = Reports()
    config = {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "enable.idempotence": True,
        # The mock brokers do not check sequence numbers, so that a later batch would overtake a failed one.
        "max.in.flight": 1,
        "batch.num.messages": 10,
        "retry.backoff.ms": 5,
        "log_level": 0,
    }
    with Producer(config) as producer:
        mock_cluster.push_request_errors(ApiKey.PRODUCE, errors)
        for i in range(300):
            producer.produce("t", str(i), partition=0, on_delivery=reports)
    assert not any(reports.errors)
    assert [int(message.value()) for message in read("t", 300)] == list(range(300))


def test_fatal_error_of_an_idempotent_producer(mock_cluster):
    """A fatal error comes to error_cb and in the reports, and every later produce() raises it."""
    seen = []
    first, second = Reports(), Reports()
    config = {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "enable.idempotence": True,
        "enable.gapless.guarantee": True,
        "error_cb": seen.append,
        "log_level": 0,
    }
    with Producer(config) as producer:
        deliver(producer, "t", b"v", partition=0)
        mock_cluster.push_request_errors(ApiKey.PRODUCE, [KafkaError.INVALID_RECORD])
        producer.produce("t", b"v", partition=0, on_delivery=first)
        assert producer.flush(30) == 0
        assert first.errors == [KafkaError.INVALID_RECORD]
        fatal = [error for error in seen if error.fatal()]
        assert fatal == [KafkaError._GAPLESS_GUARANTEE]
        with pytest.raises(FatalException) as caught:
            producer.produce("t", b"v", on_delivery=second)
        assert caught.value.args[0] == KafkaError._GAPLESS_GUARANTEE
        assert producer.produce_batch("t", [{"value": b"v"}]) == 0
        assert len(second) == 0


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compression(mock_cluster, read, codec):
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "compression.type": codec}
    with Producer(config) as producer:
        for _ in range(20):
            producer.produce("t", b"abc" * 100, partition=0)
    assert [message.value() for message in read("t", 20)] == [b"abc" * 100] * 20


def test_set_sasl_credentials(producer):
    producer.set_sasl_credentials("user", "secret")
    with pytest.raises(TypeError, match="password must be str"):
        producer.set_sasl_credentials("user", b"secret")
    with pytest.raises(ValueError, match="NUL"):
        producer.set_sasl_credentials("us\0er", "secret")


def test_wrong_password_type_does_not_show_it(producer):
    """The text of an error never has a secret in it."""
    with pytest.raises(ValueError, match="password must not contain a NUL") as caught:
        producer.set_sasl_credentials("user", "hun\0ter2")
    assert "ter2" not in str(caught.value)


def test_close_lets_out_what_a_signal_handler_raises():
    """Only the exceptions of callbacks wait until the producer is closed; it used to wait for its messages first."""

    class Alarm(Exception):
        pass

    def ring(number, frame):
        raise Alarm

    producer = Producer({"log_level": 0})
    producer.produce("t", b"v")
    previous = signal.signal(signal.SIGUSR1, ring)
    try:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        with pytest.raises(Alarm):
            producer.close(60)
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert not producer.closed
    assert len(producer) == 1
    producer.close(0)


def test_close_closes_also_when_a_report_of_the_aborted_transaction_raises(mock_cluster):
    def fail(error, message):
        raise LookupError(message.value())

    producer = Producer(
        {"bootstrap.servers": mock_cluster.bootstrap_servers, "transactional.id": "tx", "linger.ms": 10000}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("t", b"v", on_delivery=fail)
    with pytest.raises(LookupError):
        producer.close(30)
    assert producer.closed
