"""The pipeline by one command: ``python -m cykafka.spark.market [stream|generate|backfill|report] ...``.

``spark-submit`` takes the path of this file. Without a command it streams.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cykafka.spark.errors import OptionError, SchemaError
from cykafka.spark.market.generate import Faults, TickPlan, send_ticks
from cykafka.spark.market.session import MissingJavaError, make_session
from cykafka.spark.market.settings import MarketSettings, TickFormat
from cykafka.spark.market.stream import Places, Progress, back_fill, parse_time, start
from cykafka.spark.market.ticks import TimeRange
from cykafka.spark.options import Delivery, parse_duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COMMANDS = ("stream", "generate", "backfill", "report")
_FAILED, _MISUSED = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: Command line; None is that of the process.

    Returns:
        Exit status: 0 if all went well, 1 if the work failed, 2 if an option is wrong.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] not in {*_COMMANDS, "-h", "--help"}:
        given.insert(0, "stream")
    options = _parser().parse_args(given)
    try:
        options.run(options)
    except (OptionError, SchemaError) as error:
        return _complain(str(error), _MISUSED)
    except KeyboardInterrupt:
        return _complain("interrupted; the checkpoint remembers how far the work is", _FAILED)
    except MissingJavaError as error:
        return _complain(str(error), _FAILED)
    except Exception as error:  # noqa: BLE001 - Spark's errors carry pages of a Java stack
        return _complain(explain(error), _FAILED)
    return 0


def _complain(text: str, status: int) -> int:
    print(f"error: {text}", file=sys.stderr, flush=True)
    return status


def _say(text: str) -> None:
    print(text, flush=True)


def explain(error: Exception) -> str:
    """Find the sentence of an error that says what is wrong: ours in a worker's traceback, or else Spark's first.

    Args:
        error: Error of Spark's or of ours.
    """
    text = str(error)
    ours = re.findall(r"^(?:cykafka\.[\w.]+|\w+Error): (.+)$", text, re.MULTILINE)
    if ours:
        return str(ours[-1])
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first or type(error).__name__


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cykafka.spark.market", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    stream = commands.add_parser("stream", help="make bars as ticks come, or go on where the checkpoint is")
    _add_kafka(stream)
    _add_pipeline(stream, bars_topic="bars")
    _add_spark(stream)
    stream.add_argument("--checkpoint", help="folder of the checkpoints (default: in the output folder)")
    stream.add_argument("--starting", default="earliest", help="where a new run begins: earliest, latest or offsets")
    stream.add_argument("--max-offsets-per-trigger", metavar="N", help="most ticks in a micro-batch")
    stream.add_argument("--interval", default="1s", help="least time between micro-batches (default %(default)s)")
    stream.add_argument("--duration", help="stop after this time, e.g. 10m (default: never)")
    stream.add_argument("--until-end", action="store_true", help="stop when all ticks that are there now are read")
    stream.add_argument("--image", type=Path, help="at the end, write a chart of bars and latencies to this file")
    stream.set_defaults(run=_stream)

    generate = commands.add_parser("generate", help="send ticks of a made-up market")
    _add_kafka(generate)
    plan = TickPlan(1)
    generate.add_argument("--ticks", type=int, default=100_000, help="how many (default %(default)s)")
    generate.add_argument("--rate", type=float, default=plan.rate, help="ticks a second (default %(default)s)")
    generate.add_argument("--symbols", type=int, default=plan.symbols, help="symbols (default %(default)s)")
    generate.add_argument("--seed", type=int, default=plan.seed, help="seed of chance (default %(default)s)")
    generate.add_argument(
        "--start", help="time of the first tick; they are sent as fast as they go (default: now, as time passes)"
    )
    generate.add_argument("--lateness", default="5s", help="lateness that late ticks exceed (default %(default)s)")
    faults = Faults()
    for name in ("late", "duplicate", "out_of_order", "gap", "malformed"):
        option = f"--{name.replace('_', '-')}"
        generate.add_argument(option, type=float, default=getattr(faults, name), metavar="SHARE",
                              help="share of such ticks, 0 to 1 (default %(default)s)")  # fmt: skip
    generate.set_defaults(run=_generate)

    again = commands.add_parser("backfill", help="make the bars of a time range again, by the same code")
    _add_kafka(again)
    _add_pipeline(again, bars_topic=None)
    _add_spark(again)
    again.add_argument("--from", dest="since", help="start, ISO 8601 (UTC) or ms since 1970 (default: all)")
    again.add_argument("--to", dest="until", help="end, as --from")
    again.set_defaults(run=_back_fill)

    report = commands.add_parser("report", help="sum up what was made, and draw it")
    report.add_argument("--output", required=True, help="folder of the results")
    report.add_argument("--image", type=Path, help="write a chart of bars and latencies to this file")
    report.add_argument("--symbol", help="symbol whose bars are drawn (default: that with the most trades)")
    _add_spark(report)
    report.set_defaults(run=_report)
    return parser


def _add_kafka(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bootstrap-servers", required=True, help="brokers, host:port,...")
    parser.add_argument("--ticks-topic", default="ticks", help="topic of the ticks (default %(default)s)")
    parser.add_argument("--tick-format", default=TickFormat.JSON.value, help="json or struct (default %(default)s)")
    parser.add_argument(
        "--kafka", action="append", default=[], metavar="NAME=VALUE", help="property of the Kafka clients"
    )


def _add_pipeline(parser: argparse.ArgumentParser, *, bars_topic: str | None) -> None:
    settings = MarketSettings("")
    widths = ",".join(each.label for each in settings.widths)
    parser.add_argument("--output", required=True, help="folder of the results, on any file system Spark knows")
    parser.add_argument("--bars-topic", default=bars_topic, help=f"topic that gets the bars (default {bars_topic})")
    parser.add_argument("--no-bars-topic", action="store_true", help="write bars to files only")
    parser.add_argument("--widths", default=widths, help="widths of the bars (default %(default)s)")
    parser.add_argument("--health-width", default=settings.health_width.label, help="width of counts and latencies")
    parser.add_argument("--lateness", default=f"{settings.lateness:g}s", help="how late a tick may come to Kafka")
    parser.add_argument("--ahead", default=f"{settings.ahead:g}s", help="how far ahead the clock of ticks may be")
    parser.add_argument("--slack", default=f"{settings.slack:g}s", help="how far apart partitions may be read")
    parser.add_argument(
        "--delivery", default=settings.delivery.value, help=f"{' or '.join(each.value for each in Delivery)}, of bars"
    )


def _add_spark(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--master", help="Spark's master, e.g. local[*] or spark://host:7077 (default: Spark's)")
    parser.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE", help="configuration of Spark")


def _pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise OptionError(option, f"must be NAME=VALUE, not '{text}'")
        pairs[name.strip()] = value
    return pairs


def _settings(options: argparse.Namespace) -> MarketSettings:
    names = ("bootstrap-servers", "ticks-topic", "bars-topic", "tick-format", "widths", "health-width", "lateness",
             "ahead", "slack", "delivery", "max-offsets-per-trigger")  # fmt: skip
    given = {name: getattr(options, name.replace("-", "_"), None) for name in names}
    if options.no_bars_topic:
        given["bars-topic"] = None
    kafka = {f"kafka.{name}": value for name, value in _pairs("kafka", options.kafka).items()}
    return MarketSettings.parse({**given, **kafka})


def _session(options: argparse.Namespace) -> SparkSession:
    return make_session(options.master, _pairs("conf", options.conf))


def _duration(text: str | None, option: str) -> float | None:
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise OptionError(option, str(error)) from None


def _moment(text: str | None, option: str) -> int | None:
    try:
        return None if text is None else parse_time(text)
    except ValueError:
        raise OptionError(option, f"must be ISO 8601 or milliseconds since 1970, not '{text}'") from None


def _stream(options: argparse.Namespace) -> None:
    settings, places = _settings(options), Places(options.output, options.checkpoint)
    duration = _duration(options.duration, "duration")
    interval = _duration(options.interval, "interval") or 0.0
    spark = _session(options)
    signal.signal(signal.SIGTERM, _interrupt)
    with start(
        spark, settings, places, starting=options.starting, until_end=options.until_end, interval=interval
    ) as stream:
        stream.wait(duration, _Printer().show)
    try:
        _sum_up(spark, places, options.image, None)
    except FileNotFoundError as error:
        _say(str(error))


def _interrupt(*_signal: object) -> None:
    raise KeyboardInterrupt


def _generate(options: argparse.Namespace) -> None:
    if options.tick_format not in {each.value for each in TickFormat}:
        raise OptionError("tick-format", f"must be json or struct, not '{options.tick_format}'")
    plan = TickPlan(
        options.ticks,
        options.rate,
        options.symbols,
        options.seed,
        _moment(options.start, "start"),
        _duration(options.lateness, "lateness") or 0.0,
        TickFormat(options.tick_format),
        Faults(options.late, options.duplicate, options.out_of_order, options.gap, options.malformed),
    )
    kafka = {"bootstrap.servers": options.bootstrap_servers, **_pairs("kafka", options.kafka)}
    sent = send_ticks(kafka, options.ticks_topic, plan, lambda count: _say(f"{count:,} ticks sent"))
    _say(", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in vars(sent).items()))


def _back_fill(options: argparse.Namespace) -> None:
    settings, places = _settings(options), Places(options.output)
    since, until = _moment(options.since, "from"), _moment(options.until, "to")
    if (since is None) != (until is None):
        raise OptionError("to" if until is None else "from", "'from' and 'to' must be given together, or neither")
    times = None
    if since is not None and until is not None:
        if since >= until:
            raise OptionError("from", f"must be before 'to', but {options.since} is not before {options.until}")
        times = TimeRange(since, until)
    count = back_fill(_session(options), settings, places, times)
    _say(f"{count:,} bars written")


def _report(options: argparse.Namespace) -> None:
    _sum_up(_session(options), Places(options.output), options.image, options.symbol)


def _sum_up(spark: SparkSession, places: Places, image: Path | None, symbol: str | None) -> None:
    from cykafka.spark.market.report import describe, draw, make_report

    report = make_report(spark, places)
    _say(describe(report))
    if image is not None:
        draw(report, image, symbol)
        _say(f"picture: {image}")


class _Printer:
    """Prints a line for each micro-batch of bars."""

    def __init__(self) -> None:
        self._shown: dict[str, Any] = {}

    def show(self, progress: Mapping[str, Progress]) -> None:
        """Print what is new."""
        bars = progress["bars"]
        if self._shown.get("batch") != bars.batch:
            self._shown["batch"] = bars.batch
            _say(
                f"micro-batch {bars.batch}: {bars.rows:,} ticks read, {bars.rows_per_second:,.0f}/s, "
                f"watermark {bars.watermark}"
            )
        if bars.dropped > self._shown.get("dropped", 0):
            self._shown["dropped"] = bars.dropped
            _complain(
                f"{bars.dropped:,} ticks that were not late fell behind the watermark, because partitions are "
                "read further apart than --slack: make it larger, and run backfill for the bars of that time",
                0,
            )


if __name__ == "__main__":
    sys.exit(main())
