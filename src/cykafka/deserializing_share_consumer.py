"""DeserializingShareConsumer: a share consumer of objects instead of bytes."""

from typing import Any

from cykafka._model import Messages
from cykafka._rdkafka.core import KafkaError, Message, ShareConsumer
from cykafka._serdes import Serdes
from cykafka.error import ConsumeError
from cykafka.serialization import MessageField, SerializationContext

__all__ = [
    "DeserializingShareConsumer",
    "KafkaError",
    "Message",
    "MessageField",
    "Messages",
    "SerializationContext",
]


class DeserializingShareConsumer(ShareConsumer):
    """A `ShareConsumer` whose keys and values go through deserializers.

    Args:
        conf: As `ShareConsumer`, and ``key.deserializer`` and ``value.deserializer``: callables that take
            (bytes, `SerializationContext`) and return an object; or ``key.deserializer.builder`` and
            ``value.deserializer.builder``, each a `DeserializerBuilder`.

    Raises:
        TypeError, ValueError, KafkaException: As `ShareConsumer`.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        self._serdes = Serdes(conf, "deserializer")
        super().__init__(self._serdes.rest)
        self._serdes.share_cluster_id(self)

    def poll(self, timeout: float | None = -1) -> Messages:
        """Return the next batch of messages, deserialized; see `ShareConsumer.poll`.

        A message that is an error, or that cannot be deserialized, stays in the batch: with its bytes, and with its
        error set (codes ``_KEY_DESERIALIZATION`` and ``_VALUE_DESERIALIZATION``), so that it can be rejected.

        Args:
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            Messages: Empty on time-out.

        Raises:
            KafkaException, IllegalStateException, ConcurrentModificationException: As `ShareConsumer.poll`.
        """
        messages = super().poll(timeout)
        for message in messages:
            if message.error() is None:
                try:
                    self._serdes.deserialize(message)
                except ConsumeError as error:
                    message.set_error(error.args[0])
        return messages

    def close(self) -> None:
        """Close the consumer as `ShareConsumer.close` does, and the deserializers that were built for it."""
        try:
            super().close()
        finally:
            self._serdes.close()

    def __exit__(self, exc_type: object, exc_value: object, exc_traceback: object) -> None:
        self.close()
