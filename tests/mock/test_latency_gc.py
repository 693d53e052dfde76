"""Messages give the garbage collector no work: it does not run once in a hundred thousand of them."""

import gc

import pytest

from cykafka import Producer, TopicPartition

COUNT = 100_000


@pytest.fixture
def collections():
    """The generations that were collected during the test."""
    seen = []

    def on_gc(phase, info):
        if phase == "start":
            seen.append(info["generation"])

    gc.collect()
    gc.callbacks.append(on_gc)
    yield seen
    gc.callbacks.remove(on_gc)


@pytest.fixture
def counter():
    """A delivery callback that keeps nothing but a number."""

    class Counter:
        count = 0

        def __call__(self, error, message):
            assert error is None
            Counter.count += 1

    return Counter()


@pytest.fixture
def fast(mock_cluster):
    mock_cluster.create_topic("t", 1, 1)
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "queue.buffering.max.messages": 2 * COUNT}
    with Producer(config) as producer:
        yield producer


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"opaque": "any"},
        {"headers": {"h": b"v"}},
        {"timestamp": 1, "copy": False},
    ],
    ids=["plain", "opaque", "headers", "held"],
)
def test_producing_and_reports(fast, counter, collections, arguments):
    for _ in range(COUNT):
        fast.produce("t", b"payload", b"key", 0, None, counter, **arguments)
        fast.poll(0)
    assert fast.flush(60) == 0
    assert counter.count == COUNT
    assert collections == []


def test_batches(fast, counter, collections):
    row = {"value": b"payload", "key": b"key", "partition": 0, "opaque": 1}
    rows = [row] * 1000
    for _ in range(COUNT // 1000):
        assert fast.produce_batch("t", rows, on_delivery=counter, timeout=60) == 1000
        fast.poll(0)
    assert fast.flush(60) == 0
    assert counter.count == COUNT
    assert collections == []


@pytest.mark.parametrize("how", ["poll", "consume"])
@pytest.mark.parametrize("headers", [None, {"h": b"v"}], ids=["plain", "headers"])
def test_consuming(fast, make_consumer, collections, how, headers):
    for _ in range(COUNT // 4):
        fast.produce("t", b"payload", b"key", 0, headers=headers)
    assert fast.flush(60) == 0
    consumer = make_consumer()
    consumer.assign([TopicPartition("t", 0, 0)])
    got = 0
    while got < COUNT // 4:
        for message in [consumer.poll(60)] if how == "poll" else consumer.consume(500, 60):
            assert message.error() is None
            assert message.value() == b"payload"
            got += 1
    assert collections == []
