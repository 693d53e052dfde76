"""Metrics for OpenTelemetry; needs ``pip install cykafka[metrics]``.

>>> from cykafka.metrics.opentelemetry import OpenTelemetryMetrics
>>> metrics = OpenTelemetryMetrics(producer, consumer)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from cykafka.metrics.catalogue import ALL, Instrument, Kind
from cykafka.metrics.exporting import CLIENT_LABELS, Clients, Monitored, missing

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, Observation

#: OpenTelemetry asks for every instrument by itself: one collection serves them all.
KEEP_SECONDS = 0.5
#: Units in the notation of OpenTelemetry (UCUM).
UNITS = {"seconds": "s", "bytes": "By", "": "1"}


class OpenTelemetryMetrics:
    """Makes observable instruments from the metrics of clients.

    Args:
        clients: The clients; more may come by `add`. They are not kept alive by this, and closed ones drop out.
        meter: Meter to make the instruments with; by default the global provider's meter ``cykafka``.
        timeout: Seconds to wait for the statistics of a client.

    Raises:
        ImportError: If ``opentelemetry-api`` is not installed.

    Asked by the thread that exports; runs no callback of a client.
    """

    def __init__(self, *clients: Monitored, meter: Meter | None = None, timeout: float = 5.0) -> None:
        try:
            from opentelemetry import metrics
        except ImportError as error:
            raise missing("opentelemetry-api") from error
        self._clients = Clients(clients, timeout, KEEP_SECONDS)
        meter = meter or metrics.get_meter("cykafka")
        make = {Kind.COUNTER: meter.create_observable_counter, Kind.GAUGE: meter.create_observable_gauge}
        for instrument in ALL:
            make[instrument.kind](
                f"cykafka.{instrument.name}",
                callbacks=[self._observer(instrument)],
                unit=UNITS[instrument.unit],
                description=instrument.description,
            )

    def add(self, client: Monitored) -> None:
        """Export another client's metrics too.

        Args:
            client: The client.
        """
        self._clients.add(client)

    def _observer(self, instrument: Instrument) -> Callable[[CallbackOptions], Iterable[Observation]]:
        from opentelemetry.metrics import Observation

        names = (*CLIENT_LABELS, *instrument.scope.labels)

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            for labels, sample in self._clients.samples():
                if sample.instrument is instrument:
                    yield Observation(sample.value, dict(zip(names, (*labels, *sample.labels), strict=True)))

        return observe
