"""Large payloads that are not copied: who keeps them, for how long, and what may not happen to them meanwhile."""

import array
import gc
import mmap
import sys
import weakref

import pytest

from cykafka import KafkaError, Producer, TopicPartition
from cykafka.testing import ApiKey
from tests.mock.conftest import take
from tests.support.clients import Reports

LARGE = 65536


class Payload(bytearray):
    """A buffer that can be watched."""


@pytest.fixture
def unsent():
    """A producer whose messages stay in the queue."""
    client = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    yield client
    client.close(0)


def held(payload):
    """Whether somebody holds the buffer: a bytearray cannot be resized then."""
    try:
        payload.append(0)
    except BufferError:
        return True
    payload.pop()
    return False


def test_what_may_change_is_copied(unsent):
    payload = Payload(LARGE)
    unsent.produce("t", payload)
    unsent.produce("t", memoryview(payload))
    assert not held(payload)


def test_a_buffer_is_locked_until_its_report(producer, make_consumer):
    payload = Payload(b"x" * LARGE)
    reports = Reports()
    producer.produce("t", payload, partition=0, on_delivery=reports, copy=False)
    assert held(payload)
    assert producer.flush(30) == 0
    assert reports.errors == [None]
    assert reports.messages[0].value() == bytes(payload)
    assert not held(payload)
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    assert take(consumer, 1)[0].value() == bytes(payload)


def test_without_a_callback_it_is_held_too(producer):
    payload = Payload(LARGE)
    producer.produce("t", payload, copy=False)
    assert held(payload)
    assert producer.flush(30) == 0
    assert not held(payload)


@pytest.mark.parametrize("size", [0, 1, 100, LARGE])
def test_small_buffers_may_be_held_as_well(producer, make_consumer, size):
    payload = Payload(b"s" * size)
    producer.produce("t", payload, partition=0, copy=False)
    assert held(payload)
    assert producer.flush(30) == 0
    assert not held(payload)
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    assert take(consumer, 1)[0].value() == bytes(payload)


@pytest.mark.parametrize(
    "payload",
    [
        b"b" * LARGE,
        "t" * LARGE,
        "\u00e4" * LARGE,
        memoryview(bytearray(b"m" * LARGE)).toreadonly(),
        array.array("q", range(LARGE)),
    ],
    ids=["bytes", "str", "wide str", "read-only", "array"],
)
@pytest.mark.parametrize("copy", [None, True, False])
def test_every_kind_of_payload_arrives(producer, make_consumer, payload, copy):
    producer.produce("t", payload, partition=0, copy=copy)
    assert producer.flush(30) == 0
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    expected = payload.encode() if isinstance(payload, str) else bytes(memoryview(payload).cast("B"))
    assert take(consumer, 1)[0].value() == expected


def test_references_are_given_back(producer):
    payload = bytes(LARGE)
    view = memoryview(payload)
    before = sys.getrefcount(payload), sys.getrefcount(view)
    producer.produce("t", payload)
    producer.produce("t", view)
    assert sys.getrefcount(payload) > before[0]
    assert sys.getrefcount(view) > before[1]
    assert producer.flush(30) == 0
    assert (sys.getrefcount(payload), sys.getrefcount(view)) == before
    view.release()


def test_copy_keeps_no_reference(unsent):
    payload = bytes(LARGE)
    before = sys.getrefcount(payload)
    unsent.produce("t", payload, copy=True)
    assert sys.getrefcount(payload) == before


def test_a_closed_file_mapping_would_be_a_crash(producer):
    """The export keeps the mapping from being closed before the message is sent."""
    with mmap.mmap(-1, LARGE) as mapping:
        producer.produce("t", mapping, copy=False)
        with pytest.raises(BufferError):
            mapping.close()
        assert producer.flush(30) == 0


def test_a_failed_message_gives_it_back(mock_cluster, producer):
    mock_cluster.create_topic("t", 1, 1)
    mock_cluster.push_partition_request_errors("t", 0, ApiKey.PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
    payload = Payload(LARGE)
    reports = Reports()
    producer.produce("t", payload, partition=0, on_delivery=reports, copy=False)
    assert producer.flush(30) == 0
    assert reports.errors == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert not held(payload)


def test_a_refused_message_gives_it_back():
    with Producer({"log_level": 0, "queue.buffering.max.messages": 1, "message.max.bytes": 70_000}) as producer:
        payload = Payload(LARGE)
        producer.produce("t", b"fills the queue")
        with pytest.raises(BufferError):
            producer.produce("t", payload, copy=False)
        with pytest.raises(BufferError):
            producer.produce("t", payload, copy=False, timeout=0.05)
        with pytest.raises(TypeError):
            producer.produce("t", payload, key=5, copy=False)
        assert not held(payload)
        assert producer.produce_batch("t", [{"value": payload, "copy": False}]) == 0
        assert not held(payload)
        producer.close(0)


@pytest.mark.parametrize("how", ["purge", "close", "drop"])
def test_a_dropped_message_gives_it_back(how):
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    payload = Payload(LARGE)
    large = bytes(LARGE)
    before = sys.getrefcount(large)
    for _ in range(10):
        producer.produce("t", payload, copy=False)
        producer.produce("t", large)
    assert held(payload)
    if how == "purge":
        producer.purge()
        producer.flush(30)
    elif how == "close":
        producer.close(0)
    else:
        del producer
        gc.collect()
    assert not held(payload)
    assert sys.getrefcount(large) == before


def test_an_aborted_transaction_gives_it_back(mock_cluster):
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "transactional.id": "t", "linger.ms": 10_000}
    with Producer(config) as producer:
        producer.init_transactions(30)
        producer.begin_transaction()
        payload = Payload(LARGE)
        reports = Reports()
        producer.produce("t", payload, on_delivery=reports, copy=False)
        assert held(payload)
        producer.abort_transaction(30)
        assert not held(payload)
        assert reports.errors == [KafkaError._PURGE_QUEUE]
        producer.begin_transaction()
        producer.produce("t", payload, copy=False)
        producer.commit_transaction(30)
        assert not held(payload)


def test_a_message_that_its_callback_keeps_has_the_bytes(producer):
    payload = Payload(b"k" * LARGE)
    kept = []
    producer.produce("t", payload, on_delivery=lambda error, message: kept.append(message), copy=False)
    assert producer.flush(30) == 0
    gone = weakref.ref(payload)
    del payload
    gc.collect()
    assert gone() is None
    assert kept[0].value() == b"k" * LARGE


def test_retries_send_the_same_bytes(mock_cluster, make_consumer):
    mock_cluster.create_topic("t", 1, 1)
    mock_cluster.push_partition_request_errors(
        "t", 0, ApiKey.PRODUCE, [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.REQUEST_TIMED_OUT]
    )
    payload = Payload(b"r" * LARGE)
    reports = Reports()
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0, "retry.backoff.ms": 10}
    with Producer(config) as producer:
        producer.produce("t", payload, partition=0, on_delivery=reports, copy=False)
        assert producer.flush(60) == 0
    assert reports.errors == [None]
    assert not held(payload)
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    assert take(consumer, 1)[0].value() == bytes(payload)


def test_memory_stays_flat(producer):
    """Gigabytes go by without a copy that is forgotten."""
    resource = pytest.importorskip("resource", reason="needs Unix's resource usage")
    payload = bytes(900_000)

    def send(count):
        for _ in range(count):
            producer.produce("t", payload, timeout=60)
            if len(producer) > 20:
                assert producer.flush(60) == 0
                producer.purge()
        assert producer.flush(60) == 0

    send(60)
    before = sys.getrefcount(payload)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    send(600)
    assert sys.getrefcount(payload) == before
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 300_000
