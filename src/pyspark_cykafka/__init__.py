"""Lets PySpark find the data source ``cykafka``: it imports every module that is called pyspark_*."""

from cykafka.spark.source import KafkaDataSource as DefaultSource

__all__ = ["DefaultSource"]
