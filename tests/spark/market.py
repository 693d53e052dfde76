"""What the tests of the market pipeline share: a made-up market in a topic, and its bars by DuckDB."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cykafka import Consumer, TopicPartition
from cykafka.spark.market import Faults, MarketSettings, Sent, TickFormat, TickPlan, send_ticks
from tests.support import wire

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

PARTITIONS = 3
#: 40 s of a market, on a minute's border, with all faults.
START = 1_750_000_020_000_000
FAULTS = Faults(late=0.004, duplicate=0.02, out_of_order=0.03, gap=0.01, malformed=0.005)
PLAN = TickPlan(6_000, rate=150, symbols=4, seed=7, start=START, lateness=2.0, faults=FAULTS)
WIDTHS = {"1s": 1, "10s": 10, "1m": 60}

_ACCEPTED = """
    create or replace view accepted as
    select distinct symbol, price, size, event_time, sequence from ticks
    where json_valid(text) and arrived - event_time <= 2000000 and event_time - arrived <= 1000000
"""
_TICKS = """
    create or replace view ticks as
    select *, if(json_valid(text), text ->> 'symbol', null) as symbol,
        try_cast(if(json_valid(text), text ->> 'price', null) as decimal(18, 4)) as price,
        try_cast(if(json_valid(text), text ->> 'size', null) as bigint) as size,
        try_cast(if(json_valid(text), text ->> 'event_time', null) as bigint) as event_time,
        try_cast(if(json_valid(text), text ->> 'sequence', null) as bigint) as sequence
    from (select partition, "offset", epoch_us(timestamp) as arrived, decode(value) as text from raw)
"""
_BARS = """
    select symbol, event_time // $width * $width as start,
        first(price order by event_time, sequence) as open, max(price) as high, min(price) as low,
        last(price order by event_time, sequence) as close, sum(size)::bigint as volume,
        sum(price * size::decimal(19, 0)) as notional, count(*) as trades,
        min(sequence) as first_sequence, max(sequence) as last_sequence
    from accepted group by all
"""
_EXACT = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_UP)


@dataclass(frozen=True)
class Market:
    """Topics with a made-up market.

    Attributes:
        kafka: Cluster.
        ticks: Topic of the ticks.
        bars: Topic for bars.
        sent: What was generated.
    """

    kafka: Any
    ticks: str
    bars: str
    sent: Sent

    def settings(self, **changes: Any) -> MarketSettings:
        """Settings of a pipeline over it, with more or other ones."""
        texts = {
            "bootstrap-servers": self.kafka.bootstrap_servers,
            "ticks-topic": self.ticks,
            "widths": ",".join(WIDTHS),
            "lateness": "2s",
            **{name.replace("_", "-"): value for name, value in changes.items()},
        }
        return MarketSettings.parse(texts)

    def duckdb(self) -> duckdb.DuckDBPyConnection:
        """A database with the views `raw` (the topic), `ticks` and `accepted`."""
        import duckdb

        connection = duckdb.connect()
        connection.register("raw", consume(self.kafka, self.ticks))
        connection.execute(_TICKS)
        connection.execute(_ACCEPTED)
        return connection

    def expected_bars(self) -> dict[tuple[str, str, int], dict[str, Any]]:
        """Bars by symbol, width and start, by DuckDB over the raw topic."""
        connection = self.duckdb()
        found = {}
        for label, seconds in WIDTHS.items():
            result = connection.execute(_BARS, {"width": seconds * 1_000_000})
            names = [column[0] for column in result.description]
            for values in result.fetchall():
                row = dict(zip(names, values, strict=True))
                row["vwap"] = _EXACT.divide(row["notional"], decimal.Decimal(row["volume"])).quantize(
                    decimal.Decimal("0.000001"), context=_EXACT
                )
                row["missing"] = row["last_sequence"] - row["first_sequence"] + 1 - row["trades"]
                found[row.pop("symbol"), label, row.pop("start")] = row
        return found


def make_market(kafka: Any, plan: TickPlan) -> Market:
    """Create topics and send a market."""
    name = f"market-{plan.tick_format.value}-{uuid.uuid4().hex[:8]}"
    market_topics = name, f"{name}-bars"
    for each in market_topics:
        # The broker would delete ticks of another year at once.
        wire.create_topic(kafka.bootstrap_servers, each, PARTITIONS, 1, {"retention.ms": "-1"})
    sent = send_ticks({"bootstrap.servers": kafka.bootstrap_servers}, name, plan)
    return Market(kafka, *market_topics, sent)


def consume(kafka: Any, topic: str) -> pa.Table:
    """All records of a topic, by `consume_arrow`."""
    import pyarrow as pa

    batches = []
    with Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "raw", "enable.partition.eof": True}
    ) as consumer:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        ends: set[int] = set()
        while len(ends) < PARTITIONS:
            batch = consumer.consume_arrow(100_000, timeout=30)
            assert not batch.errors
            ends.update(end.partition for end in batch.partition_ends)
            if batch.num_rows:
                batches.append(pa.record_batch(batch))
    return pa.Table.from_batches(batches)


def by_key(rows: list[Any], *, until: int | None = None) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Bars that Spark gave, as `Market.expected_bars` gives them; fails if one is there twice."""
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in rows:
        bar = row.asDict()
        start, end = _micros(bar.pop("start")), _micros(bar.pop("end"))
        key = (bar.pop("symbol"), bar.pop("width"), start)
        assert key not in found, f"bar {key} is there twice"
        assert end - start == WIDTHS[key[1]] * 1_000_000
        bar.pop("emitted")
        bar.pop("delivered", None)
        if until is None or end <= until:
            found[key] = bar
    return found


def _micros(moment: dt.datetime) -> int:
    return (moment.replace(tzinfo=dt.timezone.utc) - dt.datetime.fromtimestamp(0, dt.timezone.utc)) // dt.timedelta(
        microseconds=1
    )


def with_format(tick_format: TickFormat) -> TickPlan:
    """The plan with another format of ticks."""
    return dataclasses.replace(PLAN, tick_format=tick_format)
