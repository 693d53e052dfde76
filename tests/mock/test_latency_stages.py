"""Histograms of where the time of produced messages goes."""

import gc

import pytest

from cykafka import Producer
from tests.mock.conftest import poll_until
from tests.support.clients import Reports


@pytest.fixture
def measured(mock_cluster):
    """A producer that measures."""
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0, "latency_histograms": True}
    with Producer(config) as producer:
        yield producer


def counts(producer):
    return {stage: histogram.count for stage, histogram in producer.latency_histograms.items()}


def test_every_delivered_message_counts_in_every_stage(measured):
    assert counts(measured) == {"enqueue": 0, "wire": 0, "acknowledgement": 0, "delivery": 0}
    reports = Reports()
    for i in range(500):
        measured.produce("t", b"v", partition=i % 4, on_delivery=reports if i % 2 else None)
        measured.poll(0)
    assert measured.flush(30) == 0
    assert counts(measured) == {"enqueue": 500, "wire": 500, "acknowledgement": 500, "delivery": 500}


def test_the_stages_add_up(mock_cluster, measured):
    """A slow broker shows on the wire, a late poll() in delivery, and enqueue and wire make up acknowledgement."""
    mock_cluster.set_broker_rtt(1, 0.2)
    reports = Reports()
    measured.produce("t", b"v", on_delivery=reports)
    poll_until(measured, lambda: len(reports) == 1)
    stages = measured.latency_histograms
    assert stages["wire"].min >= 190_000
    assert stages["enqueue"].min + stages["wire"].min == pytest.approx(stages["acknowledgement"].min, abs=2)
    assert stages["acknowledgement"].min <= reports.messages[0].latency() * 1e6


def test_waiting_for_company_is_enqueue(mock_cluster):
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 300, "latency_histograms": True}
    with Producer(config) as producer:
        reports = Reports()
        producer.produce("t", b"v", partition=0, on_delivery=reports)
        poll_until(producer, lambda: len(reports) == 1)
        assert producer.latency_histograms["enqueue"].min >= 290_000


def test_failed_messages_do_not_count(mock_cluster):
    config = {"bootstrap.servers": "127.0.0.1:1", "latency_histograms": True, "log_level": 0}
    with Producer(config) as producer:
        producer.produce("t", b"v")
        producer.purge()
        assert producer.flush(30) == 0
        assert set(counts(producer).values()) == {0}


def test_without_acks_there_is_nothing_to_measure(mock_cluster):
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "acks": 0, "latency_histograms": True}
    with Producer(config) as producer:
        producer.produce("t", b"v")
        assert producer.flush(30) == 0
        assert set(counts(producer).values()) == {0}


def test_histograms_outlive_their_producer(measured):
    measured.produce("t", b"v")
    measured.flush(30)
    stages = measured.latency_histograms
    measured.close()
    assert measured.latency_histograms["wire"].count == 1
    del measured
    gc.collect()
    assert stages["wire"].percentile(50) > 0
    stages["wire"].reset()
    assert stages["wire"].count == 0


def test_unasked_nothing_is_measured(producer):
    assert producer.latency_histograms is None
    with pytest.raises(TypeError, match="latency_histograms must be True or False"):
        Producer({"latency_histograms": 1})
