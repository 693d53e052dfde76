"""A million messages and ten thousand clients leave references, threads, descriptors and memory where they were."""

import gc
import os
import time
from pathlib import Path

import pytest

from cykafka import Consumer, Producer, TopicPartition
from cykafka.testing import MockCluster


def _tasks_and_descriptors():
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))


def _resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _settled():
    """Return what is in use once it has stopped changing: clients that were interrupted end in the background."""
    last, since = None, time.monotonic()
    end = since + 30
    while time.monotonic() < end and time.monotonic() - since < 1:
        gc.collect()
        now = _tasks_and_descriptors()
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.05)
    return len(gc.get_objects()), last, _resident()


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="needs Linux's /proc to count threads and descriptors"
)


def _open_and_close(count):
    for i in range(count):
        if i % 2:
            Producer({"client.id": "p", "log_level": 0}).close()
        else:
            Consumer({"group.id": "g", "log_level": 0}).close()


def _produce_and_consume(mock_cluster, rounds, size):
    """Send messages through the cluster in rounds; returns how many came."""
    payload = b"x" * 100
    reports = 0

    def on_delivery(error, message):
        nonlocal reports
        assert error is None
        reports += 1

    got = 0
    with (
        Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 1}) as producer,
        Consumer(
            {"bootstrap.servers": mock_cluster.bootstrap_servers, "group.id": "g", "fetch.wait.max.ms": 5}
        ) as consumer,
    ):
        consumer.assign([TopicPartition("leak", 0, 0)])
        for _ in range(rounds):
            for i in range(size):
                producer.produce(
                    "leak",
                    payload,
                    b"key",
                    0,
                    None,
                    on_delivery,
                    headers={"h": b"v"} if i % 10 == 0 else None,
                )
            assert producer.flush(60) == 0
            end = time.monotonic() + 60
            want = got + size
            while got < want:
                assert time.monotonic() < end
                got += sum(1 for m in consumer.consume(size, 0.5) if m.error() is None and m.value() == payload)
    assert reports == rounds * size
    return got


@needs_proc
def test_ten_thousand_clients_leave_nothing_behind():
    count = 10_000
    _open_and_close(50)
    objects, (tasks, descriptors), resident = _settled()
    _open_and_close(count)
    objects_after, (tasks_after, descriptors_after), resident_after = _settled()
    assert (tasks_after, descriptors_after) == (tasks, descriptors)
    assert objects_after - objects < 50
    assert resident_after - resident < 20_000_000


@needs_proc
def test_a_million_messages_leave_nothing_behind():
    rounds = 200
    with MockCluster(1) as cluster:
        cluster.create_topic("leak", 1, 1)
        _produce_and_consume(cluster, 4, 5000)
        objects, (tasks, descriptors), resident = _settled()
        # Consuming starts at 0, which the mock cluster may have dropped by now: a topic for each part.
        cluster.delete_topic("leak")
        cluster.create_topic("leak", 1, 1)
        assert _produce_and_consume(cluster, rounds, 5000) == rounds * 5000
        objects_after, (tasks_after, descriptors_after), resident_after = _settled()
        assert (tasks_after, descriptors_after) == (tasks, descriptors)
        assert objects_after - objects < 50
        assert resident_after - resident < 60_000_000
