"""Rows in are rows out, whatever is killed: workers, the driver, the whole query, brokers. On three nodes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cykafka import Consumer, TopicPartition
from tests.spark import faults
from tests.spark.copy_job import CopyJob
from tests.spark.support import SOURCES, environment, send
from tests.support.process import ServerProcess

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(600)]

PARTITIONS = 4


def content(cluster, name):
    """How often each value is in a topic, for readers of what is committed."""
    config = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "check", "isolation.level": "read_committed",
              "enable.partition.eof": True, "auto.offset.reset": "earliest"}  # fmt: skip
    found = Counter()
    with Consumer(config) as consumer:
        partitions = consumer.list_topics(name, timeout=30).topics[name].partitions
        consumer.assign([TopicPartition(name, number, 0) for number in partitions])
        ended = set()
        deadline = time.monotonic() + 120
        while len(ended) < len(partitions):
            assert time.monotonic() < deadline, f"the ends of {name} do not come"
            for message in consumer.consume(10_000, 1):
                if message.error() is None:
                    found[message.value()] += 1
                else:
                    ended.add(message.partition())
    return found


def told(found):
    """Rows and distinct rows."""
    return sum(found.values()), len(found)


@pytest.fixture
def job(kafka3, topic, tmp_path):
    """A job over 2,000 rows in four batches."""
    source, sink = (topic(PARTITIONS, 3, cluster=kafka3) for _ in range(2))
    for partition in range(PARTITIONS):
        send(kafka3, source, (b"%d-%d" % (partition, number) for number in range(500)), partition=partition)
    return CopyJob(
        servers=kafka3.bootstrap_servers,
        source=source,
        sink=sink,
        checkpoint=str(tmp_path / "checkpoint"),
        sink_format="cykafka_faulty",
        sink_options={"faults": str(tmp_path / "faults"), "delivery": "exactly_once"},
        # Tasks as small as can be, but one for each partition.
        source_options={"maxOffsetsPerTrigger": "500", "minRecordsPerPartition": "0", "batchRows": "50"},
    )


def finish(job, spark):
    """Run the job again and again until it has come to its end; return how often it failed."""
    failures = 0
    while True:
        query = job.start(spark)
        try:
            assert query.awaitTermination(240), "the query has not ended"
        except Exception:
            failures += 1
            assert failures < 20
        else:
            return failures


def with_fault(job, folder, point, victim=faults.WORKER):
    """The job with a fault; in a folder of its own, where tasks of an earlier run that live on do not find it."""
    faults.arm(folder / point, point, victim)
    return replace(job, sink_options={**job.sink_options, "faults": str(folder / point)})


def test_workers_killed_at_every_point(spark, kafka3, job, tmp_path):
    for point in faults.POINTS:
        query = with_fault(job, tmp_path, point).start(spark)
        with contextlib.suppress(Exception):
            query.awaitTermination(240)
        assert faults.armed(tmp_path / point) == []
        assert query.exception() is not None
    assert finish(job, spark) == 0
    assert told(content(kafka3, job.sink)) == (2000, 2000)


def test_at_least_once_repeats_rows_there(spark, kafka3, job, tmp_path):
    """What shows that the faults strike where it hurts."""
    job = replace(job, sink_options={**job.sink_options, "delivery": "at_least_once"})
    assert finish(with_fault(job, tmp_path, "written"), spark) == 1
    rows, distinct = told(content(kafka3, job.sink))
    assert rows > distinct == 2000


class Killable:
    """The job in processes of its own, which can be killed."""

    def __init__(self, job, folder):
        environment()
        self._log = folder / "job.log"
        self._process = ServerProcess("copy job", job.command(), log=self._log, ready="started", folder=Path.cwd())

    def __enter__(self):
        self._process.start()
        self._process.wait_ready(180)
        return self

    def __exit__(self, *_):
        for pid in self.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.kill()

    def running(self):
        return self._process.is_running

    def has_finished(self):
        return b"done" in self._process.output()

    def family(self):
        """Process ids of the job: the driver, its JVM and all below."""
        children = {}
        for each in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, IndexError):
                children.setdefault(int(each.read_text().rpartition(")")[2].split()[1]), []).append(
                    int(each.parent.name)
                )
        found = [self._process.pid] if self._process.pid is not None else []
        for pid in found:
            found += children.get(pid, [])
        return found

    def workers(self):
        """Process ids of its Python workers."""
        found = []
        for pid in self.family():
            with contextlib.suppress(OSError):
                parts = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"pyspark.daemon" in parts:
                    found.append(pid)
        return found


@pytest.mark.parametrize(
    "point",
    ["committed", *(pytest.param(each, marks=pytest.mark.slow) for each in ("rows", "delivered", "written", "driver"))],
)
def test_whole_query_killed(spark, kafka3, job, tmp_path, point):
    with Killable(with_fault(job, tmp_path, point, faults.QUERY), tmp_path) as running:
        deadline = time.monotonic() + 240
        while running.running():
            assert time.monotonic() < deadline, "the fault has not struck"
            time.sleep(0.1)
        assert not running.has_finished()
    assert faults.armed(tmp_path / point) == []
    assert finish(job, spark) == 0
    assert told(content(kafka3, job.sink)) == (2000, 2000)


def strike(running, kafka3, chance):
    """Kill something: a Python worker mostly, now and then a broker, or the whole query."""
    dice = chance.random()
    workers = running.workers()
    if dice < 0.12:
        node = chance.randint(1, 3)
        with kafka3.killed(node):
            time.sleep(chance.uniform(0, 1))
        return "broker"
    if dice < 0.25:
        for pid in running.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return "query"
    if workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(workers), signal.SIGKILL)
        return "worker"
    return "nothing"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, 2])
def test_storm(spark, kafka3, topic, tmp_path, seed):
    """Kill at random, on a cluster of two executors, where tasks are tried again."""
    count = 20_000
    source, sink = (topic(PARTITIONS, 3, cluster=kafka3) for _ in range(2))
    for partition in range(PARTITIONS):
        send(kafka3, source, (b"%d-%d" % (partition, number) for number in range(count)), partition=partition)
    job = CopyJob(
        servers=kafka3.bootstrap_servers,
        source=source,
        sink=sink,
        checkpoint=str(tmp_path / "checkpoint"),
        sink_options={"delivery": "exactly_once"},
        source_options={"maxOffsetsPerTrigger": "4000", "minRecordsPerPartition": "0", "batchRows": "100"},
        master="local-cluster[2,1,1024]",
        # Executors find the package where the driver does.
        config={"spark.executorEnv.PYTHONPATH": os.pathsep.join(SOURCES), "spark.task.maxFailures": "8"},
    )
    chance = random.Random(seed)
    struck = Counter()
    deadline = time.monotonic() + 300
    finished = False
    while not finished and time.monotonic() < deadline:
        with Killable(job, tmp_path) as running:
            while running.running() and time.monotonic() < deadline:
                time.sleep(chance.uniform(0.2, 2.5))
                struck[strike(running, kafka3, chance)] += 1
            finished = running.has_finished()
    kafka3.restore()
    finish(job, spark)
    print(f"killed: {dict(struck)}")
    assert struck["worker"] > 3
    assert told(content(kafka3, sink)) == (PARTITIONS * count, PARTITIONS * count)
