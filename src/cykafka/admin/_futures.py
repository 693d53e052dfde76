"""Between the one future of a request, which the core resolves, and the futures that users get.

The core resolves a request's future with plain tuples and lists (``admin_results.pyx``), or fails it, on the
client's admin thread. Public futures count as running from the start, so cancel() does not take them back.
"""

from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from cykafka._rdkafka.core import KafkaError, make_exception

_K = TypeVar("_K", bound=Hashable)


def each(
    keys: Iterable[_K], read: Callable[[Any], Iterable[tuple[_K, Any]]]
) -> "tuple[Future[Any], dict[_K, Future[Any]]]":
    """Make a future for a request and one for each of its items.

    Args:
        keys: The items.
        read: Turns the request's result into (item, value) pairs; a `KafkaError` as value fails the item.

    Returns:
        tuple: The request's future, and the items' by item.
    """
    request: Future[Any] = Future()
    futures: dict[_K, Future[Any]] = {key: _running() for key in keys}

    def hand_on(done: "Future[Any]") -> None:
        try:
            for key, value in read(done.result()):
                if key in futures and not futures[key].done():
                    _settle(futures[key], value)
            for key, future in futures.items():
                if not future.done():
                    _settle(future, KafkaError(KafkaError._FAIL, f"The broker's response has no result for {key}"))
        except Exception as error:  # noqa: BLE001 - whatever it is belongs to those who wait
            for future in futures.values():
                if not future.done():
                    future.set_exception(error)

    request.add_done_callback(hand_on)
    return request, futures


def one(read: Callable[[Any], Any]) -> "tuple[Future[Any], Future[Any]]":
    """Make a future for a request and the one that users get.

    Args:
        read: Turns the request's result into the user's.

    Returns:
        tuple: The request's future, and the user's.
    """
    request: Future[Any] = Future()
    public = _running()

    def hand_on(done: "Future[Any]") -> None:
        try:
            public.set_result(read(done.result()))
        except Exception as error:  # noqa: BLE001 - whatever it is belongs to those who wait
            public.set_exception(error)

    request.add_done_callback(hand_on)
    return request, public


def _running() -> "Future[Any]":
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


def _settle(future: "Future[Any]", value: Any) -> None:
    if isinstance(value, KafkaError):
        future.set_exception(make_exception(value))
    else:
        future.set_result(value)
