"""asyncio clients: native, on the event descriptor of librdkafka's queues, without a thread for each call.

`Producer`, `Consumer`, `ShareConsumer` and `AdminClient` have the methods of the clients of the same names, to be
awaited. `AIOProducer` and `AIOConsumer` have the names and signatures of ``confluent_kafka.aio``.
"""

from cykafka.aio._admin import AdminClient
from cykafka.aio._consumer import Consumer
from cykafka.aio._peer import AIOConsumer, AIOProducer
from cykafka.aio._producer import Producer
from cykafka.aio._serializing import AsyncDeserializingConsumer, AsyncSerializingProducer
from cykafka.aio._share_consumer import ShareConsumer

__all__ = [
    "AIOConsumer",
    "AIOProducer",
    "AdminClient",
    "AsyncDeserializingConsumer",
    "AsyncSerializingProducer",
    "Consumer",
    "Producer",
    "ShareConsumer",
]
