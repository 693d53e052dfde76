"""Readers of batches and streams: what Spark calls on the driver to plan, and on workers to read."""

from __future__ import annotations

import hashlib
import logging
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from cykafka.spark.decode import DecodePlan, RowMaker
from cykafka.spark.errors import FetchError
from cykafka.spark.fetch import RangeFetcher
from cykafka.spark.filters import Pushed
from cykafka.spark.metadata import KafkaMetadata, report_data_loss
from cykafka.spark.offsets import OffsetJson, Offsets, StreamOffset, TopicPartition, describe
from cykafka.spark.options import ReadOptions
from cykafka.spark.planning import (
    OffsetRange,
    TriggerDelay,
    group_ranges,
    offsets_behind,
    plan_ranges,
    rate_limit,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_LOG = logging.getLogger(__name__)
_METRICS = "$metrics"


class KafkaInputPartition(InputPartition):
    """The ranges that one task reads.

    Args:
        value: Ranges of one topic.
    """

    def __init__(self, value: tuple[OffsetRange, ...]) -> None:
        super().__init__(value)


class _RangeReader:
    """What batches and streams have in common: it is pickled and read from on workers."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._plan = DecodePlan.make(schema, options)
        self._group_id = options.group_id or _worker_group_id(options)

    def _tasks(self, ranges: Iterable[OffsetRange]) -> list[KafkaInputPartition]:
        planned = plan_ranges(
            ranges,
            min_partitions=self._options.min_partitions,
            max_records_per_partition=self._options.max_records_per_partition,
        )
        return [KafkaInputPartition(each) for each in group_ranges(planned, self._options.min_records_per_partition)]

    def _read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        wanted: tuple[OffsetRange, ...] | None = partition.value
        if not wanted:
            return
        maker = RowMaker(self._plan, wanted[0].topic)
        fetcher = RangeFetcher(
            self._options, self._group_id, self._plan.kafka_columns, wanted, self._plan.native_fields
        )
        for fetched in fetcher.batches():
            yield maker.rows(fetched)


class KafkaBatchReader(_RangeReader, DataSourceReader):
    """Reads what the topics have between a start and an end.

    Args:
        options: Options of the read.
        schema: Spark schema of the rows.
    """

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._pushed = Pushed()

    def partitions(self) -> list[KafkaInputPartition]:
        """Find start and end now, and split the ranges for tasks."""
        metadata = KafkaMetadata(self._options, self._group_id)
        try:
            ranges = self._ranges(metadata)
        finally:
            metadata.close()
        return self._tasks(ranges) or [KafkaInputPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the range of a task."""
        return self._read(partition)

    def _ranges(self, metadata: KafkaMetadata) -> list[OffsetRange]:
        options = self._options
        partitions = metadata.partitions()
        _check_topics(options, partitions)
        start = metadata.resolve(options.starting, partitions, is_start=True)
        end = metadata.resolve(options.ending, partitions, is_start=False)
        kept = {each for each in partitions if self._pushed.wants(each)}
        since = self._pushed.since_ms
        if since is not None and kept:
            later = metadata.since(since, kept)
            start = {**start, **{each: max(start[each], later[each]) for each in kept}}
        ranges = []
        for each in kept:
            first, last = self._pushed.clip(start[each], end[each])
            if start[each] > end[each] and since is None:
                report_data_loss(
                    options,
                    "START_AFTER_END",
                    f"{each} was to be read from offset {start[each]} to {end[each]}, which is before.",
                )
            ranges.append(OffsetRange(each.topic, each.partition, first, last))
        return ranges


class KafkaFilteringBatchReader(KafkaBatchReader):
    """The same with filter push-down, which Spark refuses where it is not switched on."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - the name is Spark's
        """Take what conditions on topic, partition, offset and timestamp save reading.

        Args:
            filters: Conditions that all must hold.

        Returns:
            Those that Spark still has to evaluate.
        """
        return self._pushed.take(filters)


def filter_pushdown_is_on() -> bool:
    """Whether Spark plans a read with filter push-down in this process.

    It does if ``spark.sql.python.filterPushdown.enabled`` is true and the query has a filter.
    """
    worker = "pyspark.sql.worker.data_source_pushdown_filters"
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return worker in sys.modules or getattr(main, "name", None) == worker


class KafkaStreamReader(_RangeReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a stream, batch by batch.

    Args:
        options: Options of the read.
        schema: Spark schema of the rows.
    """

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._metadata: KafkaMetadata | None = None
        self._group: KafkaMetadata | None = None
        self._initial: Offsets | None = None
        self._target: Offsets | None = None
        self._latest: Offsets | None = None
        self._end: Offsets | None = None
        self._delay: TriggerDelay | None = None
        if options.min_offsets_per_trigger is not None:
            self._delay = TriggerDelay(options.min_offsets_per_trigger, options.max_trigger_delay)

    def initialOffset(self) -> OffsetJson:  # noqa: N802
        """Where a new query begins; the same answer as long as the query runs."""
        if self._initial is None:
            metadata = self._open()
            partitions = metadata.partitions()
            _check_topics(self._options, partitions)
            self._initial = metadata.resolve(self._options.starting, partitions, is_start=True)
        return StreamOffset(self._initial).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """What limits a batch; `latestOffset` heeds both limits if there are two."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the end of the query to what is there now."""
        self._target = self._open().latest()

    def latestOffset(self, start: OffsetJson, limit: ReadLimit) -> OffsetJson:  # noqa: N802
        """Say where the next batch ends.

        Args:
            start: Where it begins.
            limit: Limit that Spark insists on.

        Returns:
            `start` itself if there is nothing to read, or too little.
        """
        begin = StreamOffset.from_json(start)
        latest = self._open().latest(begin.positions) if self._target is None else self._target
        self._latest = latest
        end = latest if isinstance(limit, ReadAllAvailable) else self._limited(begin.positions, latest)
        self._end = end
        if end == begin.positions:
            return start
        is_first = begin.initial is None and begin.positions == self._initial
        return StreamOffset(end, begin.positions if is_first else None).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Tell the query's progress what is there, and how far the query is behind."""
        if self._latest is None:
            return None
        result: dict[str, Any] = dict(StreamOffset(self._latest).to_json())
        metrics = offsets_behind(self._end or {}, self._latest)
        if metrics:
            result[_METRICS] = metrics
        return result

    def partitions(self, start: OffsetJson, end: OffsetJson) -> list[KafkaInputPartition]:
        """Split a batch for tasks; the same batch is always split in the same way.

        Args:
            start: Where the batch begins.
            end: Where it ends.

        Raises:
            DataLossError: Some of it is gone.
        """
        begin, until = StreamOffset.from_json(start), StreamOffset.from_json(end)
        positions = begin.positions
        if until.initial is not None and begin.initial is None:
            positions = until.initial
        return self._tasks(self._ranges(positions, until.positions))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the range of a task."""
        return self._read(partition)

    def commit(self, end: OffsetJson) -> None:
        """Tell a group, for tools that show its lag, what Spark has finished.

        Args:
            end: End of a batch that is done.
        """
        if self._options.commit_group_id is not None:
            if self._group is None:
                self._group = KafkaMetadata(self._options, self._options.commit_group_id)
            self._group.commit(self._options.commit_group_id, StreamOffset.from_json(end).positions)

    def stop(self) -> None:
        """Close the connections; Spark does not always call it."""
        for client in (self._metadata, self._group):
            if client is not None:
                client.close()

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what belongs to the driver when the reader goes to the workers."""
        return {**self.__dict__, "_metadata": None, "_group": None}

    def _open(self) -> KafkaMetadata:
        if self._metadata is None:
            group_id = self._options.group_id or f"{self._options.group_id_prefix}-{uuid.uuid4()}-driver-0"
            self._metadata = KafkaMetadata(self._options, group_id)
        return self._metadata

    def _limited(self, start: Offsets, latest: Offsets) -> Offsets:
        # With a fixed end, waiting for more would never come to an end.
        if self._delay is not None and self._target is None and self._delay.holds_back(start, latest):
            return start
        most = self._options.max_offsets_per_trigger
        if most is None:
            return latest
        new = self._open().earliest(latest.keys() - start.keys())
        return rate_limit(most, {**start, **new}, latest)

    def _ranges(self, start: Offsets, end: Offsets) -> list[OffsetRange]:
        begin = {**start, **self._starts_of_new(end.keys() - start.keys())}
        gone = start.keys() - end.keys()
        if gone:
            report_data_loss(
                self._options,
                "PARTITIONS_DELETED",
                f"{_names(gone)} were read before and do not exist any more.",
            )
        ranges = []
        for each in sorted(end.keys() & begin.keys()):
            if end[each] < begin[each]:
                report_data_loss(
                    self._options,
                    "PARTITION_OFFSET_CHANGED",
                    f"The end of {each} went back from offset {begin[each]} to {end[each]}: the start was "
                    "given too "
                    "high, or the topic was deleted and made anew.",
                )
            ranges.append(OffsetRange(each.topic, each.partition, begin[each], end[each]))
        return ranges

    def _starts_of_new(self, new: Iterable[TopicPartition]) -> Offsets:
        added = set(new)
        starts = self._open().earliest(added) if added else {}
        missing = added - starts.keys()
        if missing:
            report_data_loss(
                self._options,
                "INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS",
                f"{_names(missing)} were to be read from their beginning and do not exist any more.",
            )
        late = {each: offset for each, offset in starts.items() if offset != 0}
        if late:
            report_data_loss(
                self._options,
                "ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
                f"New partitions begin after offset 0: {describe(late)}.",
            )
        return starts


def _names(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(str(each) for each in sorted(partitions))


def _check_topics(options: ReadOptions, found: Mapping[TopicPartition, object] | set[TopicPartition]) -> None:
    """Check that the topics that options name exist.

    Raises:
        FetchError: One does not.
    """
    existing = {each.topic for each in found}
    missing = [name for name in options.topics.subscribe if name not in existing]
    if missing:
        raise FetchError(f"Option 'subscribe': topics do not exist (or may not be seen): {', '.join(missing)}")
    absent = set(options.topics.assign) - set(found)
    if absent:
        raise FetchError(f"Option 'assign': partitions do not exist: {_names(absent)}")


def _worker_group_id(options: ReadOptions) -> str:
    """Make a group id that all reads with the same options share, so that they share consumers.

    Consumers on workers neither join the group nor commit to it; it matters to access control alone.
    """
    told = repr(sorted((name, str(value)) for name, value in options.consumer.items()))
    return f"{options.group_id_prefix}-{hashlib.sha256(told.encode()).hexdigest()[:16]}-executor"
