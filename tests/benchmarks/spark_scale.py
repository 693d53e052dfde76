"""Measures what a stream over 1,000 partitions costs: offsets, planning, tasks, memory of a worker, a trigger.

Usage: python -m tests.benchmarks.spark_scale [--partitions N] [--rows N] [--no-spark]

Offsets are asked of a real Kafka with so many partitions; the billion rows are simulated by their offsets alone.
"""

from __future__ import annotations

import argparse
import json
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cykafka.spark.metadata import KafkaMetadata
from cykafka.spark.offsets import StreamOffset, TopicPartition, to_json
from cykafka.spark.options import read_options
from cykafka.spark.planning import OffsetRange, group_ranges, plan_ranges, rate_limit
from tests.benchmarks.spark import fill, session
from tests.support.fixtures import running
from tests.support.kafka import KafkaServer

if TYPE_CHECKING:
    from collections.abc import Callable


def report(what: str, value: str) -> None:
    print(f"| {what} | {value} |", flush=True)


def best(action: Callable[[], Any], times: int = 5) -> float:
    """Milliseconds of the quickest run."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return min(taken) * 1000


def simulate(partitions: int, rows: int) -> None:
    """Plan a batch of so many rows."""
    start = {TopicPartition("ticks", number): 0 for number in range(partitions)}
    end = dict.fromkeys(start, rows // partitions)
    offset = StreamOffset(end)
    text = json.dumps(offset.to_json())
    report("offsets as JSON", f"{len(text) / 1024:.1f} KiB")
    report(
        "offsets to JSON and back",
        f"{best(lambda: StreamOffset.from_json(json.loads(json.dumps(offset.to_json())))):.1f} ms",
    )
    report("sharing out maxOffsetsPerTrigger", f"{best(lambda: rate_limit(rows // 100, start, end)):.1f} ms")
    ranges = [OffsetRange(each.topic, each.partition, start[each], end[each]) for each in start]
    for most in (None, 100_000):
        planned = plan_ranges(ranges, max_records_per_partition=most)
        tasks = group_ranges(planned, 1000)
        size = len(pickle.dumps(tasks))
        taken = best(lambda most=most: group_ranges(plan_ranges(ranges, max_records_per_partition=most), 1000))
        limit = "whole partitions" if most is None else f"maxRecordsPerPartition {most:,}"
        report(f"planning {len(tasks):,} tasks, {limit}", f"{taken:.1f} ms, {size / 1024:.0f} KiB pickled")


def ask(servers: str, topic: str) -> None:
    """Ask a real Kafka for the offsets."""
    options = read_options({"kafka.bootstrap.servers": servers, "subscribe": topic}, streaming=True)
    metadata = KafkaMetadata(options, "scale")
    start = time.perf_counter()
    found = metadata.latest()
    report("first time asking Kafka for all ends", f"{(time.perf_counter() - start) * 1000:.0f} ms")
    report("asking Kafka for all ends again", f"{best(metadata.latest):.1f} ms")
    report("asking Kafka for all starts", f"{best(lambda: metadata.earliest(found)):.1f} ms")
    assert to_json(found)
    metadata.close()


def peak_memory() -> float:
    """Most memory that this process has had, in MiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def read_one(servers: str, topic: str) -> None:
    """Read one partition as a task does and say how much memory that took; in a process of its own."""
    from cykafka.spark.fetch import RangeFetcher

    options = read_options({"kafka.bootstrap.servers": servers, "subscribe": topic}, streaming=True)
    before = peak_memory()
    rows = 0
    start = time.perf_counter()
    columns = ["key", "value", "topic", "partition", "offset", "timestamp", "timestamp_type"]
    for batch in RangeFetcher(options, "scale", columns, [OffsetRange(topic, 0, 0, 1_000_000)]).batches():
        rows += batch.num_rows
    taken = time.perf_counter() - start
    report("a task of 1,000,000 x 100 bytes without Spark", f"{rows / taken / 1e6:.1f} M rows/s")
    report("memory of a worker: with modules loaded, at most", f"{before:.0f} MiB, {peak_memory():.0f} MiB")


def trigger(servers: str, topic: str, folder: Path) -> None:
    """Run micro-batches over all partitions."""
    spark = session(folder)
    query = (
        spark.readStream.format("cykafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 10_000)
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    durations = [each["durationMs"] for each in query.recentProgress if each["numInputRows"]][1:]
    parts = {name: statistics.median(each[name] for each in durations) for name in durations[0]}
    report(
        "a trigger of 10,000 rows out of all partitions, small ranges put together",
        f"{parts['triggerExecution']:.0f} ms (queryPlanning {parts['queryPlanning']:.0f}, "
        f"walCommit {parts['walCommit']:.0f}, addBatch {parts['addBatch']:.0f})",
    )
    spark.stop()


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1_000_000_000)
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--read-one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read_one:
        read_one(arguments.read_one, "large")
        return
    print("| | |\n|---|---|")
    simulate(arguments.partitions, arguments.rows)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(running(KafkaServer(java_options=["-XX:TieredStopAtLevel=4", "-Xmx2g"])))
        servers = server.bootstrap_servers
        fill(servers, "large", 4_000_000)
        fill(servers, "wide", 50 * arguments.partitions, arguments.partitions)
        ask(servers, "wide")
        subprocess.run([sys.executable, "-m", "tests.benchmarks.spark_scale", "--read-one", servers], check=True)
        if not arguments.no_spark:
            trigger(servers, "wide", folder)


if __name__ == "__main__":
    main()
