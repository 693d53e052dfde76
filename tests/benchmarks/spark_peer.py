"""A PySpark data source over confluent-kafka, as one writes it: what the benchmark compares with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

_BATCH = 10_000


class PeerDataSource(DataSource):
    """``peer``: batch reads of whole topics, options ``servers`` and ``topic``."""

    @classmethod
    def name(cls) -> str:
        return "peer"

    def schema(self) -> str:
        return "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"

    def reader(self, schema: Any) -> PeerReader:
        return PeerReader(dict(self.options), schema)


class PeerReader(DataSourceReader):
    def __init__(self, options: dict[str, str], schema: Any) -> None:
        self._options = options
        self._schema = schema

    def _consumer(self) -> Any:
        from confluent_kafka import Consumer

        return Consumer(
            {"bootstrap.servers": self._options["servers"], "group.id": "peer", "enable.auto.commit": False}
        )

    def partitions(self) -> list[InputPartition]:
        from confluent_kafka import TopicPartition

        topic = self._options["topic"]
        consumer = self._consumer()
        found = []
        for number in consumer.list_topics(topic, timeout=30).topics[topic].partitions:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=30)
            found.append(InputPartition((number, low, high)))
        consumer.close()
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from confluent_kafka import TopicPartition
        from pyspark.sql.pandas.types import to_arrow_schema

        number, position, end = partition.value
        schema = to_arrow_schema(self._schema, timezone="UTC")
        consumer = self._consumer()
        consumer.assign([TopicPartition(self._options["topic"], number, position)])
        while position < end:
            messages = [each for each in consumer.consume(_BATCH, 10) if each.error() is None and each.offset() < end]
            if not messages:
                raise RuntimeError("nothing came")
            position = messages[-1].offset() + 1
            stamps = [each.timestamp() for each in messages]
            columns = [
                [each.key() for each in messages],
                [each.value() for each in messages],
                [each.topic() for each in messages],
                [each.partition() for each in messages],
                [each.offset() for each in messages],
                [moment * 1000 for _, moment in stamps],
                [kind - 1 for kind, _ in stamps],
            ]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        consumer.close()
