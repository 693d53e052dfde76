"""Reads one range of offsets on a worker, as Arrow batches of Kafka's columns."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cykafka.spark import worker
from cykafka.spark.errors import FetchError
from cykafka.spark.metadata import report_data_loss
from cykafka.spark.offsets import EARLIEST
from cykafka.spark.options import ReadOptions
from cykafka.spark.planning import OffsetRange

if TYPE_CHECKING:
    import pyarrow as pa

    from cykafka import Consumer

_READ_COMMITTED = "read_committed"
_QUERY_TIMEOUT = 30.0


class RangeFetcher:
    """Fetches the records of a range; used once, by one thread.

    Reading stops by position: compaction and the marks of transactions leave holes, so neither the number of
    records nor the last of them tells the end.

    Args:
        options: Options of the reader.
        group_id: Group id of consumers on workers.
        columns: Names of the columns wanted, as `Consumer.consume_arrow` takes them; ``offset`` among them.
        wanted: The range.
    """

    def __init__(self, options: ReadOptions, group_id: str, columns: Sequence[str], wanted: OffsetRange) -> None:
        self._options = options
        self._group_id = group_id
        self._columns = list(columns)
        self._wanted = wanted
        self._position = wanted.start
        self._deadline = 0.0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records of the range.

        Raises:
            DataLossError: Records are gone.
            FetchError: Kafka did not hand over records in time.
        """
        options = self._options
        with worker.consumer(options.consumer, self._group_id, options.cache) as consumer:
            consumer.assign([self._native(self._position)])
            try:
                yield from self._fetch(consumer)
            finally:
                consumer.unassign()

    def _fetch(self, consumer: Consumer) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        options = self._options
        self._extend_deadline()
        while self._position < self._wanted.end:
            batch = consumer.consume_arrow(
                options.batch_rows, max(self._deadline - time.monotonic(), 0.0), columns=self._columns
            )
            if batch.num_rows:
                self._extend_deadline()
                rows = self._within_range(pa.record_batch(batch))
                if rows.num_rows:
                    yield rows
            for error in batch.errors:
                self._handle_error(consumer, error.error())
            for end in batch.partition_ends:
                self._handle_end(consumer, end.offset)
            if time.monotonic() >= self._deadline and self._position < self._wanted.end:
                raise FetchError(
                    f"Cannot fetch the record at offset {self._position} of {self._name} within "
                    f"{options.poll_timeout * 1000:.0f} milliseconds ('kafkaConsumer.pollTimeoutMs')"
                )

    @property
    def _name(self) -> str:
        return str(self._wanted.topic_partition)

    def _extend_deadline(self) -> None:
        self._deadline = time.monotonic() + self._options.poll_timeout

    def _within_range(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        offsets = rows.column("offset")
        last = offsets[-1].as_py()
        self._position = last + 1
        if last < self._wanted.end:
            return rows
        import pyarrow.compute as pc

        kept = pc.sum(pc.less(offsets, self._wanted.end)).as_py()
        return rows.slice(0, kept)

    def _handle_end(self, consumer: Consumer, offset: int) -> None:
        """The log has no more records for now: the rest of the range is a hole, or yet to come, or lost."""
        self._position = max(self._position, offset)
        if self._position >= self._wanted.end:
            return
        _, high = consumer.get_watermark_offsets(self._native(EARLIEST), timeout=_QUERY_TIMEOUT)
        committed_only = self._options.consumer.get("isolation.level") == _READ_COMMITTED
        if high < self._wanted.end and not committed_only:
            report_data_loss(
                self._options,
                "COULD_NOT_READ_OFFSET_RANGE",
                f"{self._name} ends at offset {high}, before {self._wanted.end}, which was to be read.",
            )
            self._position = self._wanted.end

    def _handle_error(self, consumer: Consumer, error: Any) -> None:
        from cykafka import KafkaError, KafkaException

        code = error.code()
        if code == KafkaError._AUTO_OFFSET_RESET:
            self._skip_lost(consumer)
        elif code in {
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            KafkaError._UNKNOWN_TOPIC,
            KafkaError._UNKNOWN_PARTITION,
        }:
            report_data_loss(
                self._options,
                "PARTITIONS_DELETED",
                f"{self._name} does not exist any more; offsets {self._position} to {self._wanted.end} of it "
                "were "
                "to be read.",
            )
            self._position = self._wanted.end
        elif not error.retriable() and code not in {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT}:
            raise KafkaException(error)

    def _skip_lost(self, consumer: Consumer) -> None:
        """Go on with what is left after the position turned out to be out of range."""
        low, high = consumer.get_watermark_offsets(self._native(EARLIEST), timeout=_QUERY_TIMEOUT)
        report_data_loss(
            self._options,
            "COULD_NOT_READ_OFFSET_RANGE",
            f"{self._name} has offsets {low} to {high} now; {self._position} to {self._wanted.end} were to be read.",
        )
        if self._position < low < min(self._wanted.end, high):
            self._position = low
            consumer.assign([self._native(low)])
        else:
            self._position = self._wanted.end

    def _native(self, offset: int) -> Any:
        from cykafka import TopicPartition

        return TopicPartition(self._wanted.topic, self._wanted.partition, offset)
