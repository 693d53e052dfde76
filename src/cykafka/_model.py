"""Values that several clients share: nodes, groups, topics, and the enumerations about them."""

import dataclasses
import enum
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, overload

from cykafka._rdkafka.core import Message, TopicPartition

_E = TypeVar("_E", bound=enum.Enum)


class OrderedEnum(enum.Enum):
    """An enumeration whose members compare by their numbers."""

    def __lt__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return bool(self.value < other.value)


def as_enum(kind: type[_E], value: Any, what: str) -> _E:
    """Return a member of an enumeration, given itself, its name in any case, or its number.

    Args:
        kind: The enumeration.
        value: Member, name or number.
        what: What it is for, for the error's text.

    Raises:
        ValueError: If there is no such member.
        TypeError: If it is something else.
    """
    if isinstance(value, kind):
        return value
    if value is None:
        raise ValueError(f"Expected {what} to be a {kind.__name__}, not None")
    try:
        if isinstance(value, str):
            return kind[value.upper()]
        if isinstance(value, int):
            return kind(value)
    except (KeyError, ValueError):
        raise ValueError(f'Unknown {what} "{value}": should be a {kind.__name__}') from None
    raise TypeError(f'Unknown {what} "{value}": should be a {kind.__name__}, its name or its number')


class ConsumerGroupState(OrderedEnum):
    """State of a consumer group."""

    UNKNOWN = 0
    UNKOWN = UNKNOWN  # confluent_kafka has both spellings.  codespell:ignore
    PREPARING_REBALANCING = 1
    COMPLETING_REBALANCING = 2
    STABLE = 3
    DEAD = 4
    EMPTY = 5


class ConsumerGroupType(OrderedEnum):
    """Protocol of a consumer group: KIP-848 (CONSUMER) or classic."""

    UNKNOWN = 0
    CONSUMER = 1
    CLASSIC = 2


class IsolationLevel(OrderedEnum):
    """Whether messages of open transactions count."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class ElectionType(OrderedEnum):
    """Kind of leader election."""

    PREFERRED = 0
    UNCLEAN = 1


class AcknowledgeType(enum.IntEnum):
    """What a share consumer says of a message (KIP-932)."""

    ACCEPT = 1
    RELEASE = 2
    REJECT = 3


@dataclasses.dataclass(unsafe_hash=True)
class Node:
    """A broker.

    Args:
        id: Broker id.
        host: Host name.
        port: Port.
        rack: Rack, or None.

    Attributes:
        id_string: The id as text.
    """

    id: int
    id_string: str = dataclasses.field(init=False, repr=False, compare=False)
    host: str
    port: int
    rack: str | None = None

    def __post_init__(self) -> None:
        self.id_string = str(self.id)

    def __str__(self) -> str:
        rack = f"(Rack - {self.rack})" if self.rack else ""
        return f"({self.id}) {self.host}:{self.port} {rack}"


@dataclasses.dataclass(eq=False)
class ConsumerGroupTopicPartitions:
    """A consumer group and some of its partitions, with offsets.

    Args:
        group_id: Group id.
        topic_partitions: List of `TopicPartition`; None for all that have offsets.
    """

    group_id: str
    topic_partitions: list[TopicPartition] | None = None


@dataclasses.dataclass(eq=False)
class TopicCollection:
    """Topics, by name.

    Args:
        topic_names: List of topic names.
    """

    topic_names: list[str]


@dataclasses.dataclass(eq=False)
class TopicPartitionInfo:
    """A partition in a topic's description.

    Args:
        id: Partition number.
        leader: Leader, or None.
        replicas: All replicas.
        isr: Replicas that are in sync.
    """

    id: int
    leader: Node | None
    replicas: list[Node]
    isr: list[Node]


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
