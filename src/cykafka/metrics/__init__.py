"""Statistics of clients as typed objects, and exporters for monitoring systems.

`Client.metrics()` asks for them at any moment; ``stats_cb`` gets the same as text every ``statistics.interval.ms``:
`Statistics.from_json` reads that. Latencies and batch sizes are sampled only if that property is set. Exporters are
in `cykafka.metrics.prometheus` and `cykafka.metrics.opentelemetry`.
"""

from cykafka.metrics.statistics import (
    BrokerStatistics,
    ConsumerGroupStatistics,
    FatalErrorStatistics,
    PartitionStatistics,
    ProducerIdStatistics,
    Statistics,
    TopicPartitionName,
    TopicStatistics,
    WindowStatistics,
)

__all__ = [
    "BrokerStatistics",
    "ConsumerGroupStatistics",
    "FatalErrorStatistics",
    "PartitionStatistics",
    "ProducerIdStatistics",
    "Statistics",
    "TopicPartitionName",
    "TopicStatistics",
    "WindowStatistics",
]
