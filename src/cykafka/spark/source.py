"""The PySpark data source ``cykafka``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)

from cykafka.spark.decode import kafka_schema
from cykafka.spark.errors import OptionError
from cykafka.spark.options import read_options, write_options

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

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return a writer for a batch.

        Args:
            schema: Schema of the rows.
            overwrite: Whether what is there is to be replaced, which Kafka cannot do.

        Raises:
            OptionError: An option is wrong.
            SchemaError: A column is missing or has a wrong type.
        """
        from cykafka.spark import writer

        _check_append(overwrite=overwrite)
        return writer.KafkaBatchWriter(write_options(self.options, streaming=False), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """Return a writer for a stream.

        Args:
            schema: Schema of the rows.
            overwrite: Whether each batch is to replace what is there (output mode complete): rows are
                appended.

        Raises:
            OptionError: An option is wrong.
            SchemaError: A column is missing or has a wrong type.
        """
        from cykafka.spark import writer

        del overwrite
        return writer.KafkaStreamWriter(write_options(self.options, streaming=True), schema)


def _check_append(*, overwrite: bool) -> None:
    if overwrite:
        raise OptionError("mode", 'a topic cannot be overwritten; use .mode("append")')
