"""Values that several clients share: nodes, groups, topics, and the enumerations about them."""

import enum
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, overload

from cykafka._rdkafka.core import Message, TopicPartition

_E = TypeVar("_E", bound=enum.Enum)


def as_enum(kind: type[_E], value: Any, what: str) -> _E:
    """Return a member of an enumeration, given itself, its name in any case, or its number.

    Args:
        kind: The enumeration.
        value: Member, name or number.
        what: What it is for, for the error's text.

    Raises:
        ValueError: If there is no such member.
    """
    if isinstance(value, str) and not isinstance(value, kind):
        try:
            return kind[value.upper()]
        except KeyError:
            raise ValueError(f'Unknown {what} "{value}": should be a {kind.__name__}') from None
    return kind(value)


class ConsumerGroupState(enum.Enum):
    """State of a consumer group."""

    UNKNOWN = 0
    PREPARING_REBALANCING = 1
    COMPLETING_REBALANCING = 2
    STABLE = 3
    DEAD = 4
    EMPTY = 5


class ConsumerGroupType(enum.Enum):
    """Protocol of a consumer group: KIP-848 (CONSUMER) or classic."""

    UNKNOWN = 0
    CONSUMER = 1
    CLASSIC = 2


class IsolationLevel(enum.Enum):
    """Whether messages of open transactions count."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class ElectionType(enum.Enum):
    """Kind of leader election."""

    PREFERRED = 0
    UNCLEAN = 1


class AcknowledgeType(enum.IntEnum):
    """What a share consumer says of a message (KIP-932)."""

    ACCEPT = 1
    RELEASE = 2
    REJECT = 3


class Node:
    """A broker.

    Args:
        id: Broker id.
        host: Host name.
        port: Port.
        rack: Rack, or None.
    """

    def __init__(self, id: int, host: str, port: int, rack: str | None = None) -> None:
        self.id = id
        self.id_string = str(id)
        self.host = host
        self.port = port
        self.rack = rack

    def __str__(self) -> str:
        rack = "" if self.rack is None else f"rack - {self.rack}"
        return f"({self.id}) {self.host}:{self.port} {rack}"

    def __repr__(self) -> str:
        return f"Node(id={self.id}, host={self.host!r}, port={self.port}, rack={self.rack!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.id, self.host, self.port, self.rack))


class ConsumerGroupTopicPartitions:
    """A consumer group and some of its partitions, with offsets.

    Args:
        group_id: Group id.
        topic_partitions: List of `TopicPartition`; None for all that have offsets.
    """

    def __init__(self, group_id: str, topic_partitions: list[TopicPartition] | None = None) -> None:
        self.group_id = group_id
        self.topic_partitions = topic_partitions

    def __repr__(self) -> str:
        return f"ConsumerGroupTopicPartitions({self.group_id!r}, {self.topic_partitions!r})"


class TopicCollection:
    """Topics, by name.

    Args:
        topic_names: List of topic names.
    """

    def __init__(self, topic_names: list[str]) -> None:
        self.topic_names = topic_names

    def __repr__(self) -> str:
        return f"TopicCollection({self.topic_names!r})"


class TopicPartitionInfo:
    """A partition in a topic's description.

    Args:
        id: Partition number.
        leader: Leader, or None.
        replicas: All replicas.
        isr: Replicas that are in sync.
    """

    def __init__(self, id: int, leader: Node | None, replicas: list[Node], isr: list[Node]) -> None:
        self.id = id
        self.leader = leader
        self.replicas = replicas
        self.isr = isr

    def __repr__(self) -> str:
        return f"TopicPartitionInfo(id={self.id}, leader={self.leader!r})"


class Messages:
    """A batch of messages: a read-only sequence.

    Args:
        messages: The messages.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = list(messages)

    def count(self) -> int:
        """Return the number of messages."""
        return len(self._messages)

    def is_empty(self) -> bool:
        """Tell whether there is no message."""
        return not self._messages

    def records(self) -> list[Message]:
        """Return a copy of the messages as a list."""
        return list(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> "Messages": ...
    def __getitem__(self, index: int | slice) -> "Message | Messages":
        if isinstance(index, slice):
            return Messages(self._messages[index])
        return self._messages[index]

    def __repr__(self) -> str:
        return f"Messages({self._messages!r})"
