"""Compares cykafka with plain C over the same librdkafka and with confluent-kafka, and writes docs/benchmarks.

Usage: python -m tests.benchmarks [--rounds N] [--paths produce,report,...] [--no-write]

Every measurement is a process of its own; the subjects take turns, so that what else the machine does hits them all.
The broker is a real Kafka on the same machine. Medians and the spread between quartiles are reported, never a verdict.
"""

import argparse
import dataclasses
import datetime as dt
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from cykafka import Producer, libversion, version
from tests.support import wire
from tests.support.fixtures import running
from tests.support.kafka import KafkaServer

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "docs" / "benchmarks"
SIZE = 100


@dataclasses.dataclass(frozen=True)
class Route:
    """A way through a client that is measured."""

    name: str
    title: str
    messages: int


PATHS = [
    Route("produce", "produce() without callback", 400_000),
    Route("report", "produce() with delivery callback, until all reports are in", 200_000),
    Route("poll", "poll() of prefetched messages", 300_000),
    Route("consume", "consume(10000) of prefetched messages, value() read", 300_000),
    Route("roundtrip", "round trip of one message: produce() to its report", 3_000),
]
SUBJECTS = ["C", "confluent_kafka", "cykafka"]


def compile_limit(folder: Path) -> Path:
    """Compile the C program against the library that the module is built with."""
    sys.path.insert(0, str(ROOT / "librdkafka"))
    from build import compiler, ensure

    library = ensure()
    program = folder / "limit"
    source = Path(__file__).with_name("c") / "limit.c"
    subprocess.run([*compiler(), "-O3", "-o", program, source, *library.compile_flags, *library.link_flags], check=True)
    return program


def measure(subject: str, limit: Path, path: Route, servers: str, topic: str) -> list[float]:
    """Run one measurement; returns nanoseconds: one for each message, or for a round trip one for each trip."""
    command = (
        [str(limit), path.name]
        if subject == "C"
        else [sys.executable, "-m", "tests.benchmarks.subject", subject, path.name]
    )
    command += [servers, topic, str(path.messages), str(SIZE)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment, timeout=300
    )
    if result.returncode != 0:
        raise SystemExit(f"{subject} {path.name} failed: {result.stderr.strip()[-2000:]}")
    nanoseconds = json.loads(result.stdout)["ns"]
    return nanoseconds if isinstance(nanoseconds, list) else [nanoseconds]


def run(rounds: int, paths: list[Route]) -> dict[str, dict[str, list[float]]]:
    """Measure every subject in turn, on one broker."""
    results: dict[str, dict[str, list[float]]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        running(KafkaServer(java_options=["-XX:TieredStopAtLevel=4", "-Xmx2g"])) as kafka,
    ):
        limit = compile_limit(Path(folder))
        servers = kafka.bootstrap_servers
        for topic in ("read", "write"):
            wire.create_topic(servers, topic)
        most = max(path.messages for path in PATHS)
        with Producer(bootstrap_servers=servers, queue_buffering_max_messages=10_000_000) as producer:
            for _ in range(most):
                producer.produce("read", b"x" * SIZE, None, 0)
        for path in paths:
            topic = "read" if path.name in ("poll", "consume") else "write"
            for number in range(rounds):
                for subject in SUBJECTS:
                    values = measure(subject, limit, path, servers, topic)
                    results.setdefault(path.name, {}).setdefault(subject, []).append(statistics.median(values))
                print(f"{path.name} {number + 1}/{rounds}", file=sys.stderr, flush=True)
    return results


def spread(values: list[float]) -> str:
    """Return the quartiles as text."""
    if len(values) < 2:
        return "-"
    low, _, high = statistics.quantiles(values, n=4)
    return f"{low:,.0f} to {high:,.0f}"


def table(results: dict[str, dict[str, list[float]]], paths: list[Route], command: str) -> str:
    """Return the report as Markdown."""
    lines = [
        "# Benchmarks",
        "",
        f"{SIZE}-byte messages, nanoseconds for each; medians over runs that took turns, each a process of its own, and",
        "the range between the quartiles. Lower is better. The broker ran on the same machine, so what needs it (reports,",
        "round trips) shares the cores with it.",
        "",
        "| path | C, the limit | confluent_kafka | cykafka | cykafka / confluent_kafka | cykafka / C |",
        "|---|---|---|---|---|---|",
    ]
    for path in paths:
        medians = {subject: statistics.median(results[path.name][subject]) for subject in SUBJECTS}
        cells = [f"{medians[subject]:,.0f} ({spread(results[path.name][subject])})" for subject in SUBJECTS]
        ratios = [medians["cykafka"] / medians["confluent_kafka"], medians["cykafka"] / medians["C"]]
        lines.append(f"| {path.title} | {' | '.join(cells)} | {ratios[0]:.2f} | {ratios[1]:.2f} |")
    import confluent_kafka

    facts = {
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {cpu_model()}, {platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "cykafka": f"{version()}, librdkafka {libversion()[0]}",
        "confluent_kafka": f"{confluent_kafka.version()}, librdkafka {confluent_kafka.libversion()[0]}",
        "clock": "CPU time of the calling thread" if "BENCHMARK_CPU_TIME" in os.environ else "wall time",
        "load when it began (1, 5, 15 minutes)": ", ".join(f"{load:.1f}" for load in os.getloadavg()),
        "command": f"`{'BENCHMARK_CPU_TIME=1 ' if 'BENCHMARK_CPU_TIME' in os.environ else ''}{command}`",
    }
    lines += [
        "",
        *(f"- {name}: {value}" for name, value in facts.items()),
        "",
        "![the same as a picture](benchmarks.png)",
        "",
    ]
    return "\n".join(lines)


def cpu_model() -> str:
    """Return the processor's name as Linux tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"


def draw(results: dict[str, dict[str, list[float]]], paths: list[Route], output: Path) -> None:
    """Draw medians with their quartiles."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(paths), figsize=(3.2 * len(paths), 3.6), layout="constrained", squeeze=False)
    for axis, path in zip(axes[0], paths, strict=True):
        medians = [statistics.median(results[path.name][subject]) for subject in SUBJECTS]
        bars = axis.bar(SUBJECTS, medians, color=["#a0aec0", "#ed8936", "#2b6cb0"])
        axis.bar_label(bars, fmt="%.0f")
        axis.set_title(path.name)
        axis.set_ylabel("ns a message")
        axis.tick_params(axis="x", labelrotation=20)
    figure.savefig(output, dpi=110)


def main() -> None:
    """Run the benchmarks and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="runs of each subject (default %(default)s)")
    parser.add_argument(
        "--paths", default=",".join(path.name for path in PATHS), help="which paths (default %(default)s)"
    )
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    paths = [path for path in PATHS if path.name in options.paths.split(",")]
    results = run(options.rounds, paths)
    report = table(results, paths, f"python -m tests.benchmarks --rounds {options.rounds}")
    print(report)
    if not options.no_write:
        OUTPUT.mkdir(parents=True, exist_ok=True)
        (OUTPUT / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        (OUTPUT / "index.md").write_text(report)
        draw(results, paths, OUTPUT / "benchmarks.png")


if __name__ == "__main__":
    main()
