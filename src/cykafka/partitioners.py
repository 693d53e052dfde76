"""Partitioners: librdkafka's own as functions, and the protocol for those written in Python.

A partitioner is any callable ``partitioner(topic, key, partition_count, available)`` that returns a partition number,
or -1 or None to leave the choice to librdkafka; ``Producer({..., "partitioner": function})`` makes a producer ask it
for every message without a partition. It runs in produce(), on the caller's thread, and what it raises comes out of
that call. The functions of this module may be called by such a one; given as the partitioner themselves they stand
for their name, and librdkafka's own code runs (``rd_kafka_msg_partitioner_*``).
"""

import random as _random
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from cykafka._rdkafka import core
from cykafka._rdkafka.core import AvailablePartitions

__all__ = [
    "AvailablePartitions",
    "Partitioner",
    "consistent",
    "consistent_random",
    "fnv1a",
    "fnv1a_random",
    "murmur2",
    "murmur2_random",
    "random",
]


class Partitioner(Protocol):
    """The signature of a partitioner."""

    def __call__(self, topic: str, key: bytes | None, partition_count: int, available: Sequence[int], /) -> int | None:
        """Choose a partition.

        Args:
            topic: Topic name.
            key: Key as bytes (a str key as UTF-8), any other bytes-like object as it was given, or None.
            partition_count: Number of partitions of the topic.
            available: Numbers of the partitions that have a leader right now, found out when it is used.

        Returns:
            int | None: Partition number; -1 or None to leave the choice to librdkafka.
        """


_P = TypeVar("_P", bound=Callable[..., int])


def _native(function: _P) -> _P:
    """Mark a function that stands for librdkafka's partitioner of the same name."""
    function.native_name = function.__name__  # type: ignore[attr-defined]
    return function


@_native
def random(topic: str, key: bytes | None, partition_count: int, available: Sequence[int] = ()) -> int:
    """Return a random partition, one that has a leader if any is known to have one; arguments as `Partitioner`."""
    return _random.choice(available) if available else _random.randrange(partition_count)  # noqa: S311


@_native
def consistent(topic: str, key: bytes | None, partition_count: int, available: Sequence[int] = ()) -> int:
    """Return the partition by CRC32 of the key, that of an empty one without a key; arguments as `Partitioner`."""
    return core.consistent(key or b"", partition_count)


@_native
def consistent_random(topic: str, key: bytes | None, partition_count: int, available: Sequence[int] = ()) -> int:
    """Return the partition by CRC32 of the key, a random one for an empty key or none; arguments as `Partitioner`."""
    return consistent(topic, key, partition_count) if key else random(topic, key, partition_count, available)


@_native
def murmur2(topic: str, key: bytes | None, partition_count: int, available: Sequence[int] = ()) -> int:
    """Return the partition by the hash of Java, that of an empty key without one; arguments as `Partitioner`."""
    return core.murmur2(key or b"", partition_count)


@_native
def murmur2_random(topic: str, key: bytes | None, partition_count: int, available: Sequence[int] = ()) -> int:
    """Return the partition as Java clients do: by hash, a random one without a key; arguments as `Partitioner`."""
    return random(topic, key, partition_count, available) if key is None else murmur2(topic, key, partition_count)


@_native
def fnv1a(topic: str, key: bytes | None, partition_count: int, available: Sequence[int] = ()) -> int:
    """Return the partition by the hash of Sarama, that of an empty key without one; arguments as `Partitioner`."""
    return core.fnv1a(key or b"", partition_count)


@_native
def fnv1a_random(topic: str, key: bytes | None, partition_count: int, available: Sequence[int] = ()) -> int:
    """Return the partition as Sarama does: by hash, a random one without a key; arguments as `Partitioner`."""
    return random(topic, key, partition_count, available) if key is None else fnv1a(topic, key, partition_count)
