"""Market data on Spark in one picture: ticks through a cluster, made into bars as they come.

Usage: make demo, or python demo/market.py [--seconds N] [--rate N] [--output FILE]

Starts an embedded cluster (or uses KAFKA_BOOTSTRAP_SERVERS), sends the ticks of a made-up market with faults from a
child process, runs the pipeline `cykafka.spark.market` on a local Spark, and shows its bars and latencies. Without a
Java it says so and ends.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from cykafka.admin import AdminClient, NewTopic
from cykafka.spark.market import MarketSettings, MarketStream, Places, make_session, start
from cykafka.spark.market.__main__ import explain
from cykafka.spark.market.session import MissingJavaError, ensure_java
from cykafka.testing import MockCluster

PARTITIONS = 4
#: Remembers what exactly-once delivery has written; the embedded cluster creates no topics by itself.
MARKERS, MARKER_PARTITIONS = "cykafka-spark-markers", 64
LOG = Path("build/demo-spark.log")
_SOURCES = Path(__file__).resolve().parents[1] / "src"
_MOST_SECONDS = 180.0
_LAST_SECONDS = 20.0


@contextlib.contextmanager
def cluster(topics: list[str]) -> Iterator[str]:
    """Start an embedded cluster, or take the one of the environment; create topics and yield the brokers."""
    servers = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
    if servers:
        print(f"using the cluster at {servers}")
        with AdminClient(bootstrap_servers=servers) as admin:
            for created in admin.create_topics([NewTopic(name, PARTITIONS) for name in topics]).values():
                created.result(30)
        yield servers
        return
    with MockCluster(3) as embedded:
        print(f"embedded cluster of {embedded.num_brokers} brokers at {embedded.bootstrap_servers}")
        for name in topics:
            embedded.create_topic(name, PARTITIONS, 3)
        embedded.create_topic(MARKERS, MARKER_PARTITIONS, 3)
        yield embedded.bootstrap_servers


@contextlib.contextmanager
def errors_into(path: Path) -> Iterator[None]:
    """Let what Java and Spark's workers write to the standard error stream go to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def follow(stream: MarketStream, generator: subprocess.Popen[str], expected: int) -> str:
    """Show how far the stream is until it has read all ticks; return what the generator says."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("ticks"), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn())
    said = ""
    with Progress(*columns, TextColumn("{task.description}")) as shown:
        task = shown.add_task("Spark starts", total=expected)
        deadline = time.monotonic() + _MOST_SECONDS
        while True:
            stream.wait(0.5)
            progress = stream.update()
            bars = progress["bars"]
            if bars.rows:
                text = f"{bars.rows_per_second:,.0f}/s"
                shown.update(task, completed=bars.rows, description=text)
            if not said and generator.poll() is not None:
                said = generator.stdout.read().splitlines()[-1] if generator.stdout is not None else ""
                expected = int(said.split()[0].replace(",", ""))
                shown.update(task, total=expected)
                deadline = time.monotonic() + _MOST_SECONDS
            if said and all(each.rows >= expected for each in progress.values()):
                last_bars(stream)
                return said
            if time.monotonic() > deadline:
                raise SystemExit(
                    f"Spark has read {bars.rows:,} of {expected:,} ticks in {_MOST_SECONDS:.0f} s: see {LOG}"
                )


def last_bars(stream: MarketStream) -> None:
    """Wait for the micro-batch that makes the bars of the last ticks, as far as the watermark lets it."""
    last = stream.progress["bars"].batch
    deadline = time.monotonic() + _LAST_SECONDS
    while stream.update()["bars"].batch == last and time.monotonic() < deadline:
        stream.wait(0.2)


def run(options: argparse.Namespace, servers: str, ticks: str, bars: str, folder: str) -> int:
    """Send ticks, run the pipeline on them, and show what it has made."""
    from cykafka.spark.market.report import describe, draw, make_report

    count = int(options.seconds * options.rate)
    # Short waits for late ticks, so that bars appear soon.
    times = {"lateness": "2s", "ahead": "500ms", "slack": "1500ms", "widths": "1s,5s,15s"}
    settings = MarketSettings.parse({"bootstrap-servers": servers, "ticks-topic": ticks, "bars-topic": bars, **times})
    print(f"Spark's own messages go to {LOG}")
    with errors_into(LOG):
        conf = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        spark = make_session("local[*]", conf)
        command = [sys.executable, "-m", "cykafka.spark.market", "generate", "--bootstrap-servers", servers]
        command += ["--ticks-topic", ticks, "--ticks", str(count), "--rate", str(options.rate), "--lateness", "2s"]
        command += ["--gap", "0.0002", "--late", "0.0005", "--malformed", "0.0001"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_SOURCES), os.environ.get("PYTHONPATH", "")])}
        places = Places(folder)
        try:
            with (
                start(spark, settings, places) as stream,
                subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as generator,
            ):
                try:
                    said = follow(stream, generator, count)
                finally:
                    generator.terminate()
            report = make_report(spark, places)
        finally:
            spark.stop()
    print(f"sent: {said}\n")
    print(describe(report))
    draw(report, options.output)
    print(f"\npicture: {options.output}")
    return 0


def main() -> int:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=40, help="how long ticks are sent (default %(default)s)")
    parser.add_argument("--rate", type=int, default=4_000, help="ticks a second (default %(default)s)")
    parser.add_argument(
        "--output", type=Path, default=Path("build/demo-market.png"), help="picture (default %(default)s)"
    )
    options = parser.parse_args()
    try:
        ensure_java()
    except MissingJavaError as error:
        print(f"the part on Spark is left out: {error}")
        return 0
    ticks, bars = f"ticks-{os.getpid()}", f"bars-{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="cykafka-demo-") as folder, cluster([ticks, bars]) as servers:
        try:
            return run(options, servers, ticks, bars, folder)
        except Exception as error:  # noqa: BLE001 - whatever Spark raises
            print(f"error: {explain(error)} (more is in {LOG})", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
