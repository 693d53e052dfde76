"""Metrics for Prometheus; needs ``pip install cykafka[metrics]``.

>>> from prometheus_client import start_http_server
>>> from cykafka.metrics.prometheus import PrometheusCollector
>>> collector = PrometheusCollector(producer, consumer)  # doctest: +SKIP
>>> start_http_server(9000)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cykafka.metrics.catalogue import ALL, Kind
from cykafka.metrics.exporting import CLIENT_LABELS, Clients, Monitored, missing

if TYPE_CHECKING:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.registry import CollectorRegistry


class PrometheusCollector:
    """Gives Prometheus the metrics of clients when it asks for them.

    Args:
        clients: The clients; more may come by `add`. They are not kept alive by this, and closed ones drop out.
        registry: Registry of ``prometheus_client``; its default one if None.
        timeout: Seconds to wait for the statistics of a client.

    Raises:
        ImportError: If ``prometheus_client`` is not installed.

    Asked by the thread that serves Prometheus; runs no callback of a client.
    """

    def __init__(self, *clients: Monitored, registry: CollectorRegistry | None = None, timeout: float = 5.0) -> None:
        try:
            from prometheus_client import REGISTRY
        except ImportError as error:
            raise missing("prometheus_client") from error
        self._clients = Clients(clients, timeout, keep=0.0)
        (registry or REGISTRY).register(self)

    def add(self, client: Monitored) -> None:
        """Export another client's metrics too.

        Args:
            client: The client.
        """
        self._clients.add(client)

    def describe(self) -> Iterator[Metric]:
        """Name the metrics without asking the clients; for the registry."""
        yield from self._families().values()

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; for the registry."""
        families = self._families()
        for labels, sample in self._clients.samples():
            families[sample.instrument.name].add_metric([*labels, *sample.labels], sample.value)
        yield from families.values()

    @staticmethod
    def _families() -> dict[str, CounterMetricFamily | GaugeMetricFamily]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        make: dict[Kind, type[CounterMetricFamily | GaugeMetricFamily]] = {
            Kind.COUNTER: CounterMetricFamily,
            Kind.GAUGE: GaugeMetricFamily,
        }
        return {
            instrument.name: make[instrument.kind](
                f"cykafka_{instrument.name}",
                instrument.description,
                labels=[*CLIENT_LABELS, *instrument.scope.labels],
            )
            for instrument in ALL
        }
