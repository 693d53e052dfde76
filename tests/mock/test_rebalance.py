"""Groups: eager, cooperative and KIP-848 rebalancing, own offsets, lost partitions, exceptions, membership."""

import time
from collections import Counter

import pytest

from cykafka import OFFSET_BEGINNING, KafkaError, KafkaException, Producer, TopicPartition
from cykafka.testing import ApiKey
from tests.mock.conftest import poll_until, take
from tests.support.clients import wait_until

PROTOCOLS = {
    "eager range": {},
    "eager round robin": {"partition.assignment.strategy": "roundrobin"},
    "cooperative": {"partition.assignment.strategy": "cooperative-sticky"},
    "KIP-848": {"group.protocol": "consumer"},
}
#: Properties that a KIP-848 group does not know.
CLASSIC_ONLY = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy", "group.protocol.type")


class Events(list):
    """What the callbacks of a subscription were called with, as (what, partition numbers)."""

    def subscribe(self, consumer, topics):
        consumer.subscribe(
            topics,
            on_assign=lambda _, partitions: self.append(("assign", sorted(tp.partition for tp in partitions))),
            on_revoke=lambda _, partitions: self.append(("revoke", sorted(tp.partition for tp in partitions))),
            on_lost=lambda _, partitions: self.append(("lost", sorted(tp.partition for tp in partitions))),
        )


@pytest.fixture
def make_member(mock_cluster):
    """Function that makes a consumer of the group for a protocol."""
    from cykafka import Consumer

    made = []

    def make(protocol, **properties):
        config = {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "group.id": "group",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
            # A subscription that changes while no broker connection is free waits for the next refresh.
            "topic.metadata.refresh.interval.ms": 500,
            # The mock coordinator waits for members that do not come until a second before this is over.
            "session.timeout.ms": 1200,
            "heartbeat.interval.ms": 100,
            **PROTOCOLS[protocol],
            **properties,
        }
        if config.get("group.protocol") == "consumer":
            config = {name: value for name, value in config.items() if name not in CLASSIC_ONLY}
        made.append(Consumer(config))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


def settle(consumers, sizes, timeout=30):
    """Poll the members until their assignments have these sizes, in any order."""
    end = time.monotonic() + timeout
    while Counter(len(consumer.assignment()) for consumer in consumers) != Counter(sizes):
        assert time.monotonic() < end, [consumer.assignment() for consumer in consumers]
        for consumer in consumers:
            consumer.poll(0.02)


def next_error(consumer):
    """Poll until an error comes instead of a message."""

    def poll():
        message = consumer.poll(0.2)
        return message if message is not None and message.error() is not None else None

    return wait_until(poll, pause=0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_come_and_go(mock_cluster, make_member, protocol):
    mock_cluster.create_topic("t", 4)
    first, second = make_member(protocol), make_member(protocol)
    first_events, second_events = Events(), Events()
    first_events.subscribe(first, ["t"])
    settle([first], [4])
    assert first_events == [("assign", [0, 1, 2, 3])]
    second_events.subscribe(second, ["t"])
    settle([first, second], [2, 2])
    assert not set(first.assignment()) & set(second.assignment())
    taken = sorted(tp.partition for tp in second.assignment())
    if (
        PROTOCOLS[protocol].get("partition.assignment.strategy", "range") in ("range", "roundrobin")
        and protocol != "KIP-848"
    ):
        assert ("revoke", [0, 1, 2, 3]) in first_events
    else:
        # Only what moves is revoked.
        assert ("revoke", taken) in first_events
    second.close()
    assert second_events[-1] == ("revoke", taken)
    settle([first], [4])
    first.unsubscribe()
    settle([first], [0])
    assert first_events[-1] == ("revoke", [0, 1, 2, 3])
    assert not any(what == "lost" for what, _ in first_events + second_events)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_own_offsets_in_on_assign(mock_cluster, make_member, producer, protocol):
    mock_cluster.create_topic("t", 2)
    for i in range(20):
        producer.produce("t", str(i // 2), partition=i % 2)
    producer.flush(30)
    calls = []

    def on_assign(consumer, partitions):
        calls.append(list(partitions))
        for tp in partitions:
            tp.offset = 7
        if protocol in ("cooperative", "KIP-848"):
            consumer.incremental_assign(partitions)
        else:
            consumer.assign(partitions)

    consumer = make_member(protocol)
    consumer.subscribe(["t"], on_assign=on_assign)
    messages = take(consumer, 6)
    assert sorted((m.partition(), m.offset()) for m in messages) == [(p, o) for p in (0, 1) for o in (7, 8, 9)]
    assert len(calls) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_on_revoke_may_commit(mock_cluster, make_member, producer, protocol):
    mock_cluster.create_topic("t", 1)
    for _ in range(5):
        producer.produce("t", b"v", partition=0)
    producer.flush(30)
    committed = []

    def on_revoke(consumer, partitions):
        committed.extend(consumer.commit(asynchronous=False))

    consumer = make_member(protocol, **{"enable.auto.commit": False})
    consumer.subscribe(["t"], on_revoke=on_revoke)
    take(consumer, 5)
    consumer.close()
    assert [(tp.topic, tp.partition, tp.offset, tp.error) for tp in committed] == [("t", 0, 5, None)]
    successor = make_member(protocol)
    assert [tp.offset for tp in successor.committed([TopicPartition("t", 0)], 10)] == [5]


@pytest.mark.parametrize("protocol", ["eager range", "cooperative"])
def test_a_member_that_the_coordinator_forgot_loses_its_partitions(mock_cluster, make_member, protocol):
    mock_cluster.create_topic("t", 2)
    consumer, events = make_member(protocol), Events()
    events.subscribe(consumer, ["t"])
    settle([consumer], [2])
    before = consumer.memberid()
    mock_cluster.push_request_errors(ApiKey.HEARTBEAT, [KafkaError.UNKNOWN_MEMBER_ID])
    poll_until(consumer, lambda: len(events) >= 3)
    assert events == [("assign", [0, 1]), ("lost", [0, 1]), ("assign", [0, 1])]
    assert consumer.memberid() != before


def test_lost_partitions_of_a_kip_848_member(mock_cluster, make_member):
    mock_cluster.create_topic("t", 2)
    consumer, events = make_member("KIP-848"), Events()
    events.subscribe(consumer, ["t"])
    settle([consumer], [2])
    mock_cluster.push_request_errors(ApiKey.CONSUMER_GROUP_HEARTBEAT, [KafkaError.FENCED_MEMBER_EPOCH])
    poll_until(consumer, lambda: len(events) >= 3)
    assert events == [("assign", [0, 1]), ("lost", [0, 1]), ("assign", [0, 1])]


def test_without_on_lost_on_revoke_is_called(mock_cluster, make_member):
    mock_cluster.create_topic("t", 2)
    consumer, revoked = make_member("eager range"), []
    consumer.subscribe(["t"], on_revoke=lambda _, partitions: revoked.append(len(partitions)))
    settle([consumer], [2])
    mock_cluster.push_request_errors(ApiKey.HEARTBEAT, [KafkaError.UNKNOWN_MEMBER_ID])
    poll_until(consumer, lambda: revoked)
    assert revoked == [2]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_exception_in_every_callback_leaves_the_group_working(mock_cluster, make_member, producer, protocol):
    """The assignment is made and given up all the same; each exception comes out of one call."""
    mock_cluster.create_topic("t", 1)
    producer.produce("t", b"v", partition=0)
    producer.flush(30)

    def fail(what):
        def callback(consumer, partitions):
            raise LookupError(what)

        return callback

    consumer = make_member(protocol)
    consumer.subscribe(["t"], on_assign=fail("assign"), on_revoke=fail("revoke"))

    def poll_to_exception():
        with pytest.raises(LookupError) as caught:
            poll_until(consumer, lambda: False)
        return caught.value.args[0]

    assert poll_to_exception() == "assign"
    assert len(consumer.assignment()) == 1
    assert take(consumer, 1)[0].value() == b"v"
    consumer.unsubscribe()
    assert poll_to_exception() == "revoke"
    assert consumer.assignment() == []
    consumer.subscribe(["t"], on_revoke=fail("closing"))
    settle([consumer], [1])
    with pytest.raises(LookupError, match="closing"):
        consumer.close()
    assert consumer.closed


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("how", ["unsubscribe", "lost", "close"])
def test_on_revoke_and_on_lost_may_close(mock_cluster, make_member, protocol, how):
    """librdkafka closes when the callback's rebalance is answered, which close() in the callback used to wait for."""
    mock_cluster.create_topic("t", 1)
    consumer, called = make_member(protocol), []

    def close(consumer, partitions):
        consumer.close()
        called.append(len(partitions))

    consumer.subscribe(["t"], on_revoke=close, on_lost=close)
    settle([consumer], [1])
    if how == "unsubscribe":
        consumer.unsubscribe()
    elif how == "lost":
        api = ApiKey.CONSUMER_GROUP_HEARTBEAT if protocol == "KIP-848" else ApiKey.HEARTBEAT
        error = KafkaError.FENCED_MEMBER_EPOCH if protocol == "KIP-848" else KafkaError.UNKNOWN_MEMBER_ID
        mock_cluster.push_request_errors(api, [error])
    if how == "close":
        consumer.close()
    else:
        with pytest.raises(RuntimeError, match="closed"):
            poll_until(consumer, lambda: False)
    assert consumer.closed
    assert called == [1]


def test_closing_before_the_assignment_was_served(mock_cluster, make_member):
    mock_cluster.create_topic("t", 1)
    mock_cluster.start_request_tracking()
    consumer, events = make_member("eager range"), Events()
    events.subscribe(consumer, ["t"])
    wait_until(lambda: any(request.api_key == ApiKey.SYNC_GROUP for request in mock_cluster.requests()))
    time.sleep(0.1)
    consumer.close()
    assert consumer.closed
    assert events in ([], [("assign", [0])], [("assign", [0]), ("revoke", [0])])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_changed_subscription(mock_cluster, make_member, protocol):
    mock_cluster.create_topic("a", 1)
    mock_cluster.create_topic("b", 1)
    consumer = make_member(protocol)
    consumer.subscribe(["a"])
    settle([consumer], [1])
    consumer.subscribe(["a", "b"])
    settle([consumer], [2])
    consumer.subscribe(["b"])
    poll_until(consumer, lambda: [tp.topic for tp in consumer.assignment()] == ["b"])
    assert consumer.subscription() == ["b"]


def test_a_topic_that_appears_later_is_assigned(mock_cluster, make_member):
    consumer = make_member("eager range", **{"topic.metadata.refresh.interval.ms": 100})
    consumer.subscribe(["^late-.*"])
    consumer.poll(0.3)
    assert consumer.assignment() == []
    mock_cluster.create_topic("late-1", 1)
    settle([consumer], [1])
    mock_cluster.create_topic("late-2", 2)
    settle([consumer], [3])


def test_unknown_topics_are_told(mock_cluster, make_member):
    mock_cluster.create_topic("forbidden", 1)
    mock_cluster.set_topic_error("forbidden", KafkaError.TOPIC_AUTHORIZATION_FAILED)
    consumer = make_member("eager range")
    consumer.subscribe(["forbidden"])
    message = next_error(consumer)
    assert message.error() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert message.topic() == "forbidden"


def test_a_fenced_static_member_is_told(mock_cluster, make_member):
    """A second member with the same group.instance.id makes the first one fail for good."""
    mock_cluster.create_topic("t", 1)
    consumer = make_member("eager range", **{"group.instance.id": "one"})
    consumer.subscribe(["t"])
    settle([consumer], [1])
    mock_cluster.push_request_errors(ApiKey.HEARTBEAT, [KafkaError.FENCED_INSTANCE_ID])
    error = next_error(consumer).error()
    assert error.fatal()
    assert error == KafkaError._FATAL
    assert "fenced" in error.str()
    with pytest.raises(KafkaException):
        consumer.subscribe(["t"])
    # Leaving the group is not possible any more, and close() used to wait for it.
    consumer.close()
    assert consumer.closed


def test_member_id_and_group_metadata_change_with_the_membership(mock_cluster, make_member):
    mock_cluster.create_topic("t", 1)
    consumer = make_member("eager range")
    assert consumer.memberid() is None
    before = consumer.consumer_group_metadata()
    consumer.subscribe(["t"])
    settle([consumer], [1])
    assert consumer.memberid()
    assert consumer.consumer_group_metadata() != before


def test_assign_by_hand_needs_no_group(mock_cluster, make_member, producer):
    for i in range(10):
        producer.produce("t", str(i), partition=0)
    producer.flush(30)
    mock_cluster.start_request_tracking()
    consumer = make_member("eager range", **{"enable.auto.commit": False})
    consumer.assign([TopicPartition("t", 0, 4)])
    assert [m.offset() for m in take(consumer, 6)] == [4, 5, 6, 7, 8, 9]
    consumer.incremental_assign([TopicPartition("t", 1, OFFSET_BEGINNING)])
    assert len(consumer.assignment()) == 2
    consumer.incremental_unassign([TopicPartition("t", 0)])
    assert consumer.assignment() == [TopicPartition("t", 1)]
    consumer.unassign()
    assert consumer.assignment() == []
    assert ApiKey.JOIN_GROUP not in {request.api_key for request in mock_cluster.requests()}


def test_nothing_is_lost_while_members_come_and_go(mock_cluster, make_member):
    """Every message is seen; twice where the coordinator gave up a member before it could commit."""
    mock_cluster.create_topic("t", 4)
    seen = Counter()
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 1}) as producer:
        members = [make_member("cooperative")]
        members[0].subscribe(["t"])
        sent = 0
        end = time.monotonic() + 40
        while len(seen) < 2000:
            assert time.monotonic() < end, (sent, len(seen))
            if sent < 2000:
                for _ in range(20):
                    producer.produce("t", str(sent), partition=sent % 4)
                    sent += 1
                producer.poll(0)
            if sent in (400, 800) and len(members) < 3:
                members.append(make_member("cooperative"))
                members[-1].subscribe(["t"])
            if sent == 1200 and len(members) == 3:
                members.pop(0).close()
            for member in members:
                seen.update(int(m.value()) for m in member.consume(100, 0.01) if m.error() is None)
    assert set(seen) == set(range(2000))
