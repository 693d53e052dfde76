"""One Python client doing what limit.c does: run as its own process, prints one JSON object.

Usage: python -m tests.benchmarks.subject MODULE MODE BOOTSTRAP_SERVERS TOPIC MESSAGES SIZE
"""

import importlib
import json
import os
import sys
import time
from typing import Any

#: CPU time of the calling thread instead of wall time: what else the machine does costs none of it.
now = time.thread_time_ns if "BENCHMARK_CPU_TIME" in os.environ else time.perf_counter_ns

PRODUCER = {
    "queue.buffering.max.messages": 10000000,
    "queue.buffering.max.kbytes": 2000000,
    "batch.num.messages": 100000,
}
CONSUMER = {
    "group.id": "limit",
    "enable.auto.commit": False,
    "queued.min.messages": 10000000,
    "queued.max.messages.kbytes": 2000000,
    "fetch.queue.backoff.ms": 1,
    "enable.partition.eof": True,
}


def fail_on_error(error: Any, message: Any) -> None:
    """Stop the benchmark if a message was not delivered."""
    if error is not None:
        sys.exit(f"delivery failed: {error} {message}")


def run_producer(client: Any, mode: str, servers: str, topic: str, count: int, size: int) -> float:
    """Return nanoseconds for each message produced, with mode report until its callback has run."""
    payload = b"x" * size
    report = mode == "report"
    producer = client.Producer({"bootstrap.servers": servers, "linger.ms": 5 if report else 60000, **PRODUCER})
    produce = producer.produce

    def enqueue() -> None:
        if report:
            for _ in range(count):
                produce(topic, payload, None, 0, None, fail_on_error)
        else:
            for _ in range(count):
                produce(topic, payload, None, 0)

    enqueue()
    if not report:
        producer.purge()
    producer.flush()
    start = now()
    enqueue()
    if report:
        producer.flush()
    end = now()
    producer.purge()
    producer.flush()
    return (end - start) / count


def run_consumer(client: Any, mode: str, servers: str, topic: str, count: int) -> float:
    """Return nanoseconds for each message taken out of the local queue."""
    consumer = client.Consumer({"bootstrap.servers": servers, "stats_cb": lambda _: None, **CONSUMER})
    consumer.assign([client.TopicPartition(topic, 0, client.OFFSET_BEGINNING)])
    # No client says how much is prefetched; ample time for it on a loopback broker.
    time.sleep(1.0 + count / 400_000)
    got = 0
    start = now()
    if mode == "poll":
        poll = consumer.poll
        while got < count:
            if poll(1.0).error() is None:
                got += 1
    else:
        consume = consumer.consume
        while got < count:
            messages = consume(min(10000, count - got), 1.0)
            for message in messages:
                message.value()
            got += len(messages)
    end = now()
    consumer.close()
    return (end - start) / count


def run_roundtrip(client: Any, servers: str, topic: str, count: int, size: int) -> list[int]:
    """Return the nanoseconds from produce() to the delivery callback of single messages."""
    payload = b"x" * size
    producer = client.Producer({"bootstrap.servers": servers, "linger.ms": 0})
    times = []
    for _ in range(100):
        producer.produce(topic, payload, None, 0, None, fail_on_error)
        producer.flush()
    for _ in range(count):
        start = now()
        producer.produce(topic, payload, None, 0, None, fail_on_error)
        while not producer.poll(1.0):
            pass
        times.append(now() - start)
    return times


def main() -> None:
    """Run one measurement."""
    module, mode, servers, topic, count, size = sys.argv[1:]
    client = importlib.import_module(module)
    result: Any
    if mode in ("produce", "report"):
        result = run_producer(client, mode, servers, topic, int(count), int(size))
    elif mode == "roundtrip":
        result = run_roundtrip(client, servers, topic, int(count), int(size))
    else:
        result = run_consumer(client, mode, servers, topic, int(count))
    print(json.dumps({"ns": result}))


if __name__ == "__main__":
    main()
