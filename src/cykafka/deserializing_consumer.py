"""DeserializingConsumer: a consumer of objects instead of bytes."""

from typing import Any, Generic, TypeVar

from cykafka._rdkafka.core import Consumer, Message
from cykafka._serdes import close_serdes, share_cluster_id, take_serdes
from cykafka.error import ConsumeError, KeyDeserializationError, ValueDeserializationError
from cykafka.serialization import MessageField, SerializationContext

K = TypeVar("K")
V = TypeVar("V")


class DeserializingConsumer(Consumer, Generic[K, V]):
    """A `Consumer` whose keys and values go through deserializers.

    Args:
        conf: As `Consumer`, and ``key.deserializer`` and ``value.deserializer``: callables that take
            (bytes, `SerializationContext`) and return an object, or `DeserializerBuilder`.

    Raises:
        TypeError, ValueError, KafkaException: As `Consumer`.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        self._serdes, rest = take_serdes(conf, "key.deserializer", "value.deserializer")
        super().__init__(rest)
        share_cluster_id(self._serdes, self.cluster_id)

    def _deserialize(self, message: Message) -> Message:
        """Replace a message's key and value by what the deserializers make of them."""
        error = message.error()
        if error is not None:
            raise ConsumeError(error, kafka_message=message)
        key_deserializer, value_deserializer = self._serdes
        context = SerializationContext(message.topic() or "", MessageField.VALUE, message.headers())
        if value_deserializer is not None:
            try:
                value = value_deserializer(message.value(), context)
            except Exception as exc:
                raise ValueDeserializationError(exc, message) from exc
            message.set_value(value)
        if key_deserializer is not None:
            context.field = MessageField.KEY
            try:
                key = key_deserializer(message.key(), context)
            except Exception as exc:
                raise KeyDeserializationError(exc, message) from exc
            message.set_key(key)
        return message

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
        return None if message is None else self._deserialize(message)

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
                    self._deserialize(message)
                except ConsumeError as error:
                    message.set_error(error.args[0])
        return messages

    def close(self) -> None:
        """Close the consumer as `Consumer.close` does, and its deserializers."""
        try:
            super().close()
        finally:
            close_serdes(self._serdes)

    def __exit__(self, exc_type: Any, exc_value: Any, exc_traceback: Any) -> None:
        self.close()
