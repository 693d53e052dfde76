"""The operations that librdkafka lacks, on a real Kafka."""

import subprocess
import time
import uuid
from pathlib import Path

import pytest

from cykafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from cykafka.admin import (
    AbortTransactionSpec,
    AdminClient,
    ClientQuotaAlteration,
    ClientQuotaEntity,
    ClientQuotaFilterComponent,
    Coordinator,
    FeatureUpdate,
    Leader,
    MemberToRemove,
    QuotaMatch,
    RaftVoterEndpoint,
    TopicPartitionReplica,
    UpgradeType,
)
from cykafka.admin.protocol import api, names
from tests.support import jars

pytestmark = pytest.mark.broker


@pytest.fixture
def admin(kafka):
    made = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    yield made
    made.close()


def unique(what):
    return f"{what}-{uuid.uuid4().hex[:8]}"


def eventually(ask, good, seconds=20.0):
    """What ask() returns once it is good; the last of it after that time."""
    deadline = time.monotonic() + seconds
    while True:
        got = ask()
        if good(got) or time.monotonic() > deadline:
            return got
        time.sleep(0.05)


def failure(future):
    with pytest.raises(KafkaException) as caught:
        future.result(30)
    return caught.value.args[0]


def test_the_table_is_what_kafka_itself_says():
    source = Path(jars.__file__).parent / "KafkaSchemas.java"
    class_path = ":".join(map(str, jars.fetch(jars.KAFKA)))
    command = [str(jars.java()), "-cp", class_path, str(source)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=100).stdout
    theirs = {}
    for line in printed.splitlines():
        words = line.split()
        if words[0] == "api":
            row, versions = words[2], range(int(words[3]), int(words[4]) + 1)
            if "BROKER" in line:
                theirs[row] = {"versions": versions}
        elif words[0] in {"request", "response"} and not line.startswith(" "):
            lines = [f"flexible {words[2]}"]
            theirs.get(row, {})[words[0], int(words[1])] = lines
        else:
            indent = " " * (len(line) - len(line.lstrip()))
            kind = words[1].removeprefix("COMPACT_").removeprefix("NULLABLE_").lower().replace("boolean", "bool")
            lines.append(f"{indent}{words[0]} {kind} {words[2]} {words[3]} {words[4]}")
    assert sorted(theirs) == names()
    for name, parts in theirs.items():
        row = api(name)
        assert range(row.versions.lowest, row.versions.highest + 1) == parts.pop("versions"), name
        for (part, version), expected in parts.items():
            ours = [f"flexible {str(row.is_flexible(version)).lower()}", *layout(getattr(row, part), version, 1)]
            assert ours == expected, f"{name} {part} version {version}"


def layout(fields, version, depth):
    lines = []
    # Tagged fields come last, in the order of their tags.
    there = [field for field in fields if version in field.versions]
    for field in sorted(there, key=lambda field: -1 if field.tag is None else field.tag):
        nullable, array = (str(flag).lower() for flag in (field.may_be_null(version), field.array))
        tag = -1 if field.tag is None else field.tag
        lines.append(f"{'  ' * depth}{field.name} {field.type or 'struct'} {array} {nullable} {tag}")
        lines += layout(field.fields, version, depth + 1)
    return lines


def test_every_version_that_the_broker_has_is_in_the_table(admin):
    answer = admin.request("ApiVersions", {"client_software_name": "t", "client_software_version": "1"}).result(30)
    for each in answer["api_keys"]:
        assert each["max_version"] in api(each["api_key"]).versions


def test_any_request(admin, topic):
    name = topic(2)
    described = admin.request("describe_topic_partitions", {"topics": [{"name": name}]}).result(30)
    assert [p["partition_index"] for p in described["topics"][0]["partitions"]] == [0, 1]
    for version in range(3):
        answer = admin.request(60, {}, version=version, broker="controller", timeout=20).result(30)
        assert [broker["broker_id"] for broker in answer["brokers"]] == [1]
    body = {"topics": [{"name": name, "partitions": [{"partition_index": 1, "timestamp": -1}]}], "replica_id": -1}
    answer = admin.request("ListOffsets", body, broker=Leader(name, 1)).result(30)
    assert answer["topics"][0]["partitions"][0]["offset"] == 0
    assert failure(admin.request("DescribeCluster", {}, broker=77)) == KafkaError._UNKNOWN_BROKER
    assert failure(admin.request("DescribeCluster", {}, broker=Leader("no-such-topic", 0))) == 3
    answer = admin.request("ListGroups", {}, broker=Coordinator("group", "x")).result(30)
    assert answer["error_code"] == 0


def test_client_quotas(admin):
    entity = ClientQuotaEntity({"user": unique("bob"), "client-id": None})
    change = ClientQuotaAlteration(entity, {"producer_byte_rate": 1000.0, "request_percentage": 50})
    admin.alter_client_quotas([change], validate_only=True)[entity].result(30)
    assert entity not in admin.describe_client_quotas().result(30)
    admin.alter_client_quotas([change])[entity].result(30)
    components = [
        ClientQuotaFilterComponent("user", entity.entries["user"]),
        ClientQuotaFilterComponent("client-id", None),
    ]

    def ask():
        return admin.describe_client_quotas(components, strict=True).result(30)

    assert eventually(ask, bool) == {entity: {"producer_byte_rate": 1000.0, "request_percentage": 50.0}}
    everyone = admin.describe_client_quotas([ClientQuotaFilterComponent("user", QuotaMatch.ANY)]).result(30)
    assert entity in everyone
    admin.alter_client_quotas([ClientQuotaAlteration(entity, dict.fromkeys(change.ops))])[entity].result(30)
    assert eventually(ask, lambda found: not found) == {}
    wrong = ClientQuotaAlteration(entity, {"no_such_quota": 1.0})
    assert failure(admin.alter_client_quotas([wrong])[entity]) == KafkaError.INVALID_REQUEST


def test_partition_reassignments(kafka3, topic):
    name = topic(2, 2, cluster=kafka3)
    first, second = TopicPartition(name, 0), TopicPartition(name, 1)
    with_admin = AdminClient({"bootstrap.servers": kafka3.bootstrap_servers})
    with with_admin as admin:
        futures = admin.alter_partition_reassignments({first: [3, 1], second: None})
        futures[first].result(30)
        assert failure(futures[second]) == 85
        assert failure(admin.alter_partition_reassignments({first: [99]})[first]) == 39

        def replicas():
            (found,) = admin.request("Metadata", {"topics": [{"name": name}]}).result(30)["topics"]
            return {p["partition_index"]: sorted(p["replica_nodes"]) for p in found["partitions"]}[0]

        assert eventually(replicas, lambda found: found == [1, 3]) == [1, 3]
        assert eventually(lambda: admin.list_partition_reassignments([first]).result(30), lambda f: not f) == {}
        assert admin.list_partition_reassignments().result(30) == {}


def test_log_dirs(admin, topic):
    name = topic(1)
    partition = TopicPartition(name, 0)

    def describe():
        (found,) = admin.describe_log_dirs([1])[1].result(30).items()
        return found

    # The broker makes the folder a little after the topic is there.
    folder, description = eventually(describe, lambda found: partition in found[1].replicas)
    replica = description.replicas[partition]
    assert (replica.size, replica.offset_lag, replica.is_future) == (0, 0, False)
    assert description.total_bytes >= description.usable_bytes > 0
    there, missing = TopicPartitionReplica(name, 0, 1), TopicPartitionReplica("no-such-topic", 0, 1)
    found = admin.describe_replica_log_dirs([there, missing])
    assert found[there].result(30).current_log_dir == folder
    assert found[missing].result(30).current_log_dir is None
    admin.alter_replica_log_dirs({there: folder})[there].result(30)
    assert failure(admin.alter_replica_log_dirs({there: "/no/such/folder"})[there]) == 57
    assert failure(admin.describe_log_dirs([9])[9]) == KafkaError._UNKNOWN_BROKER


def test_features(admin):
    features = admin.describe_features().result(30)
    level = features.finalized_features["metadata.version"].max_version
    assert level <= features.supported_features["metadata.version"].max_version
    assert features.finalized_features_epoch >= 0
    downgrade = {"share.version": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)}
    admin.update_features(downgrade, validate_only=True)["share.version"].result(30)
    assert admin.describe_features().result(30).finalized_features["share.version"].max_version == 1
    error = failure(admin.update_features({"metadata.version": FeatureUpdate(level - 1)})["metadata.version"])
    assert error == KafkaError.INVALID_UPDATE_VERSION


def test_quorum(admin):
    quorum = admin.describe_metadata_quorum().result(30)
    assert quorum.leader_id == 1
    assert [voter.replica_id for voter in quorum.voters] == [1]
    assert quorum.high_watermark > 0
    (endpoint,) = quorum.nodes[1]
    assert endpoint.name == "CONTROLLER"
    # With voters named in the configuration the quorum cannot change: the controller itself says so.
    directory = "AAAAAAAAAAAAAAAAAAAAAQ"
    added = admin.add_raft_voter(2, directory, [RaftVoterEndpoint("CONTROLLER", "localhost", 9)])
    assert failure(added) == KafkaError.UNSUPPORTED_VERSION
    assert failure(admin.remove_raft_voter(1, directory)) == KafkaError.UNSUPPORTED_VERSION
    assert "not currently registered" in failure(admin.unregister_broker(99)).str()


@pytest.fixture
def transaction(kafka, topic):
    """A transactional id with an open transaction that has a message in a partition."""
    name, transactional_id = topic(1), unique("tx")
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": transactional_id})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(name, b"value")
    producer.flush()
    yield transactional_id, TopicPartition(name, 0), producer
    producer.close()


def test_transactions_and_fencing(admin, transaction):
    transactional_id, partition, producer = transaction
    listed = admin.list_transactions(states=["Ongoing"], pattern=f"{transactional_id}.*").result(30)
    (listing,) = listed
    assert (listing.transactional_id, listing.state) == (transactional_id, "Ongoing")
    assert admin.list_transactions(producer_ids=[listing.producer_id]).result(30) == listed
    assert listing not in admin.list_transactions(longer_than=3600).result(30)
    described = admin.describe_transactions([transactional_id, "none"])
    description = described[transactional_id].result(30)
    assert (description.state, description.producer_id) == ("Ongoing", listing.producer_id)
    assert description.partitions == {partition}
    assert description.transaction_start_time > 0
    assert failure(described["none"]) == 105
    (state,) = admin.describe_producers([partition])[partition].result(30)
    assert (state.producer_id, state.current_transaction_start_offset) == (listing.producer_id, 0)
    with pytest.raises(ValueError, match="no state Nonsense"):
        admin.list_transactions(states=["Nonsense"]).result(30)
    fenced = admin.fence_producers([transactional_id])[transactional_id].result(30)
    assert fenced.producer_epoch > state.producer_epoch
    assert not [t for t in admin.list_transactions(states=["Ongoing"]).result(30) if t == listing]
    with pytest.raises(KafkaException):
        producer.commit_transaction(10)
    admin.force_terminate_transaction(transactional_id).result(30)


def test_abort_transaction_frees_readers(admin, kafka, transaction):
    _, partition, _ = transaction
    (state,) = admin.describe_producers([partition])[partition].result(30)
    spec = AbortTransactionSpec(
        partition, state.producer_id, state.producer_epoch, -1 if state.coordinator_epoch is None else 0
    )
    admin.abort_transaction(spec).result(30)
    (after,) = admin.describe_producers([partition])[partition].result(30)
    assert after.current_transaction_start_offset is None
    missing = TopicPartition("no-such-topic", 0)
    assert failure(admin.describe_producers([missing])[missing]) == 3


def test_classic_groups_and_removal_of_members(admin, kafka, topic):
    name, group = topic(1), unique("group")
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": group, "group.instance.id": "first"}
    with Consumer({**config, "session.timeout.ms": 6000}) as consumer:
        consumer.subscribe([name])
        deadline = time.monotonic() + 30
        while not consumer.assignment() and time.monotonic() < deadline:
            consumer.poll(0.1)
        described = admin.describe_classic_groups([group, "none"])
        description = eventually(
            lambda: admin.describe_classic_groups([group])[group].result(30), lambda d: d.state == "Stable"
        )
        assert (description.protocol_type, description.protocol) == ("consumer", "range")
        (member,) = description.members
        assert member.group_instance_id == "first"
        assert name.encode() in member.metadata
        assert failure(described["none"]) == KafkaError.GROUP_ID_NOT_FOUND
        listing = [g for g in admin.list_all_groups(types=["Classic"]).result(30) if g.group_id == group]
        assert [(g.state, g.type.lower()) for g in listing] == [("Stable", "classic")]
        wrong = MemberToRemove("second")
        results = admin.remove_members_from_consumer_group(group, [wrong]).result(30)
        assert results[wrong].args[0] == KafkaError.UNKNOWN_MEMBER_ID
        results = admin.remove_members_from_consumer_group(group, reason="test").result(30)
        assert results == {MemberToRemove("first"): None}


def test_share_groups(admin, kafka, topic):
    name, group = topic(1), unique("share")
    partition = TopicPartition(name, 0)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for _ in range(5):
        producer.produce(name, b"value")
    producer.flush()
    producer.close()
    admin.alter_share_group_offsets(group, {partition: 2})[partition].result(30)
    offsets = eventually(
        lambda: admin.list_share_group_offsets({group: [partition]})[group].result(30)[partition],
        lambda offset: offset.start_offset == 2,
    )
    assert offsets.start_offset == 2
    assert list(admin.list_share_group_offsets({group: None})[group].result(30)) == [partition]
    member, to = str(uuid.uuid4()), Coordinator("group", group)
    joining = {"group_id": group, "member_id": member, "member_epoch": 0, "subscribed_topic_names": [name]}
    joined = admin.request("ShareGroupHeartbeat", joining, broker=to).result(30)
    assert joined["error_code"] == 0

    def describe():
        beat = {"group_id": group, "member_id": member, "member_epoch": joined["member_epoch"]}
        joined.update(admin.request("ShareGroupHeartbeat", beat, broker=to).result(30))
        return admin.describe_share_groups([group])[group].result(30)

    description = eventually(describe, lambda d: d.members and d.members[0].assignment)
    assert description.state == "Stable"
    assert description.members[0].member_id == member
    assert description.members[0].assignment == {partition}
    assert failure(admin.delete_share_group_offsets(group, [name])[name]) == KafkaError.NON_EMPTY_GROUP
    leaving = {"group_id": group, "member_id": member, "member_epoch": -1}
    admin.request("ShareGroupHeartbeat", leaving, broker=to).result(30)
    empty = eventually(lambda: admin.describe_share_groups([group])[group].result(30), lambda d: d.state == "Empty")
    assert empty.members == ()
    admin.delete_share_group_offsets(group, [name])[name].result(30)
    admin.delete_share_groups([group])[group].result(30)
    assert failure(admin.describe_share_groups([group])[group]) == KafkaError.GROUP_ID_NOT_FOUND


def test_streams_groups(admin):
    assert failure(admin.describe_streams_groups(["none"])["none"]) == KafkaError.GROUP_ID_NOT_FOUND


def test_config_resources(admin, topic):
    name = topic(1)
    listed = admin.list_config_resources([2]).result(30)
    assert {each.type for each in listed} == {2}
    assert name in {each.name for each in listed}
    assert admin.list_client_metrics_resources().result(30) == []


def test_delegation_tokens_are_refused_on_a_plain_text_listener(admin):
    assert failure(admin.create_delegation_token()) == KafkaError.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert failure(admin.describe_delegation_tokens()) == KafkaError.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    with pytest.raises(ValueError, match="User:alice"):
        admin.create_delegation_token(renewers=["alice"])


def test_requests_go_on_after_a_broker_was_away(kafka):
    with AdminClient({"bootstrap.servers": kafka.bootstrap_servers}) as admin:
        admin.describe_features().result(30)
        with kafka.paused():
            assert failure(admin.describe_features(request_timeout=0.5)) == KafkaError._TIMED_OUT
        assert admin.describe_features().result(30).finalized_features
