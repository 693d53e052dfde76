"""Offsets of a query: the JSON that the JVM connector writes to checkpoints too.

An offset is ``{"topic": {"0": 23, "1": 5}}``: the position of the next record by topic and partition.

The first batch of a query is special. Spark asks again for the initial offset when it replays that batch, and
with ``startingOffsets=latest`` the answer has moved on, so rows would be lost. The end offset of the first
batch therefore carries where the batch began, as a topic without partitions whose name is the JSON of those
offsets: no topic can be called so, and the JVM connector, which ignores topics without partitions, reads it
unharmed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

#: In the JSON of options: the first offset that a partition still has.
EARLIEST = -2
#: In the JSON of options: the end of a partition.
LATEST = -1

#: Offsets as Spark hands them over.
OffsetJson = dict[str, dict[str, int]]


class TopicPartition(NamedTuple):
    """A partition of a topic; sorts by topic, then by partition."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


#: Position of the next record by partition.
Offsets = dict[TopicPartition, int]


def parse_numbers(decoded: object, example: str) -> Offsets:
    """Read a number for each partition out of decoded JSON.

    Args:
        decoded: What was decoded: ``{"topic": {"0": 23}}``.
        example: An example for the error message.

    Raises:
        ValueError: It has another form; the message shows the example.
    """
    problem = f"expected e.g. {example}, got {json.dumps(decoded)}"
    if not isinstance(decoded, Mapping):
        raise ValueError(problem)  # noqa: TRY004 - the type is the user's text
    result: Offsets = {}
    for topic, partitions in decoded.items():
        if not isinstance(partitions, Mapping):
            raise ValueError(problem)  # noqa: TRY004
        for partition, number in partitions.items():
            if not str(partition).isdecimal() or not isinstance(number, int) or isinstance(number, bool):
                raise ValueError(problem)
            result[TopicPartition(topic, int(partition))] = number
    return result


def to_json(offsets: Mapping[TopicPartition, int]) -> OffsetJson:
    """Give offsets the form that Spark stores: nested, sorted, so that equal offsets have equal texts."""
    result: OffsetJson = {}
    for topic, partition in sorted(offsets):
        result.setdefault(topic, {})[str(partition)] = offsets[TopicPartition(topic, partition)]
    return result


def describe(offsets: Mapping[TopicPartition, int]) -> str:
    """Give offsets as JSON for messages."""
    return json.dumps(to_json(offsets), separators=(",", ":"))


@dataclass(frozen=True)
class StreamOffset:
    """Where a stream stands.

    Attributes:
        positions: Position of the next record by partition.
        initial: In the end offset of a query's first batch: where that batch began.
    """

    positions: Offsets
    initial: Offsets | None = None

    @classmethod
    def from_json(cls, stored: OffsetJson) -> StreamOffset:
        """Read an offset of ours or of the JVM connector.

        Raises:
            ValueError: It is not an offset of a Kafka source.
        """
        initial = None
        positions: OffsetJson = {}
        for topic, partitions in stored.items():
            if topic.startswith("{") and not partitions:
                initial = parse_numbers(json.loads(topic), '{"topicA":{"0":23}}')
            else:
                positions[topic] = partitions
        return cls(parse_numbers(positions, '{"topicA":{"0":23}}'), initial)

    def to_json(self) -> OffsetJson:
        """Give the form that Spark stores."""
        result = to_json(self.positions)
        if self.initial is not None:
            result[describe(self.initial)] = {}
        return result
