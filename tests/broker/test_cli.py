"""The command line's administration, on a real Kafka; the rest is in tests/mock/test_cli.py."""

import json

import pytest

from cykafka import Consumer, Producer
from tests.mock.test_cli import ok, run

pytest.importorskip("click", reason="needs click: pip install cykafka[cli]")
pytestmark = pytest.mark.broker


def rows(result):
    """Return what a command printed as JSON lines."""
    return [json.loads(line) for line in ok(result).splitlines()]


def test_the_life_of_a_topic(kafka, topic):
    servers = ("-b", kafka.bootstrap_servers, "--timeout", 60)
    name = f"{topic()}-cli"
    ok(run("topics", "create", name, "-p", 2, "-r", 1, "-c", "retention.ms=100000", *servers))
    ok(run("topics", "grow", name, 3, *servers))
    again = run("topics", "create", name, *servers)
    assert (again.returncode, b"already exists" in again.stderr) == (1, True)
    with Producer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
        for number in range(10):
            producer.produce(name, str(number), partition=0, timestamp=1000 + number)
        assert producer.flush(60) == 0
    described = rows(run("topics", "describe", name, "--json", *servers))
    assert [(row["partition"], row["first"], row["end"]) for row in described] == [(0, 0, 10), (1, 0, 0), (2, 0, 0)]
    assert ok(run("consume", name, "-p", 0, "-o", "s@1005", "-e", "-f", "%s", *servers)) == b"56789"
    configs = {row["name"]: row["value"] for row in rows(run("configs", "describe", "topic", name, "--json", *servers))}
    assert configs["retention.ms"] == "100000"
    ok(run("configs", "set", "topic", name, "retention.ms=5000", "--dry-run", *servers))
    ok(run("configs", "set", "topic", name, "cleanup.policy=compact", "retention.ms", *servers))
    configs = {row["name"]: row["value"] for row in rows(run("configs", "describe", "topic", name, "--json", *servers))}
    assert configs["cleanup.policy"] == "compact"
    assert "retention.ms" not in configs
    wrong = run("configs", "set", "topic", name, "cleanup.policy=nonsense", *servers)
    assert (wrong.returncode, b"nonsense" in wrong.stderr) == (1, True)
    refused = run("topics", "delete", name, *servers, data=b"n\n")
    assert refused.returncode == 130
    ok(run("topics", "delete", name, "--yes", *servers))
    gone = run("topics", "delete", name, "--yes", *servers)
    assert (gone.returncode, b"Unknown topic" in gone.stderr) == (1, True)


def test_groups_their_lag_and_their_offsets(kafka, topic):
    servers = ("-b", kafka.bootstrap_servers, "--timeout", 60)
    name = topic()
    group = f"cli-{name}"
    with Producer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
        for number in range(10):
            producer.produce(name, str(number), partition=0, timestamp=1000 + number)
        assert producer.flush(60) == 0
    assert ok(run("consume", name, "-G", group, "-c", 4, *servers)) == b"0\n1\n2\n3\n"
    assert group in {row["group"] for row in rows(run("groups", "list", "--json", *servers))}
    (row,) = rows(run("groups", "describe", group, "--json", *servers))
    assert (row["topic"], row["committed"], row["end"], row["lag"]) == (name, 4, 10, 6)

    def reset(*how):
        (row,) = rows(run("groups", "reset-offsets", group, *how, "--json", *servers))
        return row["old"], row["new"]

    assert reset("--to-latest") == (4, 10)
    assert reset("--shift-by", -3, "--execute") == (4, 1)
    assert reset("--to-time", 1007, "-t", name, "--execute") == (1, 7)
    assert reset("--to-offset", 99) == (7, 10)
    assert reset("--to-earliest") == (7, 0)
    assert ok(run("consume", name, "-G", group, "-c", 1, *servers)) == b"7\n"
    both = run("groups", "reset-offsets", group, "--to-earliest", "--to-latest", *servers)
    assert (both.returncode, b"give one of" in both.stderr) == (2, True)
    with Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": group}) as consumer:
        consumer.subscribe([name])
        while not consumer.assignment():
            consumer.poll(0.1)
        (row,) = rows(run("groups", "describe", group, "--json", *servers))
        assert row["client_id"] == "rdkafka"
        busy = run("groups", "delete", group, "-y", *servers)
        assert (busy.returncode, b"not empty" in busy.stderr) == (1, True)
    ok(run("groups", "delete", group, "-y", *servers))
    assert group not in {row["group"] for row in rows(run("groups", "list", "--json", *servers))}


def test_access_control_lists_where_there_is_no_authorizer(kafka):
    servers = ("-b", kafka.bootstrap_servers, "--timeout", 60)
    options = ("--resource", "topic", "--name", "any", "--principal", "User:cli", "--operation", "read")
    result = run("acls", "create", *options, *servers)
    assert (result.returncode, b"No Authorizer is configured" in result.stderr) == (1, True)
    result = run("acls", "create", "--resource", "topic", *servers)
    assert (result.returncode, b"give --name, --principal, --operation" in result.stderr) == (2, True)
