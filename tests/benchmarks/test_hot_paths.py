"""The hot paths under pytest-benchmark, on the embedded cluster: for watching one change, not for the comparison."""

import pytest

from cykafka import Producer
from cykafka.testing import MockCluster

pytest.importorskip("pytest_benchmark", reason="needs pytest-benchmark")

pytestmark = pytest.mark.benchmark

COUNT = 20_000


@pytest.fixture(params=["cykafka", "confluent_kafka"])
def producer(request):
    """A producer of either client that keeps what it is given."""
    client = pytest.importorskip(request.param)
    with MockCluster(1) as cluster:
        yield client.Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "linger.ms": 60000,
                "queue.buffering.max.messages": 10_000_000,
            }
        )


def test_produce(benchmark, producer: Producer):
    payload = b"x" * 100

    def empty():
        producer.purge()
        producer.flush()

    def produce():
        for _ in range(COUNT):
            producer.produce("topic", payload, None, 0)

    benchmark.pedantic(produce, setup=empty, rounds=20)
    empty()


def test_produce_with_reports(benchmark, producer: Producer):
    payload = b"x" * 100
    reports = []

    def run():
        for _ in range(COUNT):
            producer.produce("topic", payload, None, 0, None, lambda error, _: reports.append(error))
        producer.flush()

    benchmark.pedantic(run, rounds=10)
    assert set(reports) == {None}


def test_empty_poll(benchmark, producer: Producer):
    assert benchmark(producer.poll, 0) == 0
