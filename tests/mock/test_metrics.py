"""Statistics as objects, at any time, and what monitoring systems get of them."""

import dataclasses
import re
import threading
import time
from pathlib import Path

import pytest

from cykafka import Producer
from cykafka.metrics import PartitionStatistics, Statistics
from cykafka.metrics.catalogue import ALL, samples
from cykafka.metrics.opentelemetry import OpenTelemetryMetrics
from cykafka.metrics.prometheus import PrometheusCollector

ROOT = Path(__file__).resolve().parents[2]


def everything(value):
    """Yield a statistics object and all in it."""
    if dataclasses.is_dataclass(value):
        yield value
        for each in dataclasses.fields(value):
            yield from everything(getattr(value, each.name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from everything(item)


def documented():
    """Return the fields that librdkafka's STATISTICS.md lists, by section."""
    folders = sorted(ROOT.glob("librdkafka/src-*/STATISTICS.md"))
    if not folders:
        pytest.skip("needs librdkafka's unpacked sources (make build)")
    sections = {}
    for section in re.split(r"^## ", folders[-1].read_text(), flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^(\w+)\s*\| (?:string|int|int gauge|object|bool)\s*\|", section, flags=re.MULTILINE)
        if rows:
            sections[section.splitlines()[0]] = set(rows)
    return sections


def test_every_documented_field_is_there():
    sections = documented()
    assert len(sections) == 8
    from cykafka import metrics

    classes = {
        "Top-level": metrics.Statistics,
        "brokers": metrics.BrokerStatistics,
        "Window stats": metrics.WindowStatistics,
        "brokers.toppars": metrics.TopicPartitionName,
        "topics": metrics.TopicStatistics,
        "partitions": metrics.PartitionStatistics,
        "cgrp": metrics.ConsumerGroupStatistics,
        "eos": metrics.ProducerIdStatistics,
    }
    for section, names in sections.items():
        cls = classes[section]
        assert names - {each.name for each in dataclasses.fields(cls)} == set(), section
        for name in names:
            assert f"\n        {name}: " in cls.__doc__ or f"\n    {name}: " in cls.__doc__, f"{cls.__name__}.{name}"


def test_a_producers_metrics_without_any_callback(mock_cluster):
    mock_cluster.create_topic("metrics", 2, 1)
    with Producer(
        {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "client.id": "me",
            "enable.idempotence": True,
            "statistics.interval.ms": 60_000,
        }
    ) as producer:
        for i in range(100):
            producer.produce("metrics", b"x" * 10, partition=i % 2)
        assert producer.metrics().msg_cnt > 0
        assert producer.flush(30) == 0
        statistics = producer.metrics()
    assert (statistics.client_id, statistics.type, statistics.msg_cnt, statistics.txmsgs) == ("me", "producer", 0, 100)
    assert statistics.age > 0
    assert statistics.msg_max == 100_000
    assert {number: part.txmsgs for number, part in statistics.topics["metrics"].partitions.items()} == {
        0: 50,
        1: 50,
        -1: 0,
    }
    assert isinstance(statistics.topics["metrics"].partitions[0], PartitionStatistics)
    (broker,) = [broker for broker in statistics.brokers.values() if broker.nodeid == 1]
    assert broker.state == "UP"
    assert broker.req["Produce"] >= 2
    assert broker.rtt.cnt > 0
    assert broker.rtt.min <= broker.rtt.p50 <= broker.rtt.p99 <= broker.rtt.max
    assert broker.toppars["metrics-0"].partition == 0
    assert statistics.eos.idemp_state == "Assigned"
    assert statistics.cgrp is None
    assert statistics.fatal is None


def test_nothing_that_librdkafka_sends_is_unknown(mock_cluster, make_consumer):
    mock_cluster.create_topic("metrics", 1, 1)
    with Producer(
        {"bootstrap.servers": mock_cluster.bootstrap_servers, "enable.idempotence": True, "linger.ms": 0}
    ) as producer:
        producer.produce("metrics", b"x")
        assert producer.flush(30) == 0
        seen = [producer.metrics()]
    consumer = make_consumer()
    consumer.subscribe(["metrics"])
    assert consumer.poll(30).value() == b"x"
    consumer.commit(asynchronous=False)
    seen.append(consumer.metrics())
    assert seen[1].cgrp.assignment_size == 1
    assert seen[1].topics["metrics"].partitions[0].committed_offset == 1
    objects = [each for statistics in seen for each in everything(statistics)]
    assert {type(each).__name__ for each in objects} >= {"BrokerStatistics", "PartitionStatistics", "WindowStatistics"}
    # A misspelling of old that librdkafka still sends beside the right name.
    assert {name for each in objects for name in each.extra} <= {"commited_offset"}


def test_the_text_of_stats_cb_reads_the_same(mock_cluster):
    texts = []
    with Producer(
        {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "statistics.interval.ms": 50,
            "stats_cb": texts.append,
        }
    ) as producer:
        end = time.monotonic() + 30
        while not texts and time.monotonic() < end:
            producer.poll(0.1)
        assert Statistics.from_json(texts[0]).name == producer.metrics().name
    with pytest.raises(ValueError, match="JSON object, not list"):
        Statistics.from_json("[]")


def test_fields_of_other_versions_are_kept_or_have_defaults():
    statistics = Statistics.from_json('{"name": "n", "novelty": 7, "cgrp": {"state": "up", "mood": "good"}}')
    assert (statistics.name, statistics.extra, statistics.tx) == ("n", {"novelty": 7}, 0)
    assert (statistics.cgrp.state, statistics.cgrp.extra) == ("up", {"mood": "good"})


def test_metrics_of_a_closed_client_and_from_other_threads(mock_cluster):
    producer = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers})
    names, waiting = [], threading.Event()

    def ask():
        waiting.wait(30)
        names.extend(producer.metrics().name for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    waiting.set()
    for thread in threads:
        thread.join()
    assert len(names) == 80
    assert len(set(names)) == 1
    producer.close()
    with pytest.raises(RuntimeError, match="Producer has been closed"):
        producer.metrics()


def test_metrics_takes_no_wakeup_and_serves_no_callback(mock_cluster):
    served = []
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0}) as producer:
        producer.produce("metrics", b"x", on_delivery=lambda error, message: served.append(error))
        end = time.monotonic() + 30
        while producer.metrics().replyq == 0 and time.monotonic() < end:
            time.sleep(0.01)
        producer.wakeup()
        producer.metrics()
        assert served == []
        assert producer.poll(30) == 1
        assert served == [None]
        assert producer.poll(30) == 0


def test_prometheus_gets_the_metrics(mock_cluster, make_consumer):
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.parser import text_string_to_metric_families

    mock_cluster.create_topic("metrics", 1, 1)
    registry = CollectorRegistry()
    consumer = make_consumer()
    with Producer(
        {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0, "statistics.interval.ms": 60_000}
    ) as producer:
        collector = PrometheusCollector(producer, registry=registry)
        collector.add(consumer)
        for _ in range(10):
            producer.produce("metrics", b"x" * 10, partition=0)
        assert producer.flush(30) == 0
        consumer.subscribe(["metrics"])
        assert consumer.poll(30).value() == b"x" * 10
        text = generate_latest(registry).decode()
        name = producer.metrics().name
    values = {
        (sample.name, sample.labels["client"]): sample
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    sent = values["cykafka_partition_messages_sent_total", name]
    assert (sent.value, sent.labels["topic"], sent.labels["partition"]) == (10, "metrics", "0")
    assert values["cykafka_messages_sent_total", name].value == 10
    assert values["cykafka_broker_round_trip_seconds", name].labels["quantile"] in {"0.5", "0.9999", "0.99"}
    assert 0 < values["cykafka_broker_round_trip_seconds", name].value < 60
    other = consumer.metrics().name
    assert values["cykafka_assigned_partitions", other].value == 1
    # No sample for what is not known: the producer has no lag.
    assert ("cykafka_partition_lag", name) not in values
    after = generate_latest(registry).decode()
    assert f'client="{name}"' not in after
    assert f'client="{other}"' in after


def test_opentelemetry_gets_the_metrics(mock_cluster):
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    with Producer(
        {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0, "statistics.interval.ms": 60_000}
    ) as producer:
        OpenTelemetryMetrics(producer, meter=provider.get_meter("test"))
        producer.produce("metrics", b"x")
        assert producer.flush(30) == 0
        data = reader.get_metrics_data()
    metrics = {
        metric.name: metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    (point,) = metrics["cykafka.messages_sent"].data.data_points
    assert point.value == 1
    assert point.attributes["client_type"] == "producer"
    assert metrics["cykafka.broker_round_trip_seconds"].unit == "s"
    provider.shutdown()


def test_the_table_names_fields_that_exist():
    statistics = Statistics.from_json(
        '{"brokers": {"b": {"nodeid": 1, "rtt": {"cnt": 1, "p50": 2000000}, "throttle": {"cnt": 1, "p50": 500}}},'
        ' "topics": {"t": {"topic": "t", "batchsize": {"cnt": 1, "p99": 9}, "partitions": {"0": {"partition": 0,'
        ' "consumer_lag": 5, "app_offset": -1001}}}}, "cgrp": {"rebalance_cnt": 3}}'
    )
    found = {(each.instrument.name, each.labels): each.value for each in samples(statistics)}
    assert found["broker_round_trip_seconds", ("1", "0.5")] == 2.0
    assert found["broker_throttle_seconds", ("1", "0.5")] == 0.5
    assert found["batch_bytes", ("t", "0.99")] == 9
    assert found["partition_lag", ("t", "0")] == 5
    assert found["rebalances", ()] == 3
    assert ("partition_position", ("t", "0")) not in found
    assert len({each.name for each in ALL}) == len(ALL)


def test_the_dashboard_asks_for_metrics_that_exist():
    import json

    dashboard = json.loads((ROOT / "docs" / "grafana" / "cykafka.json").read_text())
    exported = {f"cykafka_{each.name}" + ("_total" if each.kind.value == "counter" else "") for each in ALL}
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
        for name in re.findall(r"cykafka_\w+", target["expr"])
    }
    assert len(asked) >= 12
    assert asked <= exported
