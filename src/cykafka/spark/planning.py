"""Which offsets a batch and each of its tasks read: pure functions, so that a replay is the same batch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from cykafka.spark.offsets import Offsets, TopicPartition


@dataclass(frozen=True)
class OffsetRange:
    """A part of a partition, read by one task.

    Attributes:
        topic: Topic name.
        partition: Partition number.
        start: First offset.
        end: Offset after the last one.
    """

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """Number of offsets; of records at most."""
        return self.end - self.start

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition it belongs to."""
        return TopicPartition(self.topic, self.partition)


def plan_ranges(
    ranges: Iterable[OffsetRange],
    *,
    min_partitions: int | None = None,
    max_records_per_partition: int | None = None,
) -> list[OffsetRange]:
    """Split ranges for tasks, by the rules of Spark's own connector.

    Args:
        ranges: One range for each partition; the result is in the order of topic, partition and offset.
        min_partitions: Split large ranges in proportion to their sizes into about so many; small ones stay
            whole.
        max_records_per_partition: Split every range into equal parts of at most so many offsets.

    Returns:
        Ranges without empty ones.
    """
    whole = sorted(
        (each for each in ranges if each.size > 0), key=lambda each: (each.topic, each.partition, each.start)
    )
    if max_records_per_partition is not None:
        whole = [part for each in whole for part in _split(each, math.ceil(each.size / max_records_per_partition))]
    if min_partitions is None or len(whole) >= min_partitions:
        return whole
    total = sum(each.size for each in whole)
    small = [each for each in whole if _share(each.size, total, min_partitions) == 1]
    # Ranges that stay whole count as tasks but not as data to share out among the others.
    large_total = total - sum(each.size for each in small)
    large_count = max(min_partitions - len(small), 1)
    kept = set(small)
    return [
        part
        for each in whole
        for part in _split(each, 1 if each in kept else _share(each.size, large_total, large_count))
    ]


def group_ranges(ranges: Iterable[OffsetRange], min_records: int) -> list[tuple[OffsetRange, ...]]:
    """Put small ranges of a topic together, so that a task is worth its start.

    Args:
        ranges: Ranges as `plan_ranges` gives them.
        min_records: Ranges are put together up to so many offsets.

    Returns:
        What each task reads.
    """
    groups: list[tuple[OffsetRange, ...]] = []
    size = 0
    for each in ranges:
        if groups and groups[-1][0].topic == each.topic and size + each.size <= min_records:
            groups[-1] += (each,)
            size += each.size
        else:
            groups.append((each,))
            size = each.size
    return groups


def _share(size: int, total: int, count: int) -> int:
    """Number of tasks, of `count`, that `size` out of `total` offsets deserve; halves are rounded up."""
    return max(math.floor(size / total * count + 0.5), 1)


def _split(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    result = []
    start = whole.start
    for part in range(parts):
        size = (whole.end - start) // (parts - part)
        if size > 0:
            result.append(OffsetRange(whole.topic, whole.partition, start, start + size))
        start += size
    return result


def rate_limit(max_offsets: int, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> Offsets:
    """Move the end of a batch nearer, so that it has about `max_offsets` offsets.

    The limit is shared out in proportion to what each partition has waiting: rounded down, but up when it
    is less than one, so that no partition starves.

    Args:
        max_offsets: Most offsets in the batch.
        start: Start of the batch, including the first offsets of partitions that are new.
        end: Offsets that are there.

    Returns:
        The end of the batch; partitions without a start keep theirs.
    """
    waiting = {each: end[each] - start[each] for each in end if each in start and end[each] > start[each]}
    total = float(sum(waiting.values()))
    result = dict(end)
    for each, size in waiting.items():
        fair = max_offsets * (size / total)
        count = math.ceil(fair) if fair < 1 else math.floor(fair)
        result[each] = min(end[each], start[each] + count)
    return result


class TriggerDelay:
    """Holds batches back until there is enough to read, or long enough nothing was read.

    Args:
        min_offsets: A batch has at least so many offsets.
        max_delay: Seconds after which a batch is made of what is there.
        clock: Time in seconds.
    """

    def __init__(self, min_offsets: int, max_delay: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._min_offsets = min_offsets
        self._max_delay = max_delay
        self._clock = clock
        # The first batch of a run is never held back.
        self._last = -math.inf

    def holds_back(self, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> bool:
        """Whether to wait with a batch from `start` to `end`; partitions without a start count from zero."""
        now = self._clock()
        if now - self._last < self._max_delay:
            waiting = sum(offset - start.get(each, 0) for each, offset in end.items())
            if waiting < self._min_offsets:
                return True
        self._last = now
        return False


def offsets_behind(end: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]) -> dict[str, str]:
    """Say how far a stream is behind, under the names of the JVM connector's metrics.

    Args:
        end: Where the stream stands.
        latest: Offsets that are there.

    Returns:
        Least, greatest and average number of offsets by which partitions are behind; empty without
        partitions.
    """
    behind = [max(latest[each] - end[each], 0) for each in end if each in latest]
    if not behind:
        return {}
    return {
        "minOffsetsBehindLatest": str(min(behind)),
        "maxOffsetsBehindLatest": str(max(behind)),
        "avgOffsetsBehindLatest": str(sum(behind) / len(behind)),
    }
