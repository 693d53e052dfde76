"""The market pipeline as whole programs: by its command, killed and started again, by spark-submit, as a declarative pipeline."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs PySpark 4.2 or later: pip install cykafka[spark]")
pytest.importorskip("duckdb", reason="needs DuckDB as the yardstick: pip install duckdb")

import pyspark

from cykafka.spark.market import Places, declarative, read_bars, read_health, read_rejects
from cykafka.spark.market import __main__ as command
from tests.spark.market import PLAN, START, WIDTHS, by_key, consume, make_market
from tests.support import wire

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(900)]

LAST_EVENT = START + int((PLAN.ticks - 1) * 1e6 / PLAN.rate)
#: Lateness, ahead and slack of the tests' settings.
TRAIL_US = 7_000_000
LOCAL = ("spark.ui.enabled=false", "spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1")


@pytest.fixture(scope="module")
def market(kafka):
    made = make_market(kafka, PLAN)
    yield made
    for name in (made.ticks, made.bars):
        wire.delete_topic(kafka.bootstrap_servers, name)


@pytest.fixture(scope="module")
def emitted(market):
    """The bars that a stream emits, by DuckDB."""
    ends = {key: key[2] + WIDTHS[key[1]] * 1_000_000 for key in market.expected_bars()}
    return {key: bar for key, bar in market.expected_bars().items() if ends[key] <= LAST_EVENT - TRAIL_US}


def stream_options(market, output, *more):
    return [
        "--bootstrap-servers", market.kafka.bootstrap_servers, "--ticks-topic", market.ticks, "--bars-topic", market.bars,
        "--output", str(output), "--widths", ",".join(WIDTHS), "--lateness", "2s", "--until-end", *more,
    ]  # fmt: skip


def conf_options():
    return [word for each in LOCAL for word in ("--conf", each)]


@pytest.mark.slow
def test_killed_command_goes_on_and_gives_the_same_bars(spark, market, emitted, tmp_path):
    program = [
        sys.executable,
        "-m",
        "cykafka.spark.market",
        *stream_options(market, tmp_path / "out", "--master", "local[2]"),
    ]
    program += [*conf_options(), "--max-offsets-per-trigger", "800", "--image", str(tmp_path / "chart.png")]
    kills = 0
    for micro_batch in (0, 2, 4):
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
            for line in running.stdout:
                found = re.match(r"micro-batch (\d+)", line)
                if found and int(found[1]) >= micro_batch:
                    # Java, Spark's Python workers and the driver at once.
                    os.killpg(running.pid, signal.SIGKILL)
                    kills += 1
                    break
    assert kills == 3
    # The transactions of the killed tasks are still open; the restarted ones end them.
    done = subprocess.run(program, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "latency in ms" in done.stdout
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    places = Places(str(tmp_path / "out"))
    assert by_key(read_bars(spark, places).collect()) == emitted
    assert len(read_rejects(spark, places).collect()) == market.sent.malformed + market.sent.late
    everyone = read_health(spark, places).where("symbol is null").collect()
    assert len({each.start for each in everyone}) == len(everyone)
    in_topic = consume(market.kafka, market.bars).num_rows
    assert in_topic == len(emitted)


@pytest.mark.slow
def test_spark_submit_and_report(market, emitted, tmp_path):
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = [word for each in (*LOCAL, "spark.sql.shuffle.partitions=2") for word in ("--conf", each)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    program = [submit, "--master", "local[2]", *options, command.__file__]
    streamed = subprocess.run(
        [*program, "stream", *stream_options(market, tmp_path / "out", "--no-bars-topic")],
        capture_output=True, text=True, timeout=600, env=environment,
    )  # fmt: skip
    assert streamed.returncode == 0, streamed.stderr[-3000:]
    narrow = sum(key[1] == "1s" for key in emitted)
    assert f"bars: {narrow:,} of 1s" in streamed.stdout


@pytest.mark.slow
def test_errors_are_one_line(market, tmp_path):
    options = [*stream_options(market, tmp_path, "--master", "local[1]"), *conf_options()]
    options[options.index(market.ticks)] = "no-such-topic"
    failed = subprocess.run(
        [sys.executable, "-m", "cykafka.spark.market", *options], capture_output=True, text=True, timeout=600
    )
    assert failed.returncode == 1
    assert "Traceback" not in failed.stderr.split("error: ")[-1]
    assert "no-such-topic" in failed.stderr.split("error: ")[-1]


@pytest.mark.slow
def test_declarative_pipeline(spark, kafka, market, emitted, tmp_path):
    for module in ("yaml", "grpc"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"spark-pipelines needs the module {module}: pip install pyspark[pipelines]")
    folder = tmp_path / "pipeline"
    shutil.copytree(Path(declarative.__file__).parent, folder)
    bars_topic = f"{market.bars}-declarative"
    wire.create_topic(kafka.bootstrap_servers, bars_topic, 3, 1, {})
    specification = folder / "spark-pipeline.yml"
    changes = {
        r"file:///tmp/cykafka-market": f"file://{tmp_path}/storage",
        r"localhost:9092": kafka.bootstrap_servers,
        r"ticks-topic: ticks": f"ticks-topic: {market.ticks}",
        r"bars-topic: bars": f"bars-topic: {bars_topic}",
        r"(widths: .*)": r"\1" + "\n  spark.cykafka.market.lateness: 2s",
    }
    text = specification.read_text()
    for old, new in changes.items():
        text, count = re.subn(old, new, text)
        assert count == 1, old
    specification.write_text(text)
    program = Path(pyspark.__file__).parent / "bin" / "spark-pipelines"
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    for action in ("dry-run", "run"):
        done = subprocess.run(
            [program, action, "--spec", specification],
            capture_output=True, text=True, timeout=600, env=environment, cwd=folder,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        assert "Run is COMPLETED" in done.stdout
    tables = folder / "spark-warehouse"
    assert by_key(spark.read.parquet(str(tables / "bars")).collect()) == emitted
    rejects = spark.read.parquet(str(tables / "rejects")).count()
    assert rejects == market.sent.malformed + market.sent.late
    assert spark.read.parquet(str(tables / "health")).where("symbol is null").count() > 10
    assert consume(kafka, bars_topic).num_rows == len(emitted)
    wire.delete_topic(kafka.bootstrap_servers, bars_topic)
