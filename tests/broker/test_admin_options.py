"""Every option of the admin operations does on a real Kafka what it says."""

import time

import pytest

from cykafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    ElectionType,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from cykafka.admin import (
    AclOperation,
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

pytestmark = pytest.mark.broker


@pytest.fixture
def admin(kafka):
    with AdminClient({"bootstrap.servers": kafka.bootstrap_servers}) as client:
        yield client


def error_of(future):
    exception = future.exception(60)
    assert isinstance(exception, KafkaException), exception
    return exception.args[0]


def test_request_timeout_ends_an_operation_that_nobody_answers(kafka, admin, topic):
    name = topic()
    assert admin.describe_cluster().result(20).nodes
    with kafka.paused():
        requests = [
            admin.describe_cluster(request_timeout=0.5),
            admin.describe_topics(TopicCollection([name]), request_timeout=0.5)[name],
            admin.create_topics([NewTopic(f"{name}-late", 1)], request_timeout=0.5)[f"{name}-late"],
        ]
        for future in requests:
            assert error_of(future) == KafkaError._TIMED_OUT
    assert admin.describe_topics(TopicCollection([name]))[name].result(60).name == name


def test_operation_timeout_is_how_long_the_cluster_may_take(admin, topic):
    name = topic()
    created = f"{name}-created"
    assert admin.create_topics([NewTopic(created, 1)], operation_timeout=20)[created].result(30) is None
    # With time to wait, the topic is known everywhere when the future is done.
    assert created in admin.list_topics(timeout=20).topics
    assert admin.create_partitions([NewPartitions(created, 3)], operation_timeout=20)[created].result(30) is None
    assert len(admin.list_topics(created, timeout=20).topics[created].partitions) == 3
    first = TopicPartition(name, 0, 0)
    assert admin.delete_records([first], operation_timeout=20)[first].result(30).low_watermark == 0
    assert admin.delete_topics([created], operation_timeout=20)[created].result(30) is None
    assert created not in admin.list_topics(timeout=20).topics


def test_validate_only_changes_nothing(admin, topic):
    name = topic()
    checked = f"{name}-checked"
    assert admin.create_topics([NewTopic(checked, 1)], validate_only=True)[checked].result(20) is None
    assert error_of(admin.create_topics([NewTopic(checked, 1, 9)], validate_only=True)[checked]) == (
        KafkaError.INVALID_REPLICATION_FACTOR
    )
    assert admin.create_partitions([NewPartitions(name, 5)], validate_only=True)[name].result(20) is None
    assert error_of(admin.create_partitions([NewPartitions(name, 1)], validate_only=True)[name]) == (
        KafkaError.INVALID_PARTITIONS
    )
    resource = ConfigResource("topic", name, {"retention.ms": "1234567"})
    assert admin.alter_configs([resource], validate_only=True)[resource].result(20) is None
    wrong = ConfigResource("topic", name, {"retention.ms": "soon"})
    assert error_of(admin.alter_configs([wrong], validate_only=True)[wrong]) == KafkaError.INVALID_CONFIG
    topics = admin.list_topics(timeout=20).topics
    assert checked not in topics
    assert len(topics[name].partitions) == 1
    assert admin.describe_configs([resource])[resource].result(20)["retention.ms"].value != "1234567"


def test_authorized_operations_come_when_they_are_asked_for(kafka, admin, topic):
    name = topic()
    group = f"group-of-{name}"
    with Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group}) as consumer:
        consumer.commit(offsets=[TopicPartition(name, 0, 0)], asynchronous=False)
    for asked in (True, False):
        options = {"include_authorized_operations": asked}
        found = {
            AclOperation.READ: admin.describe_topics(TopicCollection([name]), **options)[name].result(20),
            AclOperation.DELETE: admin.describe_consumer_groups([group], **options)[group].result(20),
            AclOperation.ALTER: admin.describe_cluster(**options).result(20),
        }
        for operation, description in found.items():
            if asked:
                assert operation in description.authorized_operations
            else:
                assert description.authorized_operations is None


def test_isolation_level_and_require_stable_see_open_transactions(kafka, admin, topic):
    name = topic()
    group = f"group-of-{name}"
    partition = TopicPartition(name, 0)
    request = [ConsumerGroupTopicPartitions(group, [partition])]

    def end(level):
        return admin.list_offsets({partition: OffsetSpec.latest()}, isolation_level=level)[partition].result(20).offset

    def committed(**options):
        return admin.list_consumer_group_offsets(request, **options)[group].result(20).topic_partitions[0]

    with (
        Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group}) as consumer,
        Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": name}) as producer,
    ):
        consumer.commit(offsets=[TopicPartition(name, 0, 0)], asynchronous=False)
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(name, "open", partition=0)
        assert producer.flush(20) == 0
        producer.send_offsets_to_transaction([TopicPartition(name, 0, 7)], consumer.consumer_group_metadata(), 20)
        assert end(IsolationLevel.READ_UNCOMMITTED) == 1
        assert end(IsolationLevel.READ_COMMITTED) == 0
        assert committed().offset == 0
        assert committed(require_stable=True).error == KafkaError.UNSTABLE_OFFSET_COMMIT
        producer.commit_transaction(30)
        deadline = time.monotonic() + 20
        while committed(require_stable=True).error is not None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert committed(require_stable=True).offset == 7
        while end(IsolationLevel.READ_COMMITTED) != 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert end(IsolationLevel.READ_COMMITTED) == end(IsolationLevel.READ_UNCOMMITTED) == 2


def test_broker_is_who_is_asked(kafka3):
    second = ConfigResource("broker", "2")
    with AdminClient({"bootstrap.servers": kafka3.bootstrap_servers}) as admin:
        # A broker's own configuration is asked of that broker, unless another is named: which then refuses.
        assert admin.describe_configs([second])[second].result(30)["node.id"].value == "2"
        assert admin.describe_configs([second], broker=2)[second].result(30)["node.id"].value == "2"
        assert error_of(admin.describe_configs([second], broker=1)[second]) == KafkaError.INVALID_REQUEST
        for broker in (1, 2, 3):
            assert len(admin.describe_cluster(broker=broker).result(30).nodes) == 3
        assert error_of(admin.describe_cluster(broker=77, request_timeout=1)) == KafkaError._TIMED_OUT


def test_leaders_are_elected(kafka3, topic):
    name = topic(partitions=3, replication_factor=3, cluster=kafka3)
    with AdminClient({"bootstrap.servers": kafka3.bootstrap_servers}) as admin:

        def leaders():
            partitions = admin.list_topics(name, timeout=30).topics[name].partitions
            return {number: (partition.leader, partition.replicas[0]) for number, partition in partitions.items()}

        number, (leader, _) = next(item for item in leaders().items() if item[1][0] == item[1][1])
        moved = TopicPartition(name, number)
        with kafka3.killed(leader):
            deadline = time.monotonic() + 60
            while leaders()[number][0] in (leader, -1):
                assert time.monotonic() < deadline
                time.sleep(0.1)
        # Once it is back and in step, its partitions are given back to it.
        deadline = time.monotonic() + 60
        while True:
            elected = admin.elect_leaders(ElectionType.PREFERRED, [moved], request_timeout=30, operation_timeout=20)
            outcome = elected.result(60)[moved]
            if outcome is None or outcome.args[0] == KafkaError.ELECTION_NOT_NEEDED:
                break
            assert outcome.args[0] == KafkaError.PREFERRED_LEADER_NOT_AVAILABLE
            assert time.monotonic() < deadline
            time.sleep(0.2)
        while leaders()[number][0] != leader:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        # None asks for all partitions, of which those that need nothing are not told.
        assert all(error is None for error in admin.elect_leaders(ElectionType.PREFERRED).result(60).values())
