"""KafkaError, exceptions, TopicPartition, Message, Uuid, time-outs, configuration errors."""

import copy
import gc
import json
import pickle
import re
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

import cykafka
from cykafka import (
    AbortableException,
    Consumer,
    FatalException,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    RetriableException,
    TopicPartition,
    Uuid,
)
from cykafka._rdkafka import core
from cykafka.admin import AdminClient

pytestmark = pytest.mark.unit


def test_kafka_error_compares_by_code_and_reads_like_the_peers():
    error = KafkaError(KafkaError._ALL_BROKERS_DOWN)
    assert (error.code(), error.name(), error.str()) == (
        -187,
        "_ALL_BROKERS_DOWN",
        "Local: All broker connections are down",
    )
    assert str(error) == 'KafkaError{code=_ALL_BROKERS_DOWN,val=-187,str="Local: All broker connections are down"}'
    assert (error.fatal(), error.retriable(), error.txn_requires_abort()) == (False, False, False)
    assert error == -187 == KafkaError(-187, "other text")
    assert hash(error) == -187
    assert error != 5
    assert error < 0 <= KafkaError(0)
    assert error != "text"
    assert KafkaError(0), "true like any object, as in confluent_kafka"
    fatal = KafkaError(3, "my reason", fatal=True, retriable=True, txn_requires_abort=True)
    assert str(fatal) == 'KafkaError{FATAL,code=UNKNOWN_TOPIC_OR_PART,val=3,str="my reason"}'
    assert KafkaError(99999).name() == "ERR_99999?"
    with pytest.raises(TypeError):
        KafkaError("x")
    with pytest.raises(TypeError):
        KafkaError(1, reason=5)


def test_every_code_of_librdkafka_is_an_attribute():
    names = [name for name in vars(KafkaError) if name.lstrip("_").isupper()]
    assert len(names) > 150
    assert KafkaError._PARTITION_EOF == -191
    assert KafkaError.NO_ERROR == 0
    assert all(KafkaError(getattr(KafkaError, name)).name() == name for name in names)


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        ({}, KafkaException),
        ({"retriable": True}, RetriableException),
        ({"txn_requires_abort": True, "retriable": True}, AbortableException),
        ({"fatal": True, "txn_requires_abort": True}, FatalException),
    ],
)
def test_exceptions_follow_the_flags_and_pickle(flags, kind):
    exception = core.make_exception(KafkaError(1, "reason", **flags))
    assert type(exception) is kind
    assert isinstance(exception, KafkaException)
    for copied in (pickle.loads(pickle.dumps(exception)), copy.copy(exception)):
        assert type(copied) is kind
        assert copied.args[0] == exception.args[0]
        assert str(copied.args[0]) == str(exception.args[0])
        assert copied.args[0].fatal() == exception.args[0].fatal()


def test_topic_partition():
    tp = TopicPartition("a", 1, 2)
    assert repr(tp) == "TopicPartition{topic=a,partition=1,offset=2,leader_epoch=None,error=None}"
    assert (TopicPartition("a").partition, TopicPartition("a").offset) == (-1, -1001)
    assert tp == TopicPartition("a", 1, 99)
    assert hash(tp) == hash(TopicPartition("a", 1))
    assert tp < TopicPartition("a", 2) < TopicPartition("b", 0)
    assert sorted([TopicPartition("b", 0), tp])[0] is tp
    assert tp != 5
    tp.offset = -2
    tp.partition = 7
    tp.metadata = "text"
    tp.leader_epoch = 5
    assert (tp.offset, tp.partition, tp.metadata, tp.leader_epoch) == (-2, 7, "text", 5)
    with pytest.raises(TypeError):
        tp.offset = "x"
    with pytest.raises(AttributeError):
        tp.topic = "x"
    with pytest.raises(TypeError):
        tp.metadata = 5
    for arguments in ((), (1,), ("a", "b"), ("a", 1, "c")):
        with pytest.raises(TypeError):
            TopicPartition(*arguments)
    full = TopicPartition("t", 3, 4, "meta", 6)
    for copied in (pickle.loads(pickle.dumps(full)), copy.copy(full), copy.deepcopy(full)):
        assert (copied.topic, copied.partition, copied.offset, copied.metadata, copied.leader_epoch) == (
            "t",
            3,
            4,
            "meta",
            6,
        )


def test_message_made_by_hand():
    message = Message("t", 1, 2, b"k", b"v", [("a", b"b")], None, (1, 123), 1.5, 3, 4)
    assert (message.topic(), message.partition(), message.offset(), message.key(), message.value()) == (
        "t",
        1,
        2,
        b"k",
        b"v",
    )
    assert (message.headers(), message.error(), message.timestamp(), message.latency()) == (
        [("a", b"b")],
        None,
        (1, 123),
        1.5,
    )
    assert (message.leader_epoch(), message.delivery_count(), len(message)) == (3, 4, 1)
    for copied in (pickle.loads(pickle.dumps(message)), copy.copy(message)):
        assert copied == message
    assert message != Message("t")
    empty = Message()
    assert (
        empty.topic(),
        empty.partition(),
        empty.offset(),
        empty.timestamp(),
        empty.latency(),
        len(empty),
    ) == (None, None, None, (0, 0), None, 0)
    message.set_value({"deserialized": 1})
    message.set_key(5)
    message.set_topic("q")
    message.set_headers([])
    message.set_error(KafkaError(1))
    assert (message.deserialized_value(), message.deserialized_key(), message.topic(), message.headers()) == (
        {"deserialized": 1},
        5,
        "q",
        [],
    )
    assert message.error() == 1
    with pytest.raises(TypeError):
        Message(timestamp=5)
    with pytest.raises(TypeError):
        hash(message)


def test_message_in_a_reference_cycle_is_collected():
    class Payload:
        pass

    import weakref

    payload = Payload()
    message = Message("t")
    payload.message = message
    message.set_value(payload)
    gone = weakref.ref(payload)
    del payload, message
    gc.collect()
    assert gone() is None


def test_uuid():
    uuid = Uuid(1, 2)
    assert str(uuid) == repr(uuid) == "AAAAAAAAAAEAAAAAAAAAAg"
    assert (uuid.get_most_significant_bits(), uuid.get_least_significant_bits()) == (1, 2)
    assert int(uuid) == (1 << 64) + 2
    assert int(Uuid(-1, -1)) == (1 << 128) - 1
    assert uuid == Uuid(1, 2) == pickle.loads(pickle.dumps(uuid))
    assert uuid != Uuid(2, 1)
    assert len({uuid, Uuid(1, 2)}) == 1


def test_versions_and_features():
    text, number = cykafka.libversion()
    pin = Path(__file__).resolve().parents[2] / "librdkafka" / "pin.json"
    assert text == json.loads(pin.read_text())["version"]
    assert text == f"{number >> 24}.{number >> 16 & 0xFF}.{number >> 8 & 0xFF}"
    assert cykafka.version() == cykafka.__version__
    assert {
        "ssl",
        "sasl_gssapi",
        "sasl_scram",
        "sasl_oauthbearer",
        "oidc",
        "zstd",
        "lz4",
        "snappy",
        "gzip",
        "http",
        "plugins",
        "regex",
    } <= set(cykafka.builtin_features())


def test_partitioners_agree_with_the_peers_values():
    assert (cykafka.murmur2(b"abc", 10), cykafka.fnv1a(b"abc", 10), cykafka.consistent(b"abc", 10)) == (
        7,
        1,
        8,
    )
    for partitioner in (cykafka.murmur2, cykafka.fnv1a, cykafka.consistent):
        with pytest.raises(TypeError):
            partitioner("abc", 10)
        with pytest.raises(ValueError, match="> 0"):
            partitioner(b"abc", 0)


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "text"),
    [
        ((), {}, TypeError, "expected configuration dict"),
        (("x",), {}, TypeError, "expected configuration dict"),
        (({}, {}), {}, TypeError, "one configuration dict"),
        (({1: 1},), {}, TypeError, "names must be str"),
        (({"foo": 1},), {}, KafkaException, 'No such configuration property: "foo"'),
        (({"socket.timeout.ms": "abc"},), {}, KafkaException, "socket.timeout.ms"),
        (({"socket.timeout.ms": object()},), {}, TypeError, "socket.timeout.ms"),
        (({"acks": b"all"},), {}, TypeError, "acks"),
        (({"client.id": "a\0b"},), {}, ValueError, "client.id"),
        (({"error_cb": 1},), {}, TypeError, "error_cb"),
        (({"stats_cb": 1},), {}, TypeError, "stats_cb"),
        (({"on_delivery": 1},), {}, KafkaException, "on_delivery"),
        (({"logger": 1},), {}, TypeError, "logger"),
        (({"default.topic.config": 1},), {}, TypeError, "default.topic.config"),
        (({"default.topic.config": {"nope": 1}},), {}, KafkaException, "nope"),
        (({"compression.codec": "nope"},), {}, KafkaException, "compression.codec"),
        ((), {"no_such_thing": 1}, KafkaException, "no.such.thing"),
        (
            ({"security.protocol": "ssl", "ssl.ca.location": "/nonexistent/ca.pem"},),
            {},
            KafkaException,
            "ssl.ca.location",
        ),
        (({"enable.idempotence": True, "acks": 1},), {}, KafkaException, "acks"),
    ],
)
def test_a_bad_configuration_names_what_is_wrong(arguments, keywords, error, text):
    with pytest.raises(error, match=text):
        Producer(*arguments, **keywords)


@pytest.mark.parametrize(
    ("client", "callback", "instead"),
    [
        (Consumer, "rebalance_cb", "pass on_assign, on_revoke and on_lost to subscribe()"),
        (Consumer, "offset_commit_cb", "use on_commit"),
        (Producer, "dr_msg_cb", "use on_delivery"),
        (Producer, "log_cb", "use logger"),
        (Consumer, "on_delivery", "No such configuration property"),
        (Producer, "on_commit", "No such configuration property"),
        (AdminClient, "on_commit", "No such configuration property"),
    ],
)
def test_a_callback_that_is_not_for_python_names_what_is(client, callback, instead):
    with pytest.raises(KafkaException, match=re.escape(instead)) as caught:
        client({"group.id": "g", callback: print})
    assert caught.value.args[0] == KafkaError._INVALID_ARG


def test_numbers_of_every_kind_are_values_of_properties():
    for value in (5, 5.0, 5.5, Decimal("7.5"), Fraction(1, 2), "9"):
        Producer({"linger.ms": value, "log_level": 0}).close()
    # What is refused is shown as librdkafka was given it.
    for value, text in ((Fraction(7, 2), "3.5"), (Decimal("1E+3"), "1000")):
        with pytest.raises(KafkaException, match=text) as caught:
            Producer({"security.protocol": value})
        assert caught.value.args[0] == KafkaError._INVALID_ARG


def test_properties_with_underscores_are_keyword_arguments_too():
    Producer(bootstrap_servers="127.0.0.1:1", log_level=0, error_cb=print).close()


def test_consumer_needs_a_group():
    with pytest.raises(ValueError, match="group.id"):
        Consumer({})


def test_a_failed_constructor_leaves_an_object_that_says_so():
    producer = Producer.__new__(Producer)
    with pytest.raises(RuntimeError, match="__init__"):
        producer.poll(0)
    assert len(producer) == 0


def test_constructing_twice_is_refused():
    producer = Producer({"client.id": "x"})
    with pytest.raises(RuntimeError, match="already"):
        producer.__init__({"client.id": "y"})
    producer.close()


@pytest.mark.parametrize(
    ("timeout", "error"),
    [(-5, ValueError), (-0.5, ValueError), (float("nan"), ValueError), ("x", TypeError), ([], TypeError)],
)
def test_bad_timeouts_are_refused(timeout, error):
    with Producer({"client.id": "x"}) as producer, pytest.raises(error):
        producer.poll(timeout)


def test_timeouts_are_kept_down_to_microseconds():
    with Producer({"client.id": "x"}) as producer:
        begin = time.perf_counter()
        for _ in range(100):
            producer.poll(0.0001)
        assert time.perf_counter() - begin >= 100 * 0.0001


def test_clients_do_not_pickle_and_say_what_to_do():
    with Producer({"client.id": "x"}) as producer, pytest.raises(TypeError, match="configuration"):
        pickle.dumps(producer)


def test_secrets_do_not_show():
    config = {"client.id": "x", "sasl.password": "hunter2", "ssl.key.password": "hunter3"}
    with Producer(config) as producer:
        producer.set_sasl_credentials("user", "hunter4")
        assert "hunter" not in repr(producer) + str(producer)
    with pytest.raises(KafkaException) as caught:
        Producer({**config, "foo": 1})
    assert "hunter" not in str(caught.value)


def test_closed_producer_says_so():
    producer = Producer({"client.id": "x"})
    producer.close()
    assert producer.close() is True
    assert producer.closed
    assert len(producer) == 0
    for call in (
        lambda: producer.produce("t"),
        lambda: producer.poll(0),
        producer.flush,
        producer.list_topics,
        producer.begin_transaction,
        producer.init_transactions,
        producer.purge,
        producer.wakeup,
        producer.cluster_id,
        lambda: producer.produce_batch("t", []),
        lambda: producer.set_sasl_credentials("a", "b"),
        producer.__enter__,
    ):
        with pytest.raises(RuntimeError, match="closed"):
            call()


def test_topic_partition_pickles_with_its_error():
    tp = TopicPartition("t", 1, 5, "note", 3)
    tp.__setstate__(KafkaError(KafkaError._NO_OFFSET, "why"))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        twin = pickle.loads(pickle.dumps(tp, protocol))
        assert (twin.topic, twin.partition, twin.offset, twin.metadata, twin.leader_epoch) == ("t", 1, 5, "note", 3)
        assert (twin.error.code(), twin.error.str()) == (KafkaError._NO_OFFSET, "why")


@pytest.mark.parametrize(("partition", "offset"), [(2**40, 0), (0, 2**70), (-(2**31) - 1, 0)])
def test_topic_partition_refuses_numbers_that_do_not_fit(partition, offset):
    with pytest.raises(OverflowError):
        TopicPartition("t", partition, offset)


def test_a_nul_character_is_refused_without_showing_the_text():
    with (
        Producer({"client.id": "x"}) as producer,
        pytest.raises(ValueError, match="password must not contain a NUL") as caught,
    ):
        producer.set_sasl_credentials("user", "hun\0ter2")
    assert "ter2" not in str(caught.value)
    with pytest.raises(ValueError, match=r"sasl\.password") as caught:
        Producer({"sasl.password": "hun\0ter2"})
    assert "ter2" not in str(caught.value)
