"""The names and signatures of ``confluent_kafka.aio``."""

import asyncio
from concurrent.futures import Executor
from typing import Any

from cykafka._rdkafka.core import Message
from cykafka.aio._consumer import Consumer
from cykafka.aio._producer import DeliveryCallback, Headers, Producer


class AIOProducer(Producer):
    """`Producer` with the signatures of ``confluent_kafka.aio.AIOProducer``: produce() is to be awaited.

    Args:
        producer_conf: Configuration, as for `Producer`.
        max_workers: Threads for the few blocking calls.
        executor: Where these run instead.
        batch_size: Accepted and checked, not needed: librdkafka makes the batches (``batch.num.messages``).
        buffer_timeout: Accepted and checked, not needed: messages wait for others in librdkafka alone (``linger.ms``).

    Raises:
        ValueError: If batch_size or max_workers is less than 1, or buffer_timeout is negative.
        TypeError, KafkaException: As `Producer`.
    """

    def __init__(
        self,
        producer_conf: dict[str, Any],
        max_workers: int = 4,
        executor: Executor | None = None,
        batch_size: int = 1000,
        buffer_timeout: float = 1.0,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        if buffer_timeout < 0:
            raise ValueError(f"buffer_timeout must be >= 0 seconds, not {buffer_timeout}")
        super().__init__(producer_conf, executor=executor, max_workers=max_workers)

    async def produce(  # type: ignore[override]
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        on_delivery: DeliveryCallback | None = None,
        timestamp: int | None = 0,
        headers: Headers | None = None,
    ) -> "asyncio.Future[Message]":
        """Enqueue a message, waiting while the local queue is full; as `Producer.enqueue`.

        Returns:
            asyncio.Future[Message]: Becomes the delivered message, or fails with `KafkaException`.
        """
        return await self.enqueue(topic, value, key, partition, on_delivery, timestamp, headers)


class AIOConsumer(Consumer):
    """`Consumer` with the signatures of ``confluent_kafka.aio.AIOConsumer``.

    Args:
        consumer_conf: Configuration, as for `Consumer`.
        max_workers: Most threads for the calls that block; they are started when needed.
        executor: Where these run instead.

    Raises:
        TypeError, ValueError, KafkaException: As `Consumer`.
    """

    def __init__(self, consumer_conf: dict[str, Any], max_workers: int = 100, executor: Executor | None = None) -> None:
        super().__init__(consumer_conf, executor=executor, max_workers=max_workers)
