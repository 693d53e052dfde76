"""Description of a topic."""

from typing import Any

from cykafka._model import TopicPartitionInfo
from cykafka._rdkafka.core import Uuid
from cykafka.admin._acl import AclOperation, as_operations


class TopicDescription:
    """A topic.

    Args:
        name: Topic name.
        topic_id: Its identifier.
        is_internal: It is one of Kafka's own.
        partitions: Its partitions.
        authorized_operations: Operations that the client may do, if they were asked for.
    """

    def __init__(
        self,
        name: str,
        topic_id: Uuid,
        is_internal: bool,
        partitions: list[TopicPartitionInfo],
        authorized_operations: list[Any] | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = partitions
        self.authorized_operations: list[AclOperation] | None = as_operations(authorized_operations)

    def __repr__(self) -> str:
        return f"TopicDescription({self.name!r}, {len(self.partitions)} partitions)"
