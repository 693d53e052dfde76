"""Share groups (KIP-932) on a real Kafka, whose locks last a second."""

import time

import pytest

from cykafka import (
    AcknowledgeType,
    DeserializingShareConsumer,
    IllegalStateException,
    KafkaError,
    KafkaException,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from cykafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

pytestmark = pytest.mark.broker


class Quiet:
    def log(self, *args):
        pass


@pytest.fixture
def make(kafka, topic):
    """A function that makes members of a group of the test's own, which begins with the first message."""
    made = []
    name = topic(partitions=1)
    group = f"share-{name}"
    beginning = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource("group", group, incremental_configs=[beginning])
    with AdminClient({"bootstrap.servers": kafka.bootstrap_servers}) as admin:
        assert admin.incremental_alter_configs([resource])[resource].result(20) is None
        end = time.monotonic() + 20
        while admin.describe_configs([resource])[resource].result(20)["share.auto.offset.reset"].value != "earliest":
            assert time.monotonic() < end
            time.sleep(0.05)

    def make(**properties):
        config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group, "logger": Quiet()}
        config |= {key.replace("_", "."): value for key, value in properties.items()}
        made.append(ShareConsumer(config))
        made[-1].subscribe([name])
        return made[-1]

    def produce(*texts):
        with Producer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
            for text in texts:
                producer.produce(name, text)

    make.topic = name
    make.produce = produce
    yield make
    for consumer in made:
        consumer.close()


def explicit(make, **properties):
    return make(share_acknowledgement_mode="explicit", **properties)


def take(consumer, count, each=lambda message: None, timeout=30.0):
    messages = []
    end = time.monotonic() + timeout
    while len(messages) < count:
        assert time.monotonic() < end, f"only {len(messages)} of {count} messages"
        for message in consumer.poll(0.2):
            assert message.error() is None
            each(message)
            messages.append(message)
    return messages


def nothing_comes(consumer, seconds=2.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert list(consumer.poll(0.2)) == []


def test_implicit_acknowledgement(make):
    make.produce("a", "b", "c")
    consumer = make()
    assert [m.value() for m in take(consumer, 3)] == [b"a", b"b", b"c"]
    assert consumer.commit_sync(20) == {TopicPartition(make.topic, 0): None}
    consumer.close()
    nothing_comes(make())


def test_implicit_acknowledgement_by_the_next_poll_and_by_commit_async(make):
    outcomes = []
    with make() as consumer:
        consumer.set_acknowledgement_commit_callback(lambda offsets, error: outcomes.append((offsets, error)))
        make.produce("polled")
        take(consumer, 1)
        make.produce("committed")
        # The poll that brings the second message accepts the first.
        take(consumer, 1)
        consumer.commit_async()
        end = time.monotonic() + 20
        while len(outcomes) < 2:
            assert time.monotonic() < end, outcomes
            list(consumer.poll(0.1))
    partition = TopicPartition(make.topic, 0)
    assert outcomes == [({partition: {0}}, None), ({partition: {1}}, None)]
    nothing_comes(make())


def test_acknowledging_by_place(make):
    make.produce("accept", "release", "reject")
    consumer = explicit(make)
    first = take(consumer, 3)
    for message in first:
        kind = AcknowledgeType[message.value().decode().upper()]
        consumer.acknowledge_offset(make.topic, 0, message.offset(), kind)
    assert consumer.commit_sync(20) == {TopicPartition(make.topic, 0): None}
    (again,) = take(consumer, 1, consumer.acknowledge)
    assert (again.value(), again.delivery_count()) == (b"release", 2)
    consumer.commit_sync(20)
    with pytest.raises(IllegalStateException, match="is not acquired"):
        consumer.acknowledge(again)
    nothing_comes(consumer)


def test_deserializing_with_a_message_that_is_not_what_it_should_be(kafka, make):
    make.produce("12", "poison", "7")
    config = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": f"share-{make.topic}",
        "share.acknowledgement.mode": "explicit",
        "value.deserializer": lambda value, context: int(value),
        "logger": Quiet(),
    }
    values, rejected = [], []
    with DeserializingShareConsumer(config) as consumer:
        consumer.subscribe([make.topic])
        end = time.monotonic() + 30
        while len(values) + len(rejected) < 3:
            assert time.monotonic() < end
            for message in consumer.poll(0.2):
                if message.error() is None:
                    values.append(message.value())
                    consumer.acknowledge(message)
                else:
                    assert message.error() == KafkaError._VALUE_DESERIALIZATION
                    rejected.append(message.value())
                    consumer.acknowledge(message, AcknowledgeType.REJECT)
        assert consumer.commit_sync(20) == {TopicPartition(make.topic, 0): None}
    assert (values, rejected) == ([12, 7], [b"poison"])
    nothing_comes(explicit(make))


def test_the_callback_learns_that_a_lock_was_lost(make):
    make.produce("slow")
    outcomes = []
    first = explicit(make)
    first.set_acknowledgement_commit_callback(lambda offsets, error: outcomes.append((offsets, error)))
    (message,) = take(first, 1)
    second = explicit(make)
    (again,) = take(second, 1)
    first.acknowledge(message)
    first.commit_async()
    end = time.monotonic() + 20
    while not outcomes:
        assert time.monotonic() < end
        first.poll(0.1)
    ((offsets, error),) = outcomes
    assert offsets == {TopicPartition(make.topic, 0): {0}}
    assert error.args[0] == KafkaError.INVALID_RECORD_STATE
    second.acknowledge(again)
    second.commit_sync(20)


def test_accept_release_and_reject(make):
    make.produce("accept", "release", "reject")
    consumer = explicit(make)
    first = take(consumer, 3, lambda m: consumer.acknowledge(m, AcknowledgeType[m.value().decode().upper()]))
    assert [m.delivery_count() for m in first] == [1, 1, 1]
    (again,) = take(consumer, 1, consumer.acknowledge)
    assert (again.value(), again.delivery_count()) == (b"release", 2)
    nothing_comes(consumer)


def test_what_is_not_acknowledged_in_time_goes_to_another_member(make):
    make.produce("a")
    first = explicit(make)
    (message,) = take(first, 1)
    second = explicit(make)
    (again,) = take(second, 1)
    assert (again.offset(), again.delivery_count()) == (message.offset(), 2)
    first.acknowledge(message)
    (failure,) = first.commit_sync(20).values()
    assert isinstance(failure, KafkaException)
    assert failure.args[0] == KafkaError.INVALID_RECORD_STATE
    second.acknowledge(again)
    second.commit_sync(20)


def test_a_message_is_given_up_after_the_fifth_delivery(make):
    make.produce("poison")
    consumer = explicit(make)
    counts = [
        take(consumer, 1, lambda m: consumer.acknowledge(m, AcknowledgeType.RELEASE))[0].delivery_count()
        for _ in range(5)
    ]
    assert counts == [1, 2, 3, 4, 5]
    nothing_comes(consumer)


def test_members_share_one_partition(make):
    make.produce(*(str(i) for i in range(50)))
    consumers = [explicit(make, max_poll_records=5) for _ in range(2)]
    seen = {0: [], 1: []}
    end = time.monotonic() + 30
    while sum(map(len, seen.values())) < 50:
        assert time.monotonic() < end, seen
        for number, consumer in enumerate(consumers):
            for message in consumer.poll(0.1):
                consumer.acknowledge(message)
                seen[number].append(int(message.value()))
    assert sorted(seen[0] + seen[1]) == list(range(50))


def test_commits_report_to_the_callback(make):
    make.produce("a", "b")
    outcomes = []
    consumer = explicit(make)
    consumer.set_acknowledgement_commit_callback(lambda offsets, error: outcomes.append((offsets, error)))
    take(consumer, 2, consumer.acknowledge)
    consumer.commit_async()
    end = time.monotonic() + 20
    while not outcomes:
        assert time.monotonic() < end
        consumer.poll(0.1)
    assert outcomes == [({TopicPartition(make.topic, 0): {0, 1}}, None)]
    assert consumer.commit_sync(20) == {}


def test_closing_commits_and_lets_go_of_the_rest(make):
    make.produce("done", "open")
    consumer = explicit(make)
    done, left = take(consumer, 2)
    consumer.acknowledge(done)
    with pytest.raises(IllegalStateException, match="acknowledged"):
        consumer.poll(0)
    consumer.close()
    other = explicit(make)
    (again,) = take(other, 1, other.acknowledge)
    assert again.value() == left.value() == b"open"


def test_a_topic_that_comes_later_is_consumed(kafka, make):
    name = f"{make.topic}-later"
    consumer = explicit(make)
    consumer.subscribe([name])
    assert list(consumer.poll(0.5)) == []
    with AdminClient({"bootstrap.servers": kafka.bootstrap_servers}) as admin:
        assert admin.create_topics([NewTopic(name, 1, 1)])[name].result(20) is None
    with Producer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
        producer.produce(name, "late")
    (message,) = take(consumer, 1, consumer.acknowledge)
    assert message.topic() == name


def test_a_restart_of_the_broker_is_survived(kafka, make):
    make.produce("before")
    consumer = explicit(make)
    take(consumer, 1, consumer.acknowledge)
    consumer.commit_sync(20)
    with kafka.killed():
        assert list(consumer.poll(0.5)) == []
    make.produce("after")
    (message,) = take(consumer, 1, consumer.acknowledge, timeout=60)
    assert message.value() == b"after"
