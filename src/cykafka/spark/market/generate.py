"""Ticks of a made-up market, with faults at known rates: the same seed gives the same ticks."""

from __future__ import annotations

import heapq
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields

from cykafka.spark.errors import OptionError
from cykafka.spark.market.settings import TickFormat
from cykafka.spark.market.ticks import PRICE_SCALE, STRUCT

_LATE_BY_US = (1.5, 3.0)  # times the lateness
_DISORDER_US = (20_000, 200_000)
_DUPLICATE_AFTER_US = (0, 50_000)
_FEED_MEDIAN_MS = 2.0
_SYMBOLS = ("ABC", "DEF", "GHI", "JKL", "MNO", "PQR", "STU", "VWX")


@dataclass(frozen=True)
class Faults:
    """Share of ticks with each fault, 0 to 1.

    Attributes:
        late: Ticks that come later than `MarketSettings.lateness` allows.
        duplicate: Ticks that are sent twice.
        out_of_order: Ticks that later ones overtake, within the allowed lateness.
        gap: Ticks that are never sent.
        malformed: Values that are no ticks.
    """

    late: float = 0.001
    duplicate: float = 0.005
    out_of_order: float = 0.01
    gap: float = 0.001
    malformed: float = 0.0005

    def __post_init__(self) -> None:
        for each in fields(self):
            rate = getattr(self, each.name)
            if not 0 <= rate <= 1:
                raise OptionError(each.name.replace("_", "-"), f"must be a share from 0 to 1, not {rate}")


@dataclass(frozen=True)
class TickPlan:
    """What is generated.

    Attributes:
        ticks: Number of ticks, those with faults among them.
        rate: Ticks a second of event time.
        symbols: Number of symbols.
        seed: Seed of everything that is random.
        start: Microseconds since 1970 of the first event; None is now, and ticks are sent as time passes.
        lateness: Seconds of lateness that the pipeline allows.
        tick_format: How values are written.
        faults: Shares of faults.
    """

    ticks: int
    rate: float = 10_000.0
    symbols: int = 8
    seed: int = 1
    start: int | None = None
    lateness: float = 5.0
    tick_format: TickFormat = TickFormat.JSON
    faults: Faults = field(default_factory=Faults)

    def __post_init__(self) -> None:
        for name, value in (("ticks", self.ticks), ("rate", self.rate), ("symbols", self.symbols)):
            if value <= 0:
                raise OptionError(name, f"must be more than 0, not {value}")


@dataclass(frozen=True, order=True)
class Tick:
    """A record on its way; the order is that of arrival.

    Attributes:
        arrival: Microseconds since 1970 when it is sent.
        number: Tells apart what arrives at the same time.
        key: Symbol.
        value: As it is sent.
    """

    arrival: int
    number: int
    key: str
    value: bytes


@dataclass
class Sent:
    """What was generated.

    Attributes:
        records: Records.
        late: Ticks that come too late.
        duplicates: Copies among the records.
        out_of_order: Ticks that later ones may overtake.
        gaps: Ticks that were never sent.
        malformed: Values that are no ticks.
    """

    records: int = 0
    late: int = 0
    duplicates: int = 0
    out_of_order: int = 0
    gaps: int = 0
    malformed: int = 0


def symbol_names(count: int) -> list[str]:
    """Names of symbols.

    Args:
        count: How many.
    """
    return [_SYMBOLS[at] if at < len(_SYMBOLS) else f"S{at:05d}" for at in range(count)]


def encode(tick_format: TickFormat, symbol: str, price: int, size: int, event_time: int, sequence: int) -> bytes:
    """Write a tick as the value of a record.

    Args:
        tick_format: How.
        symbol: Symbol, at most 16 bytes of UTF-8.
        price: Price in ten-thousandths.
        size: Size.
        event_time: Microseconds since 1970.
        sequence: Number that the source counts for the symbol.
    """
    if tick_format is TickFormat.STRUCT:
        return STRUCT.pack(symbol.encode(), price, size, event_time, sequence)
    whole, fraction = divmod(price, 10**PRICE_SCALE)
    text = f"{whole}.{fraction:0{PRICE_SCALE}d}"
    # Written by hand: a symbol and a price need no escapes, and this is several times as fast as json.dumps.
    return (
        f'{{"symbol":{json.dumps(symbol)},"price":"{text}","size":{size},"event_time":{event_time},'
        f'"sequence":{sequence}}}'
    ).encode()


def generate(plan: TickPlan, start: int, sent: Sent) -> Iterator[Tick]:
    """Generate records in the order of their arrival.

    Args:
        plan: What is generated.
        start: Microseconds since 1970 of the first event.
        sent: Counts, brought up to date as records are taken.
    """
    chance = random.Random(plan.seed)  # noqa: S311 - the same seed must give the same ticks
    symbols = symbol_names(plan.symbols)
    prices = [chance.randrange(500_000, 1_500_000) for _ in symbols]
    sequences, arrivals = [0] * len(symbols), [0] * len(symbols)
    faults, number = plan.faults, 0
    pending: list[Tick] = []
    for at in range(plan.ticks):
        event = start + int(at * 1e6 / plan.rate)
        while pending and pending[0].arrival <= event:
            yield heapq.heappop(pending)
        who = chance.randrange(len(symbols))
        prices[who] = max(prices[who] + 100 * round(chance.gauss(0, 3)), 100)
        sequences[who] += 1
        size = chance.randrange(1, 500)
        if chance.random() < faults.gap:
            sent.gaps += 1
            continue
        value = encode(plan.tick_format, symbols[who], prices[who], size, event, sequences[who])
        # A feed delivers in order; only faults do not.
        arrivals[who] = max(arrivals[who], event + int(chance.lognormvariate(0, 0.5) * _FEED_MEDIAN_MS * 1000))
        delay = arrivals[who] - event
        if chance.random() < faults.malformed:
            value = value[: len(value) // 2]
            sent.malformed += 1
        elif chance.random() < faults.late:
            delay += int(chance.uniform(*_LATE_BY_US) * plan.lateness * 1e6)
            sent.late += 1
        elif chance.random() < faults.out_of_order:
            delay += chance.randrange(*_DISORDER_US)
            sent.out_of_order += 1
        elif chance.random() < faults.duplicate:
            sent.duplicates += 1
            copy = event + delay + chance.randrange(*_DUPLICATE_AFTER_US)
            heapq.heappush(pending, Tick(copy, number, symbols[who], value))
            number += 1
            sent.records += 1
        heapq.heappush(pending, Tick(event + delay, number, symbols[who], value))
        number += 1
        sent.records += 1
    while pending:
        yield heapq.heappop(pending)


def send_ticks(
    kafka: Mapping[str, str],
    topic: str,
    plan: TickPlan,
    on_progress: Callable[[int], None] | None = None,
) -> Sent:
    """Generate ticks and send them, with the time of arrival as Kafka's timestamp.

    Without `TickPlan.start` the ticks are of now and sent as time passes; with it they are sent as fast as
    they go.

    Args:
        kafka: Properties of the producer.
        topic: Topic; symbols are the keys.
        plan: What is sent.
        on_progress: Called about once a second with the number of records sent so far.

    Raises:
        KafkaException: A record was not delivered.
    """
    from cykafka import KafkaException, Producer

    errors: list[Exception] = []

    def on_delivery(error: object, _message: object) -> None:
        if error is not None:
            errors.append(KafkaException(error))

    sent, live = Sent(), plan.start is None
    start = time.time_ns() // 1000 if plan.start is None else plan.start
    properties = {"linger.ms": "5", "compression.type": "lz4", "enable.idempotence": "true", **kafka}
    with Producer({**properties, "on_delivery": on_delivery}) as producer:
        shown = time.monotonic()
        for count, tick in enumerate(generate(plan, start, sent)):
            if live:
                ahead = tick.arrival / 1e6 - time.time()
                if ahead > 0.002:
                    producer.poll(0)
                    time.sleep(ahead)
            producer.produce(topic, tick.value, tick.key, timestamp=tick.arrival // 1000, timeout=60)
            if count % 500 == 0:
                producer.poll(0)
                if on_progress is not None and time.monotonic() - shown >= 1:
                    shown = time.monotonic()
                    on_progress(count)
            if errors:
                raise errors[0]
        producer.flush(60)
    if errors:
        raise errors[0]
    return sent
