"""Every admin operation on a real Kafka."""

import time

import pytest

from cykafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from cykafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

pytestmark = pytest.mark.broker


@pytest.fixture
def admin(kafka):
    with AdminClient({"bootstrap.servers": kafka.bootstrap_servers}) as client:
        yield client


def error_of(future):
    exception = future.exception(20)
    assert isinstance(exception, KafkaException), exception
    return exception.args[0]


@pytest.fixture
def group(kafka, topic):
    """A group that has consumed ten messages of a topic and has left."""
    name = topic(partitions=2)
    with Producer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
        for i in range(10):
            producer.produce(name, str(i), partition=0, timestamp=1_000 + i)
    group_id = f"group-of-{name}"
    with Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": group_id,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    ) as consumer:
        consumer.subscribe([name])
        got = []
        while len(got) < 10:
            got += consumer.consume(10, 20)
        consumer.commit(asynchronous=False)
        yield name, group_id, consumer


def test_topics(admin, topic):
    name = topic() + "-made"
    created = admin.create_topics(
        [NewTopic(name, 2, 1, config={"retention.ms": "60000"}), NewTopic(name + "-bad", 1, 9)]
    )
    assert created[name].result(20) is None
    assert error_of(created[name + "-bad"]) == KafkaError.INVALID_REPLICATION_FACTOR
    assert error_of(admin.create_topics([NewTopic(name, 1)])[name]) == KafkaError.TOPIC_ALREADY_EXISTS
    assert (
        admin.create_topics([NewTopic(name + "-checked", 1)], validate_only=True)[name + "-checked"].result(20) is None
    )
    assert (
        admin.create_topics([NewTopic(name + "-placed", replica_assignment=[[1], [1]])])[name + "-placed"].result(20)
        is None
    )
    assert admin.create_partitions([NewPartitions(name, 4)])[name].result(20) is None
    assert error_of(admin.create_partitions([NewPartitions(name, 2)])[name]) == KafkaError.INVALID_PARTITIONS
    described = admin.describe_topics(TopicCollection([name, "nowhere"]), include_authorized_operations=True)
    description = described[name].result(20)
    assert (description.name, len(description.partitions), description.is_internal) == (name, 4, False)
    assert description.partitions[0].leader.id == 1
    assert AclOperation.READ in description.authorized_operations
    assert error_of(described["nowhere"]) == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert len(admin.list_topics(timeout=20).topics[name].partitions) == 4
    assert name + "-checked" not in admin.list_topics(timeout=20).topics
    deleted = admin.delete_topics([name, "nowhere"])
    assert deleted[name].result(20) is None
    assert error_of(deleted["nowhere"]) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_configs(admin, topic):
    resource = ConfigResource("topic", topic())
    entries = admin.describe_configs([resource])[resource].result(20)
    assert entries["retention.ms"].source is ConfigSource.DEFAULT_CONFIG
    assert entries["retention.ms"].synonyms or entries["retention.ms"].is_default

    def change(operation, value, **options):
        changed = ConfigResource(
            resource.restype,
            resource.name,
            incremental_configs=[ConfigEntry("cleanup.policy", value, incremental_operation=operation)],
        )
        return admin.incremental_alter_configs([changed], **options)[resource]

    def current(expected):
        """Wait for a change to reach the broker that is asked."""
        end = time.monotonic() + 20
        while True:
            value = admin.describe_configs([resource])[resource].result(20)["cleanup.policy"].value
            if sorted(value.split(",")) == expected or time.monotonic() > end:
                return sorted(value.split(","))
            time.sleep(0.05)

    assert change(AlterConfigOpType.SET, "compact").result(20) is None
    assert current(["compact"]) == ["compact"]
    assert change(AlterConfigOpType.APPEND, "delete").result(20) is None
    assert current(["compact", "delete"]) == ["compact", "delete"]
    assert change(AlterConfigOpType.SUBTRACT, "compact").result(20) is None
    assert current(["delete"]) == ["delete"]
    assert change(AlterConfigOpType.SET, "compact", validate_only=True).result(20) is None
    assert current(["delete"]) == ["delete"]
    assert error_of(change(AlterConfigOpType.SET, "nonsense")) == KafkaError.INVALID_CONFIG
    assert change(AlterConfigOpType.DELETE, None).result(20) is None
    broker = ConfigResource("broker", "1")
    assert admin.describe_configs([broker])[broker].result(20)["node.id"].is_read_only
    missing = ConfigResource("topic", "nowhere")
    assert error_of(admin.describe_configs([missing])[missing]) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_groups_and_their_offsets(admin, group):
    name, group_id, consumer = group
    description = admin.describe_consumer_groups([group_id])[group_id].result(20)
    assert (description.group_id, description.state, description.type) == (
        group_id,
        ConsumerGroupState.STABLE,
        ConsumerGroupType.CLASSIC,
    )
    (member,) = description.members
    assert sorted(member.assignment.topic_partitions) == [TopicPartition(name, 0), TopicPartition(name, 1)]
    listed = admin.list_consumer_groups().result(20)
    assert group_id in [listing.group_id for listing in listed.valid]
    assert listed.errors == []
    assert group_id not in [
        g.group_id for g in admin.list_consumer_groups(states={ConsumerGroupState.EMPTY}).result(20).valid
    ]
    assert group_id in [
        g.group_id for g in admin.list_consumer_groups(types={ConsumerGroupType.CLASSIC}).result(20).valid
    ]
    assert group_id in [g.id for g in admin.list_groups(timeout=20)]
    assert error_of(admin.delete_consumer_groups([group_id])[group_id]) == KafkaError.NON_EMPTY_GROUP
    consumer.close()

    def offsets(**options):
        return {
            tp.partition: tp.offset
            for tp in admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group_id)], **options)[group_id]
            .result(20)
            .topic_partitions
        }

    assert offsets(require_stable=True)[0] == 10
    moved = ConsumerGroupTopicPartitions(group_id, [TopicPartition(name, 0, 3)])
    assert admin.alter_consumer_group_offsets([moved])[group_id].result(20).topic_partitions[0].error is None
    assert offsets()[0] == 3
    gone = ConsumerGroupTopicPartitions(group_id, [TopicPartition(name, 0)])
    assert admin.delete_consumer_group_offsets([gone])[group_id].result(20).topic_partitions[0].error is None
    assert 0 not in offsets()
    deleted = admin.delete_consumer_groups([group_id, "no-such-group"])
    assert deleted[group_id].result(20) is None
    assert error_of(deleted["no-such-group"]) == KafkaError.GROUP_ID_NOT_FOUND


def test_offsets_and_records(admin, group):
    name, _, _ = group
    tp = TopicPartition(name, 0)

    def offset(spec, **options):
        return admin.list_offsets({tp: spec}, **options)[tp].result(20).offset

    assert offset(OffsetSpec.earliest()) == 0
    assert offset(OffsetSpec.latest(), isolation_level=IsolationLevel.READ_COMMITTED) == 10
    assert offset(OffsetSpec.for_timestamp(1_005)) == 5
    assert offset(OffsetSpec.max_timestamp()) == 9
    assert admin.delete_records([TopicPartition(name, 0, 4)])[tp].result(20).low_watermark == 4
    assert offset(OffsetSpec.earliest()) == 4
    missing = TopicPartition(name, 77)
    assert isinstance(admin.list_offsets({missing: OffsetSpec.latest()})[missing].exception(20), KafkaException)


def test_cluster_and_elections(admin, topic):
    cluster = admin.describe_cluster(include_authorized_operations=True).result(20)
    assert [node.id for node in cluster.nodes] == [1]
    assert cluster.cluster_id == admin.cluster_id(20)
    assert cluster.authorized_operations
    tp = TopicPartition(topic(), 0)
    elected = admin.elect_leaders(ElectionType.PREFERRED, [tp]).result(20)
    assert elected[tp].args[0] == KafkaError.ELECTION_NOT_NEEDED


def test_users(admin):
    infos = {
        mechanism: ScramCredentialInfo(mechanism, 8192)
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
    }
    for info in infos.values():
        assert (
            admin.alter_user_scram_credentials([UserScramCredentialUpsertion("someone", info, b"secret")])[
                "someone"
            ].result(20)
            is None
        )
    found = admin.describe_user_scram_credentials(["someone", "nobody"])
    assert {i.mechanism for i in found["someone"].result(20).scram_credential_infos} == set(infos)
    assert error_of(found["nobody"]) == KafkaError.RESOURCE_NOT_FOUND
    assert "someone" in admin.describe_user_scram_credentials().result(20)
    for mechanism in infos:
        assert (
            admin.alter_user_scram_credentials([UserScramCredentialDeletion("someone", mechanism)])["someone"].result(
                20
            )
            is None
        )


def test_access_rules(kafka_secure):
    everything = AclBindingFilter("any", None, "any", None, None, "any", "any")
    rule = AclBinding("topic", "a-topic", "literal", "User:alice", "*", "read", "allow")
    with AdminClient({"bootstrap.servers": kafka_secure.client_config("PLAINTEXT")["bootstrap.servers"]}) as admin:
        assert admin.create_acls([rule])[rule].result(20) is None
        assert rule in admin.describe_acls(everything).result(20)
        only = AclBindingFilter("topic", "a-topic", "any", None, None, "any", "any")
        assert admin.delete_acls([only])[only].result(20) == [rule]
        assert rule not in admin.describe_acls(everything).result(20)


def test_wrong_arguments_are_refused(admin):
    for call, error in (
        (lambda: admin.create_topics("x"), TypeError),
        (lambda: admin.create_topics([]), ValueError),
        (lambda: admin.create_topics([5]), TypeError),
        (lambda: admin.create_topics([NewTopic("a")], foo=1), TypeError),
        (lambda: admin.create_topics([NewTopic("a")], request_timeout=-5), ValueError),
        (lambda: admin.delete_topics([""]), ValueError),
        (lambda: admin.delete_topics([5]), TypeError),
        (lambda: admin.describe_configs([5]), TypeError),
        (lambda: admin.describe_topics(["a"]), TypeError),
        (lambda: admin.describe_consumer_groups([]), ValueError),
        (lambda: admin.list_consumer_groups(states=["x"]), TypeError),
        (lambda: admin.list_consumer_group_offsets([]), ValueError),
        (lambda: admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions("g")]), ValueError),
        (lambda: admin.list_offsets({TopicPartition("a", 0): 5}), TypeError),
        (lambda: admin.elect_leaders(5), TypeError),
        (lambda: admin.describe_acls(5), TypeError),
        (lambda: admin.create_acls([]), ValueError),
        (lambda: admin.alter_user_scram_credentials([]), ValueError),
        (lambda: admin.describe_user_scram_credentials("x"), TypeError),
        (lambda: admin.incremental_alter_configs([ConfigResource("topic", "a")]), ValueError),
    ):
        with pytest.raises(error):
            call()
    assert len(admin) == 0


def test_futures_fail_when_the_client_is_closed_or_nobody_answers():
    client = AdminClient({"bootstrap.servers": "127.0.0.1:9", "log_level": 0})
    future = client.describe_cluster()
    client.close()
    client.close()
    assert error_of(future) == KafkaError._DESTROY
    with pytest.raises(RuntimeError, match="closed"):
        client.describe_cluster()
    with AdminClient({"bootstrap.servers": "127.0.0.1:9", "log_level": 0}) as client:
        assert error_of(client.describe_cluster(request_timeout=0.3)) == KafkaError._TIMED_OUT
