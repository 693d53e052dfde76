"""The pipeline at work: streaming queries, and back-fills with the same code."""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cykafka.spark.market.bars import bars, newest, to_records, within
from cykafka.spark.market.health import health
from cykafka.spark.market.settings import MarketSettings
from cykafka.spark.market.ticks import TimeRange, read_tick_range, read_ticks, rejected
from cykafka.spark.options import Delivery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_LOG = logging.getLogger(__name__)
_QUERY_ID = "sql.streaming.queryId"
_POOL = "spark.scheduler.pool"
_PARQUET = {"compression": "zstd"}
_PARTITION = "part"
_POLL_SECONDS = 0.1
_INITIALIZING = "Initializing sources"
_TOO_SLOW = "Python worker failed to connect back"
_LAUNCHES = 5


@dataclass(frozen=True)
class Places:
    """Where the pipeline puts its files; any file system that Spark knows.

    Attributes:
        output: Folder of the results.
        checkpoint: Folder of the checkpoints; None is ``_checkpoint`` in `output`.
    """

    output: str
    checkpoint: str | None = None

    @property
    def bars(self) -> str:
        """Parquet files of bars, a sub-folder for each micro-batch or back-fill."""
        return f"{self.output.rstrip('/')}/bars"

    @property
    def health(self) -> str:
        """Parquet files of counts and latencies."""
        return f"{self.output.rstrip('/')}/health"

    @property
    def rejects(self) -> str:
        """Parquet files of the records that are no part of the bars."""
        return f"{self.output.rstrip('/')}/rejects"

    def checkpoint_of(self, name: str) -> str:
        """Checkpoint of a query.

        Args:
            name: Name of the query.
        """
        return f"{(self.checkpoint or self.output.rstrip('/') + '/_checkpoint').rstrip('/')}/{name}"


@dataclass
class Progress:
    """How far a query is.

    Attributes:
        name: Name of the query.
        batch: Number of its last micro-batch.
        rows: Records taken by this run.
        rows_per_second: Records a second in that micro-batch.
        dropped: Ticks that fell behind the watermark though they were not late.
        watermark: Watermark, ISO 8601.
    """

    name: str
    batch: int = -1
    rows: int = 0
    rows_per_second: float = 0.0
    dropped: int = 0
    watermark: str = ""

    def add(self, report: Mapping[str, Any]) -> None:
        """Take a report of Spark's on one micro-batch, unless it was taken before."""
        if report["batchId"] < self.batch or (report["batchId"] == self.batch and not report["numInputRows"]):
            return
        if report["batchId"] > self.batch:
            self.rows += report["numInputRows"]
            self.dropped += sum(each.get("numRowsDroppedByWatermark", 0) for each in report["stateOperators"])
        self.batch = report["batchId"]
        self.rows_per_second = report.get("processedRowsPerSecond") or 0.0
        self.watermark = report.get("eventTime", {}).get("watermark", self.watermark)


@dataclass
class MarketStream:
    """The running queries; a context manager that stops them.

    Attributes:
        queries: Queries by name: bars, health, rejects.
        progress: How far each is.
    """

    queries: dict[str, StreamingQuery]
    progress: dict[str, Progress] = field(default_factory=dict)

    def __enter__(self) -> MarketStream:  # noqa: PYI034 - there is no subclass, and Self is of Python 3.11
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the queries; their checkpoints remember how far they are."""
        for query in self.queries.values():
            query.stop()

    def update(self) -> dict[str, Progress]:
        """Bring `progress` up to date."""
        for name, query in self.queries.items():
            progress = self.progress.setdefault(name, Progress(name))
            for report in query.recentProgress:
                progress.add(report)
        return self.progress

    def wait(
        self,
        seconds: float | None = None,
        on_progress: Callable[[dict[str, Progress]], None] | None = None,
        *,
        every: float = 1.0,
    ) -> bool:
        """Wait until the queries end by themselves, one fails, or time is up.

        Args:
            seconds: Seconds to wait; None is for ever.
            on_progress: Called with the progress, and at the end.
            every: Seconds between calls.

        Returns:
            Whether all have ended.

        Raises:
            StreamingQueryException: A query failed; the others are stopped.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        shown = time.monotonic()
        try:
            while True:
                ended = [_has_ended(query) for query in self.queries.values()]
                now = time.monotonic()
                done = all(ended) or (deadline is not None and now >= deadline)
                if on_progress is not None and (done or now >= shown + every):
                    shown = now
                    on_progress(self.update())
                if done:
                    return all(ended)
                time.sleep(_POLL_SECONDS)
        except BaseException:
            self.stop()
            raise


def _has_ended(query: StreamingQuery) -> bool:
    """Whether a query has ended; raises what made it fail."""
    if query.isActive:
        return False
    failure = query.exception()
    if failure is not None:
        raise failure
    return True


def start(
    spark: SparkSession,
    settings: MarketSettings,
    places: Places,
    *,
    starting: str = "earliest",
    until_end: bool = False,
    interval: float = 1.0,
) -> MarketStream:
    """Start the pipeline, or go on where its checkpoints are.

    Args:
        spark: Session.
        settings: Settings.
        places: Where results and checkpoints are.
        starting: Where a new pipeline begins to read, as ``startingOffsets``.
        until_end: Whether it ends when it has read what is there now.
        interval: Seconds between micro-batches at least.

    Raises:
        OptionError: An option of the source or sink is wrong.
    """
    trigger: dict[str, Any] = {"availableNow": True} if until_end else {"processingTime": f"{interval} seconds"}
    ticks = read_ticks(spark, settings, starting=starting)
    writers = {
        "bars": bars(ticks, settings).writeStream.foreachBatch(_BarWriter(settings, places.bars)),
        "health": _to_parquet(health(ticks, settings), places.health),
        "rejects": _to_parquet(rejected(ticks), places.rejects),
    }
    stream = MarketStream({})
    try:
        for name, writer in writers.items():
            writer.queryName(f"market {name}").trigger(**trigger)
            spark.sparkContext.setLocalProperty(_POOL, name)
            stream.queries[name] = _launch(writer.option("checkpointLocation", places.checkpoint_of(name)))
    except BaseException:
        stream.stop()
        raise
    finally:
        spark.sparkContext.setLocalProperty(_POOL, None)  # type: ignore[arg-type]
    return stream


def _launch(writer: DataStreamWriter) -> StreamingQuery:
    """Start a query and wait until it is planned.

    Spark gives the Python process that plans a query 10 s to start. On a busy machine several at once may need
    more, so each is waited for, and one that took too long, which has done nothing yet, is started again.
    """
    for _ in range(_LAUNCHES):
        query = writer.start()
        while query.isActive and query.status["message"] == _INITIALIZING:
            time.sleep(_POLL_SECONDS)
        failure = None if query.isActive else query.exception()
        if failure is None or _TOO_SLOW not in str(failure):
            break
        _LOG.warning("the Python process that plans a query did not start within 10 s; starting it again")
    return query


def back_fill(spark: SparkSession, settings: MarketSettings, places: Places, times: TimeRange | None) -> int:
    """Make the bars of a time range again from the topic, with the same code as the stream.

    Args:
        spark: Session.
        settings: Settings.
        places: Where results are; made again for the same range, they replace those made before.
        times: Range; bars that are not wholly in it are left out. None is all there is.

    Returns:
        Number of bars.

    Raises:
        OptionError: An option of the source or sink is wrong.
    """
    frame = bars(read_tick_range(spark, settings, times), settings)
    if times is not None:
        frame = within(frame, times)
    name = "all" if times is None else f"{_compact(times.start)}-{_compact(times.end)}"
    return _write_bars(frame, settings, f"{places.bars}/{_PARTITION}=backfill-{name}", f"backfill-{name}", 0)


def read_bars(spark: SparkSession, places: Places) -> DataFrame:
    """Read the bars that stream and back-fills have made, each once: what was made last counts.

    Raises:
        FileNotFoundError: There are none yet.
    """
    return newest(_from_parquet(spark, places.bars).drop(_PARTITION))


def read_health(spark: SparkSession, places: Places) -> DataFrame:
    """Read the counts and latencies.

    Raises:
        FileNotFoundError: There are none yet.
    """
    return _from_parquet(spark, places.health)


def read_rejects(spark: SparkSession, places: Places) -> DataFrame:
    """Read the records that are no part of the bars.

    Raises:
        FileNotFoundError: There are none yet.
    """
    return _from_parquet(spark, places.rejects)


def _from_parquet(spark: SparkSession, path: str) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        return spark.read.parquet(path)
    except AnalysisException as error:
        if error.getCondition() not in {"PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"}:
            raise
        raise FileNotFoundError(
            f"nothing is in {path} yet: a stream writes the first rows when its watermark has passed their end"
        ) from None


def _to_parquet(frame: DataFrame, path: str) -> Any:
    return frame.writeStream.format("parquet").options(**_PARQUET, path=path)


@dataclass(frozen=True)
class _BarWriter:
    """Writes the bars of a micro-batch to the topic and to files; repeated, it writes the same again.

    Attributes:
        settings: Settings.
        path: Folder of the files.
    """

    settings: MarketSettings
    path: str

    def __call__(self, batch: DataFrame, number: int) -> None:
        query = batch.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        _write_bars(batch, self.settings, f"{self.path}/{_PARTITION}=stream-{number:09d}", f"market-{query}", number)


def _write_bars(frame: DataFrame, settings: MarketSettings, path: str, series: str, version: int) -> int:
    """Write bars to the topic, if there is one, and to files.

    Args:
        frame: Bars.
        settings: Settings.
        path: Folder of the files.
        series: Name of the series of writes, for exactly-once delivery.
        version: Number of this write within the series.

    Returns:
        Number of bars.
    """
    from pyspark.sql import functions as F  # noqa: N812

    # Both sinks take the same rows, and the state of a stream is gone through once. Not `persist`, which cannot
    # hold rows that are sorted by a renamed column (Spark 4.3).
    frame = frame.localCheckpoint(eager=True)
    count = frame.count()
    if count == 0:
        return 0
    if settings.bars_topic is not None:
        options = {**settings.kafka_options, "topic": settings.bars_topic, "delivery": settings.delivery.value}
        if settings.delivery is Delivery.EXACTLY_ONCE:
            options |= {"txnAppId": series, "txnVersion": str(version)}
        to_records(frame).write.format("cykafka").options(**options).mode("append").save()
    now = F.timestamp_micros(F.lit(time.time_ns() // 1000))
    delivered = frame.withColumn("delivered", now).coalesce(1)
    delivered.write.options(**_PARQUET).mode("overwrite").parquet(path)
    return count


def parse_time(text: str) -> int:
    """Read a moment: ISO 8601 (UTC, if it names no offset), or milliseconds since 1970.

    Args:
        text: Text.

    Returns:
        Microseconds since 1970.

    Raises:
        ValueError: It is none.
    """
    if text.isdigit():
        return int(text) * 1000
    moment = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.timezone.utc)
    return (moment - dt.datetime.fromtimestamp(0, dt.timezone.utc)) // dt.timedelta(microseconds=1)


def _compact(micros: int) -> str:
    moment = dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(microseconds=micros)
    return moment.strftime("%Y%m%dT%H%M%S.%fZ")
