"""The threads on which the operations that librdkafka lacks run."""

import os
import queue
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from cykafka._rdkafka.core import KafkaError, make_exception
from cykafka.admin.protocol import Cluster, Route, api
from cykafka.admin.protocol._errors import broker_error, failure

_K = TypeVar("_K", bound=Hashable)
_MOST_THREADS = 4
#: A thread with nothing to do ends after this many seconds.
_IDLE = 10.0


class Call:
    """An operation under way: sends requests until its deadline.

    Args:
        cluster: Where to send them.
        deadline: `time.monotonic` until which they must be answered.
    """

    def __init__(self, cluster: Cluster, deadline: float) -> None:
        self.cluster = cluster
        self.deadline = deadline

    @property
    def left_ms(self) -> int:
        """Milliseconds left, for requests that tell the broker how long it may take."""
        return max(1, min(int((self.deadline - time.monotonic()) * 1000), 2**31 - 1))

    def __call__(
        self, name: str | int, body: Mapping[str, Any], *, to: Route = None, version: int | None = None
    ) -> dict[str, Any]:
        """Send a request; an error that the whole response has is raised.

        Raises:
            TypeError, ValueError: If a field is wrong.
            KafkaException: If there is no response, or it has an error.
        """
        response = self.cluster.request(api(name), body, to=to, version=version, deadline=self.deadline)
        if response.get("error_code"):
            raise make_exception(broker_error(response["error_code"], response.get("error_message")))
        return response


class Operator:
    """Runs operations on threads of its own, which it starts when needed, and which end when idle or closed.

    Args:
        config: Configuration of a client.

    Thread-safe.

    Raises:
        KafkaException: If a property is wrong (``_INVALID_ARG``).
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.cluster = Cluster(config)
        self._pid = os.getpid()
        # Collecting garbage may close a client on any thread, also one that holds this.
        self._lock = threading.RLock()
        self._closed = False
        self._work: queue.SimpleQueue[tuple[Callable[[], None], list[Future[Any]]]] = queue.SimpleQueue()
        self._open: set[Future[Any]] = set()
        self._threads = 0
        self._idle = 0

    def run(self, function: Callable[[Call], Any], timeout: float | None) -> "Future[Any]":
        """Run an operation with one result.

        Args:
            function: The operation.
            timeout: Seconds; None for socket.timeout.ms.
        """
        future: Future[Any] = Future()
        call = self._call(timeout)
        self._submit(lambda: _settle(future, function(call)), [future])
        return future

    def run_each(
        self, keys: Iterable[_K], function: Callable[[Call], Mapping[_K, Any]], timeout: float | None
    ) -> "dict[_K, Future[Any]]":
        """Run an operation with a result for each item.

        Args:
            keys: The items.
            function: The operation; a `KafkaError` in its results fails the item.
            timeout: Seconds; None for socket.timeout.ms.
        """
        futures: dict[_K, Future[Any]] = {key: Future() for key in keys}
        call = self._call(timeout)

        def work() -> None:
            results = function(call)
            for key, future in futures.items():
                missing = KafkaError(KafkaError._FAIL, f"The broker's response has no result for {key}")
                _settle(future, results.get(key, missing))

        if futures:
            self._submit(work, list(futures.values()))
        return futures

    def close(self) -> None:
        """Fail what is under way with ``_DESTROY``, close connections. Closing twice is harmless."""
        if self._pid != os.getpid():
            return
        with self._lock:
            self._closed = True
            pending = list(self._open)
            self._open.clear()
            waiting = self._idle
        self.cluster.close()
        error = failure(KafkaError._DESTROY, "The client was closed")
        for future in pending:
            _fail(future, error)
        for _ in range(waiting):
            self._work.put((lambda: None, []))

    def _call(self, timeout: float | None) -> Call:
        if self._pid != os.getpid():
            raise RuntimeError("The client was made before this process was forked: make a new one in the child")
        return Call(self.cluster, time.monotonic() + (self.cluster.settings.timeout if timeout is None else timeout))

    def _submit(self, work: Callable[[], None], futures: "list[Future[Any]]") -> None:
        for future in futures:
            future.set_running_or_notify_cancel()
        with self._lock:
            if self._closed:
                raise RuntimeError("The client was closed")
            self._open.update(futures)
            self._work.put((work, futures))
            start = self._work.qsize() > self._idle and self._threads < _MOST_THREADS
            self._threads += start
        if start:
            threading.Thread(target=self._serve, name="cykafka-operator", daemon=True).start()

    def _serve(self) -> None:
        while not self._closed:
            with self._lock:
                self._idle += 1
            try:
                work, futures = self._work.get(timeout=_IDLE)
            except queue.Empty:
                work, futures = None, []
            with self._lock:
                self._idle -= 1
                if work is None and self._work.empty():
                    self._threads -= 1
                    return
            if work is not None:
                self._do(work, futures)
        with self._lock:
            self._threads -= 1

    def _do(self, work: Callable[[], None], futures: "list[Future[Any]]") -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to those who wait
            reason = failure(KafkaError._DESTROY, "The client was closed") if self._closed else error
            for future in futures:
                _fail(future, reason)
        finally:
            with self._lock:
                self._open.difference_update(futures)


def _settle(future: "Future[Any]", value: Any) -> None:
    if isinstance(value, KafkaError):
        _fail(future, make_exception(value))
    elif not future.done():
        future.set_result(value)


def _fail(future: "Future[Any]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
