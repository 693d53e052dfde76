"""Reads ranges of offsets on a worker, as Arrow batches of Kafka's columns."""

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

    from cykafka import Consumer, TopicPartition

_READ_COMMITTED = "read_committed"
_QUERY_TIMEOUT = 30.0


class RangeFetcher:
    """Fetches the records of a task; used once, by one thread.

    Reading stops by position: compaction and the marks of transactions leave holes, so neither the number of
    records nor the last of them tells the end.

    Args:
        options: Options of the reader.
        group_id: Group id of consumers on workers.
        columns: Names of the columns wanted, as `Consumer.consume_arrow` takes them; ``offset`` among them.
        wanted: Ranges of different partitions of one topic.
        json_fields: Fields of values to read in the same pass, as `cykafka.JsonDecoder` takes them, or None.
    """

    def __init__(
        self,
        options: ReadOptions,
        group_id: str,
        columns: Sequence[str],
        wanted: Sequence[OffsetRange],
        json_fields: dict[str, str] | None = None,
    ) -> None:
        from cykafka import JsonDecoder

        self._options = options
        self._group_id = group_id
        self._columns = list(columns)
        self._decoder = None if json_fields is None else JsonDecoder(json_fields, on_error="keep")
        self._topic = wanted[0].topic
        if len(wanted) > 1 and "partition" not in self._columns:
            self._columns.append("partition")
        self._ends = {each.partition: each.end for each in wanted}
        #: Where each partition stands; those that have been read are left out.
        self._positions = {each.partition: each.start for each in wanted}
        self._deadline = 0.0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records.

        Raises:
            DataLossError: Records are gone.
            FetchError: Kafka did not hand over records in time.
        """
        options = self._options
        with worker.consumer(options.consumer, self._group_id, options.cache) as consumer:
            consumer.assign([self._native(number, offset) for number, offset in self._positions.items()])
            try:
                yield from self._fetch(consumer)
            finally:
                consumer.unassign()

    def _fetch(self, consumer: Consumer) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        options = self._options
        self._extend_deadline()
        while self._positions:
            batch = consumer.consume_arrow(
                options.batch_rows,
                max(self._deadline - time.monotonic(), 0.0),
                columns=self._columns,
                decode=self._decoder,
            )
            if batch.num_rows:
                self._extend_deadline()
                rows = self._within_ranges(consumer, pa.record_batch(batch))
                if rows.num_rows:
                    yield rows
            for error in batch.errors:
                self._handle_error(consumer, error.partition(), error.error())
            for end in batch.partition_ends:
                self._handle_end(consumer, end.partition, end.offset)
            if self._positions and time.monotonic() >= self._deadline:
                number, offset = next(iter(self._positions.items()))
                raise FetchError(
                    f"Cannot fetch the record at offset {offset} of {self._topic}-{number} within "
                    f"{options.poll_timeout * 1000:.0f} milliseconds ('kafkaConsumer.pollTimeoutMs')"
                )

    def _extend_deadline(self) -> None:
        self._deadline = time.monotonic() + self._options.poll_timeout

    def _advance(self, consumer: Consumer, number: int, position: int) -> None:
        """Note that a partition has been read up to a position."""
        if number not in self._positions:
            return
        self._positions[number] = max(self._positions[number], position)
        if self._positions[number] >= self._ends[number]:
            del self._positions[number]
            if self._positions:
                consumer.incremental_unassign([self._native(number)])

    def _within_ranges(self, consumer: Consumer, rows: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa
        import pyarrow.compute as pc

        offsets = rows.column("offset")
        if len(self._ends) == 1:
            (number, end), last = next(iter(self._ends.items())), offsets[-1].as_py()
            self._advance(consumer, number, last + 1)
            return rows if last < end else rows.slice(0, pc.sum(pc.less(offsets, end)).as_py())
        # Ranges that share a task are small, and so is the batch.
        placed = list(zip(rows.column("partition").to_pylist(), offsets.to_pylist(), strict=True))
        for number, offset in dict(placed).items():
            self._advance(consumer, number, offset + 1)
        return rows.filter(pa.array([offset < self._ends[number] for number, offset in placed]))

    def _handle_end(self, consumer: Consumer, number: int, offset: int) -> None:
        """The log has no more records for now: the rest of the range is a hole, or yet to come, or lost."""
        self._advance(consumer, number, offset)
        if number not in self._positions:
            return
        end = self._ends[number]
        _, high = consumer.get_watermark_offsets(self._native(number), timeout=_QUERY_TIMEOUT)
        committed_only = self._options.consumer.get("isolation.level") == _READ_COMMITTED
        if high < end and not committed_only:
            report_data_loss(
                self._options,
                "COULD_NOT_READ_OFFSET_RANGE",
                f"{self._topic}-{number} ends at offset {high}, before {end}, which was to be read.",
            )
            self._advance(consumer, number, end)

    def _handle_error(self, consumer: Consumer, number: int | None, error: Any) -> None:
        from cykafka import KafkaError, KafkaException

        code = error.code()
        if code == KafkaError._AUTO_OFFSET_RESET:
            self._skip_lost(consumer, number)
        elif code in {
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            KafkaError._UNKNOWN_TOPIC,
            KafkaError._UNKNOWN_PARTITION,
        }:
            gone = [number] if number in self._positions else list(self._positions)
            names = ", ".join(f"{self._topic}-{each}" for each in gone)
            report_data_loss(self._options, "PARTITIONS_DELETED", f"{names} were to be read and do not exist any more.")
            for each in gone:
                self._advance(consumer, each, self._ends[each])
        elif not error.retriable() and code not in {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT}:
            raise KafkaException(error)

    def _skip_lost(self, consumer: Consumer, number: int | None) -> None:
        """Go on with what is left after a position turned out to be out of range."""
        if number is None or number not in self._positions:
            return
        position, end = self._positions[number], self._ends[number]
        low, high = consumer.get_watermark_offsets(self._native(number), timeout=_QUERY_TIMEOUT)
        report_data_loss(
            self._options,
            "COULD_NOT_READ_OFFSET_RANGE",
            f"{self._topic}-{number} has offsets {low} to {high} now; {position} to {end} were to be read.",
        )
        if position < low < min(end, high):
            self._positions[number] = low
            # Fetching of the partition has ended with the error; only assigning it again begins anew.
            consumer.incremental_unassign([self._native(number)])
            consumer.incremental_assign([self._native(number, low)])
        else:
            self._advance(consumer, number, end)

    def _native(self, number: int, offset: int = EARLIEST) -> TopicPartition:
        from cykafka import TopicPartition

        return TopicPartition(self._topic, number, offset)
