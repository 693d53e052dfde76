"""Exceptions of the serializing clients, and the core's own."""

from cykafka._rdkafka.core import KafkaError, KafkaException, Message
from cykafka.serialization import SerializationError


class _KafkaClientError(KafkaException):
    """An error that a client raised about one message.

    Args:
        kafka_error: What happened.
        exception: The exception that caused it, if one did.
        kafka_message: The message, if there is one.
    """

    def __init__(
        self,
        kafka_error: KafkaError,
        exception: Exception | None = None,
        kafka_message: Message | None = None,
    ) -> None:
        super().__init__(kafka_error)
        self.exception = exception
        self.kafka_message = kafka_message

    @property
    def code(self) -> int:
        """The error's code."""
        return int(self.args[0].code())

    @property
    def name(self) -> str:
        """The error's name."""
        return str(self.args[0].name())


class ConsumeError(_KafkaClientError):
    """A message could not be consumed.

    Args:
        kafka_error: What happened.
        exception: The exception that caused it, if one did.
        kafka_message: The message.
    """

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.args[0], self.exception, self.kafka_message))


class KeyDeserializationError(ConsumeError, SerializationError):
    """A key could not be deserialized.

    Args:
        exception: The deserializer's exception.
        kafka_message: The message.
    """

    def __init__(self, exception: Exception | None = None, kafka_message: Message | None = None) -> None:
        error = KafkaError(KafkaError._KEY_DESERIALIZATION, str(exception))
        super().__init__(error, exception=exception, kafka_message=kafka_message)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.exception, self.kafka_message))


class ValueDeserializationError(ConsumeError, SerializationError):
    """A value could not be deserialized.

    Args:
        exception: The deserializer's exception.
        kafka_message: The message.
    """

    def __init__(self, exception: Exception | None = None, kafka_message: Message | None = None) -> None:
        error = KafkaError(KafkaError._VALUE_DESERIALIZATION, str(exception))
        super().__init__(error, exception=exception, kafka_message=kafka_message)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.exception, self.kafka_message))


class ProduceError(_KafkaClientError):
    """A message could not be produced.

    Args:
        kafka_error: What happened.
        exception: The exception that caused it, if one did.
    """

    def __init__(self, kafka_error: KafkaError, exception: Exception | None = None) -> None:
        super().__init__(kafka_error, exception, None)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.args[0], self.exception))


class KeySerializationError(ProduceError, SerializationError):
    """A key could not be serialized.

    Args:
        exception: The serializer's exception.
    """

    def __init__(self, exception: Exception | None = None) -> None:
        super().__init__(KafkaError(KafkaError._KEY_SERIALIZATION, str(exception)), exception=exception)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.exception,))


class ValueSerializationError(ProduceError, SerializationError):
    """A value could not be serialized.

    Args:
        exception: The serializer's exception.
    """

    def __init__(self, exception: Exception | None = None) -> None:
        super().__init__(KafkaError(KafkaError._VALUE_SERIALIZATION, str(exception)), exception=exception)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.exception,))


__all__ = [
    "ConsumeError",
    "KafkaError",
    "KafkaException",
    "KeyDeserializationError",
    "KeySerializationError",
    "Message",
    "ProduceError",
    "SerializationError",
    "ValueDeserializationError",
    "ValueSerializationError",
]
