"""Measure a cluster and this client: throughput and latency, with percentiles and a picture."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cykafka import Consumer, Histogram, KafkaError, KafkaException, Message, Producer, TopicPartition
from cykafka.cli.connection import Connection, connected

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99, 100.0)
#: Latencies are kept in microseconds, up to ten minutes, to three digits.
HIGHEST_US = 600_000_000


@click.group()
def perf() -> None:
    """Measure throughput and latency."""


def progress(connection: Connection) -> Progress:
    """Return a progress bar on standard error; none for programs."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=connection.output.errors,
        disable=connection.output.as_json or not connection.output.errors.is_terminal,
    )


def new_histogram() -> Histogram:
    """Return a histogram for latencies in microseconds."""
    return Histogram(1, HIGHEST_US, 3)


def percentile_name(percentile: float) -> str:
    """Return the name of a percentile in results."""
    return "max_us" if percentile == 100 else f"p{percentile:g}_us"


def report(connection: Connection, facts: dict[str, Any], histogram: Histogram | None, plot: Path | None) -> None:
    """Print the result and draw the percentiles."""
    if histogram is not None and histogram.count:
        facts |= {percentile_name(each): histogram.percentile(each) for each in PERCENTILES}
    connection.output.facts(facts)
    if plot is not None and histogram is not None:
        draw(histogram, plot)
        connection.output.note(f"picture: {plot}")


def draw(histogram: Histogram, path: Path) -> None:
    """Draw latency over percentile, the tail spread out as is usual."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise click.ClickException("pictures need matplotlib: pip install cykafka[plot]") from error
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    shares = [0.0, *(1 - 10 ** (-step / 20) for step in range(1, 101))]
    values = [histogram.percentile(share * 100) for share in shares]
    figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
    axis.plot([1 / (1 - share) for share in shares], values, color="#2b6cb0")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks([1, 2, 10, 100, 1000, 10_000, 100_000], ["0", "50", "90", "99", "99.9", "99.99", "99.999"])
    axis.set_xlabel("percentile")
    axis.set_ylabel("microseconds")
    axis.set_title(f"{histogram.count:,} messages")
    axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def common(function: Any) -> Any:
    """Give a command the options of all measurements."""
    for option in (
        click.option("-c", "--count", type=click.IntRange(min=1), default=100_000, show_default=True, help="Messages."),
        click.option(
            "--plot", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Picture of the latencies."
        ),
    ):
        function = option(function)
    return function


@perf.command("produce")
@click.argument("topic")
@common
@click.option("-s", "--size", type=click.IntRange(min=0), default=100, show_default=True, help="Bytes of a value.")
@click.option("-r", "--rate", type=click.FloatRange(min=0, min_open=True), help="Messages a second; else all at once.")
@connected
def measure_produce(
    connection: Connection, topic: str, count: int, plot: Path | None, size: int, rate: float | None
) -> None:
    """Produce to TOPIC as fast as can be, or at a rate; the latency is from produce() to the acknowledgement."""
    histogram = new_histogram()
    failed: list[KafkaError] = []
    payload = secrets.token_bytes(size)

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is None:
            histogram.record(int((message.latency() or 0.0) * 1e6))
        else:
            failed.append(error)

    with Producer(connection.config() | {"on_delivery": on_delivery}) as producer, progress(connection) as bar:
        producer.list_topics(topic, connection.timeout)
        task = bar.add_task(f"produce to {topic}", total=count)
        start = time.perf_counter()
        for number in range(count):
            producer.produce(topic, payload, timeout=-1)
            if number % 256 == 0:
                producer.poll(0)
                bar.update(task, completed=number)
                if rate is not None:
                    ahead = start + number / rate - time.perf_counter()
                    if ahead > 0:
                        producer.flush(0)
                        time.sleep(ahead)
        producer.flush()
        seconds = time.perf_counter() - start
        bar.update(task, completed=count)
    if failed:
        raise click.ClickException(f"{len(failed)} messages were not delivered: {failed[0].str()}")
    facts = {
        "messages": count,
        "seconds": round(seconds, 3),
        "messages_per_second": round(count / seconds),
        "megabytes_per_second": round(count * size / seconds / 1e6, 3),
    }
    report(connection, facts, histogram, plot)


@perf.command("consume")
@click.argument("topic")
@click.option("-c", "--count", type=click.IntRange(min=1), help="Messages; else all there are.")
@connected
def measure_consume(connection: Connection, topic: str, count: int | None) -> None:
    """Consume TOPIC from its beginning as fast as can be."""
    config = connection.config(group_id="cykafka-perf", enable_auto_commit=False)
    with Consumer(config) as consumer, progress(connection) as bar:
        metadata = connection.topic(consumer, topic)
        partitions = [TopicPartition(topic, number) for number in metadata.partitions]
        total = 0
        for partition in partitions:
            low, high = consumer.get_watermark_offsets(partition, connection.timeout)
            partition.offset = low
            total += high - low
        wanted = total if count is None else min(count, total)
        if not wanted:
            raise click.ClickException(f"{topic} is empty")
        task = bar.add_task(f"consume {topic}", total=wanted)
        got = size = 0
        consumer.assign(partitions)
        start = time.perf_counter()
        last = start
        while got < wanted:
            batch = consumer.consume(min(10_000, wanted - got), 1.0)
            for message in batch:
                error = message.error()
                if error is not None:
                    raise KafkaException(error)
                size += len(message)
            got += len(batch)
            now = time.perf_counter()
            if batch:
                last = now
            elif now - last > connection.timeout:
                # Transaction markers have offsets too: there may be fewer messages than the watermarks tell.
                break
            bar.update(task, completed=got)
        seconds = max(last - start, 1e-9)
    facts = {
        "messages": got,
        "seconds": round(seconds, 3),
        "messages_per_second": round(got / seconds),
        "megabytes_per_second": round(size / seconds / 1e6, 3),
    }
    report(connection, facts, None, None)


@perf.command("latency")
@click.argument("topic")
@common
@click.option("-s", "--size", type=click.IntRange(min=16), default=100, show_default=True, help="Bytes of a value.")
@connected
def measure_latency(connection: Connection, topic: str, count: int, plot: Path | None, size: int) -> None:
    """Send single messages through TOPIC and back: from produce() until poll() returns them."""
    histogram = new_histogram()
    nonce = secrets.token_bytes(8)
    padding = bytes(size - 16)
    with (
        Producer(connection.config(linger_ms=0)) as producer,
        Consumer(
            connection.config(group_id="cykafka-perf", enable_auto_commit=False, fetch_wait_max_ms=10)
        ) as consumer,
        progress(connection) as bar,
    ):
        metadata = connection.topic(consumer, topic)
        partition = TopicPartition(topic, min(metadata.partitions))
        partition.offset = consumer.get_watermark_offsets(partition, connection.timeout)[1]
        consumer.assign([partition])
        task = bar.add_task(f"through {topic}", total=count)
        for number in range(count):
            value = nonce + number.to_bytes(8, "big") + padding
            start = time.perf_counter_ns()
            producer.produce(topic, value, partition=partition.partition)
            while True:
                message = consumer.poll(connection.timeout)
                if message is None:
                    raise click.ClickException(f"message {number} did not come back within {connection.timeout:g} s")
                error = message.error()
                if error is not None:
                    raise KafkaException(error)
                if (message.value() or b"")[:16] == value[:16]:
                    break
            histogram.record((time.perf_counter_ns() - start) // 1000)
            producer.poll(0)
            if number % 64 == 0:
                bar.update(task, completed=number)
        bar.update(task, completed=count)
    report(connection, {"messages": count, "mean_us": round(histogram.mean, 1)}, histogram, plot)
