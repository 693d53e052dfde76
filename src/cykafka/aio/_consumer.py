"""The asyncio consumer: takes what librdkafka has fetched, and waits for the descriptor when there is nothing."""

import asyncio
import contextvars
import inspect
import weakref
from asyncio import get_running_loop
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypeVar

from cykafka._rdkafka import core
from cykafka._rdkafka.core import Decoder, KafkaError, Message, RecordBatch, TopicPartition, make_exception
from cykafka.aio._client import Client

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
RebalanceCallback = Callable[[Any, list[TopicPartition]], Any]

#: After so many messages without waiting, other tasks get a turn.
_IN_A_ROW = 256

#: The consumer whose rebalance callback this is, or is called by.
_rebalancing: contextvars.ContextVar["Consumer | None"] = contextvars.ContextVar("rebalancing", default=None)


class _Deferred(BaseException):
    """Leaves the native call in which a rebalance callback turned out to be a coroutine."""


class Consumer(Client):
    """Consumes messages in asyncio, as a member of a group (`subscribe`) or by itself (`assign`).

    Has the methods of `cykafka.Consumer`, each to be awaited. Messages that librdkafka has fetched already are
    returned without waiting for the loop; every 256th of them gives other tasks a turn.

    Args:
        config: Configuration properties of librdkafka by name (``group.id`` is required), and the callbacks
            ``error_cb``, ``stats_cb``, ``throttle_cb``, ``oauth_cb``, ``on_commit`` and ``logger``. Callbacks may be
            coroutine functions.
        executor: Where the calls run that block (committed(), seek(), list_topics() and the like); a small one of the
            consumer's own by default.
        max_workers: Threads of that.
        **properties: More properties, with underscores for dots.

    The consumer belongs to the loop in which it is first used; only `wakeup` is for other threads. Callbacks run in
    poll(), consume() and close(), which raise what plain functions and rebalance callbacks raise; what other coroutines
    raise goes to the loop's exception handler. Close it before its loop ends, or use it in ``async with``.

    Raises:
        TypeError: If the configuration is not a dict, or a value has the wrong type.
        ValueError: If there is no ``group.id``.
        KafkaException: If librdkafka refuses a property or value.
    """

    _client: core.Consumer

    def __init__(
        self,
        config: dict[str, Any] | None = None,
        *,
        executor: Executor | None = None,
        max_workers: int = 4,
        **properties: Any,
    ) -> None:
        merged = core.merge_config(() if config is None else (config,), properties, "Consumer")
        self._in_a_row = 0
        # The callback of a rebalance that is not answered yet, or whose outcome nobody has seen.
        self._rebalance: asyncio.Task[None] | None = None
        super().__init__(core.Consumer, merged, executor, max_workers)

    # Messages

    async def poll(self, timeout: float | None = -1) -> Message | None:
        """Return the next message or event, serving callbacks while it waits.

        Being cancelled loses no message.

        Args:
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            Message | None: A message, or an error or event (see `Message.error`); None on time-out or `wakeup`.

        Raises:
            Exception: What a callback raised; no message is lost by that.
            RuntimeError: If the consumer is closed, also meanwhile, or belongs to another loop.
        """
        if self._rebalance is None and self._in_a_row < _IN_A_ROW and get_running_loop() is self._open_loop:
            try:
                message = self._client.poll(0)
            except _Deferred:
                message = None
            if message is not None:
                self._in_a_row += 1
                return message
        return await self._take(lambda: self._client.poll(0), timeout)

    async def _take(self, take: Callable[[], T], timeout: float | None) -> T:
        """Call a function that takes what is there until it takes something, or time is over."""
        self._open()
        deadline = self._deadline(timeout)
        await self._let_others()
        while True:
            await self._rebalanced()
            self._open()
            try:
                taken = take()
            except _Deferred:
                continue
            if taken:
                return taken
            if timeout == 0:
                await asyncio.sleep(0)
                return taken
            self._in_a_row = 0
            if not await self._wait(deadline):
                return taken

    async def _let_others(self) -> None:
        """Give other tasks a turn, now and then; before messages are in hand, so that cancelling loses none."""
        if self._in_a_row >= _IN_A_ROW:
            self._in_a_row = 0
            await asyncio.sleep(0)

    async def consume(
        self, num_messages: int = 1, timeout: float | None = -1, *, min_messages: int | None = None
    ) -> list[Message]:
        """Return a batch of messages and events, serving callbacks while it waits.

        Being cancelled loses no message: what was in hand is returned by the next call.

        Args:
            num_messages: Return at most so many, 0 to 1,000,000.
            timeout: Seconds to wait; -1 or None for no limit.
            min_messages: Wait until there are so many, or the time is over. 1 if not given: return as soon as there
                is something (after ``install_as_confluent_kafka()``: num_messages, as in confluent_kafka).

        Returns:
            list[Message]: Messages, and errors or events (see `Message.error`); empty on time-out or `wakeup`.

        Raises:
            Exception: What a callback raised; no message is lost by that.
            ValueError: If a number is out of range.
            RuntimeError: If the consumer is closed, also meanwhile, or belongs to another loop.
        """
        if min_messages is None and core.waits_for_all(self._client):
            least = num_messages
        else:
            least = 1 if min_messages is None else min_messages
        if num_messages and least <= 1:
            messages = await self._take(
                lambda: self._client.consume(num_messages, 0, min_messages=min_messages), timeout
            )
            # A batch is a good occasion for other tasks' turn.
            self._in_a_row += len(messages)
            return messages
        # Also for what is wrong with the numbers.
        messages = self._client.consume(0, 0, min_messages=0)
        return await self._gather(num_messages, least, timeout) if num_messages else messages

    async def _gather(self, most: int, least: int, timeout: float | None) -> list[Message]:
        """Return messages as soon as there are enough of them, callbacks are due, or time is over."""
        client = self._client
        if not 0 <= most <= 1_000_000:
            raise ValueError(f"num_messages must be between 0 and 1000000 (1M), not {most}")
        if not 0 <= least <= max(most, 1):
            raise ValueError(f"min_messages must be between 0 and num_messages, not {least}")
        loop = self._open()
        deadline = self._deadline(timeout)
        messages: list[Message] = await self._take(lambda: client.consume(most, 0, min_messages=1), timeout)
        try:
            while len(messages) < least and messages and not core.has_callbacks(client):
                if deadline is not None and loop.time() >= deadline:
                    break
                waited = await self._wait(deadline)
                self._open()
                messages += core.fetch(client, most - len(messages))
                if not waited:
                    break
        except BaseException:
            if not client.closed:
                core.give_back(client, messages)
            raise
        self._in_a_row += len(messages)
        return messages

    async def consume_arrow(
        self,
        num_messages: int = 10000,
        timeout: float | None = -1,
        *,
        columns: Sequence[str] | None = None,
        min_messages: int = 1,
        max_bytes: int | None = None,
        decode: Decoder | None = None,
    ) -> RecordBatch:
        """Return a batch of messages as columns; arguments, result and errors as `cykafka.Consumer.consume_arrow`.

        Being cancelled loses no message.
        """
        client = self._client

        def take() -> RecordBatch:
            return client.consume_arrow(
                num_messages, 0, columns=columns, min_messages=min_messages, max_bytes=max_bytes, decode=decode
            )

        if min_messages > 1 and core.waiting(client) < min_messages:
            # Collected as messages, since columns that are begun cannot wait.
            core.give_back(client, await self._gather(num_messages, min_messages, timeout))
            timeout = 0
        batch = await self._take(take, timeout)
        self._in_a_row += len(batch)
        return batch

    async def arrow_batches(
        self,
        num_messages: int = 10000,
        timeout: float | None = -1,
        *,
        columns: Sequence[str] | None = None,
        min_messages: int = 1,
        max_rows: int | None = None,
        until_end: bool = False,
        max_bytes: int | None = None,
        decode: Decoder | None = None,
    ) -> AsyncIterator[RecordBatch]:
        """Iterate over messages as columns: ``async for batch in consumer.arrow_batches()``.

        Args:
            num_messages: Rows of a batch at most, 1 to 1,000,000.
            timeout: End when nothing has come for so many seconds; -1 or None for no limit.
            columns: Names of the columns wanted, as in `consume_arrow`.
            min_messages: Wait until a batch has so many rows, or the time is over.
            max_rows: End after so many rows; None for no limit.
            until_end: End when every assigned partition has been read to its end. Needs
                ``enable.partition.eof=true``.
            max_bytes: Largest size of a column's data, as in `consume_arrow`.
            decode: `JsonDecoder` or `StructDecoder`, as in `consume_arrow`.

        Yields:
            RecordBatch: Batches; `wakeup` ends them, too.

        Raises:
            TypeError, ValueError: If an argument is wrong.
            RuntimeError: If the consumer is closed, or belongs to another loop.
        """
        # Checks the arguments.
        self._client.arrow_batches(
            num_messages,
            timeout,
            columns=columns,
            min_messages=min_messages,
            max_rows=max_rows,
            until_end=until_end,
            max_bytes=max_bytes,
            decode=decode,
        )
        left = max_rows
        ended: set[TopicPartition] = set()
        while left is None or left > 0:
            most = num_messages if left is None else min(num_messages, left)
            batch = await self.consume_arrow(
                most,
                timeout,
                columns=columns,
                min_messages=min(min_messages, most),
                max_bytes=max_bytes,
                decode=decode,
            )
            if not batch:
                return
            if left is not None:
                left -= batch.num_rows
            ended.update(batch.partition_ends)
            done = until_end and bool(batch.partition_ends) and ended.issuperset(self._client.assignment())
            yield batch
            if done:
                return

    def __aiter__(self) -> "Self":
        return self

    async def __anext__(self) -> Message:
        while True:
            message = await self.poll()
            if message is None:
                # wakeup() ends the loop.
                raise StopAsyncIteration
            error = message.error()
            if error is None:
                return message
            if error.code() != KafkaError._PARTITION_EOF:
                raise make_exception(error)

    def _serve(self) -> None:
        self._serve_tokens()
        self._notify()

    # Rebalancing

    def _open(self) -> asyncio.AbstractEventLoop:
        # Rebalance callbacks may use a consumer that is closing.
        if _rebalancing.get() is self and not self._client.closed:
            return self._bind()
        return super()._open()

    async def subscribe(
        self,
        topics: Sequence[str] | set[str] | frozenset[str],
        on_assign: RebalanceCallback | None = None,
        on_revoke: RebalanceCallback | None = None,
        on_lost: RebalanceCallback | None = None,
    ) -> None:
        """Join the group for these topics; replaces an earlier subscription.

        Args:
            topics: List of topic names; a name that begins with ``^`` is a regular expression.
            on_assign: Called as ``on_assign(consumer, partitions)`` with a list of `TopicPartition` before they are
                consumed; offsets set in it take effect only by awaiting assign() (or incremental_assign()) in it.
            on_revoke: Called as ``on_revoke(consumer, partitions)`` before partitions are given up.
            on_lost: Called instead of on_revoke if the partitions are lost already, so that commits would fail.

        Callbacks may be coroutine functions: the rebalance, and who polls, waits for them. They run to their end even
        if the task that polled is cancelled, and may await any method of the consumer.

        Raises:
            TypeError: If topics is not a list of str, or a callback is not callable.
            KafkaException: If librdkafka refuses.
            RuntimeError: If the consumer is closed, or belongs to another loop.
        """
        self._open()
        self._client.subscribe(topics, self._wrap(on_assign), self._wrap(on_revoke), self._wrap(on_lost))

    def _wrap(self, callback: RebalanceCallback | None) -> RebalanceCallback | None:
        """Return what the native client calls for a rebalance callback."""
        if not callable(callback):
            return callback
        reference = weakref.ref(self)

        def on_rebalance(_native: core.Consumer, partitions: list[TopicPartition]) -> None:
            consumer = reference()
            if consumer is None:
                return
            result = callback(consumer, partitions)
            if inspect.isawaitable(result):
                core.defer_rebalance(consumer._client)
                consumer._rebalance = consumer._bind().create_task(consumer._answer(result))
                raise _Deferred

        return on_rebalance

    async def _answer(self, work: Awaitable[Any]) -> None:
        """Finish a rebalance callback and then the rebalance."""
        _rebalancing.set(self)
        try:
            await work
        finally:
            core.answer_rebalance(self._client)

    async def _rebalanced(self) -> None:
        """Wait for the rebalance callback that is running, unless called by it; raises what it raised."""
        task = self._rebalance
        if task is None or _rebalancing.get() is self:
            return
        await asyncio.wait([task])
        if self._rebalance is task:
            self._rebalance = None
            if not task.cancelled():
                task.result()

    async def unsubscribe(self) -> None:
        """Leave the group; partitions are revoked by the next poll(); as `cykafka.Consumer.unsubscribe`."""
        self._open()
        self._client.unsubscribe()

    async def subscription(self) -> list[str]:
        """Return the list of topic names and patterns that are subscribed to; as `cykafka.Consumer.subscription`."""
        self._open()
        return self._client.subscription()

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Consume these partitions; replaces the assignment; as `cykafka.Consumer.assign`."""
        self._open()
        self._client.assign(partitions)

    async def unassign(self) -> None:
        """Stop consuming and drop the assignment; as `cykafka.Consumer.unassign`."""
        self._open()
        self._client.unassign()

    async def incremental_assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Add partitions to the assignment (KIP-429); as `cykafka.Consumer.incremental_assign`."""
        self._open()
        self._client.incremental_assign(partitions)

    async def incremental_unassign(self, partitions: Iterable[TopicPartition]) -> None:
        """Take partitions out of the assignment (KIP-429); as `cykafka.Consumer.incremental_unassign`."""
        self._open()
        self._client.incremental_unassign(partitions)

    async def assignment(self) -> list[TopicPartition]:
        """Return the assigned partitions; as `cykafka.Consumer.assignment`."""
        self._open()
        return self._client.assignment()

    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop fetching from assigned partitions; they stay assigned; as `cykafka.Consumer.pause`."""
        self._open()
        self._client.pause(partitions)

    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch again from paused partitions; as `cykafka.Consumer.resume`."""
        self._open()
        self._client.resume(partitions)

    async def paused(self) -> list[TopicPartition]:
        """Return the assigned partitions that are paused; as `cykafka.Consumer.paused`."""
        self._open()
        return self._client.paused()

    # Positions and offsets

    async def commit(
        self, message: Message | None = None, offsets: Iterable[TopicPartition] | None = None, asynchronous: bool = True
    ) -> list[TopicPartition] | None:
        """Commit offsets for the group.

        Args:
            message: Commit the offset after this message.
            offsets: Commit these: list of `TopicPartition` with the offset of the next message to consume.
                With neither, the current assignment's stored offsets are committed.
            asynchronous: Do not wait for the broker; the outcome goes to ``on_commit``.

        Returns:
            list[TopicPartition] | None: With asynchronous=False what was committed; check the error of each.

        Raises:
            ValueError, TypeError: If an argument is wrong.
            KafkaException: If the commit fails; _NO_OFFSET if there was nothing to commit.
            RuntimeError: If the consumer is closed, or belongs to another loop.
        """
        if asynchronous:
            self._open()
            return self._client.commit(message, offsets, asynchronous)
        return await self._call(self._client.commit, message, offsets, asynchronous)

    async def seek(self, partition: TopicPartition | Iterable[TopicPartition], timeout: float | None = -1) -> None:
        """Continue at another offset; as `cykafka.Consumer.seek`."""
        await self._call(self._client.seek, partition, timeout)

    async def store_offsets(
        self, message: Message | None = None, offsets: Iterable[TopicPartition] | None = None
    ) -> None:
        """Store offsets locally, to be committed by the next commit; as `cykafka.Consumer.store_offsets`."""
        self._open()
        self._client.store_offsets(message, offsets)

    async def committed(self, partitions: Iterable[TopicPartition], timeout: float | None = -1) -> list[TopicPartition]:
        """Return the group's committed offsets; as `cykafka.Consumer.committed`."""
        return await self._call(self._client.committed, partitions, timeout)

    async def offsets_for_times(
        self, partitions: Iterable[TopicPartition], timeout: float | None = -1
    ) -> list[TopicPartition]:
        """Return the first offset at or after a time for each partition; as `cykafka.Consumer.offsets_for_times`."""
        return await self._call(self._client.offsets_for_times, partitions, timeout)

    async def position(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return the offset after the last message returned, for each partition; as `cykafka.Consumer.position`."""
        self._open()
        return self._client.position(partitions)

    async def lag(
        self, partitions: Iterable[TopicPartition] | None = None, *, query: bool = False, timeout: float | None = -1
    ) -> dict[TopicPartition, int | None]:
        """Return by how many offsets each partition is ahead of this consumer; as `cykafka.Consumer.lag`."""
        if query:
            return await self._call(self._client.lag, partitions, query=True, timeout=timeout)
        self._open()
        return self._client.lag(partitions)

    async def keepalive(self) -> None:
        """Stay in the group while a long piece of work makes progress; as `cykafka.Consumer.keepalive`."""
        self._open()
        self._client.keepalive()

    # The group

    async def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float | None = -1, cached: bool = False
    ) -> tuple[int, int]:
        """Return the lowest and the next offset; as `cykafka.Consumer.get_watermark_offsets`."""
        if cached:
            self._open()
            return self._client.get_watermark_offsets(partition, timeout, cached)
        return await self._call(self._client.get_watermark_offsets, partition, timeout, cached)

    async def memberid(self) -> str | None:
        """Return this consumer's member id, or None before it has joined; as `cykafka.Consumer.memberid`."""
        self._open()
        return self._client.memberid()

    async def consumer_group_metadata(self) -> bytes:
        """Return the group's metadata for `Producer.send_offsets_to_transaction`, opaque bytes."""
        self._open()
        return self._client.consumer_group_metadata()

    # The end

    async def close(self) -> None:
        """Revoke the assignment, commit stored offsets (if auto commit is on), leave the group, free the consumer.

        Runs rebalance and commit callbacks. Closing twice is harmless; being cancelled does not stop it.

        Raises:
            Exception: The first exception that a callback raised; the consumer is closed all the same.
            RuntimeError: If the consumer belongs to another loop that is still open.
        """
        if _rebalancing.get() is self:
            # librdkafka waits for the rebalance's end before it closes.
            core.answer_rebalance(self._client)
        await super().close()

    async def _close(self) -> None:
        client = self._client
        failure: BaseException | None = None
        pause = 0.001
        self._notify()
        left = not core.begin_close(client)
        while not left:
            try:
                await self._rebalanced()
                left = core.serve_close(client)
            except _Deferred:
                continue
            except Exception as exc:  # noqa: BLE001 - raised when the consumer is closed
                if failure is not None:
                    self._report("a callback", exc)
                failure = failure or exc
                continue
            if not left:
                # librdkafka does not always say when it is done.
                await self._wait(self._bind().time() + pause)
                pause = min(pause * 2, 0.05)
        await self._free()
        if failure is not None:
            raise failure
