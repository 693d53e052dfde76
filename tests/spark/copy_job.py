"""A program that copies a topic by a streaming query: what the tests kill.

`python -m tests.spark.copy_job '{"master": "local[2]", ...}'`, with the fields of `CopyJob`.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery


@dataclass(frozen=True)
class CopyJob:
    """What is copied, and how.

    Attributes:
        servers: Bootstrap servers.
        source: Topic that is read.
        sink: Topic that is written.
        checkpoint: Folder of the checkpoint.
        sink_format: Data source of the sink.
        sink_options: Its options.
        source_options: More options of the source.
        master: Spark master, or ``connect`` for a Spark Connect server.
        config: More settings of Spark.
    """

    servers: str
    source: str
    sink: str
    checkpoint: str
    sink_format: str = "cykafka"
    sink_options: dict[str, str] = field(default_factory=dict)
    source_options: dict[str, str] = field(default_factory=dict)
    master: str = "local[2]"
    config: dict[str, str] = field(default_factory=dict)

    def start(self, session: SparkSession) -> StreamingQuery:
        """Start the query; it ends when it has copied what is there."""
        if self.sink_format != "cykafka":
            from tests.spark.faults import FaultyDataSource

            session.dataSource.register(FaultyDataSource)
        frame = (
            session.readStream.format("cykafka")
            .option("kafka.bootstrap.servers", self.servers)
            .option("subscribe", self.source)
            .option("startingOffsets", "earliest")
            .options(**self.source_options)
            .load()
        )
        return (
            frame.select("key", "value")
            .writeStream.format(self.sink_format)
            .option("kafka.bootstrap.servers", self.servers)
            .option("topic", self.sink)
            .options(**self.sink_options)
            .option("checkpointLocation", self.checkpoint)
            .trigger(availableNow=True)
            .start()
        )

    def command(self) -> list[str]:
        """The command that runs it in a process of its own."""
        return [sys.executable, "-m", "tests.spark.copy_job", json.dumps(asdict(self))]


def run(job: CopyJob) -> None:
    """Run a job in a session of its own."""
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    if job.master == "connect":
        # Lets Spark choose a free port for the server that it starts.
        os.environ["SPARK_TESTING"] = "1"
        builder = builder.remote("local[2]")
    else:
        builder = builder.master(job.master)
    for name, value in {"spark.ui.enabled": "false", "spark.app.name": "copy", **job.config}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    if job.master != "connect":
        session.sparkContext.setLogLevel("ERROR")
    print("started", flush=True)
    job.start(session).awaitTermination()
    written = (
        session.read.format("cykafka")
        .option("kafka.bootstrap.servers", job.servers)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", job.sink)
        .option("minPartitions", 8)
        .load()
        .selectExpr("count(*) rows", "count(distinct value) values")
    )
    print(f"done: {written.collect()[0].asDict()}", flush=True)
    session.stop()


if __name__ == "__main__":
    run(CopyJob(**json.loads(sys.argv[1])))
