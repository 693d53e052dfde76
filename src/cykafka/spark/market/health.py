"""Counts of records and percentiles of latencies, by time of arrival."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cykafka.spark.market.settings import MarketSettings
from cykafka.spark.market.ticks import Verdict, count_verdict

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: Percentiles that are reported, by the name of their field.
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
#: A percentile is off by at most one in so many ranks.
ACCURACY = 10_000


def health(ticks: DataFrame, settings: MarketSettings, *, live: bool = True) -> DataFrame:
    """Count records and measure latencies, over intervals of arrival in Kafka.

    Args:
        ticks: Records with a verdict, as `read_ticks` gives them; a stream or a batch.
        settings: Settings.
        live: Whether the records are taken soon after they came, so that how long ago that was is a latency;
            False for a batch over old ones.

    Returns:
        One row for all symbols (``symbol`` null) and one for each: ``start``, ``end``, ``symbol``,
        ``records``; ``malformed`` (which includes invalid ones), ``late`` and ``future`` among them;
        ``duplicates`` and ``out_of_order`` (ticks whose sequence is below that of one before them in the
        interval; null for all symbols); ``feed``: microseconds from the event to Kafka, and ``queue``: from
        Kafka to the micro-batch that takes the record (null if not `live`), each a struct of p50, p90, p99, p999
        and max.
    """
    from pyspark.sql import functions as F  # noqa: N812

    waited = F.unix_micros(F.current_timestamp()) - F.unix_micros("arrived")
    queue = waited if live else F.lit(None).cast("bigint")
    everyone = F.lit(None).cast("string")
    scopes = F.when(F.col("symbol").isNull(), F.array(everyone)).otherwise(F.array(everyone, F.col("symbol")))
    arrival = F.struct("partition", "offset", "sequence", "event_time")
    counted = F.when(F.col("verdict").isNull() & F.col("scope").isNotNull(), arrival)
    return (
        ticks.withWatermark("arrived", settings.health_watermark)
        .withColumns({"queue_us": queue, "scope": F.explode(scopes)})
        .groupBy(F.window("arrived", settings.health_width.interval).alias("span"), "scope")
        .agg(
            F.count("*").alias("records"),
            count_verdict(Verdict.MALFORMED, Verdict.INVALID).alias("malformed"),
            count_verdict(Verdict.LATE).alias("late"),
            count_verdict(Verdict.FUTURE).alias("future"),
            F.collect_list(counted).alias("arrivals"),
            *_percentiles("feed"),
            *_percentiles("queue"),
        )
        .select(
            F.col("span.start").alias("start"),
            F.col("span.end").alias("end"),
            F.col("scope").alias("symbol"),
            "records",
            "malformed",
            "late",
            "future",
            *(F.when(F.col("scope").isNotNull(), each).alias(name) for name, each in _order().items()),
            _stage("feed").alias("feed"),
            _stage("queue").alias("queue"),
        )
    )


def _percentiles(stage: str) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812

    return [
        F.percentile_approx(f"{stage}_us", list(PERCENTILES.values()), ACCURACY).alias(f"{stage}_percentiles"),
        F.max(f"{stage}_us").alias(f"{stage}_max"),
    ]


def _stage(stage: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    percentiles = [F.get(f"{stage}_percentiles", F.lit(at)).alias(name) for at, name in enumerate(PERCENTILES)]
    return F.struct(*percentiles, F.col(f"{stage}_max").alias("max"))


def _order() -> dict[str, Column]:
    """Count duplicates and ticks out of order among the arrivals of a symbol in an interval."""
    from pyspark.sql import functions as F  # noqa: N812

    in_order = F.sort_array("arrivals")
    ticks = F.transform(in_order, lambda each: F.struct(each.sequence, each.event_time))
    different = F.array_distinct(ticks)  # keeps the first of each
    start = F.struct(F.lit(0).cast("bigint").alias("count"), F.lit(-1).cast("bigint").alias("top"))
    out_of_order = F.aggregate(
        different,
        start,
        lambda state, tick: F.struct(
            (state.getField("count") + F.when(tick.sequence < state.top, 1).otherwise(0)).cast("bigint").alias("count"),
            F.greatest(state.top, tick.sequence).alias("top"),
        ),
        lambda state: state.getField("count"),
    )
    return {
        "duplicates": (F.size("arrivals") - F.size(different)).cast("bigint"),
        "out_of_order": out_of_order,
    }
