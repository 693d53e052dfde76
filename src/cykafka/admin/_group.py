"""Consumer groups and their members."""

import dataclasses
from typing import Any

from cykafka._model import ConsumerGroupState, ConsumerGroupType, Node, as_enum
from cykafka._rdkafka.core import KafkaException, TopicPartition
from cykafka.admin._acl import AclOperation, as_operations


class ConsumerGroupListing:
    """A group in a list of groups.

    Args:
        group_id: Group id.
        is_simple_consumer_group: Offsets only, without members.
        state: `ConsumerGroupState`, its name or number, or None.
        type: `ConsumerGroupType`, its name or number, or None.
    """

    def __init__(
        self,
        group_id: str,
        is_simple_consumer_group: bool,
        state: ConsumerGroupState | str | int | None = None,
        type: ConsumerGroupType | str | int | None = None,
    ) -> None:
        self.group_id = group_id
        self.is_simple_consumer_group = is_simple_consumer_group
        self.state = None if state is None else as_enum(ConsumerGroupState, state, "state")
        self.type = None if type is None else as_enum(ConsumerGroupType, type, "type")

    def __repr__(self) -> str:
        return f"ConsumerGroupListing({self.group_id!r}, state={self.state}, type={self.type})"


@dataclasses.dataclass(eq=False)
class ListConsumerGroupsResult:
    """What list_consumer_groups() returns.

    Args:
        valid: The groups that were found.
        errors: What failed; a broker that did not answer hides its groups.
    """

    valid: list[ConsumerGroupListing] | None = None
    errors: list[KafkaException] | None = None


class MemberAssignment:
    """Partitions that a member has.

    Args:
        topic_partitions: List of `TopicPartition`; None for none.
    """

    def __init__(self, topic_partitions: list[TopicPartition] | None = None) -> None:
        self.topic_partitions = [] if topic_partitions is None else topic_partitions

    def __repr__(self) -> str:
        return f"MemberAssignment({self.topic_partitions!r})"


@dataclasses.dataclass(eq=False)
class MemberDescription:
    """A member of a group.

    Args:
        member_id: Member id.
        client_id: ``client.id`` of the member.
        host: Where it runs.
        assignment: What it has.
        group_instance_id: Its static id, or None.
        target_assignment: What it shall get (KIP-848), or None.
    """

    member_id: str
    client_id: str
    host: str
    assignment: MemberAssignment
    group_instance_id: str | None = None
    target_assignment: MemberAssignment | None = None


class ConsumerGroupDescription:
    """A consumer group.

    Args:
        group_id: Group id.
        is_simple_consumer_group: Offsets only, without members.
        members: List of `MemberDescription`.
        partition_assignor: Name of the assignor.
        state: `ConsumerGroupState`, its name or number, or None.
        coordinator: The group's coordinator.
        authorized_operations: Operations that the client may do, if they were asked for.
        type: `ConsumerGroupType`, its name or number.
    """

    def __init__(
        self,
        group_id: str,
        is_simple_consumer_group: bool,
        members: list[MemberDescription],
        partition_assignor: str,
        state: ConsumerGroupState | str | int | None,
        coordinator: Node | None,
        authorized_operations: list[Any] | None = None,
        type: ConsumerGroupType | str | int | None = ConsumerGroupType.UNKNOWN,
    ) -> None:
        self.group_id = group_id
        self.is_simple_consumer_group = is_simple_consumer_group
        self.members = members
        self.authorized_operations: list[AclOperation] | None = as_operations(authorized_operations)
        self.partition_assignor = partition_assignor
        self.state = None if state is None else as_enum(ConsumerGroupState, state, "state")
        self.type = None if type is None else as_enum(ConsumerGroupType, type, "type")
        self.coordinator = coordinator

    def __repr__(self) -> str:
        return f"ConsumerGroupDescription({self.group_id!r}, {self.state}, {len(self.members)} members)"
