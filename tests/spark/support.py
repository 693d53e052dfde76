"""What the tests of the Spark data source share."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cykafka import Producer
from tests.support.jars import Artifact, Bundle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming import StreamingQuery

_ALL = ("*:*",)

#: Spark's own connector. Its poms name repositories that need not be there, so nothing transitive is resolved.
CONNECTOR = Bundle(
    "spark-kafka-4.2.0",
    (
        Artifact("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0", without=_ALL),
        Artifact("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0", without=_ALL),
        Artifact("org.apache.kafka", "kafka-clients", "3.9.2", without=_ALL),
        Artifact("org.apache.commons", "commons-pool2", "2.13.1", without=_ALL),
    ),
)
JVM, OURS = "kafka", "cykafka"
_ROOT = Path(__file__).resolve().parents[2]
#: Folders in which Python workers find the package and the tests.
SOURCES = (str(_ROOT / "src"), str(_ROOT))


def environment() -> None:
    """Let Python workers run this interpreter and find the package and the tests."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(SOURCES)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ.setdefault("PYTHONWARNINGS", "ignore")


def send(kafka: Any, topic: str, values: Iterable[Any], *, partition: int | None = None, **fields: Any) -> None:
    """Produce records and wait until they are there.

    Args:
        kafka: Cluster.
        topic: Topic.
        values: Values; None, bytes or str.
        partition: Partition; by default the records go round robin over two.
        fields: More arguments of `Producer.produce`, the same for all.
    """
    with Producer({"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 0}) as producer:
        for number, value in enumerate(values):
            producer.produce(topic, value, partition=number % 2 if partition is None else partition, **fields)
        assert producer.flush(30) == 0


def read(session: SparkSession, form: str, kafka: Any, **options: Any) -> DataFrame:
    """Make a batch read; dots in names of options are written as two underscores."""
    reader = session.read.format(form).option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    return with_options(reader, options).load()


def read_stream(session: SparkSession, form: str, kafka: Any, **options: Any) -> DataFrame:
    """Make a streaming read; dots in names of options are written as two underscores."""
    reader = session.readStream.format(form).option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    return with_options(reader, options).load()


def with_options(builder: Any, options: dict[str, Any]) -> Any:
    """Set options; dots in names are written as two underscores, and `schema` is the schema."""
    for name, value in options.items():
        builder = builder.schema(value) if name == "schema" else builder.option(name.replace("__", "."), value)
    return builder


def rows(frame: DataFrame) -> list[Row]:
    """All rows, in the order of partition and offset."""
    return frame.orderBy("topic", "partition", "offset").collect()


def ranges(frame: DataFrame) -> list[tuple[str, int, int, int]]:
    """What each task reads: topic, partition, first and last offset."""
    from pyspark.sql import functions as F

    found = (
        frame.groupBy(F.spark_partition_id().alias("task"), "topic", "partition")
        .agg(F.min("offset").alias("first"), F.max("offset").alias("last"))
        .orderBy("topic", "partition", "first")
        .collect()
    )
    return [(each.topic, each.partition, each.first, each.last) for each in found]


def values(collected: Sequence[Row]) -> list[bytes]:
    """The values of rows."""
    return [bytes(each.value) for each in collected]


class Query:
    """A query from Kafka to Parquet files, with its checkpoint.

    Args:
        folder: Folder of its own.
    """

    def __init__(self, folder: Path) -> None:
        self.output = folder / "output"
        self.checkpoint = folder / "checkpoint"

    def start(self, frame: DataFrame, **trigger: Any) -> StreamingQuery:
        """Start it; by default it ends when it has read what is there now."""
        return (
            frame.writeStream.format("parquet")
            .option("path", str(self.output))
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(**trigger or {"availableNow": True})
            .start()
        )

    def run(self, frame: DataFrame, **trigger: Any) -> StreamingQuery:
        """Run it until it ends by itself."""
        query = self.start(frame, **trigger)
        assert query.awaitTermination(120), "the query has not ended"
        return query

    def rows(self, session: SparkSession) -> list[Row]:
        """What it has written."""
        return rows(session.read.parquet(str(self.output)))

    def offsets(self) -> list[dict[str, dict[str, int]]]:
        """End offsets of its batches, as the checkpoint has them."""
        files = sorted((self.checkpoint / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
        return [json.loads(file.read_text().splitlines()[2]) for file in files]

    def forget_last_commit(self) -> None:
        """Make it look as if the query had died before its last batch was done."""
        last = max((self.checkpoint / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
        last.unlink()
        (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
