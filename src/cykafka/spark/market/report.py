"""What a run has made, in tables and in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cykafka.spark.market.bars import gaps
from cykafka.spark.market.health import PERCENTILES
from cykafka.spark.market.settings import Width
from cykafka.spark.market.stream import Places, read_bars, read_health

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RISE, _FALL, _LINE = "#2f855a", "#c53030", "#2b6cb0"
_STAGES = {
    "feed": "event to Kafka",
    "queue": "Kafka to Spark",
    "spark": "Spark to bars topic",
    "bar": "end of bar to bars topic",
}
_MOST_BARS = 120


@dataclass(frozen=True)
class Report:
    """What a run has made.

    Attributes:
        bars: Bars of the narrowest width, of all symbols, by symbol and start.
        counts: Number of bars by width.
        health: Rows of `health` for all symbols, by start.
        totals: Sums over all intervals: records, malformed, late, future, duplicates, out_of_order, missing.
        latencies: Milliseconds by stage and percentile; a stage without measurements is left out.
        over_time: Rows of start and milliseconds (p50, p99) by stage, for the picture.
    """

    bars: Sequence[Mapping[str, Any]]
    counts: dict[str, int]
    health: Sequence[Mapping[str, Any]]
    totals: dict[str, int]
    latencies: dict[str, dict[str, float]]
    over_time: dict[str, list[tuple[Any, float, float]]]


def make_report(spark: SparkSession, places: Places) -> Report:
    """Sum up what a run has written.

    Args:
        spark: Session.
        places: Where the results are.
    """
    from pyspark.sql import functions as F  # noqa: N812

    made = read_bars(spark, places).localCheckpoint(eager=True)
    counts = {row["width"]: row["count"] for row in made.groupBy("width").count().collect()}
    widths = sorted(counts, key=Width.parse)
    narrow = made.where(F.col("width") == widths[0]) if widths else made
    bars = [row.asDict() for row in narrow.orderBy("symbol", "start").collect()]
    measured = read_health(spark, places).localCheckpoint(eager=True)
    everyone = measured.where("symbol is null").orderBy("start")
    health = [row.asDict(recursive=True) for row in everyone.collect()]
    names = ("records", "malformed", "late", "future")
    totals = {name: sum(row[name] for row in health) for name in names}
    by_symbol = measured.where("symbol is not null").agg(
        F.coalesce(F.sum("duplicates"), F.lit(0)).alias("duplicates"),
        F.coalesce(F.sum("out_of_order"), F.lit(0)).alias("out_of_order"),
    )
    totals |= by_symbol.collect()[0].asDict()
    holes = gaps(narrow).agg(F.coalesce(F.sum(F.col("missing") + F.col("before")), F.lit(0)).alias("missing"))
    totals |= holes.collect()[0].asDict()
    spark_stage = _bar_latencies(narrow, "delivered", "emitted")
    bar_stage = _bar_latencies(narrow, "delivered", "end")
    over_time = {name: _over_time(health, name) for name in ("feed", "queue")} | {
        "spark": spark_stage[1],
        "bar": bar_stage[1],
    }
    latencies = {name: _summary(health, name) for name in ("feed", "queue")} | {
        "spark": spark_stage[0],
        "bar": bar_stage[0],
    }
    return Report(
        bars,
        {label: counts[label] for label in widths},
        health,
        totals,
        {name: found for name, found in latencies.items() if found},
        over_time,
    )


def _bar_latencies(frame: DataFrame, later: str, earlier: str) -> tuple[dict[str, float], list[Any]]:
    """Latencies of the bars of a stream, in all and by start; none of a back-fill, which is long after."""
    from pyspark.sql import functions as F  # noqa: N812

    milliseconds = (F.unix_micros(later) - F.unix_micros(earlier)) / 1000
    live = frame.withColumn("ms", milliseconds).where("ms < 3600000")
    shares = [F.percentile_approx("ms", share).alias(name) for name, share in PERCENTILES.items()]
    row = live.agg(*shares, F.max("ms").alias("max")).first()
    found = {} if row is None or row["max"] is None else row.asDict()
    middle, high = (F.percentile_approx("ms", share) for share in (0.5, 0.99))
    each = live.groupBy("start").agg(middle.alias("p50"), high.alias("p99")).orderBy("start").collect()
    return found, [(row["start"], row["p50"], row["p99"]) for row in each]


def _over_time(health: Sequence[Mapping[str, Any]], stage: str) -> list[tuple[Any, float, float]]:
    return [
        (row["start"], row[stage]["p50"] / 1000, row[stage]["p99"] / 1000)
        for row in health
        if row[stage]["p50"] is not None
    ]


def _summary(health: Sequence[Mapping[str, Any]], stage: str) -> dict[str, float]:
    """Percentiles over a run: of the intervals' own, weighted by their records."""
    rows = [row for row in health if row[stage]["p50"] is not None]
    if not rows:
        return {}
    result = {}
    for name in PERCENTILES:
        ordered = sorted((row[stage][name], row["records"]) for row in rows)
        middle, passed = sum(weight for _, weight in ordered) / 2, 0
        for value, weight in ordered:
            passed += weight
            if passed >= middle:
                result[name] = value / 1000
                break
    return result | {"max": max(row[stage]["max"] for row in rows) / 1000}


def describe(report: Report, *, bars: int = 8) -> str:
    """Write a report as text tables.

    Args:
        report: Report.
        bars: How many of the last bars are shown.
    """
    lines = [f"bars: {', '.join(f'{count:,} of {width}' for width, count in report.counts.items()) or 'none'}", ""]
    shown = sorted(report.bars, key=lambda bar: (bar["start"], bar["symbol"]))[-bars:]
    head = ("symbol", "start", "open", "high", "low", "close", "volume", "vwap", "trades", "missing")
    lines += _table(head, [[_cell(name, bar[name]) for name in head] for bar in shown])
    lines += ["", "records: " + ", ".join(f"{count:,} {_words(name)}" for name, count in report.totals.items()), ""]
    names = [*PERCENTILES, "max"]
    rows = [[_STAGES[stage], *(f"{found[name]:,.1f}" for name in names)] for stage, found in report.latencies.items()]
    lines += _table(("latency in ms", *names), rows)
    return "\n".join(lines)


def _words(name: str) -> str:
    return "in all" if name == "records" else name.replace("_", " ")


def _cell(name: str, value: Any) -> str:
    if name == "start":
        return f"{value:%H:%M:%S}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in [head, *rows]
    ]


def draw(report: Report, image: Path, symbol: str | None = None) -> None:
    """Write a picture of bars and latencies.

    Args:
        report: Report.
        image: File; its suffix says the format.
        symbol: Symbol whose bars are drawn; by default that with the most trades.

    Raises:
        RuntimeError: matplotlib is not installed.
        ValueError: There are no bars of that symbol.
    """
    try:
        import matplotlib as mpl
    except ImportError:
        raise RuntimeError("pictures need matplotlib: pip install cykafka[plot]") from None
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    trades: dict[str, int] = {}
    for bar in report.bars:
        trades[bar["symbol"]] = trades.get(bar["symbol"], 0) + bar["trades"]
    symbol = symbol or max(trades, key=lambda name: trades[name], default=None)
    if symbol is None or symbol not in trades:
        raise ValueError(f"there are no bars of {symbol or 'any symbol'} to draw")
    bars = [bar for bar in report.bars if bar["symbol"] == symbol][-_MOST_BARS:]
    figure, axes = plt.subplots(2, 2, figsize=(12, 6.5), layout="constrained", height_ratios=(3, 2))
    _draw_candles(axes[0][0], bars, symbol)
    _draw_volume(axes[1][0], bars)
    _draw_latencies(axes[0][1], report)
    _draw_stages(axes[1][1], report)
    image.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(image, dpi=100)
    plt.close(figure)


def _draw_candles(axes: Any, bars: Sequence[Mapping[str, Any]], symbol: str) -> None:
    places = range(len(bars))
    colors = [_RISE if bar["close"] >= bar["open"] else _FALL for bar in bars]
    axes.vlines(places, [float(bar["low"]) for bar in bars], [float(bar["high"]) for bar in bars], colors, linewidth=1)
    heights = [max(abs(float(bar["close"] - bar["open"])), 0.004) for bar in bars]
    axes.bar(places, heights, 0.7, [float(min(bar["open"], bar["close"])) for bar in bars], color=colors)
    axes.plot(places, [float(bar["vwap"]) for bar in bars], color=_LINE, linewidth=1, label="VWAP")
    axes.set(title=f"{symbol}, bars of {bars[0]['width']}", ylabel="price")
    axes.legend(loc="best", fontsize="small")
    _label_times(axes, bars)


def _draw_volume(axes: Any, bars: Sequence[Mapping[str, Any]]) -> None:
    colors = [_FALL if bar["missing"] else _LINE for bar in bars]
    axes.bar(range(len(bars)), [bar["volume"] for bar in bars], 0.7, color=colors)
    axes.set(title="Volume (red: ticks are missing)", ylabel="units")
    _label_times(axes, bars)


def _label_times(axes: Any, bars: Sequence[Mapping[str, Any]]) -> None:
    step = max(len(bars) // 6, 1)
    axes.set_xticks(range(0, len(bars), step), [f"{bar['start']:%H:%M:%S}" for bar in bars[::step]])


def _draw_latencies(axes: Any, report: Report) -> None:
    for stage, rows in report.over_time.items():
        if rows and stage in report.latencies:
            start = rows[0][0]
            seconds = [(row[0] - start).total_seconds() for row in rows]
            middle, high = [row[1] for row in rows], [row[2] for row in rows]
            line = axes.plot(seconds, middle, label=_STAGES[stage])[0]
            axes.fill_between(seconds, middle, high, color=line.get_color(), alpha=0.2)
    axes.set(title="Latency over time, p50 to p99", xlabel="s", ylabel="ms", yscale="log")
    axes.legend(loc="best", fontsize="small")


def _draw_stages(axes: Any, report: Report) -> None:
    names = list(PERCENTILES)
    width = 0.8 / max(len(report.latencies), 1)
    for at, (stage, found) in enumerate(report.latencies.items()):
        places = [place + (at - (len(report.latencies) - 1) / 2) * width for place in range(len(names))]
        axes.bar(places, [max(found[name], 0.001) for name in names], width * 0.9, label=_STAGES[stage])
    axes.set_xticks(range(len(names)), ["p50", "p90", "p99", "p99.9"])
    axes.set(title="Latency by stage", ylabel="ms", yscale="log")
