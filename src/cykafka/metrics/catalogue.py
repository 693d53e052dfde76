"""What the exporters export: a table, and how a client's statistics become samples by it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from cykafka.metrics.statistics import (
    BrokerStatistics,
    PartitionStatistics,
    Statistics,
    TopicStatistics,
    WindowStatistics,
)

MICROSECONDS = 1e-6
MILLISECONDS = 1e-3

#: Percentiles of a window by the value of the label ``quantile``.
QUANTILES = {"0.5": "p50", "0.75": "p75", "0.9": "p90", "0.95": "p95", "0.99": "p99", "0.9999": "p99_99"}


class Kind(enum.Enum):
    """How a value changes."""

    COUNTER = "counter"
    GAUGE = "gauge"


class Scope(enum.Enum):
    """What a value is about."""

    CLIENT = "client"
    BROKER = "broker"
    PARTITION = "partition"
    BROKER_WINDOW = "broker window"
    TOPIC_WINDOW = "topic window"

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels, besides those of the client."""
        return _LABELS[self]


_LABELS: dict[Scope, tuple[str, ...]] = {
    Scope.CLIENT: (),
    Scope.BROKER: ("broker",),
    Scope.PARTITION: ("topic", "partition"),
    Scope.BROKER_WINDOW: ("broker", "quantile"),
    Scope.TOPIC_WINDOW: ("topic", "quantile"),
}


@dataclass(frozen=True)
class Instrument:
    """One metric.

    Attributes:
        scope: What it is about.
        field: Field of the statistics.
        name: Name without the prefix ``cykafka_``, with its unit as Prometheus wants it.
        kind: Counter or gauge.
        description: One sentence.
        unit: Base unit: seconds, bytes, or none.
        scale: What a value is multiplied with to be in that unit.
    """

    scope: Scope
    field: str
    name: str
    kind: Kind
    description: str
    unit: str = ""
    scale: float = 1


@dataclass(frozen=True)
class Sample:
    """One value of an instrument.

    Attributes:
        instrument: Which metric it belongs to.
        labels: Values of the labels that its scope names, in that order.
        value: The value, in the instrument's unit.
    """

    instrument: Instrument
    labels: tuple[str, ...]
    value: float


def _gauge(scope: Scope, field: str, name: str, description: str, unit: str = "", scale: float = 1) -> Instrument:
    return Instrument(scope, field, name, Kind.GAUGE, description, unit, scale)


def _counter(scope: Scope, field: str, name: str, description: str, unit: str = "") -> Instrument:
    return Instrument(scope, field, name, Kind.COUNTER, description, unit)


_C, _B, _P = Scope.CLIENT, Scope.BROKER, Scope.PARTITION

INSTRUMENTS = (
    _gauge(_C, "replyq", "events_waiting", "Callbacks and events that wait to be served by poll()."),
    _gauge(_C, "msg_cnt", "queue_messages", "Messages in the producer's queues."),
    _gauge(_C, "msg_size", "queue_bytes", "Bytes in the producer's queues.", "bytes"),
    _gauge(_C, "msg_max", "queue_messages_limit", "Messages that the producer's queues may hold."),
    _gauge(_C, "msg_size_max", "queue_bytes_limit", "Bytes that the producer's queues may hold.", "bytes"),
    _counter(_C, "tx", "requests", "Requests sent to brokers."),
    _counter(_C, "tx_bytes", "sent_bytes", "Bytes sent to brokers.", "bytes"),
    _counter(_C, "rx", "responses", "Responses received from brokers."),
    _counter(_C, "rx_bytes", "received_bytes", "Bytes received from brokers.", "bytes"),
    _counter(_C, "txmsgs", "messages_sent", "Messages sent to brokers."),
    _counter(_C, "txmsg_bytes", "messages_sent_bytes", "Bytes of the messages sent.", "bytes"),
    _counter(_C, "rxmsgs", "messages_received", "Messages consumed."),
    _counter(_C, "rxmsg_bytes", "messages_received_bytes", "Bytes of the messages consumed.", "bytes"),
    _gauge(_B, "outbuf_cnt", "broker_requests_waiting", "Requests that wait to be sent."),
    _gauge(_B, "waitresp_cnt", "broker_requests_in_flight", "Requests in flight."),
    _counter(_B, "tx", "broker_requests", "Requests sent."),
    _counter(_B, "txbytes", "broker_sent_bytes", "Bytes sent.", "bytes"),
    _counter(_B, "txerrs", "broker_send_errors", "Failures to send."),
    _counter(_B, "txretries", "broker_retries", "Requests that were sent again."),
    _counter(_B, "req_timeouts", "broker_request_timeouts", "Requests that were not answered in time."),
    _counter(_B, "rx", "broker_responses", "Responses received."),
    _counter(_B, "rxbytes", "broker_received_bytes", "Bytes received.", "bytes"),
    _counter(_B, "rxerrs", "broker_receive_errors", "Failures to receive."),
    _counter(_B, "connects", "broker_connects", "Attempts to connect."),
    _counter(_B, "disconnects", "broker_disconnects", "Connections that ended."),
    _gauge(_P, "msgq_cnt", "partition_queue_messages", "Produced messages that wait in the first queue."),
    _gauge(_P, "xmit_msgq_cnt", "partition_send_queue_messages", "Messages ready to be sent."),
    _gauge(_P, "msgs_inflight", "partition_messages_in_flight", "Messages in flight."),
    _gauge(_P, "fetchq_cnt", "partition_prefetched_messages", "Prefetched messages."),
    _gauge(_P, "fetchq_size", "partition_prefetched_bytes", "Bytes of the prefetched messages.", "bytes"),
    _gauge(_P, "app_offset", "partition_position", "Offset after the last message that the application got."),
    _gauge(_P, "committed_offset", "partition_committed_offset", "Offset committed last."),
    _gauge(_P, "hi_offset", "partition_high_watermark", "Offset after the last replicated message."),
    _gauge(_P, "consumer_lag", "partition_lag", "Messages after the committed offset."),
    _gauge(_P, "consumer_lag_stored", "partition_lag_stored", "Messages after the stored offset."),
    _counter(_P, "txmsgs", "partition_messages_sent", "Messages sent."),
    _counter(_P, "rxmsgs", "partition_messages_received", "Messages consumed."),
    _gauge(
        Scope.BROKER_WINDOW,
        "rtt",
        "broker_round_trip_seconds",
        "From a request to its response.",
        "seconds",
        MICROSECONDS,
    ),
    _gauge(
        Scope.BROKER_WINDOW,
        "int_latency",
        "broker_queue_seconds",
        "From produce() until a message is put into a request.",
        "seconds",
        MICROSECONDS,
    ),
    _gauge(
        Scope.BROKER_WINDOW,
        "outbuf_latency",
        "broker_send_seconds",
        "From a finished request until it is handed to the socket.",
        "seconds",
        MICROSECONDS,
    ),
    _gauge(
        Scope.BROKER_WINDOW,
        "throttle",
        "broker_throttle_seconds",
        "How long the broker throttled the client.",
        "seconds",
        MILLISECONDS,
    ),
    _gauge(Scope.TOPIC_WINDOW, "batchsize", "batch_bytes", "Bytes of the batches sent.", "bytes"),
    _gauge(Scope.TOPIC_WINDOW, "batchcnt", "batch_messages", "Messages of the batches sent."),
)

#: Group membership is about the client, but in an object of its own.
REBALANCES = _counter(_C, "rebalance_cnt", "rebalances", "Rebalances of the consumer's group.")
ASSIGNED = _gauge(_C, "assignment_size", "assigned_partitions", "Partitions assigned to the consumer.")

ALL = (*INSTRUMENTS, REBALANCES, ASSIGNED)

#: Offsets and lags below this are librdkafka's way to say that there is none.
_UNKNOWN_BELOW = {"app_offset": 0, "committed_offset": 0, "hi_offset": 0, "consumer_lag": 0, "consumer_lag_stored": 0}

_Parent = Statistics | BrokerStatistics | TopicStatistics | PartitionStatistics


def _things(statistics: Statistics) -> Iterator[tuple[tuple[Scope, ...], tuple[str, ...], _Parent]]:
    """Yield everything that has values: the scopes it is the parent of, its labels, and it."""
    yield (Scope.CLIENT,), (), statistics
    for broker in statistics.brokers.values():
        if broker.nodeid >= 0:
            yield (Scope.BROKER, Scope.BROKER_WINDOW), (str(broker.nodeid),), broker
    for topic in statistics.topics.values():
        yield (Scope.TOPIC_WINDOW,), (topic.topic,), topic
        for partition in topic.partitions.values():
            if partition.partition >= 0:
                yield (Scope.PARTITION,), (topic.topic, str(partition.partition)), partition


def samples(statistics: Statistics) -> Iterator[Sample]:
    """Yield the values of all instruments; what is not known is left out.

    Args:
        statistics: What a client's metrics() returned.

    Yields:
        Sample: One for each instrument and broker, topic or partition that it is about.
    """
    for scopes, labels, parent in _things(statistics):
        for instrument in INSTRUMENTS:
            if instrument.scope not in scopes:
                continue
            value = getattr(parent, instrument.field)
            if isinstance(value, WindowStatistics):
                if value.cnt:
                    for quantile, field in QUANTILES.items():
                        yield Sample(instrument, (*labels, quantile), getattr(value, field) * instrument.scale)
            elif value >= _UNKNOWN_BELOW.get(instrument.field, value):
                yield Sample(instrument, labels, value * instrument.scale)
    if statistics.cgrp is not None:
        yield Sample(REBALANCES, (), statistics.cgrp.rebalance_cnt)
        yield Sample(ASSIGNED, (), statistics.cgrp.assignment_size)
