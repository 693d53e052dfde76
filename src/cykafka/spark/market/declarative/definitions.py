"""The market pipeline as Spark Declarative Pipelines: tables of bars, health and rejects, and a topic of bars.

Settings are those of the command line, as ``spark.cykafka.market.*`` in the specification's configuration.
"""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from cykafka.spark.market import MarketSettings, read_ticks, rejected, to_records
from cykafka.spark.market import bars as make_bars
from cykafka.spark.market import health as measure_health
from cykafka.spark.market.settings import configuration

spark = SparkSession.active()
settings = MarketSettings.parse(configuration(spark.conf.getAll))


@dp.table(comment="Bars of all widths; see cykafka.spark.market.bars")
def bars() -> DataFrame:
    """Make bars of the ticks."""
    return make_bars(read_ticks(spark, settings), settings)


@dp.table(comment="Counts of records and percentiles of latencies, by time of arrival")
def health() -> DataFrame:
    """Count records and measure latencies."""
    return measure_health(read_ticks(spark, settings), settings)


@dp.table(comment="Records that are no part of the bars, with the reason")
def rejects() -> DataFrame:
    """Keep the records that are no part of the bars."""
    return rejected(read_ticks(spark, settings))


if settings.bars_topic is not None:
    options = {**settings.kafka_options, "topic": settings.bars_topic, "delivery": settings.delivery.value}
    dp.create_sink("bars_topic", "cykafka", options)

    @dp.append_flow(target="bars_topic")
    def bars_to_topic() -> DataFrame:
        """Write bars to their topic."""
        return to_records(spark.readStream.table("bars"))
