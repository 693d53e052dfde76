"""Serializers and deserializers in a client's configuration, and the use of them."""

import weakref
from collections.abc import Callable
from typing import Any

from cykafka._rdkafka.core import Client, Message
from cykafka.error import KeyDeserializationError, ValueDeserializationError
from cykafka.serialization import DeserializerBuilder, MessageField, SerializationContext, SerializerBuilder


class Serdes:
    """The serializers, or deserializers, of one client.

    Args:
        conf: Configuration as the user gave it; not changed. A property that ends in ``.builder`` has a
            `SerializerBuilder` or `DeserializerBuilder`, which is asked to build one from the configuration.
        kind: ``serializer`` or ``deserializer``.

    Attributes:
        key: The key's, or None.
        value: The value's, or None.
        rest: Configuration for the client itself.

    Raises:
        TypeError: If the configuration is not a dict, or something is not callable or not a builder.
        ValueError: If there are both one and a builder.
    """

    def __init__(self, conf: dict[str, Any], kind: str) -> None:
        if not isinstance(conf, dict):
            raise TypeError(f"expected configuration dict, not {type(conf).__name__}")
        self.rest = dict(conf)
        self._owned: list[Any] = []
        given = [(self._pop(f"{part}.{kind}"), part == "key") for part in ("key", "value")]
        self.key, self.value = [self._build(*pair) for pair in given]

    def _pop(self, name: str) -> Any:
        """Take a property, or its builder, out of the configuration."""
        serde = self.rest.pop(name, None)
        builder = self.rest.pop(f"{name}.builder", None)
        if builder is None:
            if serde is not None and not callable(serde) and not hasattr(serde, "build"):
                raise TypeError(f"{name} must be callable, not {type(serde).__name__}")
            return serde
        if serde is not None:
            raise ValueError(f"Cannot configure both {name} and {name}.builder; use one or the other")
        if not callable(getattr(builder, "build", None)):
            raise TypeError(f"{name}.builder must have a method build(conf, is_key), not {type(builder).__name__}")
        return _Building(builder)

    def _build(self, serde: Any, is_key: bool) -> Any:
        """Return what was given, or what the builder builds, which belongs to the client."""
        if isinstance(serde, SerializerBuilder | DeserializerBuilder):
            serde = _Building(serde)
        if isinstance(serde, _Building):
            serde, self.rest = serde.builder.build(self.rest, is_key)
            self._owned.append(serde)
        return serde

    def share_cluster_id(self, client: Client) -> None:
        """Tell those that ask for it how to learn the cluster's identifier, without keeping the client alive."""
        reference = weakref.ref(client)

        def resolve() -> str:
            alive = reference()
            if alive is None:
                raise RuntimeError("the client that knew the cluster's identifier is gone")
            return alive.cluster_id()

        for serde in (self.key, self.value):
            take: Callable[[Callable[[], str]], None] | None = getattr(serde, "set_cluster_id_resolver", None)
            if take is not None:
                take(resolve)

    def deserialize(self, message: Message) -> None:
        """Replace a message's key and value by what the deserializers make of them, both or none.

        Raises:
            KeyDeserializationError, ValueDeserializationError: If a deserializer fails.
        """
        context = SerializationContext(message.topic() or "", MessageField.VALUE, message.headers())
        value: Any = message.value()
        key: Any = message.key()
        if self.value is not None:
            try:
                value = self.value(value, context)
            except Exception as error:
                raise ValueDeserializationError(error, message) from error
        if self.key is not None:
            context.field = MessageField.KEY
            try:
                key = self.key(key, context)
            except Exception as error:
                raise KeyDeserializationError(error, message) from error
        message.set_value(value)
        message.set_key(key)

    def close(self) -> None:
        """Close what builders have built; what the user made is the user's to close."""
        for serde in self._owned:
            close = getattr(serde, "close", None)
            if callable(close):
                close()
        self._owned.clear()


class _Building:
    """Marks what is to be built."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
