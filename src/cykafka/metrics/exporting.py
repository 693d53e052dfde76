"""What both exporters need: clients that come and go, and their samples."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import Protocol

from cykafka.error import KafkaException
from cykafka.metrics.catalogue import Sample, samples
from cykafka.metrics.statistics import Statistics

#: Labels that every sample has before those of its scope.
CLIENT_LABELS = ("client", "client_id", "client_type")


class Monitored(Protocol):
    """A client: `Producer`, `Consumer`, `AdminClient` or `ShareConsumer`."""

    def metrics(self, timeout: float | None = ...) -> Statistics:
        """Return its statistics."""


class Clients:
    """The clients to be monitored; remembers them without keeping them alive.

    Args:
        clients: The first ones.
        timeout: Seconds to wait for each one's statistics.
        keep: Seconds for which statistics are used again: systems that ask once for each metric would else make
            the client collect them as often, each time beginning its windows anew.
    """

    def __init__(self, clients: Iterable[Monitored], timeout: float, keep: float) -> None:
        self._clients: weakref.WeakSet[Monitored] = weakref.WeakSet(clients)
        self._timeout = timeout
        self._keep = keep
        self._lock = threading.Lock()
        self._samples: list[tuple[tuple[str, ...], Sample]] = []
        self._collected: float | None = None

    def add(self, client: Monitored) -> None:
        """Monitor another client.

        Args:
            client: The client.
        """
        with self._lock:
            self._clients.add(client)
            self._collected = None

    def samples(self) -> list[tuple[tuple[str, ...], Sample]]:
        """Return the samples of all clients, each with the values of `CLIENT_LABELS`.

        A client that is closed, or does not answer in time, has none.
        """
        with self._lock:
            now = time.monotonic()
            if self._collected is None or now - self._collected >= self._keep:
                self._samples = list(self._collect())
                self._collected = now
            return self._samples

    def _collect(self) -> Iterator[tuple[tuple[str, ...], Sample]]:
        for client in list(self._clients):
            try:
                statistics = client.metrics(self._timeout)
            except RuntimeError:
                # Closed, or of another process: it will not come back.
                self._clients.discard(client)
                continue
            except KafkaException:
                continue
            labels = (statistics.name, statistics.client_id, statistics.type)
            for sample in samples(statistics):
                yield labels, sample


def missing(package: str) -> ImportError:
    """Return the error for a package that is not installed."""
    return ImportError(f"{package} is not installed: pip install cykafka[metrics]")
