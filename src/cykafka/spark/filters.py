"""Conditions on topic, partition, offset and timestamp that save reading."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from cykafka.spark.offsets import TopicPartition

_NEVER_NULL = frozenset({"topic", "partition", "offset"})


class Pushed:
    """What pushed filters leave to be read."""

    def __init__(self) -> None:
        self._topics: frozenset[str] | None = None
        self._partitions: frozenset[int] | None = None
        self._partition_bounds = (-math.inf, math.inf)
        self._offset_bounds = (-math.inf, math.inf)
        self.since_ms: int | None = None

    def take(self, filters: Iterable[Filter]) -> Iterator[Filter]:
        """Take in conditions that all must hold.

        Args:
            filters: Conditions.

        Yields:
            Those that Spark still has to evaluate.
        """
        for each in filters:
            if not self._take(each):
                yield each

    def wants(self, partition: TopicPartition) -> bool:
        """Whether anything of a partition may be wanted."""
        if self._topics is not None and partition.topic not in self._topics:
            return False
        if self._partitions is not None and partition.partition not in self._partitions:
            return False
        low, high = self._partition_bounds
        return low <= partition.partition <= high

    def clip(self, start: int, end: int) -> tuple[int, int]:
        """Cut a range of offsets down to what may be wanted."""
        low, high = self._offset_bounds
        first = int(max(start, low))
        last = int(min(end, high + 1))
        return first, max(first, last)

    def _take(self, condition: Filter) -> bool:
        """Take in one condition.

        Returns:
            Whether it is taken wholly, so that Spark need not evaluate it.
        """
        column = tuple(getattr(condition, "attribute", ()))
        if len(column) != 1:
            return False
        name = column[0]
        if name == "timestamp":
            self._take_timestamp(condition)
            return False
        if type(condition).__name__ == "IsNotNull":
            return name in _NEVER_NULL
        if name == "topic":
            return self._take_topic(condition)
        if name in {"partition", "offset"}:
            return self._take_number(name, condition)
        return False

    def _take_timestamp(self, condition: Filter) -> None:
        """Note from when on records are wanted; later ones may be older, so Spark has to look at each."""
        if not isinstance(condition, EqualTo | GreaterThan | GreaterThanOrEqual):
            return
        moment = condition.value
        if not isinstance(moment, dt.datetime):
            return
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.timezone.utc)
        milliseconds = math.floor(moment.timestamp() * 1000)
        self.since_ms = max(self.since_ms or 0, milliseconds)

    def _take_topic(self, condition: Filter) -> bool:
        values = _values(condition)
        if values is None:
            return False
        chosen = frozenset(values)
        self._topics = chosen if self._topics is None else self._topics & chosen
        return True

    def _take_number(self, name: str, condition: Filter) -> bool:
        bounds = _bounds(condition)
        if bounds is None:
            values = _values(condition)
            if values is None or name != "partition":
                return False
            chosen = frozenset(values)
            self._partitions = chosen if self._partitions is None else self._partitions & chosen
            return True
        before = self._partition_bounds if name == "partition" else self._offset_bounds
        narrowed = (max(before[0], bounds[0]), min(before[1], bounds[1]))
        if name == "partition":
            self._partition_bounds = narrowed
        else:
            self._offset_bounds = narrowed
        return True


def _values(condition: Filter) -> tuple[Any, ...] | None:
    if isinstance(condition, EqualTo):
        return (condition.value,)
    if isinstance(condition, In):
        return tuple(condition.value)
    return None


def _bounds(condition: Filter) -> tuple[float, float] | None:
    """Give the least and greatest whole numbers that meet a condition."""
    value = getattr(condition, "value", None)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    bounds: dict[type[Filter], tuple[float, float]] = {
        EqualTo: (value, value),
        GreaterThan: (value + 1, math.inf),
        GreaterThanOrEqual: (value, math.inf),
        LessThan: (-math.inf, value - 1),
        LessThanOrEqual: (-math.inf, value),
    }
    return bounds.get(type(condition))
