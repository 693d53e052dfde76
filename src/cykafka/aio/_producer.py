"""The asyncio producer: a future for each message, resolved by the loop as delivery reports come in."""

import asyncio
import heapq
import threading
import weakref
from asyncio import get_running_loop
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any

from cykafka._rdkafka import core
from cykafka._rdkafka.core import DeliverySummary, KafkaError, KafkaException, Message, TopicPartition, make_exception
from cykafka.aio._client import Client

DeliveryCallback = Callable[[KafkaError | None, Message], Any]
Headers = dict[str, Any] | Sequence[Any]

_LINGER = ("linger.ms", "queue.buffering.max.ms")


class _Reported:
    """A future, and a delivery callback besides; for the native producer, which calls it if it has interceptors."""

    __slots__ = ("_future", "_on_delivery", "_producer")

    def __init__(
        self, producer: "Producer", future: "asyncio.Future[Message]", on_delivery: DeliveryCallback | None
    ) -> None:
        self._producer = producer
        self._future = future
        self._on_delivery = on_delivery

    def set_result(self, message: Message) -> None:
        """Take the report of a delivered message."""
        if not self._future.done() and not self._producer._orphaned:
            self._future.set_result(message)
        if self._on_delivery is not None and not self._producer._only_errors:
            self._producer._run_callback("on_delivery", self._on_delivery, None, message)

    def set_exception(self, exception: KafkaException) -> None:
        """Take the report of a failed message."""
        message: Message = exception.message  # type: ignore[attr-defined]
        if not self._future.done() and not self._producer._orphaned:
            self._future.set_exception(exception)
        elif self._on_delivery is None:
            self._producer._report_unseen(exception)
        if self._on_delivery is not None:
            self._producer._run_callback("on_delivery", self._on_delivery, message.error(), message)

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        """Take a report."""
        if error is None:
            self.set_result(message)
        else:
            exception = make_exception(error)
            exception.message = message  # type: ignore[attr-defined]
            self.set_exception(exception)

    def done(self) -> bool:
        """Return True if the future is done."""
        return self._future.done()

    def exception(self) -> BaseException | None:
        """Look at the future's exception."""
        return None if self._future.cancelled() else self._future.exception()


class Producer(Client):
    """Produces messages from asyncio.

    A message is handed to librdkafka at once and sent by its threads. Unless ``linger.ms`` is set, messages wait for
    each other only during one turn of the loop: what all tasks produce in it is sent together at its end (or after
    librdkafka's default of 5 ms, if the turn takes longer).

    Args:
        config: Configuration properties of librdkafka by name, and the callbacks ``error_cb``, ``stats_cb``,
            ``throttle_cb``, ``oauth_cb``, ``on_delivery`` (called for every message) and ``logger``. Callbacks may be
            coroutine functions.
        executor: Where the few blocking calls run (transactions, list_topics(), close()); a small one of the
            producer's own by default.
        max_workers: Threads of that.
        **properties: More properties, with underscores for dots.

    The producer belongs to the loop in which it is first used; only `wakeup` is for other threads. What callbacks
    raise goes to the loop's exception handler. Close it before its loop ends, or use it in ``async with``.

    Raises:
        TypeError: If the configuration is not a dict, or a value has the wrong type.
        KafkaException: If librdkafka refuses a property or value.
    """

    _client: core.Producer

    def __init__(
        self,
        config: dict[str, Any] | None = None,
        *,
        executor: Executor | None = None,
        max_workers: int = 4,
        **properties: Any,
    ) -> None:
        merged = core.merge_config(() if config is None else (config,), properties, "Producer")
        on_delivery = [merged.pop(name, None) for name in ("dr_cb", "on_delivery")]
        self._on_delivery: DeliveryCallback | None = on_delivery[1] or on_delivery[0]
        if self._on_delivery is not None and not callable(self._on_delivery):
            raise TypeError(f"on_delivery must be callable, not {type(self._on_delivery).__name__}")
        self._corks = not any(name in merged for name in _LINGER)
        # Whether something was produced in this turn of the loop.
        self._corked = False
        self._flushes = 0
        # Who waits for room, in order.
        self._room: list[tuple[int, asyncio.Future[None]]] = []
        self._last_ticket = 0
        self._in_transaction = False
        # What begins or ends a transaction, until a caller has seen its outcome.
        self._ending: asyncio.Task[None] | None = None
        if merged.pop("poll_in_background", False):
            raise ValueError("poll_in_background is not for asyncio: the event loop serves the callbacks")
        # Nothing of it for librdkafka: it is about callbacks, not about futures.
        self._only_errors = str(merged.pop("delivery.report.only.error", False)).lower() in ("true", "t", "1")
        super().__init__(core.Producer, merged, executor, max_workers)
        self._hooked = core.has_hooks(self._client)
        # Topics whose partitions a partitioner can choose from.
        self._known_topics: set[str] = set()
        reference = weakref.ref(self)

        def unseen_failure(error: KafkaError, _message: Message) -> None:
            producer = reference()
            if producer is not None:
                producer._report_unseen(make_exception(error))

        if not self._hooked:
            core.use_futures(self._client, unseen_failure)

    # Messages

    def produce(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        on_delivery: DeliveryCallback | None = None,
        timestamp: int | None = 0,
        headers: Headers | None = None,
    ) -> "asyncio.Future[Message]":
        """Enqueue a message, without waiting.

        Args:
            topic: Topic name.
            value: Payload: str (sent as UTF-8), any bytes-like object, or None (a tombstone).
            key: Key: str, bytes-like or None.
            partition: Partition number, or -1 to let the configured partitioner choose.
            on_delivery: Called as ``on_delivery(error, message)`` when the message is delivered or has failed for
                good; may be a coroutine function. By default the configuration's.
            timestamp: Milliseconds since the epoch UTC; 0 for now.
            headers: Dict, or list of (name, value) pairs; values are str, bytes or None.

        Returns:
            asyncio.Future[Message]: Becomes the delivered `Message`; need not be awaited.

        Raises:
            BufferError: If the local queue is full: use `enqueue` or `send`, which wait for room.
            KafkaException: If the message cannot be produced: too large, unknown partition, fatal error; _TIMED_OUT if
                a partitioner written in Python needs a topic's metadata, which `enqueue` and `send` wait for.
            TypeError: If an argument has the wrong type.
            RuntimeError: If the producer is closed, or belongs to another loop.
        """
        loop = self._open_loop
        if loop is None or get_running_loop() is not loop:
            loop = self._open()
        if not self._corked:
            self._cork(loop)
        future: asyncio.Future[Message] = loop.create_future()
        on_delivery = on_delivery or self._on_delivery
        if self._hooked:
            report: Any = _Reported(self, future, on_delivery)
            # Without waiting for a topic's metadata, which a partitioner needs: see enqueue().
            self._client.produce(topic, value, key, partition, None, report, timestamp, headers, timeout=1e-6)
            return future
        report = future if on_delivery is None else _Reported(self, future, on_delivery)
        core.produce_future(self._client, report, topic, value, key, partition, timestamp, headers)
        return future

    async def enqueue(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        on_delivery: DeliveryCallback | None = None,
        timestamp: int | None = 0,
        headers: Headers | None = None,
    ) -> "asyncio.Future[Message]":
        """Enqueue a message, waiting while the local queue is full; arguments, result and errors as `produce`.

        If cancelled while it waits, the message has not been enqueued.

        Raises:
            BufferError: If the message would not even fit into an empty queue (``queue.buffering.max.kbytes``).
        """
        if self._hooked and topic not in self._known_topics:
            await self._call(core.await_partitions, self._client, topic)
            self._known_topics.add(topic)
        ticket = 0
        while True:
            if ticket or not self._room:
                try:
                    return Producer.produce(self, topic, value, key, partition, on_delivery, timestamp, headers)
                except BufferError:
                    if not len(self._client):
                        self._make_room(1)
                        raise
                except BaseException:
                    # The room that this one was called for is another's.
                    self._make_room(1 if ticket else 0)
                    raise
            if not ticket:
                self._last_ticket += 1
                ticket = self._last_ticket
            await self._wait_for_room(ticket)

    async def _wait_for_room(self, ticket: int) -> None:
        """Wait until it is the turn of a ticket, in the row of those who need room."""
        waiter: asyncio.Future[None] = self._open().create_future()
        heapq.heappush(self._room, (ticket, waiter))
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                self._room.remove((ticket, waiter))
                heapq.heapify(self._room)
            else:
                # It was called already: another is now.
                self._make_room(1)
            raise

    def _make_room(self, count: int) -> None:
        """Call so many of those who wait for room."""
        while count > 0 and self._room:
            _, waiter = heapq.heappop(self._room)
            if not waiter.done():
                waiter.set_result(None)
                count -= 1

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        on_delivery: DeliveryCallback | None = None,
        timestamp: int | None = 0,
        headers: Headers | None = None,
    ) -> Message:
        """Enqueue a message, waiting while the local queue is full, and await its delivery; arguments as `produce`.

        If cancelled after the message was enqueued, it is delivered all the same, and a failure goes to the loop's
        exception handler (or to on_delivery).

        Returns:
            Message: The delivered message, with partition, offset and timestamp.

        Raises:
            KafkaException: If it was not delivered; the attribute ``message`` has the message.
            BufferError, TypeError, RuntimeError: As `enqueue`.
        """
        return await (await self.enqueue(topic, value, key, partition, on_delivery, timestamp, headers))

    async def produce_batch(
        self,
        topic: str,
        messages: Iterable[dict[str, Any]],
        partition: int = -1,
        on_delivery: DeliveryCallback | None = None,
    ) -> "list[asyncio.Future[Message]]":
        """Enqueue many messages for one topic, waiting while the local queue is full.

        Args:
            topic: Topic name.
            messages: Dicts with the optional keys ``value``, ``key``, ``partition``, ``timestamp`` (ms), ``headers``
                and ``on_delivery``; meanings as in `produce`.
            partition: Partition of messages that name none.
            on_delivery: Delivery callback of messages that have none.

        Returns:
            list[asyncio.Future[Message]]: A future for each message, in order; for a message that librdkafka refuses,
            a failed one.

        Raises:
            TypeError: If a message has the wrong type; those before it have been enqueued.
            RuntimeError: As `produce`.
        """
        futures = []
        self._open()
        for index, message in enumerate(messages):
            if not isinstance(message, dict):
                raise TypeError(f"message {index} must be a dict, not {type(message).__name__}")
            get = message.get
            own_partition = get("partition")
            arguments = (
                topic,
                get("value"),
                get("key"),
                partition if own_partition is None else own_partition,
                get("on_delivery") or get("callback") or on_delivery,
                get("timestamp") or 0,
                get("headers"),
            )
            try:
                try:
                    future = Producer.produce(self, *arguments)
                except BufferError:
                    future = await self.enqueue(*arguments)
            except (KafkaException, BufferError) as exc:
                future = self._refused(exc)
            futures.append(future)
        return futures

    def _refused(self, exception: Exception) -> "asyncio.Future[Message]":
        future: asyncio.Future[Message] = self._bind().create_future()
        if not isinstance(exception, KafkaException):
            exception = KafkaException(KafkaError(KafkaError._QUEUE_FULL, str(exception)))
        future.set_exception(exception)
        return future

    async def send_many(
        self,
        topic: str,
        messages: Iterable[dict[str, Any]],
        partition: int = -1,
        on_delivery: DeliveryCallback | None = None,
        *,
        return_exceptions: bool = False,
    ) -> list[Any]:
        """Enqueue many messages as `produce_batch` does, and await the delivery of all.

        Args:
            topic: Topic name.
            messages: As for `produce_batch`.
            partition: Partition of messages that name none.
            on_delivery: Delivery callback of messages that have none.
            return_exceptions: Return the exceptions of failed messages in their places instead of raising the first.

        Returns:
            list[Message]: The delivered messages, in order.

        Raises:
            KafkaException: The first failure, after all messages have been delivered or have failed.
            TypeError, RuntimeError: As `produce_batch`.
        """
        futures = await self.produce_batch(topic, messages, partition, on_delivery)
        for future in futures:
            if not future.done():
                await asyncio.wait([future])
        if return_exceptions:
            return [future.exception() or future.result() for future in futures]
        # All are looked at, so that none is reported as never retrieved.
        failures = [exception for exception in [future.exception() for future in futures] if exception is not None]
        if failures:
            raise failures[0]
        return [future.result() for future in futures]

    async def produce_arrow(
        self,
        topic: str | None,
        data: Any,
        *,
        on_delivery: Callable[[DeliverySummary], Any] | None = None,
        timeout: float | None = -1,
        **columns: str | None,
    ) -> DeliverySummary:
        """Enqueue the rows of a table as messages, in the executor; arguments as `cykafka.Producer.produce_arrow`.

        Args:
            topic: Topic name; None to take each row's from a column.
            data: Anything that speaks the Arrow PyCapsule protocol.
            on_delivery: Called once with the summary when every row has been delivered or has failed; may be a
                coroutine function.
            timeout: Seconds to wait for room in the local queue; -1 or None for no limit.
            **columns: Names of columns: key, value, headers, partition, timestamp, topic_column.

        Returns:
            DeliverySummary: Counts, complete once everything has been reported.

        Raises:
            TypeError, ValueError, BufferError, KafkaException, RuntimeError: As `cykafka.Producer.produce_arrow`; the
                attribute ``summary`` tells of the rows before.
        """
        loop = self._open()

        def report(summary: DeliverySummary) -> None:
            if on_delivery is None:
                return
            if self._thread == threading.get_ident():
                self._run_callback("on_delivery", on_delivery, summary)
            else:
                loop.call_soon_threadsafe(self._run_callback, "on_delivery", on_delivery, summary)

        names: dict[str, Any] = dict(columns)
        return await self._call(self._client.produce_arrow, topic, data, on_delivery=report, timeout=timeout, **names)

    # Serving

    def _report_unseen(self, exception: BaseException) -> None:
        """Somebody must hear of a message that failed after its future had been cancelled."""
        self._report("delivery of a message whose future was cancelled", exception)

    def _serve(self) -> None:
        client = self._client
        if client.closed:
            return
        self._serve_tokens()
        try:
            served = client.poll(0)
        except Exception as exc:  # noqa: BLE001 - whatever it is belongs to the loop's handler
            self._report("a callback", exc)
            served = 1
        if self._waiters:
            self._notify()
        left = len(client)
        if self._room:
            self._make_room(served if left else max(served, 1))
        if core.waiting(client) and self._loop is not None:
            self._loop.call_soon(self._serve)
        elif not left and not self._corked and self._events is not None:
            self._events.keep = None

    def _cork(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let messages wait for those that are produced in the same turn of the loop."""
        self._corked = True
        if self._corks:
            core.relax(self._client)
        if self._events is not None:
            # A producer that is dropped lives on until its messages are delivered.
            self._events.keep = self
        loop.call_soon(self._uncork)

    def _uncork(self) -> None:
        self._corked = False
        if self._corks and not self._client.closed:
            core.hurry(self._client)
        if self._events is not None and not len(self._client):
            self._events.keep = None

    async def poll(self, timeout: float | None = 0) -> int:
        """Wait until delivery reports or other callbacks have been served; the loop serves them without it, too.

        Args:
            timeout: Seconds to wait; 0 to only give other tasks a turn, -1 or None for no limit.

        Returns:
            int: 1 if something was served, else 0.

        Raises:
            RuntimeError: If the producer is closed, or belongs to another loop.
        """
        self._open()
        deadline = self._deadline(timeout)
        if timeout == 0:
            await asyncio.sleep(0)
            return 0
        return int(await self._wait(deadline))

    async def flush(self, timeout: float | None = -1) -> int:
        """Wait until all messages are delivered or have failed; none lingers meanwhile.

        Args:
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            int: Number of messages still outstanding; 0 unless it timed out or `wakeup` was called.

        Raises:
            RuntimeError: If the producer is closed, or belongs to another loop.
        """
        deadline = self._deadline(timeout)
        self._bind()
        if self._client.closed:
            raise RuntimeError("Producer has been closed")
        if not self._corks and not self._flushes:
            core.hurry(self._client)
        self._flushes += 1
        try:
            while not self._client.closed and len(self._client):
                if not await self._wait(deadline):
                    break
            return len(self._client)
        finally:
            self._flushes -= 1
            if not self._corks and not self._flushes and not self._client.closed:
                core.relax(self._client)

    async def purge(self, in_queue: bool = True, in_flight: bool = True, blocking: bool = True) -> None:
        """Drop messages; their futures fail with _PURGE_QUEUE or _PURGE_INFLIGHT.

        Args:
            in_queue: Drop messages that wait in local queues.
            in_flight: Drop messages that were sent but not acknowledged: they may be persisted nevertheless.
            blocking: Wait until the queues of the background threads are purged.

        Raises:
            KafkaException: If librdkafka refuses.
            RuntimeError: If the producer is closed, or belongs to another loop.
        """
        await self._call(self._client.purge, in_queue, in_flight, blocking)

    async def warmup(self, topics: Iterable[str], timeout: float | None = -1) -> list[int]:
        """Connect to the leaders of topics before the first message; as `cykafka.Producer.warmup`."""
        return await self._call(self._client.warmup, topics, timeout)

    def __len__(self) -> int:
        """Return the number of messages that wait for their delivery report."""
        return len(self._client)

    def __bool__(self) -> bool:
        return True

    # Transactions

    async def init_transactions(self, timeout: float | None = -1) -> None:
        """Get ready for transactions; arguments and errors as `cykafka.Producer.init_transactions`.

        Being cancelled does not stop it: call it again to wait for its end.
        """
        await self._see_through("init", lambda: self._call(self._client.init_transactions, timeout))

    async def begin_transaction(self) -> None:
        """Begin a transaction; errors as `cykafka.Producer.begin_transaction`."""
        self._open()
        ending = self._ending
        if ending is not None:
            await asyncio.wait([ending])
            self._ending = None
            ending.result()
        self._client.begin_transaction()
        self._in_transaction = True

    async def send_offsets_to_transaction(
        self, positions: Iterable[TopicPartition], group_metadata: bytes, timeout: float | None = -1
    ) -> None:
        """Commit offsets as part of the transaction; as `cykafka.Producer.send_offsets_to_transaction`."""
        await self._call(self._client.send_offsets_to_transaction, positions, group_metadata, timeout)

    async def commit_transaction(self, timeout: float | None = -1) -> None:
        """Flush and commit the transaction; arguments and errors as `cykafka.Producer.commit_transaction`.

        Being cancelled does not stop it: call it again to wait for its end.
        """
        await self._see_through("commit", lambda: self._end_transaction(self._client.commit_transaction, timeout))

    async def abort_transaction(self, timeout: float | None = -1) -> None:
        """Drop the transaction's messages and abort it; as `cykafka.Producer.abort_transaction`.

        The futures of messages that were not delivered fail with _PURGE_QUEUE or _PURGE_INFLIGHT. Being cancelled does
        not stop it: call it again to wait for its end.
        """
        await self._see_through("abort", lambda: self._abort(timeout))

    async def _see_through(self, kind: str, begin: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do work that goes on if its caller is cancelled, and that the next caller of its kind joins."""
        if self._ending is not None and self._ending.get_name() != kind:
            await asyncio.wait([self._ending])
            self._ending = None
        if self._ending is None:
            self._ending = self._bind().create_task(begin(), name=kind)
        ending = self._ending
        await asyncio.wait([ending])
        if self._ending is ending:
            self._ending = None
        ending.result()

    async def _abort(self, timeout: float | None) -> None:
        core.set_aborting(self._client, True)
        try:
            await self._end_transaction(self._client.abort_transaction, timeout)
        finally:
            core.set_aborting(self._client, False)

    async def _end_transaction(self, end: Callable[[float | None], None], timeout: float | None) -> None:
        await self._call(end, timeout)
        self._in_transaction = False
        # The reports that came with the end belong to it.
        self._serve()

    # The end

    async def close(self, timeout: float | None = -1) -> None:
        """Abort an open transaction, deliver all messages, and free the producer. Closing twice is harmless.

        Args:
            timeout: Seconds to wait for delivery; -1 or None for no limit (each message has its own,
                ``message.timeout.ms``). The futures of messages left over then fail with _PURGE_QUEUE or
                _PURGE_INFLIGHT.

        Being cancelled does not stop it. It may be awaited in another loop if the producer's own is closed: futures of
        that loop are not resolved any more.

        Raises:
            RuntimeError: If the producer belongs to another loop that is still open.
        """
        self._close_timeout = timeout
        await super().close()

    async def _close(self) -> None:
        timeout = self._close_timeout
        if self._ending is not None:
            await asyncio.wait([self._ending])
        if self._in_transaction:
            try:
                await self.abort_transaction(timeout)
            except KafkaException:
                # Fenced, or the coordinator is away: the broker ends the transaction by itself.
                self._in_transaction = False
        if await self.flush(timeout):
            await self.purge()
            await self.flush(5)
        self._make_room(len(self._room))
        await self._free()
