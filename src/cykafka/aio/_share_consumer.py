"""The asyncio share consumer (KIP-932)."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

from cykafka._model import Messages
from cykafka._rdkafka import core
from cykafka._rdkafka.core import KafkaException, Message, TopicPartition
from cykafka.aio._client import Client, _Callback

AcknowledgementCallback = Callable[[dict[TopicPartition, set[int]], KafkaException | None], Any]


class ShareConsumer(Client):
    """Consumes messages in asyncio as a member of a share group: each message goes to one member.

    Has the methods of `cykafka.ShareConsumer`, each to be awaited; tasks that call them take turns.

    Args:
        config: Configuration properties of librdkafka by name (``group.id`` is required), and the callbacks
            ``error_cb``, ``stats_cb``, ``throttle_cb``, ``oauth_cb`` and ``logger``. Callbacks may be coroutine
            functions.
        executor: Where the calls run that block (commit_sync(), close()); a small one of the consumer's own by
            default.
        max_workers: Threads of that.
        **properties: More properties, with underscores for dots.

    The consumer belongs to the loop in which it is first used; only `wakeup` is for other threads. Plain functions that
    poll() and the commits call raise out of them; what coroutines raise goes to the loop's exception handler.

    Raises:
        TypeError: If the configuration is not a dict, or a value has the wrong type.
        ValueError: If there is no ``group.id``, or a property is not for share consumers.
        KafkaException: If librdkafka refuses a property or value.
    """

    _client: core.ShareConsumer

    def __init__(
        self,
        config: dict[str, Any] | None = None,
        *,
        executor: Executor | None = None,
        max_workers: int = 1,
        **properties: Any,
    ) -> None:
        merged = core.merge_config(() if config is None else (config,), properties, "ShareConsumer")
        self._turn = asyncio.Lock()
        super().__init__(core.ShareConsumer, merged, executor, max_workers)

    async def poll(self, timeout: float | None = -1) -> Messages:
        """Return the next batch of messages, serving callbacks while it waits; as `cykafka.ShareConsumer.poll`.

        Being cancelled loses no message.
        """
        self._open()
        deadline = self._deadline(timeout)
        while True:
            async with self._turn:
                self._open()
                messages = self._client.poll(0)
            if messages:
                return messages
            if timeout == 0:
                await asyncio.sleep(0)
                return messages
            if not await self._wait(deadline):
                return messages

    def _serve(self) -> None:
        self._serve_tokens()
        self._notify()

    async def acknowledge(self, message: Message, ack_type: int = 1) -> None:
        """Say what shall become of a message; as `cykafka.ShareConsumer.acknowledge`."""
        self._open()
        async with self._turn:
            self._client.acknowledge(message, ack_type)

    async def acknowledge_offset(self, topic: str, partition: int, offset: int, ack_type: int = 1) -> None:
        """Say what shall become of a message whose place is known; as `cykafka.ShareConsumer.acknowledge_offset`."""
        self._open()
        async with self._turn:
            self._client.acknowledge_offset(topic, partition, offset, ack_type)

    async def commit_async(self) -> None:
        """Send the acknowledgements now, without waiting; as `cykafka.ShareConsumer.commit_async`."""
        self._open()
        async with self._turn:
            self._client.commit_async()

    async def commit_sync(self, timeout: float | None = 60) -> dict[TopicPartition, KafkaException | None]:
        """Send the acknowledgements and wait for the broker; as `cykafka.ShareConsumer.commit_sync`."""
        self._open()
        async with self._turn:
            return await self._call(self._client.commit_sync, timeout)

    async def set_acknowledgement_commit_callback(self, callback: AcknowledgementCallback | None) -> None:
        """Set what is called when the broker has answered to acknowledgements; it may be a coroutine function.

        As `cykafka.ShareConsumer.set_acknowledgement_commit_callback`.
        """
        self._open()
        wrapped = _Callback(self, "acknowledgement callback", callback) if callable(callback) else callback
        async with self._turn:
            self._client.set_acknowledgement_commit_callback(wrapped)

    async def subscribe(self, topics: Sequence[str] | set[str]) -> None:
        """Consume these topics; as `cykafka.ShareConsumer.subscribe`."""
        self._open()
        async with self._turn:
            self._client.subscribe(topics)

    async def unsubscribe(self) -> None:
        """Leave the group; as `cykafka.ShareConsumer.unsubscribe`."""
        self._open()
        async with self._turn:
            self._client.unsubscribe()

    async def subscription(self) -> list[str]:
        """Return the names of the topics subscribed to."""
        self._open()
        async with self._turn:
            return self._client.subscription()

    async def _close(self) -> None:
        self._notify()
        async with self._turn:
            failure: BaseException | None = None
            try:
                await self._call(self._client.close)
            except Exception as exc:  # noqa: BLE001 - raised when all else is done
                failure = exc
            await self._free()
        if failure is not None:
            raise failure
