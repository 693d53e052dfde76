"""From the topic of ticks to typed columns: reading, decoding, and a verdict on each record."""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cykafka.spark.market.settings import MarketSettings, TickFormat

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: Digits after the point of a price; prices with more are refused, never rounded.
PRICE_SCALE = 4
PRICE_TYPE = f"decimal(18,{PRICE_SCALE})"
#: Largest size of a tick: sums of very many such notionals still fit the 38 digits of a decimal.
LARGEST_SIZE = 10**12
#: Binary tick: symbol in UTF-8 filled up with zeros, price in ten-thousandths, size, microseconds since 1970
#: of the event, sequence.
STRUCT = struct.Struct("<16sqqqq")

_LAST_MICROSECOND = 253_402_300_799_999_999  # of the year 9999, the last that a timestamp can have
_KAFKA_COLUMNS = "partition int, offset bigint, timestamp timestamp"
_JSON_SCHEMA = (
    f"symbol string, price string, size bigint, event_time bigint, sequence bigint, {_KAFKA_COLUMNS}, "
    "_corrupt_record string"
)
_STRUCT_SCHEMA = (
    f"symbol binary, price bigint, size bigint, event_time bigint, sequence bigint, {_KAFKA_COLUMNS}, "
    "_corrupt_record string"
)


class Verdict(enum.Enum):
    """Why a record is no part of the bars; column ``verdict``, null for those that are."""

    MALFORMED = "malformed"
    INVALID = "invalid"
    LATE = "late"
    FUTURE = "future"


@dataclass(frozen=True)
class TimeRange:
    """Time range of a back-fill.

    Attributes:
        start: First microsecond since 1970.
        end: Microsecond after the last.
    """

    start: int
    end: int


def read_ticks(spark: SparkSession, settings: MarketSettings, *, starting: str = "earliest") -> DataFrame:
    """Read the topic of ticks as a stream, with a verdict on each record.

    Args:
        spark: Session.
        settings: Settings.
        starting: Where a new query begins: earliest, latest, or JSON as ``startingOffsets`` takes it.

    Returns:
        See `judge`.
    """
    options = {"subscribe": settings.ticks_topic, "startingOffsets": starting, **_decoding(settings)}
    if settings.max_offsets_per_trigger is not None:
        options["maxOffsetsPerTrigger"] = str(settings.max_offsets_per_trigger)
    frame = spark.readStream.format("cykafka").options(**options).schema(_schema(settings)).load()
    return judge(typed(frame, settings), settings)


def read_tick_range(spark: SparkSession, settings: MarketSettings, times: TimeRange | None = None) -> DataFrame:
    """Read the topic of ticks as a batch, with a verdict on each record.

    Args:
        spark: Session.
        settings: Settings.
        times: Range of event times of which all accepted ticks are wanted; None is all there is.

    Returns:
        See `judge`.
    """
    options = {"subscribe": settings.ticks_topic, **_decoding(settings)}
    if times is not None:
        # Kafka finds the first record of a time of arrival; an accepted tick came no earlier and no later. Those
        # of several producers may be stored a little out of order, hence `slack`.
        options["startingTimestamp"] = str(max(times.start // 1000 - round(settings.ahead * 1000), 0))
        options["startingOffsetsByTimestampStrategy"] = "latest"
        options["endingTimestamp"] = str(-(-times.end // 1000) + round((settings.lateness + settings.slack) * 1000))
    frame = spark.read.format("cykafka").options(**options).schema(_schema(settings)).load()
    return judge(typed(frame, settings), settings)


def typed(frame: DataFrame, settings: MarketSettings) -> DataFrame:
    """Give the decoded fields their types; what does not fit becomes null.

    Args:
        frame: Fields as the source decodes them.
        settings: Settings.

    Returns:
        Columns ``symbol`` string, ``price`` decimal(18,4), ``size`` bigint, ``event_time`` timestamp,
        ``sequence`` bigint, ``partition``, ``offset``, ``arrived`` (Kafka's timestamp) and ``corrupt`` (the
        value of a record that does not decode).
    """
    from pyspark.sql import functions as F  # noqa: N812

    if settings.tick_format is TickFormat.STRUCT:
        symbol = F.rtrim(F.try_validate_utf8(F.col("symbol").cast("string")), F.lit("\0"))
        units = F.col("price").cast("decimal(19,0)")
        price = (units / F.lit(10**PRICE_SCALE)).try_cast(PRICE_TYPE)
    else:
        symbol = F.col("symbol")
        price = F.col("price").try_cast(PRICE_TYPE)
        # A cast rounds; a price that needs more digits is not the one that was sent.
        price = F.when(price == F.col("price").try_cast("decimal(38,18)"), price)
    micros = F.when(F.col("event_time").between(0, _LAST_MICROSECOND), F.col("event_time"))
    return frame.select(
        symbol.alias("symbol"),
        price.alias("price"),
        "size",
        F.timestamp_micros(micros).alias("event_time"),
        "sequence",
        "partition",
        "offset",
        F.col("timestamp").alias("arrived"),
        F.col("_corrupt_record").alias("corrupt"),
    )


def judge(frame: DataFrame, settings: MarketSettings) -> DataFrame:
    """Say of each record whether it is accepted, and if not, why.

    Args:
        frame: Columns as `typed` makes them.
        settings: Settings.

    Returns:
        The same and ``verdict``, null or one of `Verdict`, and ``feed_us``: microseconds from the event to
        Kafka.
    """
    from pyspark.sql import functions as F  # noqa: N812

    fields = ("symbol", "price", "size", "event_time", "sequence", "arrived")
    missing = F.lit(False)
    for name in fields:
        missing = missing | F.col(name).isNull()
    wrong = (
        (F.col("symbol") == "")
        | (F.col("price") <= 0)
        | (F.col("size") <= 0)
        | (F.col("size") > LARGEST_SIZE)
        | (F.col("sequence") < 0)
    )
    feed = F.unix_micros("arrived") - F.unix_micros("event_time")
    verdict = (
        F.when(missing, Verdict.MALFORMED.value)
        .when(wrong, Verdict.INVALID.value)
        .when(feed > round(settings.lateness * 1e6), Verdict.LATE.value)
        .when(feed < -round(settings.ahead * 1e6), Verdict.FUTURE.value)
    )
    return frame.withColumns({"feed_us": feed, "verdict": verdict})


def accepted(frame: DataFrame) -> DataFrame:
    """Keep the ticks that are part of the bars."""
    return frame.where("verdict is null")


def rejected(frame: DataFrame) -> DataFrame:
    """Keep the records that are not, with all that is known of them."""
    return frame.where("verdict is not null")


def deduplicated(frame: DataFrame, settings: MarketSettings) -> DataFrame:
    """Keep one of each tick that was sent more than once; sets the watermark of a stream.

    A tick is the same if symbol, sequence and event time are; with the event time among the keys Spark
    forgets them as the watermark passes, and a copy that comes later is behind it too.

    Args:
        frame: Accepted ticks.
        settings: Settings.
    """
    return frame.withWatermark("event_time", settings.watermark).dropDuplicates(["symbol", "sequence", "event_time"])


def _schema(settings: MarketSettings) -> str:
    return _STRUCT_SCHEMA if settings.tick_format is TickFormat.STRUCT else _JSON_SCHEMA


def _decoding(settings: MarketSettings) -> dict[str, str]:
    options = {**settings.kafka_options, "valueFormat": settings.tick_format.value, "mode": "PERMISSIVE"}
    if settings.tick_format is TickFormat.STRUCT:
        options["valueStructFormat"] = STRUCT.format
    return options


def count_verdict(*verdicts: Verdict) -> Column:
    """Count the records with one of some verdicts.

    Args:
        verdicts: Verdicts.
    """
    from pyspark.sql import functions as F  # noqa: N812

    return F.count_if(F.col("verdict").isin(*(each.value for each in verdicts)))
