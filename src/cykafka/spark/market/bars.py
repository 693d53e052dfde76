"""From accepted ticks to bars, and what is made of bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cykafka.spark.market.settings import MarketSettings
from cykafka.spark.market.ticks import PRICE_TYPE, TimeRange, accepted, deduplicated

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: Digits after the point of a volume-weighted average price, the last one rounded half up.
VWAP_SCALE = 6
#: What tells bars apart.
BAR_KEYS = ("symbol", "width", "start")


def bars(ticks: DataFrame, settings: MarketSettings) -> DataFrame:
    """Aggregate ticks to bars of all widths in one pass, over one state.

    Args:
        ticks: Records with a verdict, as `read_ticks` gives them; a stream or a batch.
        settings: Settings.

    Returns:
        ``symbol``, ``width`` (label such as 10s), ``start``, ``end``; ``open``, ``high``, ``low``, ``close``
        (decimal(18,4); first and last by event time, then sequence), ``volume``, ``notional`` (exact sum of
        price times size), ``vwap`` (decimal(20,6)), ``trades``; ``first_sequence``, ``last_sequence`` and
        ``missing``: sequences in between that are not among the ticks; ``emitted``: when Spark began the
        work that made the bar.
    """
    from pyspark.sql import functions as F  # noqa: N812

    frame = deduplicated(accepted(ticks), settings).select("symbol", "price", "size", "event_time", "sequence")
    windows = {f"window_{each.label}": F.window("event_time", each.interval) for each in settings.widths}
    for name, window in windows.items():
        # Not `withColumn`, by which Spark Connect forgets what the window is.
        frame = frame.select("*", window.alias(name))
    # `inline` leaves the window what it is to Spark, a time that the watermark speaks of; `explode` and
    # arithmetic would not. So one aggregation serves every width.
    spans = [
        F.struct(F.lit(each.label).alias("width"), F.col(name).alias("span"))
        for each, name in zip(settings.widths, windows, strict=True)
    ]
    order = F.struct("event_time", "sequence")
    notional = F.col("price") * F.col("size").cast("decimal(19,0)")
    return (
        frame.select("symbol", "price", "size", "event_time", "sequence", F.inline(F.array(*spans)))
        .groupBy("symbol", "width", "span")
        .agg(
            F.min_by("price", order).alias("open"),
            F.max("price").alias("high"),
            F.min("price").alias("low"),
            F.max_by("price", order).alias("close"),
            F.sum("size").alias("volume"),
            F.sum(notional).alias("notional"),
            F.count("*").alias("trades"),
            F.min("sequence").alias("first_sequence"),
            F.max("sequence").alias("last_sequence"),
        )
        .select(
            "symbol",
            "width",
            F.col("span.start").alias("start"),
            F.col("span.end").alias("end"),
            *(F.col(name).cast(PRICE_TYPE).alias(name) for name in ("open", "high", "low", "close")),
            "volume",
            "notional",
            _vwap(F.col("notional"), F.col("volume")).alias("vwap"),
            "trades",
            "first_sequence",
            "last_sequence",
            (F.col("last_sequence") - F.col("first_sequence") + 1 - F.col("trades")).alias("missing"),
            F.current_timestamp().alias("emitted"),
        )
    )


def _vwap(notional: Column, volume: Column) -> Column:
    return (notional / volume.cast("decimal(19,0)")).cast(f"decimal(20,{VWAP_SCALE})")


def within(frame: DataFrame, times: TimeRange) -> DataFrame:
    """Keep the bars that lie wholly in a time range.

    Args:
        frame: Bars.
        times: Range.
    """
    from pyspark.sql import functions as F  # noqa: N812

    starts, ends = F.unix_micros("start"), F.unix_micros("end")
    return frame.where((starts >= times.start) & (ends <= times.end))


def to_records(frame: DataFrame) -> DataFrame:
    """Write bars as records for Kafka: the symbol as key, JSON as value.

    Prices are texts, so that they stay exact; times are microseconds since 1970. A repeated bar is the same to
    the byte, which exactly-once delivery checks.

    Args:
        frame: Bars.
    """
    from pyspark.sql import functions as F  # noqa: N812

    fields: list[Column | str] = [
        "symbol",
        "width",
        *(F.unix_micros(name).alias(name) for name in ("start", "end")),
        *(F.col(name).cast("string").alias(name) for name in ("open", "high", "low", "close")),
        "volume",
        *(F.col(name).cast("string").alias(name) for name in ("notional", "vwap")),
        "trades",
        "first_sequence",
        "last_sequence",
        "missing",
    ]
    return frame.select(F.col("symbol").alias("key"), F.to_json(F.struct(*fields)).alias("value"))


def newest(frame: DataFrame) -> DataFrame:
    """Keep of bars that were made more than once, as by a back-fill, the one made last.

    Args:
        frame: Bars, a batch.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = frame.columns
    latest = frame.groupBy(*BAR_KEYS).agg(F.max_by(F.struct(*names), "emitted").alias("bar"))
    return latest.select("bar.*")


def gaps(frame: DataFrame) -> DataFrame:
    """List the runs of sequences that are missing within a bar or between two neighbours.

    Args:
        frame: Bars of one width, a batch.

    Returns:
        ``symbol``, ``start`` of the bar in or before which they are missing, ``missing`` of them within it,
        ``before``: how many between the bar before and it.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    previous = F.lag("last_sequence").over(Window.partitionBy("symbol").orderBy("start"))
    before = F.coalesce(F.col("first_sequence") - previous - 1, F.lit(0))
    return (
        frame.select("symbol", "start", "missing", before.alias("before"))
        .where("missing != 0 or before != 0")
        .orderBy("symbol", "start")
    )
