"""DeserializingConsumer: a consumer of objects instead of bytes."""

from typing import Any, Generic, TypeVar

from cykafka._rdkafka.core import Consumer, Message
from cykafka._serdes import Serdes
from cykafka.error import ConsumeError, KeyDeserializationError, ValueDeserializationError
from cykafka.serialization import MessageField, SerializationContext

__all__ = [
    "ConsumeError",
    "DeserializingConsumer",
    "KeyDeserializationError",
    "Message",
    "MessageField",
    "SerializationContext",
    "ValueDeserializationError",
]

K = TypeVar("K")
V = TypeVar("V")


class DeserializingConsumer(Consumer, Generic[K, V]):
    """A `Consumer` whose keys and values go through deserializers.

    Args:
        conf: As `Consumer`, and ``key.deserializer`` and ``value.deserializer``: callables that take
            (bytes, `SerializationContext`) and return an object; or ``key.deserializer.builder`` and
            ``value.deserializer.builder``, each a `DeserializerBuilder`. What is built is closed with the consumer.

    Raises:
        TypeError, ValueError, KafkaException: As `Consumer`.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        self._serdes = Serdes(conf, "deserializer")
        super().__init__(self._serdes.rest)
        self._serdes.share_cluster_id(self)

    def poll(self, timeout: float | None = -1) -> Message | None:
        """Return the next message, deserialized.

        Args:
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            Message | None: None on time-out.

        Raises:
            KeyDeserializationError, ValueDeserializationError: If a deserializer fails; the exception has the
                message.
            ConsumeError: If an error or event was consumed.
            RuntimeError: If the consumer is closed.
        """
        message = super().poll(timeout)
        if message is not None:
            error = message.error()
            if error is not None:
                raise ConsumeError(error, kafka_message=message)
            self._serdes.deserialize(message)
        return message

    def consume(
        self, num_messages: int = 1, timeout: float | None = -1, *, min_messages: int | None = None
    ) -> list[Message]:
        """Return a batch of messages, deserialized; arguments as `Consumer.consume`.

        A message that is an error, or that cannot be deserialized, stays in the batch with its error set
        (codes ``_KEY_DESERIALIZATION`` and ``_VALUE_DESERIALIZATION``), so that the others are not lost.

        Raises:
            ValueError: If a number is out of range.
            RuntimeError: If the consumer is closed.
        """
        messages = super().consume(num_messages, timeout, min_messages=min_messages)
        for message in messages:
            if message.error() is None:
                try:
                    self._serdes.deserialize(message)
                except ConsumeError as error:
                    message.set_error(error.args[0])
        return messages

    def close(self, timeout: float | None = -1) -> None:
        """Close the consumer as `Consumer.close` does, and the deserializers that were built for it."""
        try:
            super().close(timeout)
        finally:
            self._serdes.close()

    def __exit__(self, exc_type: Any, exc_value: Any, exc_traceback: Any) -> None:
        self.close()
