"""The market pipeline, with DuckDB over the raw topic as the yardstick."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

pytest.importorskip("pyspark", reason="needs PySpark 4.2 or later: pip install cykafka[spark]")
pytest.importorskip("duckdb", reason="needs DuckDB as the yardstick: pip install duckdb")

from cykafka.spark.market import (
    Places,
    TickFormat,
    TimeRange,
    back_fill,
    gaps,
    health,
    read_bars,
    read_health,
    read_rejects,
    read_tick_range,
    start,
)
from cykafka.spark.market.report import describe, draw, make_report
from tests.spark.market import PLAN, START, WIDTHS, by_key, consume, make_market, with_format
from tests.support import wire

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(300)]

#: The watermark trails the last event by lateness, ahead and slack; bars that end later are not emitted.
LAST_EVENT = START + int((PLAN.ticks - 1) * 1e6 / PLAN.rate)


@pytest.fixture(scope="module")
def market(kafka):
    made = make_market(kafka, PLAN)
    yield made
    for name in (made.ticks, made.bars):
        wire.delete_topic(kafka.bootstrap_servers, name)


@pytest.fixture(scope="module")
def streamed(spark, market, tmp_path_factory):
    """Where a stream of several micro-batches, which died and went on, has put its results."""
    folder = tmp_path_factory.mktemp("streamed")
    places = Places(str(folder))
    settings = market.settings(bars_topic=market.bars, max_offsets_per_trigger="2500")
    with start(spark, settings, places, until_end=True) as stream:
        assert stream.wait(240), "the stream has not ended"
        progress = stream.update()
    assert {each.rows for each in progress.values()} == {market.sent.records}
    assert progress["bars"].batch >= 2
    assert sum(each.dropped for each in progress.values()) == 0
    for name in progress:
        # As if it had died when all of its last micro-batch was written, but that not yet noted.
        last = max((folder / "_checkpoint" / name / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
        last.unlink()
        (last.parent / f".{last.name}.crc").unlink()
    with start(spark, settings, places, until_end=True) as stream:
        assert stream.wait(240), "the stream has not ended"
        assert stream.update()["bars"].batch >= progress["bars"].batch
    return places


def watermark(settings):
    return LAST_EVENT - round((settings.lateness + settings.ahead + settings.slack) * 1e6)


def test_bars_of_a_batch_are_those_of_duckdb(spark, market, tmp_path):
    places = Places(str(tmp_path))
    count = back_fill(spark, market.settings(), places, None)
    expected = market.expected_bars()
    assert count == len(expected)
    assert by_key(read_bars(spark, places).collect()) == expected


def test_bars_of_a_stream_are_those_of_duckdb(spark, market, streamed):
    settings = market.settings()
    expected = {
        key: bar
        for key, bar in market.expected_bars().items()
        if key[2] + WIDTHS[key[1]] * 1_000_000 <= watermark(settings)
    }
    assert {key[1] for key in expected} == {"1s", "10s"}
    assert by_key(read_bars(spark, streamed).collect()) == expected


def test_topic_gets_each_bar_once(spark, market, streamed):
    files = by_key(read_bars(spark, streamed).collect())
    records = consume(market.kafka, market.bars).to_pylist()
    topic = {}
    for record in records:
        bar = json.loads(record["value"])
        key = (bar.pop("symbol"), bar.pop("width"), bar.pop("start"))
        assert record["key"].decode() == key[0]
        assert key not in topic
        assert bar.pop("end") == key[2] + WIDTHS[key[1]] * 1_000_000
        topic[key] = {name: Decimal(value) if isinstance(value, str) else value for name, value in bar.items()}
    assert topic == files


def test_rejected_records_are_kept_with_the_reason(spark, market, streamed):
    rows = read_rejects(spark, streamed).collect()
    assert [each.verdict for each in rows].count("malformed") == market.sent.malformed > 0
    assert [each.verdict for each in rows].count("late") == market.sent.late > 0
    assert len(rows) == market.sent.malformed + market.sent.late
    for each in rows:
        assert (each.corrupt is not None) == (each.verdict == "malformed")
        assert each.corrupt is None or each.corrupt.startswith('{"symbol"')


def test_counts_and_percentiles_are_those_of_duckdb(spark, market):
    frame = health(read_tick_range(spark, market.settings()), market.settings(health_width="5s"), live=False)
    rows = {(each.symbol, each.start.timestamp()): each.asDict(recursive=True) for each in frame.collect()}
    connection = market.duckdb()
    connection.execute("""
        create table judged as select *, arrived // 5000000 * 5000000 as start, arrived - event_time as feed,
            not json_valid(text) as malformed, coalesce(arrived - event_time > 2000000, false) as late from ticks
    """)
    total = connection.execute("""
        select start, count(*), count_if(malformed), count_if(late), quantile_disc(feed, [0.5, 0.9, 0.99, 0.999]), max(feed)
        from judged group by start
    """).fetchall()
    assert len(total) > 5
    assert {key[1] for key in rows if key[0] is None} == {each[0] / 1e6 for each in total}
    for began, records, malformed, late, percentiles, most in total:
        row = rows[None, began / 1e6]
        assert (row["records"], row["malformed"], row["late"], row["future"]) == (records, malformed, late, 0)
        assert [row["feed"][name] for name in ("p50", "p90", "p99", "p999", "max")] == [*percentiles, most]
        assert row["queue"] == dict.fromkeys(row["feed"])
        assert row["duplicates"] is row["out_of_order"] is None
    each_symbol = connection.execute("""
        with arrivals as (select * from judged where not malformed and not late),
        first as (
            select *, row_number() over (partition by symbol, start, sequence order by "offset") as copy from arrivals
        ),
        ordered as (
            select *, max(sequence) over (
                partition by symbol, start order by "offset" rows between unbounded preceding and 1 preceding
            ) as top from first where copy = 1
        )
        select symbol, start, (select count(*) from first f where f.copy > 1 and f.symbol = o.symbol and f.start = o.start),
            count_if(coalesce(sequence < top, false))
        from ordered o group by all
    """).fetchall()
    found = {key: (row["duplicates"], row["out_of_order"]) for key, row in rows.items() if key[0] is not None}
    expected = {(symbol, began / 1e6): (copies, disorder) for symbol, began, copies, disorder in each_symbol}
    # In an interval in which a symbol has nothing but late ticks, nothing is out of order.
    assert found == dict.fromkeys(found, (0, 0)) | expected
    assert sum(copies for copies, _ in found.values()) > 0
    assert sum(disorder for _, disorder in found.values()) > 0


def test_health_of_a_stream_counts_every_record_once(spark, market, streamed):
    rows = read_health(spark, streamed).where("symbol is null").collect()
    last = max(each.end for each in rows)
    counted = (
        market.duckdb()
        .execute("select count(*) from ticks where arrived < ?", [round(last.timestamp() * 1e6)])
        .fetchone()
    )
    assert sum(each.records for each in rows) == counted[0] > 0
    assert all(each.queue.p50 > 0 for each in rows)


def test_gaps_are_those_of_duckdb(spark, market, tmp_path):
    places = Places(str(tmp_path))
    back_fill(spark, market.settings(widths="1s"), places, None)
    found = gaps(read_bars(spark, places)).collect()
    expected = (
        market.duckdb()
        .execute("select symbol, max(sequence) - min(sequence) + 1 - count(*) from accepted group by symbol")
        .fetchall()
    )
    by_symbol = dict.fromkeys((each.symbol for each in found), 0)
    for each in found:
        by_symbol[each.symbol] += each.missing + each.before
    assert by_symbol == dict(expected)
    lost = market.sent.gaps + market.sent.late + market.sent.malformed
    # Those before the first and after the last tick of a symbol leave no gap.
    assert lost - 5 <= sum(by_symbol.values()) <= lost


def test_binary_ticks_give_the_same_bars(spark, kafka, market, tmp_path):
    binary = make_market(kafka, with_format(TickFormat.STRUCT))
    assert binary.sent == market.sent
    back_fill(spark, binary.settings(tick_format="struct"), Places(str(tmp_path)), None)
    assert by_key(read_bars(spark, Places(str(tmp_path))).collect()) == market.expected_bars()


def test_back_fill_of_a_range_replaces_its_bars(spark, market, streamed, tmp_path):
    places = Places(str(tmp_path))
    since, until = START + 10_000_000, START + 20_000_000
    expected = {
        key: bar
        for key, bar in market.expected_bars().items()
        if key[2] >= since and key[2] + WIDTHS[key[1]] * 1_000_000 <= until
    }
    for _ in range(2):
        assert back_fill(spark, market.settings(), places, TimeRange(since, until)) == len(expected)
        assert by_key(read_bars(spark, places).collect()) == expected


def test_nothing_to_read_is_said(spark, market, tmp_path):
    places = Places(str(tmp_path))
    assert back_fill(spark, market.settings(), places, TimeRange(START, START + 1)) == 0
    with pytest.raises(FileNotFoundError, match="nothing is in .*bars yet"):
        read_bars(spark, places)


def test_report_and_picture(spark, market, streamed, tmp_path):
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install cykafka[plot]")
    report = make_report(spark, streamed)
    text = describe(report)
    assert f"{report.counts['1s']:,} of 1s" in text
    assert report.totals["late"] <= market.sent.late
    assert 0 < report.latencies["feed"]["p50"] <= report.latencies["feed"]["p99"] <= report.latencies["feed"]["max"]
    image = tmp_path / "deep" / "chart.png"
    draw(report, image)
    assert image.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no bars of XYZ"):
        draw(report, image, "XYZ")
