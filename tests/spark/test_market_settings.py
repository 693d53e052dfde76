"""Settings, the generator and the command line of the market pipeline; nothing here starts Spark."""

from __future__ import annotations

import dataclasses
import json

import pytest

from cykafka.spark.errors import OptionError
from cykafka.spark.market import Faults, MarketSettings, Sent, TickFormat, TickPlan, Width
from cykafka.spark.market import __main__ as command
from cykafka.spark.market.generate import encode, generate
from cykafka.spark.market.stream import Progress, parse_time
from cykafka.spark.market.ticks import STRUCT

pytestmark = pytest.mark.unit

NEEDED = {"bootstrap-servers": "localhost:9092"}
START = 1_750_000_000_000_000


@pytest.mark.parametrize(
    ("text", "milliseconds", "label"),
    [
        ("1s", 1_000, "1s"),
        ("90s", 90_000, "90s"),
        ("60s", 60_000, "1m"),
        ("250", 250, "250ms"),
        ("24h", 86_400_000, "1d"),
    ],
)
def test_widths_have_one_label_each(text, milliseconds, label):
    width = Width.parse(text)
    assert (width.milliseconds, width.label, width.interval) == (milliseconds, label, f"{milliseconds} milliseconds")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"bootstrap-servers": None}, r"KAFKA_OPTION.*'bootstrap-servers': must name the brokers"),
        ({"widths": "1s,fast"}, "'widths': must be a duration such as 30s, 15m or 100ms, not 'fast'"),
        ({"widths": ","}, "'widths': names no width"),
        ({"widths": "1m,60s"}, "'widths': names a width twice"),
        ({"widths": "0s"}, "'widths': must be at least 1 ms"),
        ({"lateness": "-1s"}, "'lateness': must be a duration"),
        ({"tick-format": "xml"}, "'tick-format': must be json or struct, not 'xml'"),
        ({"delivery": "maybe"}, "'delivery': must be at_least_once or exactly_once"),
        ({"max-offsets-per-trigger": "0"}, "'max-offsets-per-trigger': must be a whole number of at least 1"),
        ({"bars-topic": "ticks"}, "'bars-topic': 'ticks' is the topic of the ticks too"),
        ({"ticks-topic": " "}, "'ticks-topic': must not be empty"),
        ({"windows": "1s"}, "'windows': is unknown; there are ahead, bars-topic"),
    ],
)
def test_wrong_settings_are_named(options, problem):
    with pytest.raises(OptionError, match=problem):
        MarketSettings.parse({**NEEDED, **options})


def test_settings_are_read_from_texts():
    settings = MarketSettings.parse(
        {
            **NEEDED,
            "widths": "1m, 5s",
            "lateness": "2s",
            "slack": "500ms",
            "kafka.security.protocol": "SSL",
            "bars-topic": None,
        }
    )
    assert [each.label for each in settings.widths] == ["5s", "1m"]
    assert settings.watermark == "3500 milliseconds"
    assert settings.bars_topic is None
    assert settings.kafka_options == {"kafka.bootstrap.servers": "localhost:9092", "kafka.security.protocol": "SSL"}


def test_same_seed_gives_the_same_ticks():
    plan = TickPlan(2_000, symbols=12, seed=3, faults=Faults(0.01, 0.01, 0.05, 0.01, 0.01))
    one, other, third = Sent(), Sent(), Sent()
    ticks = list(generate(plan, START, one))
    assert ticks == list(generate(plan, START, other))
    assert one == other
    assert ticks != list(generate(dataclasses.replace(plan, seed=4), START, third))


def test_faults_are_counted():
    plan = TickPlan(5_000, rate=500, symbols=3, lateness=2.0, faults=Faults(0.01, 0.02, 0.05, 0.03, 0.01))
    sent = Sent()
    ticks = list(generate(plan, START, sent))
    assert [tick.arrival for tick in ticks] == sorted(tick.arrival for tick in ticks)
    assert len(ticks) == sent.records == plan.ticks - sent.gaps + sent.duplicates
    assert min(dataclasses.astuple(sent)) > 20
    good, bad = [], 0
    for tick in ticks:
        try:
            good.append((tick, json.loads(tick.value)))
        except ValueError:
            bad += 1
    assert bad == sent.malformed
    assert sum(tick.arrival - value["event_time"] > 2_000_000 for tick, value in good) == sent.late
    assert len(good) - len({(tick.key, value["sequence"]) for tick, value in good}) == sent.duplicates


def test_feed_without_faults_is_in_order():
    sent, last = Sent(), {}
    for tick in generate(TickPlan(3_000, faults=Faults(0, 0, 0, 0, 0)), START, sent):
        assert json.loads(tick.value)["sequence"] == last.get(tick.key, 0) + 1
        last[tick.key] = json.loads(tick.value)["sequence"]
    assert dataclasses.astuple(sent) == (3_000, 0, 0, 0, 0, 0)


def test_formats_of_ticks():
    binary = encode(TickFormat.STRUCT, "ABC", 1_012_500, 7, START, 42)
    assert STRUCT.unpack(binary) == (b"ABC".ljust(16, b"\0"), 1_012_500, 7, START, 42)
    text = json.loads(encode(TickFormat.JSON, 'A"B', 1_012_505, 7, START, 42))
    assert text == {"symbol": 'A"B', "price": "101.2505", "size": 7, "event_time": START, "sequence": 42}


@pytest.mark.parametrize(("name", "value"), [("late", 1.5), ("gap", -0.1)])
def test_wrong_shares_are_named(name, value):
    with pytest.raises(OptionError, match=f"'{name}': must be a share from 0 to 1"):
        Faults(**{name: value})


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1750000000000", START),
        ("2025-06-15T15:06:40Z", START),
        ("2025-06-15T17:06:40+02:00", START),
        ("2025-06-15 15:06:40", START),
    ],
)
def test_moments(text, micros):
    assert parse_time(text) == micros


def test_progress_takes_each_micro_batch_once():
    progress = Progress("bars")
    first = {"batchId": 0, "numInputRows": 10, "stateOperators": [], "eventTime": {"watermark": "a"}}
    second = {
        "batchId": 1, "numInputRows": 5, "processedRowsPerSecond": 2.0, "eventTime": {"watermark": "b"},
        "stateOperators": [{"numRowsDroppedByWatermark": 2}, {"numRowsDroppedByWatermark": 1}],
    }  # fmt: skip
    for report in (first, second, first, second):
        progress.add(report)
    assert progress == Progress("bars", 1, 15, 2.0, 3, "b")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--bootstrap-servers", "x:1", "--output", "o", "--widths", "soon"], "Option 'widths'"),
        (["stream", "--bootstrap-servers", "x:1", "--output", "o", "--conf", "a"], "Option 'conf': must be NAME=VALUE"),
        (["stream", "--bootstrap-servers", "x:1", "--output", "o", "--duration", "x"], "Option 'duration'"),
        (["backfill", "--bootstrap-servers", "x:1", "--output", "o", "--from", "1"], "Option 'to'"),
        (["backfill", "--bootstrap-servers", "x:1", "--output", "o", "--from", "2", "--to", "1"], "Option 'from'"),
        (["backfill", "--bootstrap-servers", "x:1", "--output", "o", "--from", "no", "--to", "1"], "ISO 8601"),
        (["generate", "--bootstrap-servers", "x:1", "--late", "2"], "Option 'late'"),
        (["generate", "--bootstrap-servers", "x:1", "--ticks", "0"], "Option 'ticks'"),
        (["generate", "--bootstrap-servers", "x:1", "--tick-format", "xml"], "Option 'tick-format'"),
    ],
)
def test_wrong_options_are_named_by_the_command(capsys, arguments, problem):
    assert command.main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: [KAFKA_OPTION.")
    assert problem in error
    assert error.count("\n") == 1


def test_commands_explain_themselves(capsys):
    for name in ("stream", "generate", "backfill", "report"):
        with pytest.raises(SystemExit) as ended:
            command.main([name, "--help"])
        assert ended.value.code == 0
        assert "--" in capsys.readouterr().out
