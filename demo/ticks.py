"""The main job in one picture: market ticks through a cluster, from one process to another.

Usage: make demo, or python demo/ticks.py [--ticks N] [--rate N] [--output FILE]

Starts an embedded cluster (or uses KAFKA_BOOTSTRAP_SERVERS), produces ticks in a child process, consumes them here,
and writes a picture of their latencies.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from cykafka import Consumer, KafkaException, Producer, TopicPartition, libversion, version
from cykafka.admin import AdminClient, NewTopic
from cykafka.testing import MockCluster

TOPIC = f"ticks-{os.getpid()}"
PARTITIONS = 4
SYMBOLS = ["ABC", "DEF", "GHI", "JKL", "MNO", "PQR", "STU", "VWX"]
#: Price, size, source sequence, time of sending in nanoseconds.
TICK = struct.Struct("<ddqq")


def produce_ticks(servers: str, ticks: int, rate: int, topic: str) -> None:
    """Produce ticks at a steady rate; runs in a process of its own."""
    prices = {symbol: random.uniform(50, 150) for symbol in SYMBOLS}
    failed = 0

    def on_delivery(error: object, _message: object) -> None:
        nonlocal failed
        failed += error is not None

    with Producer(bootstrap_servers=servers, linger_ms=1, on_delivery=on_delivery) as producer:
        start = time.perf_counter()
        for sequence in range(ticks):
            symbol = SYMBOLS[sequence % len(SYMBOLS)]
            prices[symbol] += random.gauss(0, 0.01)
            value = TICK.pack(prices[symbol], random.randrange(1, 100), sequence, time.time_ns())
            producer.produce(topic, value, symbol, timeout=10)
            if sequence % 100 == 0:
                producer.poll(0)
                ahead = start + sequence / rate - time.perf_counter()
                if ahead > 0:
                    time.sleep(ahead)
        producer.flush(30)
    if failed:
        sys.exit(f"{failed} ticks were not delivered")


def consume_ticks(servers: str, ticks: int, topic: str) -> tuple[list[int], float]:
    """Consume the ticks with a progress bar; return their latencies in nanoseconds and the time it took."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    latencies: list[int] = []
    columns = (TextColumn("ticks"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Consumer(bootstrap_servers=servers, group_id="demo", fetch_wait_max_ms=1) as consumer,
        Progress(*columns) as bar,
    ):
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        task = bar.add_task("ticks", total=ticks)
        begin = 0.0
        while len(latencies) < ticks:
            messages = consumer.consume(10_000, timeout=20)
            if not messages:
                raise SystemExit(f"no ticks for 20 s: {len(latencies)} of {ticks} have come")
            now = time.time_ns()
            begin = begin or time.perf_counter()
            for message in messages:
                if message.error() is not None:
                    raise KafkaException(message.error())
                latencies.append(now - TICK.unpack(message.value())[3])
            bar.update(task, completed=len(latencies))
        return latencies, time.perf_counter() - begin


def draw(latencies: list[int], output: Path) -> None:
    """Write a picture: latency over time, and its distribution by percentile."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    milliseconds = [latency / 1e6 for latency in latencies]
    ordered = sorted(milliseconds)
    figure, (over_time, percentiles) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    step = max(len(milliseconds) // 20_000, 1)
    over_time.plot(range(0, len(milliseconds), step), milliseconds[::step], ",", color="#2b6cb0")
    over_time.set(
        title="Latency of each tick",
        xlabel="tick",
        ylabel="ms",
        ylim=(0, ordered[int(len(ordered) * 0.999)] * 1.2),
    )
    shown = [0, 50, 75, 90, 95, 99, 99.9, 99.99]
    values = [ordered[min(int(len(ordered) * p / 100), len(ordered) - 1)] for p in shown]
    percentiles.bar([f"p{p:g}" for p in shown], values, color="#2b6cb0")
    percentiles.bar_label(percentiles.containers[0], fmt="%.2f")
    percentiles.set(title="Latency by percentile", ylabel="ms")
    figure.suptitle(f"cykafka {version()[0]}, librdkafka {libversion()[0]}: producer process to consumer process")
    figure.savefig(output, dpi=120)


def main() -> int:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ticks", type=int, default=300_000, help="how many (default %(default)s)")
    parser.add_argument("--rate", type=int, default=60_000, help="ticks a second (default %(default)s)")
    parser.add_argument(
        "--output", type=Path, default=Path("build/demo-latency.png"), help="picture (default %(default)s)"
    )
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)

    with contextlib.ExitStack() as stack:
        servers = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
        if servers:
            print(f"using the cluster at {servers}")
            with AdminClient(bootstrap_servers=servers) as admin:
                admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(30)
        else:
            cluster = stack.enter_context(MockCluster(3))
            servers = cluster.bootstrap_servers
            print(f"embedded cluster of {cluster.num_brokers} brokers at {servers}")
            cluster.create_topic(TOPIC, PARTITIONS, 3)
        producer = multiprocessing.get_context("spawn").Process(
            target=produce_ticks, args=(servers, options.ticks, options.rate, TOPIC), daemon=True
        )
        producer.start()
        latencies, seconds = consume_ticks(servers, options.ticks, TOPIC)
        producer.join(30)
        if producer.exitcode:
            return 1

    ordered = sorted(latencies)
    print(f"{len(latencies):,} ticks in {seconds:.1f} s: {len(latencies) / seconds:,.0f} ticks/s")
    for percentile in (50, 90, 99, 99.9):
        print(f"latency p{percentile:<5g} {ordered[int(len(ordered) * percentile / 100)] / 1e6:8.2f} ms")
    draw(latencies, options.output)
    print(f"picture: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
