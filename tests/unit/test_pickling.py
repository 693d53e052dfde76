"""Errors, messages, partitions and the admin client's values go through pickle and copy unchanged."""

import copy
import enum
import pickle
import re

import pytest

from cykafka import (
    ConcurrentModificationException,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    IllegalStateException,
    KafkaError,
    KafkaException,
    Message,
    Messages,
    Node,
    RetriableException,
    ThrottleEvent,
    TopicCollection,
    TopicPartition,
    TopicPartitionInfo,
    Uuid,
    admin,
)
from cykafka.error import ConsumeError, KeySerializationError, ValueDeserializationError
from cykafka.serialization import MessageField, SerializationContext, SerializationError, StringSerializer

pytestmark = pytest.mark.unit

NODE = Node(1, "host", 9092, "rack")
ERROR = KafkaError(3, "why", True, True, True)
MESSAGE = Message("t", 1, 5, b"k", b"v", [("a", b"b"), ("a", None)], ERROR, (1, 5), 0.5, 3, 2)
SCRAM = admin.ScramCredentialInfo(admin.ScramMechanism.SCRAM_SHA_256, 5000)
CLUSTER = admin.ClusterMetadata()
CLUSTER.topics["t"] = admin.TopicMetadata()
CLUSTER.topics["t"].partitions[0] = admin.PartitionMetadata()
CLUSTER.brokers[1] = admin.BrokerMetadata()

VALUES = [
    ERROR,
    KafkaException(ERROR),
    RetriableException(ERROR),
    IllegalStateException("why"),
    ConcurrentModificationException("why"),
    SerializationError("why"),
    ConsumeError(ERROR, exception=ValueError("why"), kafka_message=MESSAGE),
    KeySerializationError(ValueError("why")),
    ValueDeserializationError(ValueError("why"), MESSAGE),
    TopicPartition("t", 1, 5, "metadata", 3),
    MESSAGE,
    Messages([MESSAGE]),
    Uuid(1, 2),
    NODE,
    ThrottleEvent("broker", 1, 0.5),
    ConsumerGroupState.STABLE,
    ConsumerGroupTopicPartitions("g", [TopicPartition("t", 1)]),
    TopicCollection(["t"]),
    TopicPartitionInfo(1, NODE, [NODE], [NODE]),
    SerializationContext("t", MessageField.KEY, [("a", b"b")]),
    StringSerializer("latin1"),
    CLUSTER,
    admin.GroupMetadata(),
    admin.GroupMember(),
    admin.NewTopic("t", 2, 1, None, {"a": "b"}),
    admin.NewPartitions("t", 5, [[1], [2]]),
    admin.AclBinding("topic", "t", "literal", "User:a", "*", "read", "allow"),
    admin.AclBindingFilter("topic", None, "any", None, None, "any", "any"),
    admin.ConfigEntry("a", "b", admin.ConfigSource.GROUP_CONFIG, incremental_operation=admin.AlterConfigOpType.SET),
    admin.ConfigResource("topic", "t", {"a": "b"}, error=ERROR, incremental_configs=[admin.ConfigEntry("a", "b")]),
    admin.OffsetSpec.earliest(),
    admin.OffsetSpec.for_timestamp(5),
    admin.ListOffsetsResultInfo(1, 2, 3),
    SCRAM,
    admin.UserScramCredentialUpsertion("u", SCRAM, b"password", b"salt"),
    admin.UserScramCredentialDeletion("u", admin.ScramMechanism.SCRAM_SHA_512),
    admin.DeletedRecords(5),
    admin.MemberDescription("m", "c", "h", admin.MemberAssignment([TopicPartition("t", 1)]), "i"),
    admin.ConsumerGroupListing("g", True, ConsumerGroupState.EMPTY),
    admin.ListConsumerGroupsResult([admin.ConsumerGroupListing("g", True)], [KafkaException(ERROR)]),
    admin.ConsumerGroupDescription("g", True, [], "range", ConsumerGroupState.EMPTY, NODE),
    admin.DescribeClusterResult(NODE, [NODE], "id", [3]),
    admin.TopicDescription("t", Uuid(1, 2), False, [TopicPartitionInfo(0, NODE, [NODE], [])], [3]),
]


def content(value):
    """All that a value holds, as text without addresses."""
    if isinstance(value, enum.Enum):
        return repr(value)
    attributes = getattr(value, "__dict__", {})
    state = value._state() if isinstance(value, Message) else ()
    arguments = getattr(value, "args", ())
    parts = [repr(value), str(arguments), *(f"{name}={content(held)}" for name, held in sorted(attributes.items()))]
    parts += [content(part) if part is not value else "" for part in state]
    if isinstance(value, TopicPartition):
        parts += [str(value.metadata), str(value.error)]
    if isinstance(value, KafkaError):
        parts += [str((value.fatal(), value.retriable(), value.txn_requires_abort()))]
    return re.sub(r"0x[0-9a-f]+", "", " ".join(parts))


@pytest.mark.parametrize(
    "duplicate",
    [
        *(
            pytest.param(lambda value, protocol=protocol: pickle.loads(pickle.dumps(value, protocol)), id=f"{protocol}")
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
        ),
        copy.copy,
        copy.deepcopy,
    ],
)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_copies_hold_the_same(value, duplicate):
    twin = duplicate(value)
    assert type(twin) is type(value)
    assert content(twin) == content(value)


def test_a_deep_copy_shares_nothing_that_can_change():
    original = admin.ConfigResource("topic", "t", {"a": "b"})
    twin = copy.deepcopy(original)
    twin.set_config("a", "c")
    assert original.set_config_dict == {"a": "b"}
    message = Message("t", value=[1])
    copy.deepcopy(message).value().append(2)
    assert message.value() == [1]
