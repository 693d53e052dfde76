"""SerializingProducer and DeserializingConsumer on the mock cluster."""

import gc
import weakref

import pytest

from cykafka import Consumer, DeserializingConsumer, KafkaError, SerializingProducer
from cykafka.error import (
    ConsumeError,
    KeyDeserializationError,
    KeySerializationError,
    ValueDeserializationError,
    ValueSerializationError,
)
from cykafka.serialization import (
    DeserializerBuilder,
    IntegerDeserializer,
    IntegerSerializer,
    MessageField,
    SerializationError,
    Serializer,
    SerializerBuilder,
    StringDeserializer,
    StringSerializer,
)
from tests.mock.conftest import take


@pytest.fixture
def make(mock_cluster):
    made = []

    def make(kind, **properties):
        config = {"bootstrap.servers": mock_cluster.bootstrap_servers}
        if issubclass(kind, Consumer):
            config |= {"group.id": "group", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 20}
        else:
            config["linger.ms"] = 0
        made.append(kind({**config, **{name.replace("_", "."): value for name, value in properties.items()}}))
        return made[-1]

    yield make
    for client in made:
        client.close()


def raw(make, count):
    consumer = make(Consumer)
    consumer.subscribe(["topic"])
    return take(consumer, count)


def test_objects_go_there_and_back(make):
    producer = make(SerializingProducer, key_serializer=StringSerializer(), value_serializer=IntegerSerializer())
    reports = []
    producer.produce("topic", "key", 7, headers={"a": "b"}, on_delivery=lambda error, message: reports.append(error))
    producer.produce("topic", key=None, value=None)
    assert producer.flush(20) == 0
    assert reports == [None]
    consumer = make(
        DeserializingConsumer, key_deserializer=StringDeserializer(), value_deserializer=IntegerDeserializer()
    )
    consumer.subscribe(["topic"])
    found = {}
    while len(found) < 2:
        message = consumer.poll(20)
        found[message.key()] = message
    assert found["key"].value() == found["key"].deserialized_value() == 7
    assert found["key"].headers() == [("a", b"b")]
    assert found[None].value() is None


def test_the_context_tells_topic_field_and_headers_and_may_change_them(make):
    seen = []

    def serialize(value, context):
        seen.append((context.topic, context.field, context.headers))
        context.headers = [*(context.headers or []), (str(context.field), b"")]
        return value.encode()

    producer = make(SerializingProducer, key_serializer=serialize, value_serializer=serialize)
    producer.produce("topic", "k", "v", headers=[("mine", b"1")])
    assert producer.flush(20) == 0
    assert seen == [
        ("topic", MessageField.KEY, [("mine", b"1")]),
        ("topic", MessageField.VALUE, [("mine", b"1"), ("key", b"")]),
    ]
    (message,) = raw(make, 1)
    assert message.headers() == [("mine", b"1"), ("key", b""), ("value", b"")]


def test_what_cannot_be_serialized_is_not_sent(make):
    producer = make(SerializingProducer, key_serializer=StringSerializer(), value_serializer=IntegerSerializer())
    with pytest.raises(KeySerializationError) as raised:
        producer.produce("topic", 5, 5)
    assert isinstance(raised.value.exception, SerializationError)
    assert raised.value.code == KafkaError._KEY_SERIALIZATION
    with pytest.raises(ValueSerializationError) as raised:
        producer.produce("topic", "key", "x")
    assert raised.value.name == "_VALUE_SERIALIZATION"
    assert len(producer) == 0
    producer.produce("topic", "key", 1)
    assert producer.flush(20) == 0
    assert len(raw(make, 1)) == 1


def test_serializers_do_not_see_what_cannot_be_produced(make):
    def unexpected(value, context):
        raise AssertionError("a serializer was asked")

    producer = make(SerializingProducer, value_serializer=unexpected)
    with pytest.raises(TypeError, match="topic must be str"):
        producer.produce(5, value="v")
    producer.close()
    with pytest.raises(RuntimeError, match="closed"):
        producer.produce("topic", value="v")


def test_bad_messages_raise_from_poll_and_stay_in_batches(make, mock_cluster):
    mock_cluster.create_topic("topic", 1)
    producer = make(SerializingProducer)
    for key, value in ((b"\xff", b"\0\0\0\1"), (b"k", b"\0"), (b"k", b"\0\0\0\2")):
        producer.produce("topic", key, value)
    assert producer.flush(20) == 0
    properties = {"key_deserializer": StringDeserializer(), "value_deserializer": IntegerDeserializer()}
    consumer = make(DeserializingConsumer, **properties)
    consumer.subscribe(["topic"])
    with pytest.raises(KeyDeserializationError) as raised:
        consumer.poll(20)
    assert raised.value.kafka_message.value() == b"\0\0\0\1"
    with pytest.raises(ValueDeserializationError) as raised:
        consumer.poll(20)
    assert raised.value.kafka_message.offset() == 1
    assert consumer.poll(20).value() == 2
    again = make(DeserializingConsumer, group_id="other", **properties)
    again.subscribe(["topic"])
    batch = []
    while len(batch) < 3:
        batch += again.consume(3, 20)
    assert [m.error() and m.error().name() for m in batch] == ["_KEY_DESERIALIZATION", "_VALUE_DESERIALIZATION", None]
    assert [m.value() for m in batch] == [b"\0\0\0\1", b"\0", 2]
    assert [m.key() for m in batch] == [b"\xff", b"k", "k"]


def test_errors_raise_from_poll(make, mock_cluster):
    mock_cluster.create_topic("topic", 1)
    consumer = make(DeserializingConsumer, enable_partition_eof=True)
    consumer.subscribe(["topic"])
    with pytest.raises(ConsumeError) as raised:
        while True:
            consumer.poll(20)
    assert raised.value.code == KafkaError._PARTITION_EOF


class _Closing(Serializer):
    def __init__(self, closed):
        self.closed = closed

    def __call__(self, obj, ctx=None):
        return obj

    def close(self):
        self.closed.append(self)


class _Builder(SerializerBuilder, DeserializerBuilder):
    def __init__(self, closed):
        self.closed = closed
        self.asked = []

    def build(self, conf, is_key):
        self.asked.append((is_key, conf.pop("of.the.builder")))
        return _Closing(self.closed), {"of.the.builder": "again", **conf} if is_key else conf


@pytest.mark.parametrize(
    ("kind", "what"), [(SerializingProducer, "serializer"), (DeserializingConsumer, "deserializer")]
)
def test_builders_take_their_properties_and_what_they_build_is_closed(make, kind, what):
    closed = []
    builder = _Builder(closed)
    properties = {f"{part}_{what}_builder": builder for part in ("key", "value")}
    client = make(kind, of_the_builder="first", **properties)
    assert builder.asked == [(True, "first"), (False, "again")]
    client.close()
    client.close()
    assert len(closed) == 2
    mine = _Closing(closed)
    with make(kind, **{f"value_{what}": mine}):
        pass
    assert mine not in closed
    with pytest.raises(ValueError, match="Cannot configure both"):
        make(kind, **{f"value_{what}": mine, f"value_{what}_builder": builder})
    with pytest.raises(TypeError, match="must have a method build"):
        make(kind, **{f"value_{what}_builder": mine})
    with pytest.raises(TypeError, match="must be callable"):
        make(kind, **{f"value_{what}": 5})
    with pytest.raises(TypeError, match="configuration dict"):
        kind("x")


def test_a_serializer_that_keeps_the_cluster_id_resolver_does_not_keep_the_producer(mock_cluster):
    kept = []

    class Asking(StringSerializer):
        def set_cluster_id_resolver(self, resolver):
            kept.append(resolver)

    producer = SerializingProducer({"bootstrap.servers": mock_cluster.bootstrap_servers, "key.serializer": Asking()})
    assert kept[0]() == producer.cluster_id(20)
    reference = weakref.ref(producer)
    del producer
    gc.collect()
    assert reference() is None
    with pytest.raises(RuntimeError, match="gone"):
        kept[0]()
