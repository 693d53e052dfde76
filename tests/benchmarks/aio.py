"""Compares the asyncio clients of cykafka, confluent-kafka and aiokafka, and writes docs/benchmarks/asyncio.md.

Usage: python -m tests.benchmarks.aio [--rounds N] [--paths poll,consume,pipeline,roundtrip] [--no-write]

Every measurement is a process of its own; the subjects take turns, so that what else the machine does hits them all.
The broker is a real Kafka on the same machine. Medians and the spread between quartiles, never a verdict.
"""

import argparse
import datetime as dt
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version as version_of
from pathlib import Path

from cykafka import Producer, libversion, version
from tests.benchmarks.__main__ import OUTPUT, ROOT, SIZE, Route, compile_limit, cpu_model
from tests.support import wire
from tests.support.fixtures import running
from tests.support.kafka import KafkaServer

PATHS = [
    Route("poll", "`await poll()` of prefetched messages, one at a time", 100_000),
    Route("consume", "`await consume(1000)` of prefetched messages", 300_000),
    Route("pipeline", "produced one after the other, then all deliveries awaited", 100_000),
    Route("roundtrip", "awaiting each delivery", 2_000),
]
SUBJECTS = ["cykafka", "cykafka+uvloop", "confluent_kafka", "aiokafka"]
#: confluent_kafka waits for its batch timer, a second or more, in each.
FEW_ROUND_TRIPS = 2
Results = dict[str, dict[str, list[dict[str, float]]]]


def measure(subject: str, path: Route, servers: str, topic: str, limit: Path) -> dict[str, float]:
    """Run one measurement; returns nanoseconds a message, by the clock and of the loop's thread."""
    count = path.messages
    if subject == "confluent_kafka" and path.name == "roundtrip":
        count = FEW_ROUND_TRIPS
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    environment.pop("BENCHMARK_CPU_TIME", None)
    arguments = [path.name, servers, topic, str(count), str(SIZE)]
    command = [sys.executable, "-m", "tests.benchmarks.aio_subject", subject, *arguments]
    if subject == "C":
        command = [str(limit), *arguments]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment, timeout=300
    )
    if result.returncode != 0:
        raise SystemExit(f"{subject} {path.name} failed: {result.stderr.strip()[-2000:]}")
    values: dict[str, float] = json.loads(result.stdout)
    if subject == "C":
        return {"wall": statistics.mean(json.loads(result.stdout)["ns"])}
    return values


def run(rounds: int, paths: list[Route]) -> Results:
    """Measure every subject in turn, on one broker."""
    results: Results = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        running(KafkaServer(java_options=["-XX:TieredStopAtLevel=4", "-Xmx2g"])) as kafka,
    ):
        limit = compile_limit(Path(folder))
        servers = kafka.bootstrap_servers
        for topic in ("read", "write"):
            wire.create_topic(servers, topic)
        with Producer(bootstrap_servers=servers, queue_buffering_max_messages=10_000_000) as producer:
            for _ in range(max(path.messages for path in PATHS) + 1):
                producer.produce("read", b"x" * SIZE, None, 0)
        for path in paths:
            topic = "read" if path.name in ("poll", "consume") else "write"
            for number in range(rounds):
                for subject in [*SUBJECTS, "C"] if path.name == "roundtrip" else SUBJECTS:
                    values = measure(subject, path, servers, topic, limit)
                    results.setdefault(path.name, {}).setdefault(subject, []).append(values)
                print(f"{path.name} {number + 1}/{rounds}", file=sys.stderr, flush=True)
    return results


def table(results: Results, paths: list[Route], load: str, command: str) -> str:
    """Return the report as Markdown."""
    lines = [
        "# asyncio",
        "",
        f"{SIZE}-byte messages, microseconds for each; medians over runs that took turns, each a process of its own, and the",
        "range between the quartiles. Lower is better. The CPU time is the loop's thread's alone: confluent_kafka works on",
        "other threads besides. The broker ran on the same machine and shares its cores.",
        "",
        "| path | client | time | CPU time of the loop's thread | ratio of times |",
        "|---|---|---|---|---|",
    ]
    for path in paths:
        measured = results[path.name]
        own = statistics.median(values["wall"] for values in measured["cykafka"])
        for subject, runs in measured.items():
            cells = []
            for clock in ("wall", "cpu"):
                times = [values[clock] / 1000 for values in runs if clock in values]
                cells.append(f"{statistics.median(times):,.2f} ({quartiles(times)})" if times else "-")
            ratio = statistics.median(values["wall"] for values in runs) / own
            lines.append(f"| {path.title} | {subject} | {' | '.join(cells)} | {ratio:,.2f} |")
    facts = {
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {cpu_model()}, {platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "cykafka": f"{version()}, librdkafka {libversion()[0]}",
        **{name: version_of(name) for name in ("confluent-kafka", "aiokafka", "uvloop")},
        "load when it began (1, 5, 15 minutes)": load,
        "command": f"`{command}`",
    }
    return "\n".join([*lines, "", *(f"- {name}: {value}" for name, value in facts.items()), ""])


def quartiles(values: list[float]) -> str:
    """Return the quartiles as text."""
    return "-" if len(values) < 2 else " to ".join(f"{v:,.2f}" for v in statistics.quantiles(values, n=4)[::2])


def main() -> None:
    """Run the benchmarks and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="runs of each subject (default %(default)s)")
    parser.add_argument(
        "--paths", default=",".join(path.name for path in PATHS), help="which paths (default %(default)s)"
    )
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    paths = [path for path in PATHS if path.name in options.paths.split(",")]
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    results = run(options.rounds, paths)
    report = table(results, paths, load, f"python -m tests.benchmarks.aio --rounds {options.rounds}")
    print(report)
    if not options.no_write:
        OUTPUT.mkdir(parents=True, exist_ok=True)
        (OUTPUT / "asyncio.md").write_text(report)


if __name__ == "__main__":
    main()
