"""Values of the admin client, serialization, and standing in for confluent_kafka."""

import os
import pickle
import subprocess
import sys

import pytest

from cykafka import KafkaError, KafkaException, Message, Messages, Node, Uuid
from cykafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ConfigEntry,
    ConfigResource,
    ConsumerGroupDescription,
    ConsumerGroupListing,
    MemberAssignment,
    MemberDescription,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    TopicDescription,
    UserScramCredentialUpsertion,
)
from cykafka.error import ConsumeError, KeySerializationError, ProduceError, ValueDeserializationError
from cykafka.serialization import (
    DoubleDeserializer,
    DoubleSerializer,
    IntegerDeserializer,
    IntegerSerializer,
    MessageField,
    SerializationContext,
    SerializationError,
    Serializer,
    StringDeserializer,
    StringSerializer,
)

pytestmark = pytest.mark.unit


def test_new_topic_and_partitions():
    assert repr(NewTopic("a", 3)) == "NewTopic(topic=a,num_partitions=3)"
    assert repr(NewTopic("a")) == "NewTopic(topic=a)"
    assert repr(NewPartitions("a", 4)) == "NewPartitions(topic=a,new_total_count=4)"
    assert NewTopic("a", 1) == NewTopic("a", 1) != NewTopic("a", 2)
    assert len({NewTopic("a", 1), NewTopic("a", 1)}) == 1
    assert pickle.loads(pickle.dumps(NewTopic("a", 1, 2, None, {"x": "y"}))).config == {"x": "y"}
    with pytest.raises(TypeError):
        NewTopic(1)


def test_config_resource():
    resource = ConfigResource("topic", "n")
    assert resource == ConfigResource(ResourceType.TOPIC, "n") == ConfigResource(2, "n")
    assert hash(resource) == hash(ConfigResource(2, "n"))
    assert repr(resource) == "ConfigResource(ResourceType.TOPIC,n)"
    resource.set_config("a", "b")
    resource.set_config("a", "c", overwrite=False)
    assert (resource.set_config_dict, len(resource)) == ({"a": "b"}, 1)
    assert resource < ConfigResource("topic", "z")
    for arguments in (("x", "n"), (2, None), (99, "n")):
        with pytest.raises(ValueError):
            ConfigResource(*arguments)
    assert (repr(ConfigEntry("a", "b")), str(ConfigEntry("a", "b"))) == ('ConfigEntry(a="b")', 'a="b"')


def test_acls():
    rule = AclBinding("topic", "n", "literal", "User:a", "*", "read", "allow")
    assert rule == AclBinding(
        ResourceType.TOPIC, "n", ResourcePatternType.LITERAL, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW
    )
    assert (rule.restype_int, rule.operation_int, rule.permission_type_int, rule.resource_pattern_type_int) == (
        2,
        3,
        3,
        3,
    )
    assert AclBindingFilter("any", None, "any", None, None, "any", "any") != rule
    for arguments, error in (
        (("any", "n", "literal", "User:a", "*", "read", "allow"), ValueError),
        (("topic", None, "literal", "User:a", "*", "read", "allow"), ValueError),
        (("topic", 5, "literal", "User:a", "*", "read", "allow"), TypeError),
        (("nope", "n", "literal", "User:a", "*", "read", "allow"), ValueError),
        (("topic", "n", "match", "User:a", "*", "read", "allow"), ValueError),
    ):
        with pytest.raises(error):
            AclBinding(*arguments)


def test_groups_topics_and_offset_specs():
    member = MemberDescription("m", "c", "h", MemberAssignment())
    group = ConsumerGroupDescription("g", False, [member], "range", "stable", Node(1, "h", 9), [3, AclOperation.READ])
    assert group.authorized_operations == [AclOperation.READ, AclOperation.READ]
    assert ConsumerGroupListing("g", True, state=3, type="classic").state.name == "STABLE"
    assert TopicDescription("t", Uuid(1, 2), False, []).partitions == []
    assert OffsetSpec.latest() is OffsetSpec.latest()
    assert OffsetSpec.for_timestamp(5) == OffsetSpec.for_timestamp(5)
    assert OffsetSpec.max_timestamp()._value == -3
    assert str(Node(1, "h", 9)) == "(1) h:9 "


def test_secrets_of_users_do_not_show():
    alteration = UserScramCredentialUpsertion("u", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"hunter2")
    assert "hunter2" not in repr(alteration) + str(alteration)


def test_messages_are_a_sequence():
    messages = Messages([Message("t", 0), Message("t", 1)])
    assert (len(messages), messages.count(), messages.is_empty(), messages[1].partition()) == (2, 2, False, 1)
    assert [m.partition() for m in messages] == [0, 1]
    assert isinstance(messages[0:1], Messages)
    assert messages.records() == list(messages)
    assert Messages().is_empty()


def test_serializers_round_trip_and_refuse():
    assert StringDeserializer()(StringSerializer()("é")) == "é"
    assert IntegerSerializer()(5) == b"\x00\x00\x00\x05"
    assert IntegerDeserializer()(b"\x00\x00\x00\x05") == 5
    assert DoubleDeserializer()(DoubleSerializer()(1.5)) == 1.5
    for serde in (
        StringSerializer(),
        StringDeserializer(),
        IntegerSerializer(),
        IntegerDeserializer(),
        DoubleSerializer(),
        DoubleDeserializer(),
    ):
        assert serde(None) is None
        serde.close()
    for serde, value in (
        (StringSerializer(), 5),
        (IntegerSerializer(), 2**40),
        (IntegerDeserializer(), b"12"),
        (DoubleDeserializer(), b"12"),
        (StringDeserializer(), b"\xff"),
        (StringSerializer("ascii"), "é"),
        (DoubleSerializer(), "x"),
    ):
        with pytest.raises(SerializationError):
            serde(value)
    with pytest.raises(NotImplementedError):
        Serializer()(1)
    assert str(MessageField.KEY) == "key"
    assert SerializationContext("t", MessageField.KEY).headers is None


def test_client_errors_carry_their_cause_and_pickle():
    error = ValueDeserializationError(ValueError("x"), Message("t"))
    assert (error.code, error.name, error.args[0].str()) == (
        KafkaError._VALUE_DESERIALIZATION,
        "_VALUE_DESERIALIZATION",
        "x",
    )
    assert error.kafka_message.topic() == "t"
    for original in (
        error,
        KeySerializationError(ValueError("y")),
        ProduceError(KafkaError(3)),
        ConsumeError(KafkaError(3), None, Message("t")),
    ):
        copied = pickle.loads(pickle.dumps(original))
        assert type(copied) is type(original)
        assert copied.code == original.code
        assert isinstance(copied, KafkaException)


def _run(code):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_standing_in_for_confluent_kafka():
    result = _run(
        "import cykafka\n"
        "cykafka.install_as_confluent_kafka(); cykafka.install_as_confluent_kafka()\n"
        "import confluent_kafka, confluent_kafka.admin, confluent_kafka.serialization as s\n"
        "from confluent_kafka.cimpl import Producer\n"
        "import cykafka.admin, cykafka.serialization\n"
        "assert confluent_kafka is cykafka and confluent_kafka.admin is cykafka.admin and s is cykafka.serialization\n"
        "assert Producer is cykafka.Producer and cykafka.admin.__spec__.name == 'cykafka.admin'\n"
        "try: import confluent_kafka.nowhere\n"
        "except ModuleNotFoundError: pass\n"
        "else: raise SystemExit('found a module that is not there')\n"
    )
    assert result.returncode == 0, result.stderr


def test_standing_in_too_late_says_so():
    result = _run(
        "import sys, types\nsys.modules['confluent_kafka'] = types.ModuleType('confluent_kafka')\n"
        "import cykafka\ncykafka.install_as_confluent_kafka()\n"
    )
    assert "RuntimeError" in result.stderr
    assert "before anything imports it" in result.stderr
