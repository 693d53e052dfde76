"""The Kafka servers that the tests start: they start, break, come back and leave nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import wire
from tests.support.errors import ServerError
from tests.support.fixtures import TopicFactory, running
from tests.support.kafka import KafkaCluster, KafkaServer
from tests.support.ports import LOOPBACK, free_ports

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.broker


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_listening(address: str) -> bool:
    with socket.socket() as probe:
        probe.settimeout(5)
        host, port = address.split(":")
        return probe.connect_ex((host, int(port))) == 0


def wait_until(condition: Callable[[], bool], timeout: float = 30.0) -> bool:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_free_ports_are_distinct_and_can_be_bound() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.socket() as server:
            server.bind((LOOPBACK, port))


def test_closing_leaves_no_process_port_or_folder() -> None:
    with running(KafkaServer()) as server:
        pid = server.nodes[1].process.pid
        address, folder = server.bootstrap_servers, server.folder
        assert pid is not None
        assert is_alive(pid)
        assert wire.metadata(address).brokers == {1: address}
    assert not is_alive(pid)
    assert not is_listening(address)
    assert not folder.exists()


def test_data_survive_kill_and_restart() -> None:
    with running(KafkaServer()) as server:
        address = server.bootstrap_servers
        wire.create_topic(address, "kept", partitions=3)
        with server.killed():
            assert not server.is_running()
            assert not is_listening(address)
        assert server.bootstrap_servers == address
        assert len(wire.metadata(address).topics["kept"].partitions) == 3
        server.restart()
        assert "kept" in wire.metadata(address).topics


def test_frozen_server_keeps_connections_and_answers_later() -> None:
    with running(KafkaServer()) as server, wire.connect(server.bootstrap_servers, timeout=0.5) as connection:
        assert connection.metadata().brokers
        with server.paused():
            assert not server.is_running()
            with pytest.raises(TimeoutError):
                connection.metadata()
        assert wire.metadata(server.bootstrap_servers).brokers


def test_failed_start_names_a_log_that_is_kept() -> None:
    server = KafkaServer(properties={"num.io.threads": "none"})
    with pytest.raises(ServerError, match=r"num\.io\.threads") as failure, running(server):
        pass
    log = Path(str(failure.value).split("log: ")[1].split(";")[0])
    assert "num.io.threads" in log.read_text()
    shutil.rmtree(log.parents[1])
    assert server.nodes == {}


def test_properties_and_class_archive_reach_the_server() -> None:
    with running(KafkaServer(properties={"num.partitions": "7"})) as server:
        assert "num.partitions = 7" in server.log_path().read_text()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_ended_test_process_leaves_no_server_behind(number: signal.Signals) -> None:
    script = """
        import os, time
        from tests.support.kafka import KafkaServer
        server = KafkaServer()
        server.start()
        print(server.nodes[1].process.pid, server.folder, flush=True)
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        time.sleep(60)
    """
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=root, stdout=subprocess.PIPE, text=True
    ) as tests:
        assert tests.stdout is not None
        pid, folder = tests.stdout.readline().split()
        assert is_alive(int(pid))
        tests.send_signal(number)
        tests.wait(30)
        assert wait_until(lambda: not is_alive(int(pid)))
        assert wait_until(lambda: not Path(folder).exists())


def test_shared_server_and_topic(kafka: KafkaServer, topic: TopicFactory) -> None:
    name = topic(partitions=3, config={"cleanup.policy": "compact"})
    assert name.startswith("test_shared_server_and_topic-")
    assert [partition.id for partition in wire.metadata(kafka.bootstrap_servers).topics[name].partitions] == [
        0,
        1,
        2,
    ]


def test_three_nodes_elect_another_leader_and_recover(kafka3: KafkaCluster, topic: TopicFactory) -> None:
    name = topic(replication_factor=3, cluster=kafka3)
    (before,) = wire.metadata(kafka3.bootstrap_servers.split(",")[0]).topics[name].partitions
    survivor = next(node for node in before.replicas if node != before.leader)
    address = f"{LOOPBACK}:{kafka3.nodes[survivor].ports['PLAINTEXT']}"

    def leader() -> int:
        return wire.metadata(address).topics[name].partitions[0].leader

    kafka3.kill(before.leader)
    assert wait_until(lambda: leader() not in (-1, before.leader))
    kafka3.pause(next(node for node in kafka3.nodes if node not in (before.leader, survivor)))
    kafka3.restore()
    (after,) = wire.metadata(address).topics[name].partitions
    assert set(after.in_sync) == {1, 2, 3}
