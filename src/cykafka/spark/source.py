"""The PySpark data source ``cykafka``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

from cykafka.spark.decode import kafka_schema
from cykafka.spark.options import read_options

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class KafkaDataSource(DataSource):
    """Kafka as a data source of PySpark: ``spark.read.format("cykafka")`` and so on for streams and sinks.

    PySpark finds it by itself when cykafka is installed. The options are those of Spark's own ``kafka``
    source; see the guide on Spark.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "cykafka"

    def schema(self) -> str:
        """Return the schema of reads without a schema of the user's, as DDL.

        Raises:
            OptionError: An option is wrong, or a format needs a schema.
        """
        return kafka_schema(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader for a batch.

        Args:
            schema: Schema of the rows.

        Raises:
            OptionError: An option is wrong.
            SchemaError: A column does not belong to the schema.
        """
        from cykafka.spark import reader

        options = read_options(self.options, streaming=False)
        if reader.filter_pushdown_is_on():
            return reader.KafkaFilteringBatchReader(options, schema)
        return reader.KafkaBatchReader(options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - the name is Spark's
        """Return a reader for a stream.

        Args:
            schema: Schema of the rows.

        Raises:
            OptionError: An option is wrong.
            SchemaError: A column does not belong to the schema.
        """
        from cykafka.spark import reader

        return reader.KafkaStreamReader(read_options(self.options, streaming=True), schema)
