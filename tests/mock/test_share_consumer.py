"""Share groups (KIP-932) on the mock cluster."""

import gc
import os
import pickle
import signal
import threading
import time
import weakref

import pytest

from cykafka import (
    AcknowledgeType,
    ConcurrentModificationException,
    DeserializingShareConsumer,
    IllegalStateException,
    KafkaError,
    KafkaException,
    Message,
    Messages,
    ShareConsumer,
    TopicPartition,
)
from cykafka.serialization import Deserializer, DeserializerBuilder, IntegerDeserializer, StringDeserializer
from cykafka.testing import ApiKey

EXPLICIT = {"share.acknowledgement.mode": "explicit"}


class Quiet:
    def log(self, *args):
        pass


@pytest.fixture
def cluster(mock_cluster):
    mock_cluster.set_share_groups(auto_offset_reset="earliest", heartbeat_interval=0.1, record_lock_duration=30)
    mock_cluster.create_topic("topic", 2)
    return mock_cluster


@pytest.fixture
def make(cluster):
    made = []

    def make(properties=(), kind=ShareConsumer, subscribe=("topic",)):
        config = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "share", "logger": Quiet()}
        made.append(kind({**config, **dict(properties)}))
        if subscribe:
            made[-1].subscribe(list(subscribe))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


def produce(producer, count, start=0, **arguments):
    for i in range(start, start + count):
        producer.produce("topic", str(i), partition=i % 2, **arguments)
    producer.flush(20)


def take(consumer, count, timeout=20.0, each=lambda message: None):
    """Poll until there are as many messages as asked for; fail if time is over."""
    messages = []
    end = time.monotonic() + timeout
    while len(messages) < count:
        assert time.monotonic() < end, f"only {len(messages)} of {count} messages"
        for message in consumer.poll(0.2):
            assert message.error() is None
            each(message)
            messages.append(message)
    return messages


def nothing_comes(consumer, seconds=0.5):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert list(consumer.poll(0.1)) == []


def values(messages):
    return sorted(int(message.value()) for message in messages)


def test_messages_come_in_batches_with_their_delivery_count(make, producer):
    produce(producer, 10, headers=[("name", b"value")])
    consumer = make()
    batch = consumer.poll(20)
    assert isinstance(batch, Messages)
    messages = list(batch)
    while len(messages) < 10:
        messages += consumer.poll(20)
    assert values(messages) == list(range(10))
    first = min(messages, key=lambda message: int(message.value()))
    assert (first.topic(), first.partition(), first.offset()) == ("topic", 0, 0)
    assert first.headers() == [("name", b"value")]
    assert first.delivery_count() == 1
    assert consumer.subscription() == ["topic"]


def test_implicit_acknowledgement_accepts_with_the_next_poll_or_commit(make, producer):
    produce(producer, 4)
    consumer = make()
    take(consumer, 4)
    assert consumer.commit_sync(20) == {TopicPartition("topic", 0): None, TopicPartition("topic", 1): None}
    assert consumer.commit_sync(20) == {}
    consumer.close()
    nothing_comes(make())


def test_released_messages_come_again_and_rejected_ones_do_not(make, producer):
    produce(producer, 3)
    consumer = make(EXPLICIT)
    fate = {0: AcknowledgeType.ACCEPT, 1: AcknowledgeType.RELEASE, 2: AcknowledgeType.REJECT}
    take(consumer, 3, each=lambda message: consumer.acknowledge(message, fate[int(message.value())]))
    (again,) = take(consumer, 1, each=consumer.acknowledge)
    assert (again.value(), again.delivery_count()) == (b"1", 2)
    nothing_comes(consumer)


def test_acknowledging_by_place(make, producer):
    produce(producer, 1)
    consumer = make(EXPLICIT)
    (message,) = take(consumer, 1)
    consumer.acknowledge_offset(message.topic(), message.partition(), message.offset(), AcknowledgeType.RELEASE)
    assert consumer.commit_sync(20) == {TopicPartition("topic", 0): None}
    (again,) = take(consumer, 1)
    consumer.acknowledge_offset("topic", 0, again.offset())
    assert again.delivery_count() == 2


def test_explicit_acknowledgement_is_due_before_the_next_poll(make, producer):
    produce(producer, 1)
    consumer = make(EXPLICIT)
    (message,) = take(consumer, 1)
    with pytest.raises(IllegalStateException, match="acknowledged"):
        consumer.poll(0)
    consumer.acknowledge(message)
    assert list(consumer.poll(0)) == []


def test_a_message_is_given_up_after_the_last_attempt(cluster, make, producer):
    cluster.set_share_groups(max_delivery_attempts=2)
    produce(producer, 1)
    consumer = make(EXPLICIT)
    for count in (1, 2):
        (message,) = take(consumer, 1, each=lambda message: consumer.acknowledge(message, AcknowledgeType.RELEASE))
        assert message.delivery_count() == count
    nothing_comes(consumer)


def test_members_share_a_partition(make, producer):
    produce(producer, 20)
    consumers = [make({**EXPLICIT, "max.poll.records": 1}) for _ in range(2)]
    seen = []
    end = time.monotonic() + 60
    # At least once: what a member held while another joined may come to both.
    while len(set(values(seen))) < 20:
        assert time.monotonic() < end, f"only {values(seen)} of 20 messages"
        for consumer in consumers:
            for message in consumer.poll(0.05):
                consumer.acknowledge(message)
                seen.append(message)
    assert set(values(seen)) == set(range(20))


def test_the_callback_gets_offsets_by_partition(make, producer):
    produce(producer, 4)
    outcomes = []
    consumer = make(EXPLICIT)
    consumer.set_acknowledgement_commit_callback(lambda offsets, error: outcomes.append((offsets, error)))
    take(consumer, 4, each=consumer.acknowledge)
    consumer.commit_async()
    end = time.monotonic() + 20
    while sum(len(o) for offsets, _ in outcomes for o in offsets.values()) < 4:
        assert time.monotonic() < end, outcomes
        consumer.poll(0.05)
    merged = {}
    for offsets, error in outcomes:
        assert error is None
        for partition, numbers in offsets.items():
            merged.setdefault(partition, set()).update(numbers)
    assert merged == {TopicPartition("topic", 0): {0, 1}, TopicPartition("topic", 1): {0, 1}}
    consumer.set_acknowledgement_commit_callback(None)
    produce(producer, 1)
    take(consumer, 1, each=consumer.acknowledge)
    consumer.commit_sync(20)
    assert len([offsets for offsets, _ in outcomes if offsets]) == len(outcomes)


def test_the_callback_learns_of_failures(cluster, make, producer):
    produce(producer, 1)
    outcomes = []
    consumer = make(EXPLICIT)
    consumer.set_acknowledgement_commit_callback(lambda offsets, error: outcomes.append(error))
    take(consumer, 1, each=consumer.acknowledge)
    cluster.push_request_errors(ApiKey.SHARE_ACKNOWLEDGE, [KafkaError.GROUP_AUTHORIZATION_FAILED])
    (failure,) = consumer.commit_sync(20).values()
    assert failure.args[0] == KafkaError.GROUP_AUTHORIZATION_FAILED
    assert [error.args[0].code() for error in outcomes] == [KafkaError.GROUP_AUTHORIZATION_FAILED]


def test_an_exception_in_the_callback_comes_out_and_loses_no_message(make, producer):
    produce(producer, 1)
    consumer = make(EXPLICIT)
    take(consumer, 1, each=consumer.acknowledge)
    raised = []

    def fail(offsets, error):
        raised.append(offsets)
        raise ZeroDivisionError

    consumer.set_acknowledgement_commit_callback(fail)
    consumer.commit_async()
    produce(producer, 3, start=1)
    seen = []
    end = time.monotonic() + 20
    while len(seen) < 3 or not raised:
        assert time.monotonic() < end, (seen, raised)
        try:
            for message in consumer.poll(0.1):
                consumer.acknowledge(message)
                seen.append(message)
        except ZeroDivisionError:
            consumer.set_acknowledgement_commit_callback(lambda offsets, error: raised.append(offsets))
    assert values(seen) == [1, 2, 3]


def test_the_callback_may_call_methods_and_close_the_consumer(make, producer):
    produce(producer, 1)
    consumer = make(EXPLICIT)
    subscriptions = []

    def call_and_close(offsets, error):
        subscriptions.append(consumer.subscription())
        consumer.close()

    consumer.set_acknowledgement_commit_callback(call_and_close)
    take(consumer, 1, each=consumer.acknowledge)
    with pytest.raises(IllegalStateException, match="closed"):
        consumer.commit_sync(20)
    assert subscriptions == [["topic"]]
    assert consumer.closed


def test_closing_sends_acknowledgements_and_serves_their_callback(make, producer):
    produce(producer, 2)
    outcomes = []
    consumer = make(EXPLICIT)
    consumer.set_acknowledgement_commit_callback(lambda offsets, error: outcomes.append(offsets))
    take(consumer, 2, each=consumer.acknowledge)
    consumer.close()
    assert {partition: set(o) for offsets in outcomes for partition, o in offsets.items()} == {
        TopicPartition("topic", 0): {0},
        TopicPartition("topic", 1): {0},
    }
    nothing_comes(make())


def test_one_thread_at_a_time(make):
    consumer = make()
    errors = []

    def use():
        for call in (lambda: consumer.poll(0), consumer.subscription, consumer.commit_async, consumer.close):
            try:
                call()
            except ConcurrentModificationException as error:
                errors.append(str(error))
        consumer.wakeup()

    thread = threading.Timer(0.2, use)
    thread.start()
    assert list(consumer.poll(60)) == []
    thread.join()
    assert len(errors) == 4
    assert all("one thread at a time" in error for error in errors)
    other = threading.Thread(target=consumer.subscription)
    other.start()
    other.join()
    assert consumer.subscription() == ["topic"]


@pytest.mark.parametrize("call", [lambda c: c.poll(60), lambda c: c.poll(), lambda c: c.commit_sync(60)])
def test_ctrl_c_ends_a_blocking_call(cluster, make, producer, call):
    produce(producer, 1)
    consumer = make(EXPLICIT)
    take(consumer, 1, each=consumer.acknowledge)
    consumer.poll(0)
    take_again = AcknowledgeType.RELEASE
    produce(producer, 1)
    take(consumer, 1, each=lambda message: consumer.acknowledge(message, take_again))
    cluster.set_broker_rtt(1, 1.5)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call(consumer)
        time.sleep(2)
    cluster.set_broker_rtt(1, 0)
    consumer.close()


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda c, m: c.acknowledge("x"), TypeError, "must be a Message"),
        (lambda c, m: c.acknowledge(None), TypeError, "must be a Message"),
        (lambda c, m: c.acknowledge(m, "ACCEPT"), TypeError, "AcknowledgeType"),
        (lambda c, m: c.acknowledge(m, 4), ValueError, "AcknowledgeType"),
        (lambda c, m: c.acknowledge(m, 0), ValueError, "AcknowledgeType"),
        (lambda c, m: c.acknowledge(Message()), ValueError, "no topic"),
        (lambda c, m: c.acknowledge(Message(topic="topic")), ValueError, "negative"),
        (
            lambda c, m: c.acknowledge(Message(topic="topic", partition=1, offset=77)),
            IllegalStateException,
            "not acquired",
        ),
        (lambda c, m: c.acknowledge_offset("topic", -1, 0), ValueError, "negative"),
        (lambda c, m: c.acknowledge_offset("topic", 0, -1), ValueError, "negative"),
        (lambda c, m: c.acknowledge_offset(None, 0, 0), TypeError, "topic must be str"),
        (lambda c, m: c.acknowledge_offset("topic", 0, 0, 9), ValueError, "AcknowledgeType"),
        (lambda c, m: c.subscribe("topic"), TypeError, "list of topic names"),
        (lambda c, m: c.subscribe([5]), TypeError, "topic must be str"),
        (lambda c, m: c.subscribe([""]), ValueError, "empty"),
        (lambda c, m: c.subscribe(["a", "a"]), ValueError, "twice"),
        (lambda c, m: c.set_acknowledgement_commit_callback(5), TypeError, "callable"),
        (lambda c, m: c.poll("x"), TypeError, "timeout"),
        (lambda c, m: c.poll(-5), ValueError, "timeout"),
        (lambda c, m: c.commit_sync("x"), TypeError, "timeout"),
        (lambda c, m: pickle.dumps(c), TypeError, "cannot be pickled"),
    ],
)
def test_wrong_use_is_refused_and_the_consumer_stays_usable(make, producer, use, error, text):
    produce(producer, 1)
    consumer = make(EXPLICIT)
    (message,) = take(consumer, 1)
    with pytest.raises(error, match=text):
        use(consumer, message)
    consumer.acknowledge(message)
    assert list(consumer.commit_sync(20).values()) == [None]


def test_acknowledging_without_explicit_mode_says_what_to_set(make, producer):
    produce(producer, 1)
    consumer = make()
    (message,) = take(consumer, 1)
    with pytest.raises(IllegalStateException, match=r"share\.acknowledgement\.mode is explicit"):
        consumer.acknowledge(message)


@pytest.mark.parametrize(
    ("properties", "error", "text"),
    [
        ({"group.id": ""}, ValueError, "group.id"),
        ({"enable.auto.commit": False}, ValueError, "enable.auto.commit"),
        ({"isolation.level": "read_committed"}, ValueError, "isolation.level"),
        ({"on_commit": print}, ValueError, "on_commit"),
        ({"no.such.property": 1}, KafkaException, "no.such.property"),
        ({"share.acknowledgement.mode": "sometimes"}, ValueError, "share.acknowledgement.mode"),
    ],
)
def test_properties_that_are_not_for_share_consumers_are_named(cluster, properties, error, text):
    with pytest.raises(error, match=text):
        ShareConsumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "share", **properties})


def test_polling_needs_a_subscription(make):
    consumer = make(subscribe=())
    with pytest.raises(IllegalStateException, match="not subscribed"):
        consumer.poll(0)
    consumer.subscribe(["topic"])
    assert list(consumer.poll(0)) == []
    consumer.unsubscribe()
    assert consumer.subscription() == []
    with pytest.raises(IllegalStateException, match="not subscribed"):
        consumer.poll(0)


def test_a_closed_consumer_says_so(make, producer):
    produce(producer, 1)
    consumer = make(EXPLICIT)
    (message,) = take(consumer, 1)
    with consumer:
        pass
    consumer.close()
    for call in (
        lambda: consumer.poll(0),
        lambda: consumer.acknowledge(message),
        lambda: consumer.acknowledge_offset("topic", 0, 0),
        lambda: consumer.commit_sync(1),
        consumer.commit_async,
        lambda: consumer.subscribe(["topic"]),
        consumer.unsubscribe,
        consumer.subscription,
        lambda: consumer.set_acknowledgement_commit_callback(None),
    ):
        with pytest.raises(IllegalStateException, match="closed"):
            call()
    with pytest.raises(RuntimeError, match="closed"):
        consumer.__enter__()
    assert "closed" in repr(consumer)


def test_dropping_the_last_reference_frees_the_consumer(make, producer, cluster):
    produce(producer, 1)
    consumer = ShareConsumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "share", "logger": Quiet(), **EXPLICIT}
    )
    consumer.subscribe(["topic"])
    take(consumer, 1)
    consumer.set_acknowledgement_commit_callback(lambda offsets, error: None)
    reference = weakref.ref(consumer)
    del consumer
    gc.collect()
    assert reference() is None


def test_no_broker_is_no_message(cluster, make, producer):
    consumer = make({"socket.timeout.ms": 1000})
    cluster.set_broker_down(1)
    assert list(consumer.poll(0.3)) == []
    assert consumer.commit_sync(0.3) == {}
    cluster.set_broker_up(1)
    produce(producer, 2)
    assert values(take(consumer, 2)) == [0, 1]


def test_an_error_of_the_broker_comes_out_and_polling_goes_on(cluster, make, producer):
    consumer = make()
    consumer.poll(0.5)
    cluster.push_request_errors(ApiKey.SHARE_FETCH, [KafkaError.GROUP_AUTHORIZATION_FAILED])
    produce(producer, 2)
    seen = []
    errors = []
    end = time.monotonic() + 20
    while len(seen) < 2:
        assert time.monotonic() < end, (seen, errors)
        try:
            seen += consumer.poll(0.2)
        except KafkaException as error:
            errors.append(error.args[0].code())
    assert set(errors) <= {KafkaError.GROUP_AUTHORIZATION_FAILED}
    assert values(seen) == [0, 1]


def test_deserializing_keeps_what_cannot_be_deserialized(make, producer):
    producer.produce("topic", b"\0\0\0\7", "key", partition=0)
    producer.produce("topic", b"\0\7", "key", partition=0)
    producer.produce("topic", b"\0\0\0\10", b"\xff", partition=0)
    producer.flush(20)
    closed = []

    class Text(StringDeserializer):
        def close(self):
            closed.append(self)

    class Builder(DeserializerBuilder):
        def build(self, conf, is_key):
            assert is_key
            return Text(conf.pop("codec")), conf

    consumer = make(
        {
            **EXPLICIT,
            "key.deserializer.builder": Builder(),
            "codec": "utf_8",
            "value.deserializer": IntegerDeserializer(),
        },
        DeserializingShareConsumer,
    )
    messages = []
    end = time.monotonic() + 20
    while len(messages) < 3:
        assert time.monotonic() < end, messages
        for message in consumer.poll(0.2):
            consumer.acknowledge(message, AcknowledgeType.REJECT if message.error() else AcknowledgeType.ACCEPT)
            messages.append(message)
    good, bad_value, bad_key = messages
    assert (good.key(), good.value(), good.error()) == ("key", 7, None)
    assert (good.deserialized_key(), good.deserialized_value()) == ("key", 7)
    assert (bad_value.key(), bad_value.value()) == (b"key", b"\0\7")
    assert bad_value.error() == KafkaError._VALUE_DESERIALIZATION
    assert (bad_key.key(), bad_key.value()) == (b"\xff", b"\0\0\0\10")
    assert bad_key.error() == KafkaError._KEY_DESERIALIZATION
    assert set(consumer.commit_sync(20).values()) == {None}
    consumer.close()
    assert len(closed) == 1


def test_deserializers_may_ask_for_the_cluster_id(make, producer, cluster):
    produce(producer, 1)
    seen = []

    class Asking(Deserializer):
        def __call__(self, value, ctx=None):
            seen.append((self.resolve(), ctx.topic, str(ctx.field)))
            return value

        def set_cluster_id_resolver(self, resolver):
            self.resolve = resolver

    asking = Asking()
    consumer = make({"value.deserializer": asking}, DeserializingShareConsumer)
    take(consumer, 1)
    assert seen == [(consumer.cluster_id(20), "topic", "value")]
    consumer.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_a_forked_child_is_told_to_make_its_own(make):
    consumer = make()
    consumer.poll(0)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            consumer.poll(0)
        except RuntimeError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.close(write)
    assert os.waitpid(child, 0)[1] == 0
    assert b"forked" in os.read(read, 1000)
    os.close(read)
