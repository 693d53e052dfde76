"""Partitioners written in Python."""

import threading
import time

import pytest

from cykafka import KafkaError, KafkaException, Producer, SerializingProducer, TopicPartition, partitioners
from cykafka.serialization import StringSerializer
from tests.mock.conftest import take
from tests.support.clients import interrupted


@pytest.fixture
def produce_with(mock_cluster):
    """Make a producer that asks a function for partitions; the topic has four."""
    mock_cluster.create_topic("topic", 4, 1)
    made = []

    def make(partitioner, **properties):
        config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0, "partitioner": partitioner}
        made.append(Producer({**config, **properties}))
        return made[-1]

    yield make
    for producer in made:
        producer.close()


def test_it_is_asked_for_messages_without_a_partition(produce_with):
    asked, partitions = [], []

    def by_length(topic, key, partition_count, available):
        asked.append((topic, key, partition_count, list(available), len(available), 2 in available, available[-1]))
        return len(key or b"") % partition_count

    producer = produce_with(by_length)
    for key in (b"", b"a", "äb", None):
        producer.produce("topic", b"v", key, on_delivery=lambda e, m: partitions.append(m.partition()))
        producer.flush(20)
    producer.produce("topic", b"v", b"abc", partition=1, on_delivery=lambda e, m: partitions.append(m.partition()))
    producer.produce_batch("topic", [{"value": b"v", "key": b"ab"}, {"value": b"v", "partition": 0}])
    producer.flush(20)
    assert partitions == [0, 1, 3, 0, 1]
    assert asked == [("topic", key, 4, [0, 1, 2, 3], 4, True, 3) for key in (b"", b"a", "äb".encode(), None, b"ab")]


def test_what_it_raises_comes_out_of_produce(produce_with):
    answers = [ZeroDivisionError("mine"), 4, -2, "1", True, 2.0, 10**30]

    def failing(topic, key, partition_count, available):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    producer = produce_with(failing)
    for expected in (ZeroDivisionError, ValueError, ValueError, TypeError, TypeError, TypeError, ValueError):
        with pytest.raises(expected):
            producer.produce("topic", b"v")
    assert len(producer) == 0


def test_it_may_leave_the_choice_to_librdkafka(produce_with):
    partitions = set()
    answers = iter([None, -1] * 50)
    producer = produce_with(lambda topic, key, count, available: next(answers), **{"sticky.partitioning.linger.ms": 0})
    for i in range(100):
        producer.produce("topic", b"v", str(i), on_delivery=lambda e, m: partitions.add(m.partition()))
    producer.flush(20)
    assert partitions == {0, 1, 2, 3}


def test_it_may_use_the_built_in_ones_and_its_own_producer(produce_with):
    partitions = []

    def delegating(topic, key, partition_count, available):
        producer.poll(0)
        return partitioners.murmur2_random(topic, key, partition_count, available)

    producer = produce_with(delegating)
    producer.produce("topic", b"v", b"key", on_delivery=lambda e, m: partitions.append(m.partition()))
    producer.flush(20)
    assert partitions == [partitioners.murmur2("topic", b"key", 4)]


def test_it_runs_on_the_thread_that_produces(produce_with):
    threads = []
    producer = produce_with(lambda *_: threads.append(threading.current_thread()) or 0)
    other = threading.Thread(target=producer.produce, args=("topic", b"v"))
    other.start()
    other.join()
    producer.produce("topic", b"v")
    assert threads == [other, threading.current_thread()]


def test_partitions_without_a_leader_are_not_available(produce_with, mock_cluster):
    mock_cluster.set_leader("topic", 2, -1)
    seen = []
    producer = produce_with(lambda topic, key, count, available: seen.append((count, list(available))) or 0)
    # Leaders are known a moment after the partitions are.
    end = time.monotonic() + 30
    while (4, [0, 1, 3]) not in seen:
        assert time.monotonic() < end, seen
        producer.produce("topic", b"v")
        producer.poll(0.05)
    assert all(2 not in available for _, available in seen)


def test_produce_waits_for_metadata_no_longer_than_asked(mock_cluster):
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "log_level": 0}
    mock_cluster.set_broker_down(1)
    with Producer({**config, "partitioner": lambda *_: 0}) as producer:
        with pytest.raises(KafkaException) as caught:
            producer.produce("other", b"v", timeout=0.2)
        assert caught.value.args[0] == KafkaError._TIMED_OUT
        threading.Timer(0.2, producer.wakeup).start()
        with pytest.raises(KafkaException) as caught:
            producer.produce("other", b"v", timeout=60)
        assert caught.value.args[0] == KafkaError._INTR
        threading.Timer(0.2, producer.close).start()
        with pytest.raises(RuntimeError, match="closed"):
            producer.produce("other", b"v", timeout=-1)


def test_ctrl_c_ends_the_wait_for_metadata_and_for_a_future(mock_cluster):
    mock_cluster.set_broker_down(1)
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "log_level": 0}
    with Producer({**config, "partitioner": lambda *_: 0}) as producer, interrupted():
        producer.produce("other", b"v", timeout=-1)
    with Producer(config) as producer:
        future = producer.send("other", b"v")
        with interrupted():
            future.result()
        producer.purge()


def test_a_topic_that_cannot_be_used_is_an_error(mock_cluster):
    mock_cluster.set_topic_error("denied", KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with (
        Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "partitioner": lambda *_: 0}) as producer,
        pytest.raises(KafkaException) as caught,
    ):
        producer.produce("denied", b"v", timeout=30)
    assert caught.value.args[0] == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_a_serializing_producer_partitions_by_the_serialized_key(mock_cluster, make_consumer):
    mock_cluster.create_topic("topic", 4, 1)
    keys = []
    config = {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "key.serializer": StringSerializer("utf_16_be"),
        "partitioner": lambda topic, key, count, available: keys.append(key) or 3,
    }
    with SerializingProducer(config) as producer:
        producer.produce("topic", key="k", value=b"v")
    assert keys == ["k".encode("utf_16_be")]
    consumer = make_consumer()
    consumer.assign([TopicPartition("topic", 3, 0)])
    assert take(consumer, 1)[0].key() == b"\0k"


def test_columns_need_their_partitions_in_a_column(produce_with):
    arrow = pytest.importorskip("pyarrow", reason="columns need pyarrow")
    producer = produce_with(lambda *_: 0)
    with pytest.raises(ValueError, match="partition"):
        producer.produce_arrow("topic", arrow.table({"value": [b"v"]}))
    producer.produce_arrow("topic", arrow.table({"value": [b"v"], "partition": [3]}))
    assert producer.flush(20) == 0


def test_closing_while_other_threads_produce(mock_cluster):
    """They are told that the producer is closed, whatever they were at: waiting for metadata, choosing, enqueueing."""
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0, "log_level": 0}
    wrong = []

    def work(producer, topic):
        try:
            while True:
                producer.send(topic, b"v", timeout=5)
                producer.poll(0)
        except (RuntimeError, KafkaException):
            pass
        except Exception as error:
            wrong.append(error)

    for turn in range(30):
        producer = Producer({**config, "partitioner": lambda topic, key, count, available: len(available) - 1})
        threads = [threading.Thread(target=work, args=(producer, f"topic-{turn}-{i % 2}")) for i in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(turn / 1000)
        producer.close(0)
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    assert wrong == []


def test_a_dropped_producer_frees_its_partitioner(produce_with):
    import gc
    import weakref

    class Partitioner:
        def __call__(self, topic, key, partition_count, available):
            self.kept = available
            return 0

    partitioner = Partitioner()
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "partitioner": partitioner})
    reference = weakref.ref(partitioner)
    del partitioner, producer
    gc.collect()
    assert reference() is None
