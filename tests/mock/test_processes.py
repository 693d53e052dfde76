"""Clients in other processes: made there from a configuration that was pickled, with whatever start method."""

import concurrent.futures
import logging
import multiprocessing
import time

import pytest

from cykafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

pytestmark = [
    pytest.mark.mock,
    # Forking with threads around, as Python 3.12 warns of it, is what is tested.
    pytest.mark.filterwarnings("ignore:.*use of fork\\(\\) may lead to deadlocks:DeprecationWarning"),
]

METHODS = [method for method in ("spawn", "fork", "forkserver") if method in multiprocessing.get_all_start_methods()]


def count_errors(error):
    """An error callback that pickles, being a function of a module."""
    assert isinstance(error, KafkaError)


def ignore_report(error, message):
    """A delivery callback that pickles."""


def produce_some(config, topic, number):
    """Produce two messages in this process; return their offsets and the last report."""
    reports = []
    with Producer(config) as producer:
        for i in range(2):
            producer.produce(
                topic, f"{number}-{i}", partition=0, on_delivery=lambda error, message: reports.append(message)
            )
    assert [report.error() for report in reports] == [None, None]
    return reports[-1]


def fail_to_produce(config):
    """Fail with an exception that has to go back to the parent."""
    with Producer(config) as producer:
        producer.produce("t", b"x" * 2_000_000)


def use_of_parent(client):
    """Use a client of the parent in a forked child; return what it says."""
    try:
        client.poll(0)
    except RuntimeError as error:
        return str(error)
    return "nothing"


@pytest.fixture
def pool():
    """A function that makes pools of processes by their start method."""
    pools = []

    def make(method):
        pools.append(
            concurrent.futures.ProcessPoolExecutor(max_workers=2, mp_context=multiprocessing.get_context(method))
        )
        return pools[-1]

    yield make
    for executor in pools:
        executor.shutdown(cancel_futures=True)


@pytest.mark.parametrize("method", METHODS)
def test_clients_are_made_in_workers_from_the_same_configuration(mock_cluster, pool, method):
    config = {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "linger.ms": 0,
        "error_cb": count_errors,
        "on_delivery": ignore_report,
        "logger": logging.getLogger("cykafka.tests.processes"),
    }
    topic = f"workers-{method}"
    mock_cluster.create_topic(topic, 1)
    # The parent has a client with threads of its own, as programs do that fork.
    with Producer(config) as producer:
        producer.produce(topic, "parent", partition=0)
        assert producer.flush(30) == 0
        workers = pool(method)
        reports = [workers.submit(produce_some, config, topic, number) for number in range(3)]
        for report in reports:
            message = report.result(120)
            assert isinstance(message, Message)
            assert message.topic() == topic
        assert producer.flush(30) == 0
    seen = set()
    with Consumer(
        {"bootstrap.servers": mock_cluster.bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        end = time.monotonic() + 60
        while len(seen) < 7:
            assert time.monotonic() < end, seen
            seen |= {message.value() for message in consumer.consume(10, 1)}
    assert seen == {b"parent", *(f"{number}-{i}".encode() for number in range(3) for i in range(2))}


@pytest.mark.parametrize("method", METHODS)
def test_an_exception_comes_back_from_a_worker_as_what_it_was(mock_cluster, pool, method):
    failure = pool(method).submit(fail_to_produce, {"bootstrap.servers": mock_cluster.bootstrap_servers})
    with pytest.raises(KafkaException) as caught:
        failure.result(120)
    assert caught.value.args[0] == KafkaError.MSG_SIZE_TOO_LARGE
    assert "too large" in str(caught.value)


@pytest.mark.parametrize("method", [method for method in METHODS if method != "fork"])
def test_a_client_cannot_be_sent_to_a_worker_and_says_what_can(mock_cluster, pool, method):
    client = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers})
    with client, pytest.raises(TypeError, match="Pickle its configuration and make a new client"):
        pool(method).submit(use_of_parent, client).result(120)


@pytest.mark.skipif("fork" not in METHODS, reason="needs fork()")
def test_a_forked_worker_that_uses_the_parents_client_is_told_to_make_one(mock_cluster):
    context = multiprocessing.get_context("fork")
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers}) as producer:
        results = context.SimpleQueue()
        worker = context.Process(target=lambda: results.put(use_of_parent(producer)))
        worker.start()
        text = results.get()
        worker.join(60)
    assert worker.exitcode == 0
    assert "before this process was forked" in text
    assert "make a new one in the child" in text
