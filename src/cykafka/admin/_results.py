"""From the core's plain results (``admin_results.pyx``) to the public classes."""

from typing import Any

from cykafka._model import ConsumerGroupTopicPartitions, Node, TopicPartitionInfo
from cykafka._rdkafka.core import TopicPartition, make_exception
from cykafka.admin._acl import AclBinding
from cykafka.admin._cluster import DescribeClusterResult
from cykafka.admin._config import ConfigEntry, ConfigResource, ConfigSource
from cykafka.admin._group import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ListConsumerGroupsResult,
    MemberAssignment,
    MemberDescription,
)
from cykafka.admin._listoffsets import ListOffsetsResultInfo
from cykafka.admin._records import DeletedRecords
from cykafka.admin._resource import ResourceType
from cykafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialsDescription
from cykafka.admin._topic import TopicDescription


def _node(native: Any) -> Node | None:
    return None if native is None else Node(*native)


def _nodes(natives: Any) -> list[Node]:
    return [Node(*native) for native in natives if native is not None]


def config_entry(native: Any) -> ConfigEntry:
    """Make an entry of a configuration, with its synonyms; newer sources are unknown."""
    entry_name, value, source, read_only, default, sensitive, synonym, synonyms = native
    try:
        known_source = ConfigSource(source)
    except ValueError:
        known_source = ConfigSource.UNKNOWN_CONFIG
    return ConfigEntry(
        entry_name,
        value,
        known_source,
        read_only,
        default,
        sensitive,
        synonym,
        {inner[0]: config_entry(inner) for inner in synonyms},
    )


def described_configs(result: Any) -> list[tuple[ConfigResource, Any]]:
    """Make (resource, entries by name or error) pairs."""
    return [
        (
            ConfigResource(ResourceType(kind), resource),
            error or {entry[0]: config_entry(entry) for entry in entries},
        )
        for kind, resource, error, entries in result
    ]


def altered_configs(result: Any) -> list[tuple[ConfigResource, Any]]:
    """Make (resource, None or error) pairs."""
    return [(ConfigResource(ResourceType(kind), resource), error) for kind, resource, error, _ in result]


def cluster(result: Any) -> DescribeClusterResult:
    """Make the description of a cluster."""
    controller, nodes, cluster_id, operations = result
    return DescribeClusterResult(_node(controller), _nodes(nodes), cluster_id, operations)


def topics(result: Any) -> list[tuple[str, Any]]:
    """Make (topic, description or error) pairs."""
    return [
        (
            topic,
            error
            or TopicDescription(
                topic,
                topic_id,
                internal,
                [
                    TopicPartitionInfo(p, _node(leader), _nodes(all_), _nodes(isr))
                    for p, leader, all_, isr in partitions
                ],
                operations,
            ),
        )
        for topic, error, topic_id, internal, partitions, operations in result
    ]


def deleted_records(result: Any) -> list[tuple[TopicPartition, Any]]:
    """Make (partition, what is left or error) pairs."""
    return [(partition, partition.error or DeletedRecords(partition.offset)) for partition in result]


def offsets(result: Any) -> list[tuple[TopicPartition, Any]]:
    """Make (partition, offset found or error) pairs."""
    return [
        (
            partition,
            partition.error or ListOffsetsResultInfo(partition.offset, timestamp, partition.leader_epoch),
        )
        for partition, timestamp in result
    ]


def elected(result: Any) -> dict[TopicPartition, Any]:
    """Make exceptions, None for success, by partition."""
    return {partition: None if error is None else make_exception(error) for partition, error in result}


def groups(result: Any) -> ListConsumerGroupsResult:
    """Make the list of groups, and what hid others."""
    valid, errors = result
    return ListConsumerGroupsResult(
        [ConsumerGroupListing(*listing) for listing in valid], [make_exception(error) for error in errors]
    )


def group_descriptions(result: Any) -> list[tuple[str, Any]]:
    """Make (group, description or error) pairs."""
    return [(native[0], native[1] or _group_description(native)) for native in result]


def _group_description(native: Any) -> ConsumerGroupDescription:
    group, _, simple, assignor, state, kind, coordinator, members, operations = native
    return ConsumerGroupDescription(
        group,
        simple,
        [
            MemberDescription(
                member,
                client,
                host,
                MemberAssignment(assignment),
                instance,
                None if target is None else MemberAssignment(target),
            )
            for member, client, host, instance, assignment, target in members
        ],
        assignor,
        state,
        _node(coordinator),
        operations,
        kind,
    )


def group_offsets(result: Any) -> list[tuple[str, Any]]:
    """Make (group, offsets or error) pairs."""
    return [(group, error or ConsumerGroupTopicPartitions(group, partitions)) for group, error, partitions in result]


def acls(result: Any) -> list[AclBinding]:
    """Make access rules."""
    return [AclBinding(*native) for native in result]


def scram_descriptions(result: Any) -> list[tuple[str, Any]]:
    """Make (user, description or error) pairs; newer mechanisms are unknown."""
    known = {mechanism.value for mechanism in ScramMechanism}
    return [
        (
            user,
            error
            or UserScramCredentialsDescription(
                user,
                [
                    ScramCredentialInfo(ScramMechanism(number if number in known else 0), iterations)
                    for number, iterations in infos
                ],
            ),
        )
        for user, error, infos in result
    ]
