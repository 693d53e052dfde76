"""Asyncio clients of objects instead of bytes; serializers and deserializers may be coroutines."""

import asyncio
import inspect
import weakref
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cykafka._rdkafka import core
from cykafka._rdkafka.core import Message
from cykafka._serdes import Serdes
from cykafka.aio._client import Client
from cykafka.aio._peer import AIOConsumer, AIOProducer
from cykafka.error import (
    ConsumeError,
    KeyDeserializationError,
    KeySerializationError,
    ValueDeserializationError,
    ValueSerializationError,
)
from cykafka.serialization import HeadersType, MessageField, SerializationContext

if TYPE_CHECKING:
    from typing_extensions import Self

K = TypeVar("K")
V = TypeVar("V")


async def _settled(value: Any) -> Any:
    """Return a value, or what it becomes if it can be awaited."""
    return await value if inspect.isawaitable(value) else value


class AsyncSerdes(Serdes):
    """Serializers, or deserializers, whose builders may be coroutines.

    Args:
        conf: As for `Serdes`; nothing is built before `build` has been awaited.
        kind: ``serializer`` or ``deserializer``.
    """

    def _build(self, serde: Any, is_key: bool) -> Any:
        return serde

    async def build(self) -> None:
        """Build what is given by builders."""
        self.key = await self._built(self.key, is_key=True)
        self.value = await self._built(self.value, is_key=False)

    async def _built(self, serde: Any, *, is_key: bool) -> Any:
        builder = getattr(serde, "builder", serde)
        if not hasattr(builder, "build"):
            return serde
        built, self.rest = await _settled(builder.build(self.rest, is_key))
        self._owned.append(built)
        return built

    def share_cluster_id(self, client: Any) -> None:
        """Tell those that ask for it how to learn the cluster's identifier: by awaiting a function."""
        reference: weakref.ref[Client] = weakref.ref(client)

        async def resolve() -> str:
            alive = reference()
            if alive is None:
                raise RuntimeError("the client that knew the cluster's identifier is gone")
            return await alive.cluster_id()

        for serde in (self.key, self.value):
            take: Callable[[Any], None] | None = getattr(serde, "set_cluster_id_resolver", None)
            if take is not None and inspect.iscoroutinefunction(getattr(serde, "__call__", None)):  # noqa: B004
                take(resolve)

    async def close_all(self) -> None:
        """Close what builders have built; closing may be a coroutine."""
        owned, self._owned = self._owned, []
        for serde in owned:
            close = getattr(serde, "close", None)
            if callable(close):
                await _settled(close())


class AsyncSerializingProducer(AIOProducer, Generic[K, V]):
    """An `AIOProducer` whose keys and values go through serializers; made by awaiting it.

    ``producer = await AsyncSerializingProducer({...})``, or ``async with await AsyncSerializingProducer({...})``.

    Args:
        conf: As `Producer`, and ``key.serializer`` and ``value.serializer``: functions or coroutine functions that take
            (object, `SerializationContext`) and return bytes; or ``key.serializer.builder`` and
            ``value.serializer.builder``, whose ``build(conf, is_key)`` may be a coroutine, too. What is built is closed
            with the producer.
        **kwargs: As `AIOProducer`.

    Raises:
        TypeError, ValueError, KafkaException: As `AIOProducer`.
    """

    def __init__(self, conf: dict[str, Any], **kwargs: Any) -> None:
        self._serdes = AsyncSerdes(conf, "serializer")
        self._arguments = kwargs

    def __await__(self) -> "Generator[Any, None, Self]":
        """Build the serializers and the producer."""
        return self._made().__await__()

    async def _made(self) -> "Self":
        await self._serdes.build()
        super().__init__(self._serdes.rest, **self._arguments)
        self._serdes.share_cluster_id(self)
        return self

    async def produce(  # type: ignore[override]
        self,
        topic: str,
        key: K | None = None,
        value: V | None = None,
        partition: int = -1,
        timestamp: int = 0,
        headers: HeadersType | None = None,
        **kwargs: Any,
    ) -> "asyncio.Future[Message]":
        """Serialize and enqueue a message; as `AIOProducer.produce`, the key before the value.

        Args:
            topic: Topic name.
            key: Key to serialize.
            value: Value to serialize.
            partition: Partition number, or -1.
            timestamp: Milliseconds since the epoch UTC; 0 for now.
            headers: Headers; serializers may add to them.
            **kwargs: ``on_delivery``, as `Producer.produce`.

        Raises:
            KeySerializationError, ValueSerializationError: If a serializer fails.
            KafkaException, TypeError, RuntimeError: As `AIOProducer.produce`.
        """
        self._open()
        if not isinstance(topic, str):
            raise TypeError(f"topic must be str, not {type(topic).__name__}")
        context = SerializationContext(topic, MessageField.KEY, headers)
        native_key: Any = key
        native_value: Any = value
        if self._serdes.key is not None:
            try:
                native_key = await _settled(self._serdes.key(key, context))
            except Exception as error:
                raise KeySerializationError(error) from error
        context.field = MessageField.VALUE
        if self._serdes.value is not None:
            try:
                native_value = await _settled(self._serdes.value(value, context))
            except Exception as error:
                raise ValueSerializationError(error) from error
        return await self.enqueue(
            topic, native_value, native_key, partition, timestamp=timestamp, headers=context.headers, **kwargs
        )

    async def close(self, timeout: float | None = -1) -> None:
        """Close the producer as `Producer.close` does, and the serializers that were built for it."""
        await super().close(timeout)
        await self._serdes.close_all()


class AsyncDeserializingConsumer(AIOConsumer, Generic[K, V]):
    """An `AIOConsumer` whose keys and values go through deserializers; made by awaiting it.

    ``consumer = await AsyncDeserializingConsumer({...})``, or ``async with await AsyncDeserializingConsumer({...})``.

    Args:
        conf: As `Consumer`, and ``key.deserializer`` and ``value.deserializer``: functions or coroutine functions that
            take (bytes, `SerializationContext`) and return an object; or ``key.deserializer.builder`` and
            ``value.deserializer.builder``, whose ``build(conf, is_key)`` may be a coroutine, too. What is built is
            closed with the consumer.
        **kwargs: As `AIOConsumer`.

    Raises:
        TypeError, ValueError, KafkaException: As `AIOConsumer`.
    """

    def __init__(self, conf: dict[str, Any], **kwargs: Any) -> None:
        self._serdes = AsyncSerdes(conf, "deserializer")
        self._arguments = kwargs

    def __await__(self) -> "Generator[Any, None, Self]":
        """Build the deserializers and the consumer."""
        return self._made().__await__()

    async def _made(self) -> "Self":
        await self._serdes.build()
        super().__init__(self._serdes.rest, **self._arguments)
        self._serdes.share_cluster_id(self)
        return self

    async def _objects(self, message: Message) -> tuple[Any, Any]:
        """Return the key and value that the deserializers make of a message."""
        context = SerializationContext(message.topic() or "", MessageField.VALUE, message.headers())
        key: Any = message.key()
        value: Any = message.value()
        if self._serdes.value is not None:
            try:
                value = await _settled(self._serdes.value(value, context))
            except Exception as error:
                raise ValueDeserializationError(error, message) from error
        if self._serdes.key is not None:
            context.field = MessageField.KEY
            try:
                key = await _settled(self._serdes.key(key, context))
            except Exception as error:
                raise KeyDeserializationError(error, message) from error
        return key, value

    async def poll(self, timeout: float | None = -1) -> Message | None:
        """Return the next message, deserialized. Being cancelled loses no message.

        Args:
            timeout: Seconds to wait for a message; -1 or None for no limit.

        Returns:
            Message | None: None on time-out.

        Raises:
            KeyDeserializationError, ValueDeserializationError: If a deserializer fails; the exception has the
                message.
            ConsumeError: If an error or event was consumed.
            RuntimeError: If the consumer is closed.
        """
        message = await super().poll(timeout)
        if message is None:
            return None
        error = message.error()
        if error is not None:
            raise ConsumeError(error, kafka_message=message)
        try:
            key, value = await self._objects(message)
        except asyncio.CancelledError:
            core.give_back(self._client, [message])
            raise
        message.set_key(key)
        message.set_value(value)
        return message

    async def consume(
        self, num_messages: int = 1, timeout: float | None = -1, *, min_messages: int | None = None
    ) -> list[Message]:
        """Return a batch of messages, deserialized; arguments as `Consumer.consume`. Being cancelled loses no message.

        A message that is an error, or that cannot be deserialized, stays in the batch with its error set
        (codes ``_KEY_DESERIALIZATION`` and ``_VALUE_DESERIALIZATION``), so that the others are not lost.

        Raises:
            ValueError: If a number is out of range.
            RuntimeError: If the consumer is closed.
        """
        messages = await super().consume(num_messages, timeout, min_messages=min_messages)
        try:
            outcomes = [await self._outcome(message) for message in messages]
        except asyncio.CancelledError:
            core.give_back(self._client, messages)
            raise
        for message, outcome in zip(messages, outcomes, strict=True):
            if isinstance(outcome, ConsumeError):
                message.set_error(outcome.args[0])
            elif outcome is not None:
                message.set_key(outcome[0])
                message.set_value(outcome[1])
        return messages

    async def _outcome(self, message: Message) -> tuple[Any, Any] | ConsumeError | None:
        if message.error() is not None:
            return None
        try:
            return await self._objects(message)
        except ConsumeError as error:
            return error

    async def close(self) -> None:
        """Close the consumer as `Consumer.close` does, and the deserializers that were built for it."""
        await super().close()
        await self._serdes.close_all()
