"""What the asyncio clients have in common: their loop, callbacks that may be coroutines, calls that block.

A client belongs to the loop in which it is first used. Everything here runs on that loop's thread, except where
said otherwise.
"""

import asyncio
import functools
import inspect
import threading
import warnings
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from cykafka._rdkafka import core
from cykafka._rdkafka.core import ClusterMetadata
from cykafka.aio._events import QueueEvents
from cykafka.metrics import Statistics

if TYPE_CHECKING:
    from typing_extensions import Self

P = ParamSpec("P")
T = TypeVar("T")

_CALLBACKS = ("error_cb", "stats_cb", "throttle_cb", "on_commit")


class Client:
    """Base class of the asyncio clients; not made directly.

    Args:
        native: Makes the native client from a configuration.
        config: Configuration as the user gave it.
        executor: Where blocking calls run.
        max_workers: Threads of the client's own executor, if there is no other.
    """

    def __init__(
        self,
        native: Callable[[dict[str, Any]], core.Client],
        config: dict[str, Any],
        executor: Executor | None,
        max_workers: int,
    ) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        # The same, as long as new work is taken: what hot paths compare with.
        self._open_loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._events: QueueEvents | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None
        self._promised: list[Awaitable[Any]] = []
        self._waiters: set[asyncio.Future[bool]] = set()
        # The loop was closed before the client.
        self._orphaned = False
        self._executor = executor
        self._owns_executor = executor is None
        if max_workers < 1:
            raise ValueError(f"max_workers must be at least 1, not {max_workers}")
        self._max_workers = max_workers
        config = dict(config)
        for name in _CALLBACKS:
            if callable(config.get(name)):
                config[name] = _Callback(self, name, config[name])
        self._has_tokens = config.get("oauth_cb") is not None
        if callable(config.get("oauth_cb")):
            config["oauth_cb"] = _TokenCallback(self, config["oauth_cb"])
        self._client = native(config)

    # The loop

    def _bind(self) -> asyncio.AbstractEventLoop:
        """Return the running loop, to which the client belongs from now on.

        Raises:
            RuntimeError: If there is none, it is not the client's, or the client is closed.
        """
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return loop
        if self._loop is not None:
            raise RuntimeError(self._wrong_loop())
        self._events = QueueEvents(self._client, loop, self._serve)
        self._loop = self._open_loop = loop
        self._thread = threading.get_ident()
        for awaitable in self._promised:
            self._spawn("oauth_cb", self._answer_token(awaitable))
        self._promised.clear()
        return loop

    def _open(self) -> asyncio.AbstractEventLoop:
        """Return the running loop, as `_bind`, if new work is taken."""
        if self._closing is not None or self._client.closed:
            raise RuntimeError(f"{type(self).__name__} has been closed")
        return self._bind()

    def _wrong_loop(self) -> str:
        kind = type(self).__name__
        if self._loop is not None and self._loop.is_closed():
            left = f", with {len(self)} messages in flight" if hasattr(self, "__len__") and len(self) else ""
            return (
                f"the event loop of this {kind} has been closed{left}: await close() before its loop ends, and make a "
                "new client in the new loop (close() works in another loop then)"
            )
        return f"this {kind} belongs to another event loop, the one it was first used in: make one for each loop"

    def _serve(self) -> None:
        """Serve what is there; called when something came."""
        raise NotImplementedError

    def _serve_tokens(self) -> None:
        if self._has_tokens:
            try:
                core.serve_tokens(self._client)
            except Exception as exc:  # noqa: BLE001 - whatever it is belongs to the loop's handler
                self._report("oauth_cb", exc)

    def _notify(self, more: bool = True) -> None:
        """Wake those who wait, telling them whether to go on waiting."""
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(more)

    async def _wait(self, deadline: float | None) -> bool:
        """Wait until something came; returns False when time is over, or wakeup() or close() was called."""
        loop = self._bind()
        if core.take_wakeup(self._client):
            return False
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiters.add(waiter)
        timer = None if deadline is None else loop.call_at(deadline, _expire, waiter)
        try:
            return await waiter
        finally:
            self._waiters.discard(waiter)
            if timer is not None:
                timer.cancel()

    def _deadline(self, timeout: float | None) -> float | None:
        """Return the loop's clock at the end of a time-out, None if it has none."""
        if timeout is None or timeout == -1:
            return None
        if not timeout >= 0:
            raise ValueError(f"timeout must be >= 0 seconds, or -1 or None to wait without limit, not {timeout!r}")
        return self._bind().time() + timeout

    # Callbacks

    def _spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run what a callback returned as a task of its own."""
        loop = self._bind()

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and task.exception() is not None:
                self._report(name, task.exception())

        task = loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(done)

    def _run_callback(self, name: str, callback: Callable[..., Any], *args: Any) -> None:
        """Run a callback that no call waits for; what it raises goes to the loop's exception handler."""
        if self._orphaned and inspect.iscoroutinefunction(callback):
            return
        try:
            result = callback(*args)
            if inspect.isawaitable(result):
                self._spawn(name, _finish(result))
        except Exception as exc:  # noqa: BLE001 - whatever it is belongs to the loop's handler
            self._report(name, exc)

    def _report(self, name: str, exception: BaseException | None) -> None:
        if self._loop is not None:
            context = {"message": f"{name} of {self!r} raised an exception", "exception": exception}
            self._loop.call_exception_handler(context)

    async def _answer_token(self, awaitable: Awaitable[Any]) -> None:
        try:
            answer = await awaitable
        except BaseException as exc:
            if not self._client.closed:
                core.answer_token(self._client, exc)
            raise
        if not self._client.closed:
            core.answer_token(self._client, answer)

    # Calls that block

    async def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking call in the executor; being cancelled ends it, within 50 ms."""
        loop = self._bind()
        if self._client.closed:
            raise RuntimeError(f"{type(self).__name__} has been closed")
        if self._executor is None:
            name = f"cykafka {self._client.name}"
            self._executor = ThreadPoolExecutor(max_workers=self._max_workers, thread_name_prefix=name)
        call = _BlockingCall(self._client, functools.partial(function, *args, **kwargs))
        running = self._executor.submit(call)
        future = asyncio.wrap_future(running, loop=loop)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if not running.cancel():
                call.cancel()
                # Until the thread has left the client; what came of it interests nobody any more.
                await asyncio.wait([future])
                if not future.cancelled():
                    future.exception()
            raise

    async def list_topics(self, topic: str | None = None, timeout: float | None = -1) -> ClusterMetadata:
        """Ask the cluster for its brokers, topics and partitions; arguments and errors as `cykafka.Producer`'s."""
        return await self._call(self._client.list_topics, topic, timeout)

    async def cluster_id(self, timeout: float | None = -1) -> str:
        """Return the identifier of the cluster; arguments and errors as `cykafka.Producer`'s."""
        return await self._call(self._client.cluster_id, timeout)

    async def metrics(self, timeout: float | None = 5) -> Statistics:
        """Return the client's statistics as they are now; arguments and errors as `cykafka.Producer`'s."""
        return await self._call(self._client.metrics, timeout)

    async def set_sasl_credentials(self, username: str, password: str) -> None:
        """Set the credentials for connections made from now on; arguments and errors as `cykafka.Producer`'s."""
        self._bind()
        self._client.set_sasl_credentials(username, password)

    # The end

    async def close(self) -> None:
        """Close the client. Closing twice is harmless; being cancelled does not stop it."""
        if self._client.closed:
            return
        loop = asyncio.get_running_loop()
        if self._loop is not None and self._loop is not loop:
            if not self._loop.is_closed():
                raise RuntimeError(self._wrong_loop())
            await self._close_elsewhere(loop)
            return
        self._bind()
        self._open_loop = None
        if self._closing is None:
            self._closing = loop.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        """Do what close() promises; runs once."""
        raise NotImplementedError

    async def _free(self) -> None:
        """Free the native client, then wait for callbacks that are coroutines."""
        if self._events is not None:
            self._events.close()
        try:
            if not self._client.closed:
                await self._call(core.destroy, self._client)
            self._notify(more=False)
            tasks = self._tasks - {asyncio.current_task()}
            if tasks:
                await asyncio.wait(tasks)
        finally:
            self._shut_executor()

    async def _close_elsewhere(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close the client in another loop than its own, which is closed."""
        if self._events is not None:
            self._events.close()
        self._waiters.clear()
        self._orphaned = True
        try:
            await loop.run_in_executor(None, self._client.close)  # type: ignore[attr-defined]
        finally:
            self._shut_executor()

    def _shut_executor(self) -> None:
        if self._owns_executor and isinstance(self._executor, ThreadPoolExecutor):
            self._executor.shutdown(wait=False)

    def wakeup(self) -> None:
        """Make what waits return early: poll() and consume() with nothing, flush() with what is left.

        Any thread may call this.

        Raises:
            RuntimeError: If the client is closed.
        """
        self._client.wakeup()

    @property
    def name(self) -> str | None:
        """Name of the client instance, as in librdkafka's logs."""
        return self._client.name

    @property
    def latency_histograms(self) -> dict[str, core.Histogram] | None:
        """Where the time of messages goes; as `cykafka.Producer.latency_histograms`."""
        return self._client.latency_histograms

    @property
    def closed(self) -> bool:
        """True once the client has been closed."""
        return self._client.closed

    async def __aenter__(self) -> "Self":
        self._bind()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = " closed" if self._client.closed else ""
        return f"<aio.{type(self).__name__} {self._client.name}{state}>"

    def __del__(self) -> None:
        events: QueueEvents | None = getattr(self, "_events", None)
        if events is None:
            return
        events.close()
        if not self._client.closed:
            warnings.warn(f"unclosed {self!r}: await its close()", ResourceWarning, source=self, stacklevel=2)
        self._shut_executor()


class _Callback:
    """A user's callback as the native client calls it: on the loop's thread, and coroutines as tasks."""

    def __init__(self, client: Client, name: str, callback: Callable[..., Any]) -> None:
        self._client = weakref.ref(client)
        self._name = name
        self._callback = callback

    def __call__(self, *args: Any) -> None:
        client = self._client()
        if client is None:
            return
        if client._thread != threading.get_ident():
            # A call in the executor, or close() in another loop, which serves only plain functions.
            if client._loop is not None and not client._loop.is_closed():
                client._loop.call_soon_threadsafe(client._run_callback, self._name, self._callback, *args)
            elif not inspect.iscoroutinefunction(self._callback):
                self._callback(*args)
            return
        result = self._callback(*args)
        if inspect.isawaitable(result):
            client._spawn(self._name, _finish(result))


class _TokenCallback:
    """The OAUTHBEARER callback: a coroutine answers later."""

    def __init__(self, client: Client, callback: Callable[[str], Any]) -> None:
        self._client = weakref.ref(client)
        self._callback = callback

    def __call__(self, config: str) -> Any:
        client = self._client()
        answer = self._callback(config)
        if client is None or not inspect.isawaitable(answer):
            return answer
        if client._loop is None:
            # librdkafka asks for the first token before there is a loop.
            client._promised.append(answer)
        else:
            client._spawn("oauth_cb", client._answer_token(answer))
        return core.answer_later


class _BlockingCall:
    """One call in the executor, which the loop's thread may cancel."""

    def __init__(self, client: core.Client, function: Callable[[], Any]) -> None:
        self._client = client
        self._function = function
        self._lock = threading.Lock()
        self._thread = 0

    def __call__(self) -> Any:
        with self._lock:
            self._thread = threading.get_ident()
        try:
            return self._function()
        finally:
            with self._lock:
                core.cancel_call(self._client, self._thread, False)
                self._thread = 0

    def cancel(self) -> None:
        with self._lock:
            if self._thread:
                core.cancel_call(self._client, self._thread, True)


async def _finish(awaitable: Awaitable[Any]) -> None:
    await awaitable


def _expire(waiter: "asyncio.Future[bool]") -> None:
    if not waiter.done():
        waiter.set_result(False)
