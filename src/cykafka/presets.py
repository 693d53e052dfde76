"""Configurations to start from, as plain dictionaries: print them, copy them, change them.

Each preset has the properties of a producer and those of a consumer::

    from cykafka import Producer, presets

    producer = Producer({**presets.low_latency["producer"], "bootstrap.servers": "localhost:9092"})

The guide on low latency gives the reason of each value.
"""

from typing import TypedDict

__all__ = ["Preset", "high_throughput", "low_latency", "safe"]


class Preset(TypedDict):
    """Properties for the two kinds of clients.

    Attributes:
        producer: Configuration of a `cykafka.Producer`.
        consumer: Configuration of a `cykafka.Consumer`, to which ``group.id`` is to be added.
    """

    producer: dict[str, str | int | float | bool]
    consumer: dict[str, str | int | float | bool]


#: A message leaves, and is handed over, as soon as it can be: for ticks and orders.
low_latency: Preset = {
    "producer": {
        "linger.ms": 0,
        "sticky.partitioning.linger.ms": 0,
        "compression.type": "none",
        "acks": "1",
        "socket.nagle.disable": True,
        "socket.keepalive.enable": True,
        "connections.max.idle.ms": 0,
        "reconnect.backoff.ms": 10,
        "reconnect.backoff.max.ms": 1000,
        "retry.backoff.ms": 10,
        "retry.backoff.max.ms": 100,
        "message.timeout.ms": 5000,
    },
    "consumer": {
        "fetch.wait.max.ms": 10,
        "fetch.min.bytes": 1,
        "fetch.error.backoff.ms": 10,
        "fetch.queue.backoff.ms": 1,
        "socket.nagle.disable": True,
        "socket.keepalive.enable": True,
        "connections.max.idle.ms": 0,
        "reconnect.backoff.ms": 10,
        "reconnect.backoff.max.ms": 1000,
    },
}

#: The most messages for the least work of clients and brokers: for bulk loads and logs.
high_throughput: Preset = {
    "producer": {
        "linger.ms": 50,
        "batch.size": 1_000_000,
        "batch.num.messages": 100_000,
        "compression.type": "lz4",
        "acks": "1",
        "queue.buffering.max.messages": 1_000_000,
        "queue.buffering.max.kbytes": 1_048_576,
        "sticky.partitioning.linger.ms": 100,
    },
    "consumer": {
        "fetch.min.bytes": 100_000,
        "fetch.wait.max.ms": 500,
        "fetch.message.max.bytes": 10_485_760,
        "queued.min.messages": 1_000_000,
        "queued.max.messages.kbytes": 524_288,
    },
}

#: No message lost, doubled or out of order, and none read that a transaction took back: for books and payments.
safe: Preset = {
    "producer": {
        "enable.idempotence": True,
        "acks": "all",
        "max.in.flight.requests.per.connection": 5,
        "message.timeout.ms": 300_000,
    },
    "consumer": {
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        "check.crcs": True,
        "partition.assignment.strategy": "cooperative-sticky",
    },
}
