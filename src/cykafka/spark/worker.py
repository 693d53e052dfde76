"""Consumers and producers that a Python worker keeps from task to task.

Spark reuses worker processes, and hands any task to any of them. Clients are made on first use in the process
that uses them, never inherited by fork, and thrown away after any error.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from cykafka.spark.metadata import config_error, open_consumer
from cykafka.spark.options import CacheOptions
from cykafka.spark.properties import Config

if TYPE_CHECKING:
    from cykafka import Consumer, Producer

Key = tuple[tuple[str, str | int | bool], ...]


class _Closable(Protocol):
    def close(self) -> object: ...


C = TypeVar("C", bound=_Closable)


class ClientCache(Generic[C]):
    """Idle clients by configuration; for the one thread that runs a worker's tasks."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._idle: OrderedDict[Key, tuple[C, float]] = OrderedDict()

    @contextlib.contextmanager
    def borrow(self, config: Config, make: Callable[[], C], options: CacheOptions) -> Iterator[C]:
        """Lend a client for a `with` block; after an exception in the block it is closed, not kept.

        Args:
            config: Configuration; clients of equal configurations are taken for each other.
            make: Makes a client.
            options: How many are kept, and for how long.
        """
        key = tuple(sorted(config.items()))
        self._forget_after_fork()
        self._evict(options)
        client, _ = self._idle.pop(key, (None, 0.0))
        if client is None:
            client = make()
        keep = False
        try:
            yield client
            keep = True
        except GeneratorExit:
            # Whoever read from a generator that borrowed has read enough: nothing is wrong with the client.
            keep = True
            raise
        finally:
            if keep:
                self._put_back(key, client, options)
            else:
                client.close()

    def _put_back(self, key: Key, client: C, options: CacheOptions) -> None:
        other = self._idle.pop(key, None)
        if other is not None:
            other[0].close()
        self._idle[key] = (client, time.monotonic())
        while len(self._idle) > options.capacity:
            self._idle.popitem(last=False)[1][0].close()

    def clear(self) -> None:
        """Close all idle clients."""
        self._forget_after_fork()
        while self._idle:
            self._idle.popitem()[1][0].close()

    def __len__(self) -> int:
        self._forget_after_fork()
        return len(self._idle)

    def _forget_after_fork(self) -> None:
        if self._pid != os.getpid():
            # A parent's clients have no threads here; they cannot even be closed.
            self._pid = os.getpid()
            self._idle = OrderedDict()

    def _evict(self, options: CacheOptions) -> None:
        now = time.monotonic()
        for key in [key for key, (_, since) in self._idle.items() if now - since > options.timeout]:
            self._idle.pop(key)[0].close()


_consumers: ClientCache[Consumer] = ClientCache()
_producers: ClientCache[Producer] = ClientCache()


def consumer(config: Config, group_id: str, options: CacheOptions) -> contextlib.AbstractContextManager[Consumer]:
    """Lend a consumer of this process.

    Args:
        config: Configuration without a group id.
        group_id: Group id.
        options: How many are kept, and for how long.
    """
    whole = {**config, "group.id": group_id}
    return _consumers.borrow(whole, lambda: open_consumer(config, group_id), options)


def producer(config: Config, options: CacheOptions) -> contextlib.AbstractContextManager[Producer]:
    """Lend a producer of this process.

    Args:
        config: Configuration.
        options: How many are kept, and for how long.
    """
    return _producers.borrow(config, lambda: open_producer(config), options)


def open_producer(config: Config) -> Producer:
    """Make a producer; what librdkafka says of a bad property comes out under the option's name.

    Args:
        config: Configuration.

    Raises:
        OptionError: librdkafka refuses the configuration.
    """
    from cykafka import KafkaException, Producer

    try:
        return Producer(dict(config))
    except KafkaException as error:
        raise config_error(error, config) from None
