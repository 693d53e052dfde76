"""librdkafka's statistics as dataclasses.

Names are those of librdkafka's statistics, so that its documentation applies. A field that this version of
librdkafka does not send has its default; one that this module does not know is in ``extra``. Counters only grow
while the client lives; gauges are what is true at the moment.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


class _Section:
    """An object of the statistics: what all of the dataclasses below have in common."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the object that librdkafka sends."""
        known = {each.name for each in dataclasses.fields(cls)} - {"extra"}  # type: ignore[arg-type]
        values = {
            name: _NESTED[name](value) if name in _NESTED else value for name, value in data.items() if name in known
        }
        values["extra"] = {name: value for name, value in data.items() if name not in known}
        return cls(**values)


@dataclass(frozen=True)
class WindowStatistics(_Section):
    """Values that were sampled since the last statistics; in microseconds unless the field that has it says otherwise.

    Attributes:
        min: Smallest value.
        max: Largest value.
        avg: Mean, rounded down.
        sum: Sum of the values.
        cnt: How many values there were.
        stddev: Standard deviation, from the histogram.
        hdrsize: Bytes that the histogram takes.
        p50: Median.
        p75: 75th percentile.
        p90: 90th percentile.
        p95: 95th percentile.
        p99: 99th percentile.
        p99_99: 99.99th percentile.
        outofrange: Values that the histogram could not hold; they are in no percentile.
        extra: Fields that are not listed here.
    """

    min: int = 0
    max: int = 0
    avg: int = 0
    sum: int = 0
    cnt: int = 0
    stddev: int = 0
    hdrsize: int = 0
    p50: int = 0
    p75: int = 0
    p90: int = 0
    p95: int = 0
    p99: int = 0
    p99_99: int = 0
    outofrange: int = 0
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TopicPartitionName(_Section):
    """A partition that a broker's thread handles.

    Attributes:
        topic: Topic name.
        partition: Partition number.
        extra: Fields that are not listed here.
    """

    topic: str = ""
    partition: int = -1
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class BrokerStatistics(_Section):
    """What the client has to do with one broker.

    Attributes:
        name: ``host:port/id``, or another name for internal brokers.
        nodeid: Broker id; -1 for an address of ``bootstrap.servers`` whose id is not known.
        nodename: ``host:port``.
        source: ``configured``, ``learned``, ``internal`` or ``logical``.
        state: State of the connection: ``INIT``, ``DOWN``, ``UP`` and what lies between.
        stateage: Microseconds since the state changed (gauge).
        outbuf_cnt: Requests that wait to be sent (gauge).
        outbuf_msg_cnt: Messages in these (gauge).
        waitresp_cnt: Requests in flight (gauge).
        waitresp_msg_cnt: Messages in these (gauge).
        tx: Requests sent (counter).
        txbytes: Bytes sent (counter).
        txerrs: Failures to send (counter).
        txretries: Requests that were sent again (counter).
        txidle: Microseconds since something was sent; -1 if nothing was on this connection.
        req_timeouts: Requests that were not answered in time (counter).
        rx: Responses received (counter).
        rxbytes: Bytes received (counter).
        rxerrs: Failures to receive (counter).
        rxcorriderrs: Responses that no request waits for, mostly of requests that had timed out (counter).
        rxpartial: Fetch responses with a cut last batch (counter).
        rxidle: Microseconds since something was received; -1 if nothing was on this connection.
        req: Requests sent by name of their API (counters).
        zbuf_grow: Times a decompression buffer had to grow (counter).
        buf_grow: Not used by librdkafka any more.
        wakeups: Times the broker's thread woke up (counter).
        connects: Attempts to connect (counter).
        disconnects: Connections that ended (counter).
        int_latency: From produce() until the message is put into a request.
        outbuf_latency: From then until it is handed to the socket.
        rtt: From the request to its response.
        throttle: How long the broker throttled the client; milliseconds.
        toppars: Partitions that this broker's thread handles, by ``topic-partition``.
        extra: Fields that are not listed here.
    """

    name: str = ""
    nodeid: int = -1
    nodename: str = ""
    source: str = ""
    state: str = ""
    stateage: int = 0
    outbuf_cnt: int = 0
    outbuf_msg_cnt: int = 0
    waitresp_cnt: int = 0
    waitresp_msg_cnt: int = 0
    tx: int = 0
    txbytes: int = 0
    txerrs: int = 0
    txretries: int = 0
    txidle: int = -1
    req_timeouts: int = 0
    rx: int = 0
    rxbytes: int = 0
    rxerrs: int = 0
    rxcorriderrs: int = 0
    rxpartial: int = 0
    rxidle: int = -1
    req: dict[str, int] = field(default_factory=dict)
    zbuf_grow: int = 0
    buf_grow: int = 0
    wakeups: int = 0
    connects: int = 0
    disconnects: int = 0
    int_latency: WindowStatistics = field(default_factory=WindowStatistics)
    outbuf_latency: WindowStatistics = field(default_factory=WindowStatistics)
    rtt: WindowStatistics = field(default_factory=WindowStatistics)
    throttle: WindowStatistics = field(default_factory=WindowStatistics)
    toppars: dict[str, TopicPartitionName] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class PartitionStatistics(_Section):
    """One partition of a topic, as producer and consumer see it.

    Attributes:
        partition: Partition number; -1 for messages whose partition is not chosen yet.
        broker: Id of the broker that is fetched from.
        leader: Id of the leader.
        desired: Whether the application asked for this partition.
        unknown: Whether the cluster's metadata does not have it.
        msgq_cnt: Produced messages in the first queue (gauge).
        msgq_bytes: Bytes in these (gauge).
        xmit_msgq_cnt: Messages ready to be sent (gauge).
        xmit_msgq_bytes: Bytes in these (gauge).
        fetchq_cnt: Prefetched messages (gauge).
        fetchq_size: Bytes in these (gauge).
        fetch_state: ``none``, ``stopping``, ``stopped``, ``offset-query``, ``offset-wait`` or ``active``.
        query_offset: Logical offset that is being, or was last, asked for.
        next_offset: Offset to fetch next.
        app_offset: Offset after the last message that the application got.
        stored_offset: Offset to be committed next.
        stored_leader_epoch: Leader epoch of it.
        committed_offset: Offset committed last.
        committed_leader_epoch: Leader epoch of it.
        eof_offset: Offset of the last end of the partition that was reported.
        lo_offset: Low watermark: the first offset there is.
        hi_offset: High watermark: the offset after the last replicated message.
        ls_offset: Last stable offset: the offset after the last message of ended transactions.
        consumer_lag: Messages after the committed offset, to the high watermark or, with ``read_committed``, to
            the last stable offset; -1 if not known.
        consumer_lag_stored: The same from the stored offset.
        leader_epoch: Leader epoch, or -1.
        txmsgs: Messages sent (counter).
        txbytes: Bytes in these (counter).
        rxmsgs: Messages consumed (counter).
        rxbytes: Bytes in these (counter).
        msgs: Messages produced, sent or not; or consumed (counter).
        rx_ver_drops: Messages dropped because they were fetched before a seek or an assignment (counter).
        msgs_inflight: Messages in flight (gauge).
        next_ack_seq: Sequence number expected to be acknowledged next, of an idempotent producer.
        next_err_seq: Sequence number expected to fail next, of an idempotent producer.
        acked_msgid: Internal number of the last acknowledged message, of an idempotent producer.
        extra: Fields that are not listed here.
    """

    partition: int = -1
    broker: int = -1
    leader: int = -1
    desired: bool = False
    unknown: bool = False
    msgq_cnt: int = 0
    msgq_bytes: int = 0
    xmit_msgq_cnt: int = 0
    xmit_msgq_bytes: int = 0
    fetchq_cnt: int = 0
    fetchq_size: int = 0
    fetch_state: str = ""
    query_offset: int = -1001
    next_offset: int = -1001
    app_offset: int = -1001
    stored_offset: int = -1001
    stored_leader_epoch: int = -1
    committed_offset: int = -1001
    committed_leader_epoch: int = -1
    eof_offset: int = -1001
    lo_offset: int = -1001
    hi_offset: int = -1001
    ls_offset: int = -1001
    consumer_lag: int = -1
    consumer_lag_stored: int = -1
    leader_epoch: int = -1
    txmsgs: int = 0
    txbytes: int = 0
    rxmsgs: int = 0
    rxbytes: int = 0
    msgs: int = 0
    rx_ver_drops: int = 0
    msgs_inflight: int = 0
    next_ack_seq: int = 0
    next_err_seq: int = 0
    acked_msgid: int = 0
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class TopicStatistics(_Section):
    """One topic.

    Attributes:
        topic: Topic name.
        age: Milliseconds since the client first used it (gauge).
        metadata_age: Milliseconds since its metadata was fetched (gauge).
        batchsize: Bytes of the batches sent.
        batchcnt: Messages of the batches sent.
        partitions: Partitions by number; -1 has the messages whose partition is not chosen yet.
        extra: Fields that are not listed here.
    """

    topic: str = ""
    age: int = 0
    metadata_age: int = 0
    batchsize: WindowStatistics = field(default_factory=WindowStatistics)
    batchcnt: WindowStatistics = field(default_factory=WindowStatistics)
    partitions: dict[int, PartitionStatistics] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ConsumerGroupStatistics(_Section):
    """A consumer's membership in its group.

    Attributes:
        state: State of the connection to the group's coordinator.
        stateage: Milliseconds since it changed (gauge).
        join_state: State of the membership.
        rebalance_age: Milliseconds since the last rebalance (gauge).
        rebalance_cnt: Rebalances (counter).
        rebalance_reason: Why the last one happened.
        assignment_size: Partitions assigned (gauge).
        extra: Fields that are not listed here.
    """

    state: str = ""
    stateage: int = 0
    join_state: str = ""
    rebalance_age: int = 0
    rebalance_cnt: int = 0
    rebalance_reason: str = ""
    assignment_size: int = 0
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ProducerIdStatistics(_Section):
    """State of an idempotent or transactional producer.

    Attributes:
        idemp_state: State of its producer id.
        idemp_stateage: Milliseconds since it changed (gauge).
        txn_state: State of its transaction.
        txn_stateage: Milliseconds since it changed (gauge).
        txn_may_enq: Whether the transaction's state allows to produce.
        producer_id: The producer id, or -1.
        producer_epoch: Its epoch, or -1.
        epoch_cnt: How many producer ids it has had (counter).
        extra: Fields that are not listed here.
    """

    idemp_state: str = ""
    idemp_stateage: int = 0
    txn_state: str = ""
    txn_stateage: int = 0
    txn_may_enq: bool = False
    producer_id: int = -1
    producer_epoch: int = -1
    epoch_cnt: int = 0
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class FatalErrorStatistics(_Section):
    """The error that has ended an idempotent producer or a static group member.

    Attributes:
        error: The error's text.
        reason: Why it happened.
        cnt: How often fatal errors were raised (counter).
        extra: Fields that are not listed here.
    """

    error: str = ""
    reason: str = ""
    cnt: int = 0
    extra: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Statistics(_Section):
    """All statistics of one client.

    Attributes:
        name: Name of the client within its process.
        client_id: ``client.id``.
        type: ``producer`` or ``consumer``.
        ts: librdkafka's monotonic clock, microseconds.
        time: Wall clock, seconds since the epoch.
        age: Microseconds since the client was made.
        replyq: Callbacks and events that wait to be served by poll() (gauge).
        msg_cnt: Messages in the producer's queues (gauge).
        msg_size: Bytes of these (gauge).
        msg_max: How many there may be (``queue.buffering.max.messages``).
        msg_size_max: How many bytes there may be (``queue.buffering.max.kbytes``).
        tx: Requests sent to brokers (counter).
        tx_bytes: Bytes sent (counter).
        rx: Responses received (counter).
        rx_bytes: Bytes received (counter).
        txmsgs: Messages sent (counter).
        txmsg_bytes: Bytes of these with their framing (counter).
        rxmsgs: Messages consumed (counter).
        rxmsg_bytes: Bytes of these with their framing (counter).
        simple_cnt: Internal to librdkafka.
        metadata_cache_cnt: Topics in the metadata cache (gauge).
        brokers: Brokers by name.
        topics: Topics by name.
        cgrp: Group membership; None unless a consumer has a group.
        eos: Producer id and transaction; None unless the producer is idempotent.
        fatal: Fatal error; None unless there was one.
        extra: Fields that are not listed here.
    """

    name: str = ""
    client_id: str = ""
    type: str = ""
    ts: int = 0
    time: int = 0
    age: int = 0
    replyq: int = 0
    msg_cnt: int = 0
    msg_size: int = 0
    msg_max: int = 0
    msg_size_max: int = 0
    tx: int = 0
    tx_bytes: int = 0
    rx: int = 0
    rx_bytes: int = 0
    txmsgs: int = 0
    txmsg_bytes: int = 0
    rxmsgs: int = 0
    rxmsg_bytes: int = 0
    simple_cnt: int = 0
    metadata_cache_cnt: int = 0
    brokers: dict[str, BrokerStatistics] = field(default_factory=dict)
    topics: dict[str, TopicStatistics] = field(default_factory=dict)
    cgrp: ConsumerGroupStatistics | None = None
    eos: ProducerIdStatistics | None = None
    fatal: FatalErrorStatistics | None = None
    extra: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Statistics:
        """Read what ``stats_cb`` gets.

        Args:
            text: A JSON object.

        Returns:
            Statistics: The same as an object.

        Raises:
            ValueError: If the text is not a JSON object.
        """
        data = json.loads(text)
        if isinstance(data, dict):
            return cls.from_dict(data)
        raise ValueError(f"statistics must be a JSON object, not {type(data).__name__}")

    @property
    def consumer_lag(self) -> int:
        """Messages after the committed offsets, over all partitions whose lag is known."""
        return sum(
            partition.consumer_lag
            for topic in self.topics.values()
            for partition in topic.partitions.values()
            if partition.consumer_lag > 0
        )


def _dict_of(build: Callable[[Any], Any], key: Callable[[str], Hashable] = str) -> Callable[[Any], Any]:
    """Return what makes a dict of objects."""
    return lambda items: {key(name): build(value) for name, value in items.items()}


#: Fields that are objects, whichever class has them.
_NESTED: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("int_latency", "outbuf_latency", "rtt", "throttle", "batchsize", "batchcnt"), WindowStatistics.from_dict
    ),
    "toppars": _dict_of(TopicPartitionName.from_dict),
    "brokers": _dict_of(BrokerStatistics.from_dict),
    "topics": _dict_of(TopicStatistics.from_dict),
    "partitions": _dict_of(PartitionStatistics.from_dict, int),
    "cgrp": ConsumerGroupStatistics.from_dict,
    "eos": ProducerIdStatistics.from_dict,
    "fatal": FatalErrorStatistics.from_dict,
}
