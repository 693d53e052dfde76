"""A gateway's way of working, on real brokers."""

import json

import pytest

from cykafka import Consumer, Producer, TopicPartition, presets
from tests.support.clients import Reports, wait_until

pytestmark = pytest.mark.broker


def connections(statistics):
    """Return the ids of brokers that are up, with how often they have been connected to."""
    brokers = json.loads(statistics)["brokers"].values()
    return {
        broker["nodeid"]: broker["connects"] for broker in brokers if broker["state"] == "UP" and broker["nodeid"] > 0
    }


@pytest.mark.parametrize("idempotent", [False, True])
def test_warmup_connects_every_leader(kafka3, topic, idempotent):
    name = topic(partitions=6, cluster=kafka3)
    statistics = []
    config = {
        **presets.low_latency["producer"],
        "acks": "all",
        "bootstrap.servers": kafka3.bootstrap_servers.split(",")[0],
        "enable.idempotence": idempotent,
        "stats_cb": statistics.append,
        "statistics.interval.ms": 100,
        "latency_histograms": True,
    }
    with Producer(config) as producer:
        assert producer.warmup([name], 60) == [1, 2, 3]

        def connected():
            producer.poll(0.1)
            return statistics and connections(statistics[-1])

        before = wait_until(connected)
        assert set(before) == {1, 2, 3}
        reports = Reports()
        for partition in range(6):
            producer.produce(name, b"v", partition=partition, on_delivery=reports)
        assert producer.flush(60) == 0
        assert reports.errors == [None] * 6
        statistics.clear()
        # The messages went over the connections that were there.
        assert wait_until(connected) == before
        assert producer.latency_histograms["wire"].count == 6


def test_low_latency_presets_carry_messages(kafka, topic):
    name = topic()
    servers = {"bootstrap.servers": kafka.bootstrap_servers}
    with (
        Producer({**presets.low_latency["producer"], **servers}, spin_us=200) as producer,
        Consumer({**presets.low_latency["consumer"], **servers, "group.id": "g"}, spin_us=200) as consumer,
    ):
        consumer.assign([TopicPartition(name, 0, 0)])
        producer.warmup(name, 60)
        for i in range(50):
            producer.produce(name, str(i))
            assert producer.flush(60) == 0
            message = consumer.poll(60)
            assert (message.error(), message.value()) == (None, str(i).encode())


def test_large_buffers_arrive_without_a_copy(kafka, topic):
    name = topic(partitions=1)
    with Producer({"bootstrap.servers": kafka.bootstrap_servers, "compression.type": "lz4"}) as producer:
        frames = [bytearray([i]) * 700_000 for i in range(10)]
        rows = [{"value": frame, "copy": False, "headers": {"n": str(i)}} for i, frame in enumerate(frames)]
        assert producer.produce_batch(name, rows, timeout=60) == 10
        with pytest.raises(BufferError):
            frames[-1].clear()
        assert producer.flush(60) == 0
        frames[-1].clear()
    with Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g"}) as consumer:
        consumer.assign([TopicPartition(name, 0, 0)])
        messages = []
        while len(messages) < 10:
            messages += consumer.consume(10, 60)
        assert [m.value() for m in messages] == [bytes([i]) * 700_000 for i in range(10)]
        assert [m.headers() for m in messages] == [[("n", str(i).encode())] for i in range(10)]
