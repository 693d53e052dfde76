"""Market data on Spark: from a topic of ticks to bars, with native operators only.

Ticks are decoded, judged (malformed, late, from the future), freed of duplicates and aggregated to bars of
several widths; what was wrong is counted by interval, together with percentiles of latencies. Streams,
restarts and back-fills run the same code and give the same bars.

Run it by ``python -m cykafka.spark.market``, or use the functions on data frames of your own. Needs
``pip install cykafka[spark]``.
"""

from cykafka.spark.market.bars import bars, gaps, newest, to_records
from cykafka.spark.market.generate import Faults, Sent, TickPlan, send_ticks
from cykafka.spark.market.health import health
from cykafka.spark.market.session import MissingJavaError, ensure_java, make_session
from cykafka.spark.market.settings import MarketSettings, TickFormat, Width
from cykafka.spark.market.stream import (
    MarketStream,
    Places,
    Progress,
    back_fill,
    read_bars,
    read_health,
    read_rejects,
    start,
)
from cykafka.spark.market.ticks import TimeRange, Verdict, accepted, deduplicated, read_tick_range, read_ticks, rejected

__all__ = [
    "Faults",
    "MarketSettings",
    "MarketStream",
    "MissingJavaError",
    "Places",
    "Progress",
    "Sent",
    "TickFormat",
    "TickPlan",
    "TimeRange",
    "Verdict",
    "Width",
    "accepted",
    "back_fill",
    "bars",
    "deduplicated",
    "ensure_java",
    "gaps",
    "health",
    "make_session",
    "newest",
    "read_bars",
    "read_health",
    "read_rejects",
    "read_tick_range",
    "read_ticks",
    "rejected",
    "send_ticks",
    "start",
    "to_records",
]
