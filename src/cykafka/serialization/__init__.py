"""Serializers and deserializers: the protocol, and those for str, int and float.

They are called as ``serializer(value, context)`` and may be shared by threads; these here keep no state.
"""

import enum
import struct
from collections.abc import Callable
from typing import Any

from cykafka._rdkafka.core import KafkaException

HeadersType = dict[str, str | bytes | None] | list[tuple[str, Any]]

__all__ = [
    "Deserializer",
    "DeserializerBuilder",
    "DoubleDeserializer",
    "DoubleSerializer",
    "IntegerDeserializer",
    "IntegerSerializer",
    "KafkaException",
    "MessageField",
    "SerializationContext",
    "SerializationError",
    "Serializer",
    "SerializerBuilder",
    "StringDeserializer",
    "StringSerializer",
]


class MessageField(str, enum.Enum):
    """Part of a message that is being serialized or deserialized."""

    NONE = "none"
    KEY = "key"
    VALUE = "value"

    def __str__(self) -> str:
        return str(self.value)


class SerializationContext:
    """What a serializer may want to know besides the value.

    Args:
        topic: Topic of the message.
        field: Key or value.
        headers: Headers of the message, which a serializer may add to.
    """

    def __init__(self, topic: str, field: MessageField, headers: HeadersType | None = None) -> None:
        self.topic = topic
        self.field = field
        self.headers = headers


class SerializationError(KafkaException):
    """A value could not be serialized or deserialized."""


class Serializer:
    """Turns objects into bytes; base class of serializers."""

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """Return the bytes of an object, None for None.

        Raises:
            SerializationError: If it cannot be serialized.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Free what the serializer holds."""

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Take a function that returns the identifier of the cluster."""


class Deserializer:
    """Turns bytes into objects; base class of deserializers."""

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """Return the object that bytes stand for, None for None.

        Raises:
            SerializationError: If they cannot be deserialized.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Free what the deserializer holds."""

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Take a function that returns the identifier of the cluster."""


class SerializerBuilder:
    """Makes a serializer from a client's configuration."""

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[Serializer, dict[str, Any]]:
        """Return a serializer and the configuration without what it used.

        Args:
            conf: Configuration of the client.
            is_key: It is for keys, else for values.
        """
        raise NotImplementedError


class DeserializerBuilder:
    """Makes a deserializer from a client's configuration."""

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[Deserializer, dict[str, Any]]:
        """Return a deserializer and the configuration without what it used.

        Args:
            conf: Configuration of the client.
            is_key: It is for keys, else for values.
        """
        raise NotImplementedError


class _StructSerializer(Serializer):
    """Numbers by a `struct` format."""

    _format: struct.Struct

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        if obj is None:
            return None
        try:
            return self._format.pack(obj)
        except struct.error as error:
            raise SerializationError(str(error)) from error


class _StructDeserializer(Deserializer):
    """Numbers by a `struct` format."""

    _format: struct.Struct

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        if value is None:
            return None
        try:
            return self._format.unpack(value)[0]
        except struct.error as error:
            raise SerializationError(str(error)) from error


class IntegerSerializer(_StructSerializer):
    """Serializes int as 32-bit big-endian, as Java's IntegerSerializer does."""

    _format = struct.Struct(">i")

    def __call__(self, obj: int | None, ctx: SerializationContext | None = None) -> bytes | None:
        """Return four bytes, None for None.

        Raises:
            SerializationError: If it is not an int of 32 bits.
        """
        return super().__call__(obj, ctx)


class IntegerDeserializer(_StructDeserializer):
    """Deserializes int from 32-bit big-endian, as Java's IntegerDeserializer does."""

    _format = struct.Struct(">i")

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> int | None:
        """Return an int, None for None.

        Raises:
            SerializationError: If there are not four bytes.
        """
        result: int | None = super().__call__(value, ctx)
        return result


class DoubleSerializer(_StructSerializer):
    """Serializes float as 64-bit big-endian, as Java's DoubleSerializer does."""

    _format = struct.Struct(">d")

    def __call__(self, obj: float | None, ctx: SerializationContext | None = None) -> bytes | None:
        """Return eight bytes, None for None.

        Raises:
            SerializationError: If it is not a number.
        """
        return super().__call__(obj, ctx)


class DoubleDeserializer(_StructDeserializer):
    """Deserializes float from 64-bit big-endian, as Java's DoubleDeserializer does."""

    _format = struct.Struct(">d")

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> float | None:
        """Return a float, None for None.

        Raises:
            SerializationError: If there are not eight bytes.
        """
        result: float | None = super().__call__(value, ctx)
        return result


class StringSerializer(Serializer):
    """Serializes str.

    Args:
        codec: Name of a Python codec.
    """

    def __init__(self, codec: str = "utf_8") -> None:
        self.codec = codec

    def __call__(self, obj: str | None, ctx: SerializationContext | None = None) -> bytes | None:
        """Return the encoded text, None for None.

        Raises:
            SerializationError: If it is not a str, or cannot be encoded.
        """
        if obj is None:
            return None
        if not isinstance(obj, str):
            raise SerializationError(f"expected str, not {type(obj).__name__}")
        try:
            return obj.encode(self.codec)
        except UnicodeError as error:
            raise SerializationError(str(error)) from error


class StringDeserializer(Deserializer):
    """Deserializes str.

    Args:
        codec: Name of a Python codec.
    """

    def __init__(self, codec: str = "utf_8") -> None:
        self.codec = codec

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> str | None:
        """Return the decoded text, None for None.

        Raises:
            SerializationError: If it cannot be decoded.
        """
        if value is None:
            return None
        try:
            return value.decode(self.codec)
        except UnicodeError as error:
            raise SerializationError(str(error)) from error
