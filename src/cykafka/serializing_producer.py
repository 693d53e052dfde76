"""SerializingProducer: a producer of objects instead of bytes."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from cykafka._rdkafka.core import Producer
from cykafka._serdes import Serdes
from cykafka.error import KeySerializationError, ValueSerializationError
from cykafka.serialization import HeadersType, MessageField, SerializationContext

K = TypeVar("K")
V = TypeVar("V")
DeliveryCallback = Callable[[Any, Any], None]


class SerializingProducer(Producer, Generic[K, V]):
    """A `Producer` whose keys and values go through serializers.

    Args:
        conf: As `Producer`, and ``key.serializer`` and ``value.serializer``: callables that take
            (object, `SerializationContext`) and return bytes; or ``key.serializer.builder`` and
            ``value.serializer.builder``, each a `SerializerBuilder`. What is built is closed with the producer.

    Raises:
        TypeError, KafkaException: As `Producer`.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        self._serdes = Serdes(conf, "serializer")
        super().__init__(self._serdes.rest)
        self._serdes.share_cluster_id(self)

    def produce(  # type: ignore[override]
        self,
        topic: str,
        key: K | None = None,
        value: V | None = None,
        partition: int = -1,
        on_delivery: DeliveryCallback | None = None,
        timestamp: int = 0,
        headers: HeadersType | None = None,
        **kwargs: Any,
    ) -> None:
        """Serialize and enqueue a message; arguments as `Producer.produce`, the key before the value.

        Args:
            topic: Topic name.
            key: Key to serialize.
            value: Value to serialize.
            partition: Partition number, or -1.
            on_delivery: Delivery callback.
            timestamp: Milliseconds since the epoch UTC; 0 for now.
            headers: Headers; serializers may add to them.
            **kwargs: ``opaque``, ``timeout``, ``copy`` and ``deadline``, as `Producer.produce`.

        Raises:
            KeySerializationError, ValueSerializationError: If a serializer fails.
            BufferError, KafkaException, TypeError, RuntimeError: As `Producer.produce`.
        """
        if self.closed:
            raise RuntimeError("Producer has been closed")
        if not isinstance(topic, str):
            raise TypeError(f"topic must be str, not {type(topic).__name__}")
        key_serializer, value_serializer = self._serdes.key, self._serdes.value
        if key_serializer is None and value_serializer is None:
            context = None
        else:
            context = SerializationContext(topic, MessageField.KEY, headers)
        native_key: Any = key
        native_value: Any = value
        if key_serializer is not None:
            try:
                native_key = key_serializer(key, context)
            except Exception as error:
                raise KeySerializationError(error) from error
        if value_serializer is not None and context is not None:
            context.field = MessageField.VALUE
            try:
                native_value = value_serializer(value, context)
            except Exception as error:
                raise ValueSerializationError(error) from error
        super().produce(
            topic,
            native_value,
            native_key,
            partition,
            None,
            on_delivery,
            timestamp,
            headers if context is None else context.headers,
            **kwargs,
        )

    def close(self, timeout: float | None = -1) -> bool:
        """Close the producer as `Producer.close` does, and the serializers that were built for it."""
        try:
            return super().close(timeout)
        finally:
            self._serdes.close()

    def __exit__(self, exc_type: Any, exc_value: Any, exc_traceback: Any) -> None:
        self.close()
