"""Interceptors: see and change what goes through producers and consumers (KIP-42).

``Producer({..., "interceptors": [a, b]})``: each method is called on ``a``, then on ``b``, on the thread that calls
produce(), poll() and their like. An interceptor that raises never breaks its client: the exception goes to
``sys.unraisablehook``, what it had changed in the record is undone, and the next one is called. Any object that has
one or more of the four methods is an interceptor; the classes here are a convenience, and both may be inherited from
to make one for producers and consumers alike. Rows of produce_arrow() and consume_arrow() pass no interceptors.
"""

from cykafka._rdkafka.core import KafkaError, Message, ProducerRecord, TopicPartition

__all__ = ["ConsumerInterceptor", "ProducerInterceptor", "ProducerRecord"]


class ProducerInterceptor:
    """Base of interceptors of producers; each method does nothing."""

    def on_send(self, record: ProducerRecord) -> None:
        """See a message before its partition is chosen and it is enqueued.

        Args:
            record: The message; what is assigned to its attributes, or changed in its headers, is what is produced.
        """

    def on_acknowledgement(self, record: ProducerRecord, error: KafkaError | None, message: Message | None) -> None:
        """See what became of a message, before its delivery callback does.

        Args:
            record: The record as on_send() left it, with its ``state``.
            error: Why it was not delivered, None if it was.
            message: The delivery report; None if the message could not be enqueued.
        """


class ConsumerInterceptor:
    """Base of interceptors of consumers; each method does nothing."""

    def on_consume(self, message: Message) -> None:
        """See a message before poll() or consume() returns it; errors and partition ends are not shown.

        Args:
            message: The message; its setters change what the application gets.
        """

    def on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """See the outcome of a commit, also of those that librdkafka makes by itself.

        Args:
            error: Why it failed, None if it did not.
            partitions: What was to be committed, each with its own error.
        """
