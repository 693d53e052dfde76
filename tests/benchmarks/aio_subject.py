"""One asyncio client doing what is measured: run as its own process, prints one JSON object.

Usage: python -m tests.benchmarks.aio_subject CLIENT MODE BOOTSTRAP_SERVERS TOPIC MESSAGES SIZE

CLIENT is cykafka, cykafka+uvloop, confluent_kafka or aiokafka, MODE poll, consume, pipeline or roundtrip. For each
message, or each round trip: nanoseconds by the clock, and of the loop's thread.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

CONSUMER = {
    "group.id": "limit",
    "enable.auto.commit": False,
    "queued.min.messages": 10_000_000,
    "queued.max.messages.kbytes": 2_000_000,
    "fetch.queue.backoff.ms": 1,
}
PRODUCER = {"queue.buffering.max.messages": 10_000_000, "queue.buffering.max.kbytes": 2_000_000}
BATCH = 1000


class Librdkafka:
    """cykafka, or confluent_kafka, by the names that both have.

    Args:
        client: The package's name.
        servers: Bootstrap servers.
        topic: Topic, whose partition 0 is used.
    """

    def __init__(self, client: str, servers: str, topic: str) -> None:
        if client == "cykafka":
            import cykafka as package
            from cykafka import aio
        else:
            import confluent_kafka as package  # type: ignore[no-redef]
            from confluent_kafka import aio  # type: ignore[no-redef]
        self.package: Any = package
        self.aio: Any = aio
        self.servers = {"bootstrap.servers": servers}
        self.topic = topic

    async def consumer(self, count: int) -> Any:
        """Make a consumer and let it prefetch."""
        consumer = self.aio.AIOConsumer({**self.servers, **CONSUMER})
        await consumer.assign([self.package.TopicPartition(self.topic, 0, self.package.OFFSET_BEGINNING)])
        await consumer.poll(30)
        # No client says how much is prefetched; ample time for it on a loopback broker.
        await asyncio.sleep(1.0 + count / 400_000)
        return consumer

    async def poll(self, consumer: Any) -> None:
        """Take one message."""
        assert (await consumer.poll(30)).error() is None

    async def consume(self, consumer: Any, most: int) -> int:
        """Take a batch."""
        messages = await consumer.consume(most, 30)
        for message in messages:
            message.value()
        return len(messages)

    async def producer(self) -> Any:
        """Make a producer."""
        return self.aio.AIOProducer({**self.servers, **PRODUCER})

    async def enqueue(self, producer: Any, payload: bytes) -> Awaitable[Any]:
        """Enqueue a message; returns the future of its delivery."""
        future: Awaitable[Any] = await producer.produce(self.topic, payload, None, partition=0)
        return future

    async def close(self, client: Any) -> None:
        """Close a client."""
        await client.close()


class Aiokafka:
    """aiokafka; arguments and methods as `Librdkafka`."""

    def __init__(self, servers: str, topic: str) -> None:
        self.servers = servers
        self.topic = topic

    async def consumer(self, count: int) -> Any:
        """Make a consumer and let it prefetch, as far as it does."""
        from aiokafka import AIOKafkaConsumer, TopicPartition

        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.servers,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=100_000_000,
            fetch_max_bytes=100_000_000,
        )
        await consumer.start()
        consumer.assign([TopicPartition(self.topic, 0)])
        await consumer.getone()
        await asyncio.sleep(1.0 + count / 400_000)
        return consumer

    async def poll(self, consumer: Any) -> None:
        """Take one message."""
        await consumer.getone()

    async def consume(self, consumer: Any, most: int) -> int:
        """Take a batch."""
        batches = await consumer.getmany(timeout_ms=30_000, max_records=most)
        for messages in batches.values():
            for message in messages:
                message.value
        return sum(map(len, batches.values()))

    async def producer(self) -> Any:
        """Make a producer."""
        from aiokafka import AIOKafkaProducer

        producer = AIOKafkaProducer(bootstrap_servers=self.servers, max_batch_size=1_000_000)
        await producer.start()
        return producer

    async def enqueue(self, producer: Any, payload: bytes) -> Awaitable[Any]:
        """Enqueue a message; returns the future of its delivery."""
        future: Awaitable[Any] = await producer.send(self.topic, payload, partition=0)
        return future

    async def close(self, client: Any) -> None:
        """Close a client."""
        await client.stop()


async def measured(work: Callable[[], Awaitable[None]], count: int) -> dict[str, float]:
    """Return what each of so many messages takes."""
    start, cpu = time.perf_counter_ns(), time.thread_time_ns()
    await work()
    end, cpu_end = time.perf_counter_ns(), time.thread_time_ns()
    return {"wall": (end - start) / count, "cpu": (cpu_end - cpu) / count}


async def run(client: Librdkafka | Aiokafka, mode: str, count: int, size: int) -> dict[str, float]:
    """Run one measurement."""
    payload = b"x" * size
    if mode in ("poll", "consume"):
        consumer = await client.consumer(count)

        async def take() -> None:
            if mode == "poll":
                for _ in range(count):
                    await client.poll(consumer)
            else:
                got = 0
                while got < count:
                    got += await client.consume(consumer, min(BATCH, count - got))

        result = await measured(take, count)
        await client.close(consumer)
        return result
    producer = await client.producer()
    await (await client.enqueue(producer, payload))

    async def pipeline() -> None:
        futures = [await client.enqueue(producer, payload) for _ in range(count)]
        for future in futures:
            await future

    async def round_trips() -> None:
        for _ in range(count):
            await (await client.enqueue(producer, payload))

    if mode == "pipeline":
        await pipeline()
    result = await measured(pipeline if mode == "pipeline" else round_trips, count)
    await client.close(producer)
    return result


def main() -> None:
    """Run the measurement that the arguments name."""
    name, mode, servers, topic, count, size = sys.argv[1:]
    package, _, loop = name.partition("+")
    client = Aiokafka(servers, topic) if package == "aiokafka" else Librdkafka(package, servers, topic)
    work = run(client, mode, int(count), int(size))
    if loop:
        import uvloop

        result = uvloop.run(work)
    else:
        result = asyncio.run(work)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
