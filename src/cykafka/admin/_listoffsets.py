"""Finding offsets by position or time."""

import abc
import dataclasses
from typing import ClassVar

from cykafka._rdkafka.core import OFFSET_SPEC_EARLIEST, OFFSET_SPEC_LATEST, OFFSET_SPEC_MAX_TIMESTAMP


class OffsetSpec(abc.ABC):
    """Which offset list_offsets() shall find; made by the class methods."""

    _shared: ClassVar[dict[str, "OffsetSpec"]] = {}

    @property
    @abc.abstractmethod
    def _value(self) -> int:
        """Number that stands for it in the request."""

    @classmethod
    def earliest(cls) -> "OffsetSpec":
        """Return the specification of a partition's first offset."""
        return cls._shared["earliest"]

    @classmethod
    def latest(cls) -> "OffsetSpec":
        """Return the specification of the offset after a partition's last message."""
        return cls._shared["latest"]

    @classmethod
    def max_timestamp(cls) -> "OffsetSpec":
        """Return the specification of the message with the highest timestamp (KIP-734)."""
        return cls._shared["max_timestamp"]

    @classmethod
    def for_timestamp(cls, timestamp: int) -> "OffsetSpec":
        """Return the specification of the first message at or after a time.

        Args:
            timestamp: Milliseconds since the epoch UTC.
        """
        return TimestampSpec(timestamp)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetSpec):
            return NotImplemented
        return self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, OffsetSpec):
            return NotImplemented
        return self._value < other._value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._value})"


class EarliestSpec(OffsetSpec):
    """A partition's first offset."""

    @property
    def _value(self) -> int:
        return int(OFFSET_SPEC_EARLIEST)


class LatestSpec(OffsetSpec):
    """The offset after a partition's last message."""

    @property
    def _value(self) -> int:
        return int(OFFSET_SPEC_LATEST)


class MaxTimestampSpec(OffsetSpec):
    """The message with the highest timestamp."""

    @property
    def _value(self) -> int:
        return int(OFFSET_SPEC_MAX_TIMESTAMP)


class TimestampSpec(OffsetSpec):
    """The first message at or after a time.

    Args:
        timestamp: Milliseconds since the epoch UTC.

    Raises:
        TypeError: If it is not a number.
        ValueError: If it is negative, which would be another kind of specification.
    """

    def __init__(self, timestamp: int) -> None:
        if isinstance(timestamp, bool) or not isinstance(timestamp, (int, float)):
            raise TypeError(f"timestamp must be a number of milliseconds, not {type(timestamp).__name__}")
        if not timestamp >= 0:
            raise ValueError(f"timestamp must be >= 0 milliseconds since the epoch, not {timestamp}")
        self.timestamp = int(timestamp)

    @property
    def _value(self) -> int:
        return self.timestamp


OffsetSpec._shared.update(earliest=EarliestSpec(), latest=LatestSpec(), max_timestamp=MaxTimestampSpec())


@dataclasses.dataclass(unsafe_hash=True)
class ListOffsetsResultInfo:
    """What list_offsets() found for a partition.

    Args:
        offset: The offset.
        timestamp: Its message's timestamp in milliseconds, -1 if the broker did not tell.
        leader_epoch: Its leader epoch; None, or negative, if the broker did not tell.
    """

    offset: int
    timestamp: int
    leader_epoch: int | None

    def __post_init__(self) -> None:
        if self.leader_epoch is not None and self.leader_epoch < 0:
            self.leader_epoch = None
