"""Compares the Spark data source with Spark's own connector and with a Python source over confluent-kafka.

Usage: python -m tests.benchmarks.spark [--rounds N] [--records N] [--paths sum,count,write,trigger]

One session, one real Kafka, all on this machine; the subjects take turns. Prints medians and the spread between
quartiles, never a verdict.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cykafka import Producer
from tests.spark.support import CONNECTOR, environment
from tests.support import jars, wire
from tests.support.fixtures import running
from tests.support.kafka import KafkaServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 4
SIZE = 100
JVM, OURS, PEER = "kafka", "cykafka", "peer"
TITLES = {JVM: "JVM connector 4.2.0", OURS: "cykafka", PEER: "Python source over confluent-kafka"}


def fill(servers: str, topic: str, records: int, partitions: int = PARTITIONS) -> None:
    """Create a topic with the records that are read, the same number in each partition."""
    import pyarrow as pa

    wire.create_topic(servers, topic, partitions, 1, {})
    chunk = 50_000
    config = {"bootstrap.servers": servers, "linger.ms": 20, "batch.num.messages": 50_000, "batch.size": 1_000_000}
    with Producer(config) as producer:
        for start in range(0, records, chunk):
            count = min(chunk, records - start)
            values = pa.array([b"%0100d" % number for number in range(start, start + count)], pa.binary())
            numbers = pa.array([number % partitions for number in range(start, start + count)], pa.int32())
            producer.produce_arrow(topic, pa.record_batch({"value": values, "partition": numbers}), timeout=60)
        assert producer.flush(120) == 0


def session(folder: Path) -> SparkSession:
    """A session that knows all subjects."""
    environment()
    from pyspark.sql import SparkSession

    from tests.benchmarks.spark_peer import PeerDataSource

    builder: Any = SparkSession.builder
    made: SparkSession = (
        builder.master("local[2]")
        .config("spark.jars", ",".join(map(str, jars.fetch(CONNECTOR))))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .config("spark.local.dir", str(folder))
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("OFF")
    made.dataSource.register(PeerDataSource)
    return made


def cpu_seconds(without: set[int]) -> float:
    """Processor time that this process and all below it have used: Spark's JVM and its Python workers."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, fields = int(file.parent.name), file.read_text().rpartition(")")[2].split()
            # Processes that have ended count for the one that waited for them.
            parents[pid], used[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    total = 0
    for pid, ticks in used.items():
        above = pid
        while above in parents and above != os.getpid() and above not in without:
            above = parents[above]
        if above == os.getpid():
            total += ticks
    return total / os.sysconf("SC_CLK_TCK")


class Benchmark:
    """What is measured; each method returns seconds.

    Args:
        spark: Session.
        servers: Bootstrap servers.
        records: Number of records.
        folder: Folder for checkpoints.
    """

    def __init__(self, spark: SparkSession, servers: str, records: int, folder: Path) -> None:
        self._spark = spark
        self._servers = servers
        self._records = records
        self._folder = folder
        self._topic = "bench-read"
        self._small = "bench-trigger"
        fill(servers, self._topic, records)
        fill(servers, self._small, PARTITIONS * 40)

    def sum(self, subject: str) -> float:
        """Read all values: sum(length(value))."""
        total, seconds = self._timed(lambda: self._read(subject).selectExpr("sum(length(value))").first()[0])
        assert total == SIZE * self._records
        return seconds

    def count(self, subject: str) -> float:
        """Read all records: count(*)."""
        total, seconds = self._timed(lambda: self._read(subject).count())
        assert total == self._records
        return seconds

    def write(self, subject: str, **options: str) -> float:
        """Write a million rows."""
        name = f"bench-write-{uuid.uuid4().hex[:8]}"
        wire.create_topic(self._servers, name, PARTITIONS, 1, {"retention.bytes": "1000000"})
        rows = self._spark.range(0, 1_000_000, 1, PARTITIONS).selectExpr("lpad(cast(id as string), 100, '0') value")
        writer = rows.write.format(subject).option("kafka.bootstrap.servers", self._servers).option("topic", name)
        return self._timed(lambda: writer.options(**options).mode("append").save())[1]

    def trigger(self, subject: str) -> float:
        """Run small micro-batches one after the other; the median of what a trigger takes."""
        frame = (
            self._spark.readStream.format(subject)
            .option("kafka.bootstrap.servers", self._servers)
            .option("subscribe", self._small)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", PARTITIONS)
            .load()
        )
        query = (
            frame.writeStream.format("noop")
            .option("checkpointLocation", str(self._folder / uuid.uuid4().hex))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        taken = [each["durationMs"]["triggerExecution"] for each in query.recentProgress if each["numInputRows"]]
        return statistics.median(taken[5:]) / 1000

    def _read(self, subject: str) -> DataFrame:
        reader = self._spark.read.format(subject)
        if subject == PEER:
            return reader.option("servers", self._servers).option("topic", self._topic).load()
        return reader.option("kafka.bootstrap.servers", self._servers).option("subscribe", self._topic).load()

    @staticmethod
    def _timed(action: Callable[[], Any]) -> tuple[Any, float]:
        start = time.perf_counter()
        result = action()
        return result, time.perf_counter() - start


SUBJECTS = {
    "sum": (JVM, OURS, PEER),
    "count": (JVM, OURS, PEER),
    "write": (JVM, OURS),
    "trigger": (JVM, OURS),
}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--paths", default=",".join(SUBJECTS))
    arguments = parser.parse_args()
    paths = arguments.paths.split(",")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running(KafkaServer(java_options=["-XX:TieredStopAtLevel=4", "-Xmx2g"])))
        brokers = {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}
        spark = session(folder)
        stack.callback(spark.stop)
        bench = Benchmark(spark, server.bootstrap_servers, arguments.records, folder)
        results: dict[tuple[str, str], list[float]] = {}
        processors: dict[tuple[str, str], list[float]] = {}
        # The first round warms up and does not count.
        for number in range(arguments.rounds + 1):
            for path in paths:
                for subject in SUBJECTS[path]:
                    before = cpu_seconds(brokers)
                    seconds = getattr(bench, path)(subject)
                    cpu = cpu_seconds(brokers) - before
                    told = f"{seconds:9.3f} s, {cpu:7.2f} s of processors, load {os.getloadavg()[0]:.1f}"
                    print(f"{number} {path:8}{subject:8}{told}", file=sys.stderr, flush=True)
                    if number:
                        results.setdefault((path, subject), []).append(seconds)
                        processors.setdefault((path, subject), []).append(cpu)
    print("| | subject | median s | quartiles | best | processor s |\n|---|---|---|---|---|---|")
    for (path, subject), taken in results.items():
        low, middle, high = statistics.quantiles(taken, n=4) if len(taken) > 1 else taken * 3
        cpu = statistics.median(processors[path, subject])
        spread = f"{middle:.3f} | {low:.3f} to {high:.3f} | {min(taken):.3f} | {cpu:.2f}"
        print(f"| {path} | {TITLES[subject]} | {spread} |")


if __name__ == "__main__":
    main()
