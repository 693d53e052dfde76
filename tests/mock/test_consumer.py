"""Consuming from the embedded cluster."""

import threading
import time

import pytest

from cykafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from cykafka._rdkafka import core
from tests.mock.conftest import poll_until, take


@pytest.fixture
def filled(mock_cluster, producer):
    """A topic of two partitions with ten messages in each."""
    mock_cluster.create_topic("filled", 2, 1)
    for i in range(20):
        producer.produce("filled", str(i), key=f"k{i}", partition=i % 2, timestamp=1000 + i)
    assert producer.flush(20) == 0
    return "filled"


def partitions(topic, offset=OFFSET_BEGINNING):
    return [TopicPartition(topic, 0, offset), TopicPartition(topic, 1, offset)]


def test_subscribe_consumes_everything_with_its_metadata(make_consumer, filled):
    consumer = make_consumer()
    assigned = []
    consumer.subscribe([filled], on_assign=lambda c, ps: assigned.extend(ps))
    messages = take(consumer, 20)
    assert sorted(int(m.value()) for m in messages) == list(range(20))
    one = next(m for m in messages if m.value() == b"5")
    assert (one.topic(), one.partition(), one.offset(), one.key()) == (filled, 1, 2, b"k5")
    assert one.timestamp() == (1, 1005)
    assert (one.latency(), one.error(), one.status(), one.delivery_count()) == (None, None, None, None)
    assert len(one) == 1
    assert bool(Message(value=b""))
    assert sorted(assigned) == partitions(filled)
    assert sorted(consumer.assignment()) == partitions(filled)
    assert consumer.subscription() == [filled]
    assert consumer.memberid()
    consumer.unsubscribe()
    poll_until(consumer, lambda: not consumer.assignment())
    assert consumer.subscription() == []


def test_subscribe_by_regex(make_consumer, filled):
    consumer = make_consumer()
    consumer.subscribe(["^fil.*"])
    assert len(take(consumer, 20)) == 20
    assert consumer.subscription() == ["^fil.*"]


def test_poll_returns_messages_in_order_then_none(make_consumer, filled):
    consumer = make_consumer()
    consumer.assign([TopicPartition(filled, 0, 0)])
    values = [consumer.poll(10).value() for _ in range(10)]
    assert values == [str(i).encode() for i in range(0, 20, 2)]
    assert consumer.poll(0) is None
    assert consumer.poll(0.0001) is None


def test_consume_returns_as_soon_as_there_is_something(make_consumer, filled):
    consumer = make_consumer()
    consumer.assign(partitions(filled))
    messages = consumer.consume(1000, 60)
    assert 0 < len(messages) <= 20


def test_consume_with_minimum_waits_for_it_but_not_longer(make_consumer, filled):
    consumer = make_consumer()
    consumer.assign(partitions(filled))
    assert len(consumer.consume(1000, 60, min_messages=20)) == 20
    assert consumer.consume(1000, 0.1, min_messages=20) == []


def test_consume_waits_for_all_in_the_peers_way(make_consumer, filled):
    core.set_consume_waits_for_all(True)
    try:
        consumer = make_consumer()
    finally:
        core.set_consume_waits_for_all(False)
    consumer.assign(partitions(filled))
    assert len(consumer.consume(20, 60)) == 20


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((-1,), ValueError),
        ((1_000_001,), ValueError),
        (("a",), TypeError),
        ((1, "x"), TypeError),
        ((1, -5), ValueError),
    ],
)
def test_consume_refuses_bad_numbers(make_consumer, arguments, error):
    with pytest.raises(error):
        make_consumer().consume(*arguments)


def test_consume_of_nothing(make_consumer):
    assert make_consumer().consume(0, 5) == []
    with pytest.raises(ValueError, match="min_messages"):
        make_consumer().consume(5, 0, min_messages=6)


def test_partition_end_is_an_event(make_consumer, filled):
    consumer = make_consumer(enable_partition_eof=True)
    consumer.assign([TopicPartition(filled, 0, 8)])
    seen = [consumer.poll(10) for _ in range(3)]
    assert [m.error() for m in seen[:2]] == [None, None]
    assert seen[2].error() == KafkaError._PARTITION_EOF
    assert (seen[2].topic(), seen[2].partition(), seen[2].offset()) == (filled, 0, 10)
    assert b"end of partition" in seen[2].value()


def test_iteration_skips_partition_ends_and_ends_by_wakeup(make_consumer, filled):
    consumer = make_consumer(enable_partition_eof=True)
    consumer.assign(partitions(filled))
    values = []
    for message in consumer:
        values.append(int(message.value()))
        if len(values) == 20:
            threading.Timer(0.2, consumer.wakeup).start()
    assert sorted(values) == list(range(20))


def test_iteration_raises_errors(make_consumer, filled):
    consumer = make_consumer(auto_offset_reset="error")
    consumer.assign([TopicPartition(filled, 0, 5000)])
    with pytest.raises(KafkaException) as caught:
        next(iter(consumer))
    assert caught.value.args[0] == KafkaError._AUTO_OFFSET_RESET


def test_seek_one_and_many(make_consumer, filled):
    consumer = make_consumer()
    consumer.assign(partitions(filled))
    take(consumer, 20)
    consumer.seek(TopicPartition(filled, 0, 9))
    assert take(consumer, 1)[0].value() == b"18"
    consumer.seek([TopicPartition(filled, 0, 8), TopicPartition(filled, 1, OFFSET_BEGINNING)])
    assert len(take(consumer, 12)) == 12
    with pytest.raises(KafkaException, match="nowhere"):
        consumer.seek(TopicPartition("nowhere", 0, 0))
    with pytest.raises(TypeError):
        consumer.seek("topic")


def test_pause_and_resume(make_consumer, filled):
    consumer = make_consumer()
    consumer.assign(partitions(filled))
    take(consumer, 20)
    consumer.pause([TopicPartition(filled, 0)])
    assert consumer.paused() == [TopicPartition(filled, 0)]
    consumer.seek(TopicPartition(filled, 1, 0))
    assert {m.partition() for m in take(consumer, 10)} == {1}
    consumer.resume([TopicPartition(filled, 0)])
    assert consumer.paused() == []
    with pytest.raises(KafkaException, match="Unknown partition"):
        consumer.pause([TopicPartition("nowhere", 3)])


def test_commit_in_every_form(make_consumer, filled):
    results = []
    consumer = make_consumer(enable_auto_commit=False, on_commit=lambda error, ps: results.append((error, ps)))
    consumer.subscribe([filled])
    messages = take(consumer, 20)
    both = partitions(filled)
    assert [tp.offset for tp in consumer.committed(both, 10)] == [OFFSET_INVALID, OFFSET_INVALID]
    assert {tp.offset for tp in consumer.commit(asynchronous=False)} == {10}
    assert [tp.offset for tp in consumer.committed(both, 10)] == [10, 10]
    message = next(m for m in messages if m.partition() == 1)
    (committed,) = consumer.commit(message=message, asynchronous=False)
    assert (committed.partition, committed.offset, committed.error) == (1, message.offset() + 1, None)
    consumer.commit(offsets=[TopicPartition(filled, 0, 3, "some metadata")], asynchronous=False)
    (found,) = consumer.committed([TopicPartition(filled, 0)], 10)
    assert (found.offset, found.metadata) == (3, "some metadata")
    assert consumer.commit(offsets=[TopicPartition(filled, 0, 4)]) is None
    poll_until(consumer, lambda: results)
    poll_until(consumer, lambda: len(results[-1][1]) == 1 and results[-1][1][0].offset == 4)
    error, (tp,) = results[-1]
    assert (error, tp.offset) == (None, 4)
    with pytest.raises(ValueError, match="mutually exclusive"):
        consumer.commit(message=message, offsets=[])
    with pytest.raises(TypeError):
        consumer.commit(message=5)
    with pytest.raises(TypeError):
        consumer.commit(offsets=5)
    with pytest.raises(KafkaException, match="message with error"):
        consumer.commit(message=Message(error=KafkaError(1)))


def test_commit_of_nothing_says_so(make_consumer):
    consumer = make_consumer(enable_auto_commit=False)
    with pytest.raises(KafkaException) as caught:
        consumer.commit(asynchronous=False)
    assert caught.value.args[0] == KafkaError._NO_OFFSET


def test_stored_offsets_are_what_is_committed(make_consumer, filled):
    consumer = make_consumer(enable_auto_offset_store=False, enable_auto_commit=False)
    consumer.subscribe([filled])
    messages = take(consumer, 20)
    consumer.store_offsets(message=next(m for m in messages if m.partition() == 0 and m.offset() == 4))
    consumer.store_offsets(offsets=[TopicPartition(filled, 1, 7)])
    consumer.commit(asynchronous=False)
    assert [tp.offset for tp in consumer.committed(partitions(filled), 10)] == [5, 7]
    with pytest.raises(ValueError, match="either"):
        consumer.store_offsets()
    with pytest.raises(KafkaException):
        consumer.store_offsets(offsets=[TopicPartition("nowhere", 0, 1)])


def test_position_and_watermarks_and_times(make_consumer, filled):
    consumer = make_consumer()
    consumer.assign(partitions(filled))
    assert [tp.offset for tp in consumer.position(partitions(filled))] == [OFFSET_INVALID] * 2
    take(consumer, 20)
    assert [tp.offset for tp in consumer.position(partitions(filled))] == [10, 10]
    assert consumer.get_watermark_offsets(TopicPartition(filled, 0), timeout=10) == (0, 10)
    assert consumer.get_watermark_offsets(TopicPartition(filled, 0), cached=True)[1] == 10
    assert consumer.offsets_for_times([TopicPartition(filled, 0, 5_000_000_000_000)], 10)[0].offset == OFFSET_END
    with pytest.raises(TypeError):
        consumer.get_watermark_offsets("topic")
    assert consumer.position([]) == []
    assert consumer.committed([], 10) == []


def test_list_topics_and_cluster_id(make_consumer, filled):
    consumer = make_consumer()
    cluster = consumer.list_topics(timeout=10)
    assert set(cluster.topics[filled].partitions) == {0, 1}
    partition = cluster.topics[filled].partitions[0]
    assert (partition.leader, partition.replicas, partition.isrs, partition.error) == (1, [1], [1], None)
    assert list(cluster.brokers) == [1]
    assert cluster.cluster_id == consumer.cluster_id(10)
    assert list(consumer.list_topics(filled, 10).topics) == [filled]
    with pytest.raises(TypeError):
        consumer.list_topics(5)
    with pytest.raises(ValueError, match="timeout"):
        consumer.list_topics(timeout=-3)


def test_group_metadata_is_opaque_bytes(make_consumer):
    assert isinstance(make_consumer().consumer_group_metadata(), bytes)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("topic",), TypeError),
        (([1],), TypeError),
        ((None,), TypeError),
        (([],), KafkaException),
        ((["t"], 5), TypeError),
        ((["t"], None, 5), TypeError),
        ((["t"], None, None, 5), TypeError),
        ((["a\0b"],), ValueError),
    ],
)
def test_subscribe_refuses_bad_arguments(make_consumer, arguments, error):
    with pytest.raises(error):
        make_consumer().subscribe(*arguments)


@pytest.mark.parametrize("argument", [5, [5], "topic", TopicPartition("t", 0), None])
def test_assign_refuses_bad_arguments(make_consumer, argument):
    with pytest.raises(TypeError):
        make_consumer().assign(argument)


def test_closed_consumer_says_so(make_consumer):
    consumer = make_consumer()
    consumer.close()
    consumer.close()
    tp = TopicPartition("t", 0)
    for call in (
        consumer.poll,
        consumer.consume,
        consumer.assignment,
        consumer.memberid,
        consumer.list_topics,
        consumer.commit,
        consumer.subscription,
        consumer.unassign,
        consumer.wakeup,
        consumer.paused,
        lambda: consumer.committed([tp]),
        lambda: consumer.seek(tp),
        lambda: consumer.get_watermark_offsets(tp),
        lambda: consumer.subscribe(["t"]),
        lambda: iter(consumer),
        consumer.__enter__,
    ):
        with pytest.raises(RuntimeError, match="closed"):
            call()


def test_context_manager_closes(mock_cluster):
    with Consumer({"bootstrap.servers": mock_cluster.bootstrap_servers, "group.id": "g"}) as consumer:
        assert consumer.poll(0) is None
    assert consumer.closed


def test_wakeup_before_and_during_poll(make_consumer):
    consumer = make_consumer()
    consumer.wakeup()
    assert consumer.poll(60) is None
    threading.Timer(0.1, consumer.wakeup).start()
    assert consumer.poll(60) is None
    threading.Timer(0.1, consumer.wakeup).start()
    assert consumer.consume(10, 60) == []


def test_max_poll_interval_is_told(make_consumer, filled):
    consumer = make_consumer(max_poll_interval_ms=6000, session_timeout_ms=6000, heartbeat_interval_ms=500)
    consumer.subscribe([filled])
    take(consumer, 20)
    time.sleep(7)
    seen = []
    poll_until(consumer, lambda: seen or seen.extend(m.error() for m in consumer.consume(10, 0.1)) or seen)
    assert seen[0] == KafkaError._MAX_POLL_EXCEEDED


def test_static_membership_keeps_its_partitions_over_a_restart(make_consumer, filled):
    first = make_consumer(group_instance_id="instance")
    first.subscribe([filled])
    take(first, 20)
    before = sorted(first.assignment())
    first.close()
    second = make_consumer(group_instance_id="instance")
    second.subscribe([filled])
    poll_until(second, lambda: second.assignment())
    assert sorted(second.assignment()) == before


def test_messages_interrupted_by_an_exception_come_with_the_next_call(mock_cluster, filled):
    calls = []

    def stats(_json):
        calls.append(1)
        raise LookupError("from stats")

    consumer = Consumer(
        {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "group.id": "g",
            "statistics.interval.ms": 50,
            "stats_cb": stats,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign(partitions(filled))
    values, raised = [], 0
    while len(values) < 20 or not raised:
        try:
            values += [int(m.value()) for m in consumer.consume(20, 1, min_messages=20)]
        except LookupError:
            raised += 1
    assert sorted(values) == list(range(20))
    assert raised
    while not consumer.closed:
        try:
            consumer.close()
        except LookupError:
            assert consumer.closed


def test_a_producer_for_each_of_several_consumers_in_one_group(make_consumer, mock_cluster):
    mock_cluster.create_topic("shared", 4, 1)
    consumers = [make_consumer() for _ in range(2)]
    for consumer in consumers:
        consumer.subscribe(["shared"])
    end = time.monotonic() + 30
    while not all(len(c.assignment()) == 2 for c in consumers):
        assert time.monotonic() < end
        for consumer in consumers:
            consumer.poll(0.05)
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers}) as producer:
        for i in range(40):
            producer.produce("shared", str(i), partition=i % 4)
    values = []
    while len(values) < 40:
        assert time.monotonic() < end
        for consumer in consumers:
            values += [int(m.value()) for m in consumer.consume(40, 0.1)]
    assert sorted(values) == list(range(40))


def test_close_gives_up_when_its_time_is_over():
    # Without a broker the commit is waited for until librdkafka gives it up, which takes most of a minute.
    committed = []
    consumer = Consumer(
        {
            "bootstrap.servers": "127.0.0.1:1",
            "group.id": "group",
            "log_level": 0,
            "on_commit": lambda error, partitions: committed.append(error),
        }
    )
    consumer.commit(offsets=[TopicPartition("t", 0, 1)])
    consumer.close(0.2)
    assert consumer.closed
    assert committed == []
    consumer.close(0.2)
    with pytest.raises(RuntimeError, match="Consumer closed"):
        consumer.poll(0)


def test_close_within_its_time_commits_and_leaves(mock_cluster, producer):
    config = {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "group.id": "closing",
        "auto.offset.reset": "earliest",
    }
    producer.produce("closing", "x", partition=0)
    assert producer.flush(20) == 0
    revoked = []
    consumer = Consumer(config)
    consumer.subscribe(["closing"], on_revoke=lambda consumer, partitions: revoked.append(partitions))
    assert consumer.poll(30).value() == b"x"
    consumer.close(30)
    assert len(revoked) == 1
    with Consumer(config) as other:
        assert other.committed([TopicPartition("closing", 0)], 20)[0].offset == 1
