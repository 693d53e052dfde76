"""Executors as processes of their own, real masters and workers, and Spark Connect."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.spark.copy_job import CopyJob
from tests.spark.support import SOURCES, environment, send
from tests.support.ports import free_ports
from tests.support.process import ServerProcess

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(600)]

EXECUTORS = {"spark.executorEnv.PYTHONPATH": os.pathsep.join(SOURCES), "spark.executor.memory": "1g"}


@pytest.fixture
def copy(connector, kafka, topic, tmp_path):
    """Function that copies 1,000 records in a session of its own and returns what the job says."""
    environment()

    def run(master, **config):
        source, sink = topic(partitions=4), topic(partitions=4)
        for partition in range(4):
            send(kafka, source, (f"{partition}-{number}" for number in range(250)), partition=partition)
        job = CopyJob(
            servers=kafka.bootstrap_servers,
            source=source,
            sink=sink,
            checkpoint=str(tmp_path / "checkpoint"),
            sink_options={"delivery": "exactly_once"},
            source_options={"maxOffsetsPerTrigger": "500", "minRecordsPerPartition": "0"},
            master=master,
            config={**EXECUTORS, **config},
        )
        process = ServerProcess("copy job", job.command(), log=tmp_path / "job.log", ready="started", folder=Path.cwd())
        process.start()
        process.wait_done(300)
        return (tmp_path / "job.log").read_text()

    return run


def check(output):
    assert "done: {'rows': 1000, 'values': 1000}" in output


@pytest.mark.slow
def test_two_executors(copy):
    check(copy("local-cluster[2,1,1024]"))


def test_spark_connect(copy):
    pytest.importorskip("grpc", reason="Spark Connect needs gRPC: pip install pyspark[connect]")
    check(copy("connect"))


@pytest.mark.slow
def test_standalone_master_with_two_workers(copy, tmp_path):
    import pyspark

    home = Path(pyspark.__file__).parent
    ports = free_ports(3)

    def start(stack, name, ready, *arguments):
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        server = ServerProcess(
            name, command, log=tmp_path / f"{name}-{len(arguments)}.log", ready=ready, folder=tmp_path
        )
        server.start()
        stack.callback(server.stop)
        server.wait_ready()
        return server

    with ExitStack() as stack:
        master = f"spark://127.0.0.1:{ports[0]}"
        listen = ("--host", "127.0.0.1", "--webui-port", "0", "--port")
        leader = start(stack, "master.Master", "elected leader", *listen, str(ports[0]))
        workers = [
            start(stack, "worker.Worker", "registered with master", *listen, str(port), "--cores", "1", "--memory", "1g",
                  "--work-dir", str(tmp_path / str(port)), master)
            for port in ports[1:]
        ]  # fmt: skip
        check(copy(master))
        assert len(re.findall(rb"Registering worker", leader.output())) == len(workers)
        # Each worker has had an executor, and each executor a Python worker.
        for port in ports[1:]:
            assert list((tmp_path / str(port)).glob("app-*/*/stderr"))
