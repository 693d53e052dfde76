"""CPUs and names of librdkafka's threads."""

import os
import re
from pathlib import Path

import pytest

from cykafka import Consumer, Producer
from cykafka.admin import AdminClient
from cykafka.testing import MockCluster
from tests.support.clients import wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc to look at threads")

CPUS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def threads():
    """Return the names of this process's threads and the CPUs they may use."""
    found = {}
    for task in os.listdir("/proc/self/task"):
        try:
            name = Path(f"/proc/self/task/{task}/comm").read_text().strip()
            found[int(task)] = (name, os.sched_getaffinity(int(task)))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@pytest.fixture
def new_threads():
    """Function that returns the (name, CPUs) pairs of threads that came since the start of the test."""
    before = set(threads())
    return lambda: [found for task, found in threads().items() if task not in before]


def test_threads_are_named_and_pinned(new_threads):
    cpu = CPUS[-1]
    with (
        MockCluster(1) as cluster,
        Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "thread_prefix": "gate",
                "cpu_affinity": {"main": [cpu], "broker": str(cpu)},
            }
        ) as producer,
    ):
        producer.produce("t", b"v")
        assert producer.flush(30) == 0
        ours = [(name, cpus) for name, cpus in new_threads() if name.startswith("gate")]
        assert {name for name, _ in ours} == {"gate:main", "gate:broker-1", "gate:broker1"}
        assert all(cpus == {cpu} for _, cpus in ours)


@pytest.mark.parametrize("kind", ["main", "broker"])
def test_one_kind_of_thread_is_pinned(new_threads, kind):
    if len(CPUS) < 2:
        pytest.skip("needs two CPUs to tell pinned threads from others")
    with Producer({"thread_prefix": "one", "cpu_affinity": {kind: CPUS[0]}, "bootstrap.servers": "127.0.0.1:1"}):
        ours = wait_until(lambda: [t for t in new_threads() if t[0].startswith("one:")][1:] and new_threads())
        for name, cpus in ours:
            if name.startswith("one:"):
                assert cpus == ({CPUS[0]} if f":{kind}" in name else set(CPUS))


@pytest.mark.parametrize(
    "affinity", [lambda: CPUS[0], lambda: [CPUS[0]], lambda: f"{CPUS[0]}", lambda: f"{CPUS[0]}-{CPUS[0]}"]
)
def test_one_affinity_for_all_threads(new_threads, affinity):
    with Consumer({"group.id": "g", "thread_prefix": "all"}, cpu_affinity=affinity(), bootstrap_servers="127.0.0.1:1"):
        ours = wait_until(lambda: [t for t in new_threads() if t[0].startswith("all:")][1:])
        assert all(cpus == {CPUS[0]} for _, cpus in ours)


def test_the_end_of_a_name_is_kept(new_threads):
    with AdminClient({"bootstrap.servers": "127.0.0.1:1", "thread_prefix": "x" * 15, "log_level": 0}):
        wait_until(lambda: "xxxxxx:broker-1" in {name for name, _ in new_threads()})
        assert "xxxxxxxxxx:main" in {name for name, _ in new_threads()}


def test_the_calling_thread_keeps_its_cpus():
    before = os.sched_getaffinity(0)
    with Producer({"cpu_affinity": [CPUS[0]], "log_level": 0}):
        assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"cpu_affinity": 100_000}, ValueError, "may not use CPU 100000"),
        ({"cpu_affinity": "0-99999999999"}, ValueError, "may not use CPU"),
        ({"cpu_affinity": -1}, ValueError, "may not use CPU -1"),
        ({"cpu_affinity": "a"}, ValueError, "not a list of CPUs such as '0,2-3': 'a'"),
        ({"cpu_affinity": []}, ValueError, "names no CPU"),
        ({"cpu_affinity": True}, TypeError, "must name CPUs by their numbers"),
        ({"cpu_affinity": ["0"]}, TypeError, "must name CPUs by their numbers"),
        ({"cpu_affinity": {"brokers": 0}}, ValueError, "'brokers'; there are main, background, broker"),
        ({"thread_prefix": ""}, ValueError, "1 to 15 bytes"),
        ({"thread_prefix": "x" * 16}, ValueError, "1 to 15 bytes"),
        ({"thread_prefix": 5}, TypeError, "thread_prefix must be str"),
    ],
)
def test_wrong_settings_are_refused(settings, error, text):
    with pytest.raises(error, match=re.escape(text)):
        Producer(settings)
