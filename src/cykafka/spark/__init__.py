"""Kafka as a data source of PySpark, without any jar.

``spark.read.format("cykafka")`` and ``spark.readStream.format("cykafka")`` take the options of Spark's own
``kafka`` source; ``df.write`` and ``df.writeStream`` those of its sink. With ``pip install cykafka[spark]``
PySpark finds the format by itself. Needs PySpark 4.2 or later.
"""

from cykafka.spark.errors import (
    CorruptRecordError,
    DataLossError,
    ExactlyOnceError,
    FetchError,
    OptionError,
    SchemaError,
)

__all__ = [
    "CorruptRecordError",
    "DataLossError",
    "ExactlyOnceError",
    "FetchError",
    "OptionError",
    "SchemaError",
]
