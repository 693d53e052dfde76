"""Where ``confluent_kafka.aio.producer`` has its producer."""

from cykafka.aio._peer import AIOProducer

__all__ = ["AIOProducer"]
