"""Writers of batches and streams: what Spark calls on workers to write, and on the driver at the end."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from cykafka.spark import worker
from cykafka.spark.content import Content, content_of
from cykafka.spark.errors import ExactlyOnceError, FetchError, SchemaError
from cykafka.spark.markers import Marker, MarkerReader, marker_partition
from cykafka.spark.options import Delivery, WriteOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from cykafka import DeliverySummary, Producer

_LOG = logging.getLogger(__name__)
_COLUMN_TYPES = {
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": ("array<struct<key:string,value:binary>>",),
    "topic": ("string",),
    "partition": ("int",),
}
_TRANSACTION_TIMEOUT_MS = 300_000
_BATCH_ID = "streaming.sql.batchId"
_QUERY_ID = "sql.streaming.queryId"
_RUN_ID = "sql.streaming.runId"


@dataclass
class KafkaCommitMessage(WriterCommitMessage):
    """What a write task tells the driver.

    Attributes:
        rows: Rows that are written.
        partition: Number of the Spark partition.
        repeated: Whether they had been written before and were not written again.
        scope: Query and sink, if exactly once.
        batch: Number of the batch, if exactly once.
        may_be_repeated: Whether the batch may have been tried before, by an earlier run.
    """

    rows: int
    partition: int = 0
    repeated: bool = False
    scope: str = ""
    batch: int = -1
    may_be_repeated: bool = False


@dataclass(frozen=True)
class _Task:
    """Which write this is.

    Attributes:
        scope: Query and sink.
        batch: Number of the batch.
        partition: Number of the Spark partition.
        run: Run of the query; empty for a batch write.
    """

    scope: str
    batch: int
    partition: int
    run: str

    @property
    def transactional_id(self) -> str:
        return f"{self.scope}-{self.partition}"


@dataclass
class _Deliveries:
    """Rows on their way."""

    waiting: list[DeliverySummary] = field(default_factory=list)

    def add(self, summary: DeliverySummary) -> None:
        self.waiting = [each for each in self.waiting if not each.complete or each.failed]
        self.waiting.append(summary)
        self.check()

    def check(self) -> None:
        """Raise if a row has failed for good."""
        from cykafka import KafkaException

        for each in self.waiting:
            if each.failed:
                raise KafkaException(each.failures[0][1])


class _KafkaWriter:
    """What batches and streams have in common: it is pickled and writes on workers.

    Args:
        options: Options of the write.
        schema: Spark schema of the rows.
    """

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        self._options = options
        self._columns = _check_columns(options, schema)

    def _write(self, rows: Iterator[pa.RecordBatch], *, streaming: bool) -> KafkaCommitMessage:
        if self._options.delivery is Delivery.EXACTLY_ONCE:
            return self._write_exactly_once(rows, self._task(streaming=streaming))
        with worker.producer(self._options.producer, self._options.cache) as producer:
            written = sum(self._produce(producer, rows))
        return KafkaCommitMessage(written)

    def _produce(self, producer: Producer, rows: Iterator[pa.RecordBatch]) -> Iterator[int]:
        """Produce batches, yield their sizes, and at the end wait until all are delivered."""
        deliveries = _Deliveries()
        for batch in rows:
            deliveries.add(self._produce_batch(producer, batch))
            producer.poll(0)
            yield batch.num_rows
        left = producer.flush(self._options.flush_timeout)
        deliveries.check()
        if left:
            raise FetchError(
                f"{left} rows were not delivered within {self._options.flush_timeout:g} s ('flushTimeout')"
            )

    def _produce_batch(self, producer: Producer, batch: pa.RecordBatch) -> DeliverySummary:
        options = self._options
        if options.topic is None and batch.column("topic").null_count:
            raise SchemaError(
                "topic", "is null in a row; give every row a topic, or all of them one with the option 'topic'"
            )
        return producer.produce_arrow(
            options.topic, batch.select(self._columns), timestamp=None, timeout=options.flush_timeout
        )

    def _task(self, *, streaming: bool) -> _Task:
        from pyspark import TaskContext

        options = self._options
        context = TaskContext.get()
        if context is None:
            raise ExactlyOnceError("'delivery' exactly_once works in tasks of Spark only")
        app, batch, run = options.txn_app_id, options.txn_version, ""
        if streaming:
            app = context.getLocalProperty(_QUERY_ID)
            text = context.getLocalProperty(_BATCH_ID)
            batch = int(text) if text is not None else None
            run = context.getLocalProperty(_RUN_ID) or ""
        if app is None or batch is None:
            raise ExactlyOnceError("this Spark does not tell its tasks which query and batch they belong to")
        scope = f"{options.transactional_id_prefix}-{app}-{options.topic or '*'}"
        return _Task(scope, batch, context.partitionId(), run)

    def _write_exactly_once(self, rows: Iterator[pa.RecordBatch], task: _Task) -> KafkaCommitMessage:
        options = self._options
        markers = MarkerReader(options.producer, options.marker_topic, options.flush_timeout)
        markers.ensure_topic()
        config = {
            "transaction.timeout.ms": _TRANSACTION_TIMEOUT_MS,
            **options.producer,
            "transactional.id": task.transactional_id,
        }
        with contextlib.closing(worker.open_producer(config)) as producer:
            # Ends what an earlier attempt at this partition left open, and keeps it from ever committing:
            # whatever the marker says after this is final.
            producer.init_transactions(options.flush_timeout)
            last = markers.read(task.scope, [task.partition]).get(task.transactional_id)
            # A batch write does not know of earlier attempts; a stream repeats the first batch of a run at most.
            may_be_repeated = not task.run or last is None or last.run != task.run
            if last is not None and last.batch >= task.batch:
                written = _check_repeated(rows, self._columns, task, last)
                return self._message(task, written, repeated=True, may_be_repeated=True)
            content = self._write_transaction(producer, rows, task)
            return self._message(task, content, repeated=False, may_be_repeated=may_be_repeated)

    def _write_transaction(self, producer: Producer, rows: Iterator[pa.RecordBatch], task: _Task) -> Content:
        from cykafka import KafkaException

        contents: list[Content] = []

        def counted() -> Iterator[pa.RecordBatch]:
            for batch in rows:
                contents.append(content_of(batch.select(self._columns)))
                yield batch

        options = self._options
        producer.begin_transaction()
        try:
            # The marker comes last, so that it holds up other tasks as briefly as can be.
            for _ in self._produce(producer, counted()):
                pass
            content = sum(contents, Content())
            marker = Marker(task.batch, task.partition, content.rows, content.hash, task.run)
            producer.produce(
                options.marker_topic,
                marker.to_bytes(),
                task.transactional_id.encode(),
                marker_partition(task.scope, task.partition),
            )
            producer.commit_transaction(options.flush_timeout)
        except BaseException:
            with contextlib.suppress(KafkaException, RuntimeError):
                producer.abort_transaction(options.flush_timeout)
            raise
        return content

    def _message(self, task: _Task, content: Content, *, repeated: bool, may_be_repeated: bool) -> KafkaCommitMessage:
        return KafkaCommitMessage(content.rows, task.partition, repeated, task.scope, task.batch, may_be_repeated)

    def _check_all(self, messages: list[Any]) -> None:
        """Check that a batch that was tried before has not been written with more partitions then.

        Raises:
            ExactlyOnceError: It has.
        """
        told = [each for each in messages if isinstance(each, KafkaCommitMessage) and each.scope]
        if not any(each.may_be_repeated for each in told):
            return
        scope, batch, count = told[0].scope, told[0].batch, len(messages)
        options = self._options
        reader = MarkerReader(options.producer, options.marker_topic, options.flush_timeout)
        surplus = [
            each.partition
            for each in reader.read_all(scope).values()
            if each.batch == batch and each.partition >= count
        ]
        if surplus:
            raise ExactlyOnceError(
                f"batch {batch} has {count} partitions, but an earlier attempt at it had at least "
                f"{max(surplus) + 1} and had written partition {min(surplus)}: rows of that may be there "
                "twice. The "
                "number of partitions must not change while a batch is repeated (options of the source, "
                "spark.sql.shuffle.partitions, repartition)"
            )


class KafkaBatchWriter(_KafkaWriter, DataSourceArrowWriter):
    """Writes a batch.

    Args:
        options: Options of the write.
        schema: Spark schema of the rows.
    """

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task."""
        return self._write(iterator, streaming=False)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Check a repeated write; everything is in Kafka already."""
        self._check_all(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Do nothing: each task has undone what it could."""


class KafkaStreamWriter(_KafkaWriter, DataSourceStreamArrowWriter):
    """Writes the batches of a stream.

    Args:
        options: Options of the write.
        schema: Spark schema of the rows.
    """

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task."""
        return self._write(iterator, streaming=True)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Check a repeated batch; everything is in Kafka already."""
        self._check_all(messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Do nothing, however often it is called: each task has undone what it could."""


def _check_columns(options: WriteOptions, schema: StructType) -> list[str]:
    """Return the columns that are written.

    Raises:
        SchemaError: A column is missing or has another type.
    """
    found = {each.name: each.dataType.simpleString() for each in schema}
    if "value" not in found:
        raise SchemaError("value", "is missing; the rows must have a column 'value', string or binary")
    if options.topic is None and "topic" not in found:
        raise SchemaError("topic", "is missing; add it, or name the topic of all rows with the option 'topic'")
    for name, kinds in _COLUMN_TYPES.items():
        if name in found and found[name] not in kinds:
            raise SchemaError(name, f"must be {' or '.join(kinds)}, not {found[name]}")
    return [name for name in _COLUMN_TYPES if name in found and (name != "topic" or options.topic is None)]


def _check_repeated(rows: Iterator[pa.RecordBatch], columns: list[str], task: _Task, last: Marker) -> Content:
    """Check that what was written before is what is to be written now.

    Raises:
        ExactlyOnceError: It is not.
    """
    if last.batch > task.batch:
        raise ExactlyOnceError(
            f"batch {task.batch} is to be written, but batch {last.batch} of the same query was written "
            "already "
            f"(partition {task.partition}): the checkpoint is older than the topic, or 'txnVersion' went back"
        )
    content = sum((content_of(batch.select(columns)) for batch in rows), Content())
    if content != last.content:
        raise ExactlyOnceError(
            f"batch {task.batch} was written before with {last.rows} rows in partition {task.partition}, and "
            "now has "
            f"{content.rows} rows there that are not the same: the query does not give the same rows when a "
            "batch "
            "is repeated (random numbers, the current time, or another number of partitions)"
        )
    _LOG.info("batch %d, partition %d was written before and is the same", task.batch, task.partition)
    return content
