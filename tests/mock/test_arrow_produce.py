"""Rows of Arrow tables as messages."""

import datetime as dt
import gc
import os
import sys
import threading
from pathlib import Path

import pytest

from cykafka import DeliverySummary, KafkaException, Producer, TopicPartition
from cykafka.testing import MockCluster
from tests.mock.conftest import take

pa = pytest.importorskip("pyarrow", reason="needs pyarrow to make Arrow columns")

HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
VALUES = ["first", None, "", "ü" * 40, "last"]


@pytest.fixture
def topic(mock_cluster: MockCluster) -> str:
    mock_cluster.create_topic("rows", 2, 1)
    return "rows"


@pytest.fixture
def consume(make_consumer, topic):
    """Return a function that consumes so many messages, in the order of partition and offset."""

    def consume(count, name=topic, partitions=(0, 1)):
        consumer = make_consumer()
        consumer.assign([TopicPartition(name, partition, 0) for partition in partitions])
        return sorted(take(consumer, count), key=lambda m: (m.partition(), m.offset()))

    return consume


def values(messages):
    return [None if m.value() is None else m.value().decode() for m in messages]


def deliver(producer, topic, data, **options):
    summary = producer.produce_arrow(topic, data, **options)
    assert producer.flush(20) == 0
    assert summary.complete
    assert summary.enqueued == summary.delivered
    return summary


def test_every_column_becomes_part_of_the_message(producer, topic, consume):
    table = pa.table(
        {
            "key": pa.array([b"k", None, b""], pa.binary()),
            "value": pa.array(["v", None, ""], pa.string()),
            "headers": pa.array(
                [[{"key": "h", "value": b"1"}, {"key": "h", "value": None}], None, []], pa.list_(HEADER)
            ),
            "partition": pa.array([1, 1, 1], pa.int32()),
            "timestamp": pa.array([1_700_000_000_000_000, 5_999, 1_700_000_000_001_999], pa.timestamp("us", "UTC")),
            "unrelated": [1.5, 2.5, 3.5],
        }
    )
    told = []
    summary = producer.produce_arrow(topic, table, on_delivery=told.append)
    assert isinstance(summary, DeliverySummary)
    assert (summary.enqueued, summary.failed) == (3, 0)
    assert producer.flush(20) == 0
    assert told == [summary]
    assert (summary.delivered, summary.failed, summary.failures, summary.complete) == (3, 0, [], True)
    messages = consume(3, partitions=(1,))
    assert [(m.key(), m.value()) for m in messages] == [(b"k", b"v"), (None, None), (b"", b"")]
    assert [m.headers() for m in messages] == [[("h", b"1"), ("h", None)], None, None]
    assert [m.timestamp() for m in messages] == [(1, 1_700_000_000_000), (1, 5), (1, 1_700_000_000_001)]


@pytest.mark.parametrize(
    "type_",
    [
        pa.binary(),
        pa.string(),
        pa.large_binary(),
        pa.large_string(),
        pa.binary_view(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.uint32(), pa.large_binary()),
    ],
    ids=str,
)
@pytest.mark.parametrize("cut", [0, 1, 3], ids="from row {}".format)
def test_every_layout_of_bytes_whole_and_sliced(producer, topic, consume, type_, cut):
    plain = pa.array([v and v.encode() for v in VALUES], pa.binary()) if "binary" in str(type_) else pa.array(VALUES)
    column = plain.dictionary_encode().cast(type_) if pa.types.is_dictionary(type_) else plain.cast(type_)
    batch = pa.record_batch({"key": column, "value": column, "partition": pa.array([0] * 5, pa.int32())}).slice(cut)
    deliver(producer, topic, batch)
    messages = consume(5 - cut)
    assert values(messages) == VALUES[cut:]
    assert [m.key() for m in messages] == [m.value() for m in messages]


def test_fixed_size_binary_and_null_columns(producer, topic, consume):
    ids = pa.array([b"0123456789abcdef", None, b"fedcba9876543210"], pa.binary(16))
    deliver(
        producer,
        topic,
        pa.table({"key": pa.nulls(3), "value": ids, "headers": pa.nulls(3), "partition": [0, 0, 0]}).slice(1),
    )
    assert [(m.key(), m.value(), m.headers()) for m in consume(2)] == [
        (None, None, None),
        (None, b"fedcba9876543210", None),
    ]


@pytest.mark.parametrize("type_", [pa.list_(HEADER), pa.large_list(HEADER), pa.map_(pa.string(), pa.binary())], ids=str)
def test_headers_in_every_layout_whole_and_sliced(producer, topic, consume, type_):
    rows = [[("a", b"1")], None, [("b", b""), ("b", b"2")], [], [("c", None)]]
    if not pa.types.is_map(type_):
        rows = [row and [{"key": k, "value": v} for k, v in row] for row in rows]
    table = pa.table({"value": list("abcde"), "headers": pa.array(rows, type_), "partition": [0] * 5})
    deliver(producer, topic, table)
    deliver(producer, topic, table.slice(2))
    expected = [[("a", b"1")], None, [("b", b""), ("b", b"2")], None, [("c", None)]]
    assert [m.headers() for m in consume(8)] == expected + expected[2:]


@pytest.mark.parametrize(
    ("type_", "ticks", "ms"),
    [
        ("s", 1_700_000_000, 1_700_000_000_000),
        ("ms", 1234, 1234),
        ("us", 1_999_999, 1999),
        ("ns", 1_999_999_999, 1999),
        (None, 77, 77),
    ],
)
def test_timestamps_of_every_unit(producer, topic, consume, type_, ticks, ms):
    column = pa.array([ticks], pa.int64() if type_ is None else pa.timestamp(type_))
    deliver(producer, topic, pa.table({"value": ["v"], "timestamp": column}))
    assert consume(1)[0].timestamp() == (1, ms)


@pytest.mark.parametrize("type_", [pa.int8(), pa.uint16(), pa.int32(), pa.int64()], ids=str)
def test_partitions_of_every_integer(producer, topic, consume, type_):
    deliver(producer, topic, pa.table({"value": ["a", "b"], "partition": pa.array([1, 0], type_)}))
    assert [(m.partition(), m.value()) for m in consume(2)] == [(0, b"b"), (1, b"a")]


def test_topics_of_rows(mock_cluster, producer, consume):
    names = [f"topic{i}" for i in range(40)]
    for name in names:
        mock_cluster.create_topic(name, 1, 1)
    table = pa.table({"value": names * 2, "topic": pa.array(names * 2).dictionary_encode()})
    deliver(producer, None, table)
    for name in (names[0], names[39]):
        assert values(consume(2, name, (0,))) == [name] * 2


def test_topic_argument_rules_out_the_column(producer, topic, consume):
    deliver(producer, topic, pa.table({"value": ["v"], "topic": ["elsewhere"]}))
    assert values(consume(1)) == ["v"]


def test_columns_by_other_names(producer, topic, consume):
    table = pa.table({"id": ["k"], "body": ["v"], "p": [1], "key": [1.5]})
    deliver(producer, topic, table, key="id", value="body", partition="p", headers=None, timestamp=None)
    message = consume(1)[0]
    assert (message.key(), message.value(), message.partition()) == (b"k", b"v", 1)


@pytest.mark.parametrize(
    ("table", "options", "error", "text"),
    [
        ({"value": [1, 2]}, {}, TypeError, "column 'value' has Arrow type 'l'"),
        ({"key": [1.5]}, {}, TypeError, "column 'key'"),
        ({"value": pa.array([1, 2]).dictionary_encode()}, {}, TypeError, "dictionary of l"),
        ({"value": ["a"], "headers": ["h"]}, {}, TypeError, "column 'headers'"),
        ({"value": ["a"], "headers": [[1]]}, {}, TypeError, "column 'headers'"),
        ({"value": ["a"], "partition": ["0"]}, {}, TypeError, "column 'partition'"),
        ({"value": ["a"], "timestamp": [dt.date(2020, 1, 1)]}, {}, TypeError, "column 'timestamp'"),
        ({"value": ["a"], "topic": [1]}, {"topic": None}, TypeError, "column 'topic'"),
        ({"value": ["a"]}, {"topic": None}, ValueError, "no column for it"),
        ({"value": ["a"]}, {"key": "id"}, ValueError, "no column 'id' for the key; it has 'value'"),
        ({"other": ["a"]}, {}, ValueError, "neither a column for the key"),
        ({"value": ["a"]}, {"key": 5}, TypeError, "name of the key column"),
        ({"value": ["a"]}, {"on_delivery": 5}, TypeError, "on_delivery must be callable"),
        ({"value": ["a"]}, {"timeout": -5}, ValueError, "timeout"),
    ],
)
def test_wrong_columns_are_refused(producer, topic, table, options, error, text):
    options = {"topic": topic, **options}
    with pytest.raises(error, match=text):
        producer.produce_arrow(data=pa.table(table), **options)
    assert len(producer) == 0


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"topic": ["rows", "rows", None, "rows"]}, "column 'topic', row 2: the topic must not be null"),
        (
            {"topic": ["rows", "rows", "", "rows"]},
            "column 'topic', row 2: the topic must not be null or empty",
        ),
        ({"partition": [0, 0, -2, 0]}, "column 'partition', row 2: -2 is not a partition number"),
        ({"partition": [0, 0, 1 << 31, 0]}, "column 'partition', row 2: 2147483648 is not"),
        ({"timestamp": [1, 1, -1, 1]}, "column 'timestamp', row 2: -1 is not a timestamp"),
        ({"timestamp": pa.array([1, 1, 1 << 62, 1], pa.timestamp("s"))}, "column 'timestamp', row 2"),
        (
            {"headers": pa.array([None, None, [{"key": None, "value": b""}], None], pa.list_(HEADER))},
            "row 2: the key of a header must not be null",
        ),
    ],
)
def test_rows_before_a_bad_one_are_delivered_and_counted(producer, topic, consume, columns, text):
    data = pa.table({"value": list("abcd"), "topic": ["rows"] * 4} | columns)
    with pytest.raises(ValueError, match=text) as raised:
        producer.produce_arrow(None, data)
    assert producer.flush(20) == 0
    summary = raised.value.summary
    assert (summary.enqueued, summary.delivered, summary.failed, summary.complete) == (2, 2, 0, True)
    assert sorted(values(consume(2))) == ["a", "b"]


def test_rows_that_are_refused_are_listed_and_the_rest_is_delivered(mock_cluster, topic, consume):
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "message.max.bytes": 2000}) as producer:
        batches = [
            pa.record_batch({"value": ["a", "x" * 5000]}),
            pa.record_batch({"value": ["y" * 5000, "b"]}),
        ]
        told = []
        summary = producer.produce_arrow(topic, pa.Table.from_batches(batches), on_delivery=told.append)
        assert producer.flush(20) == 0
    assert (summary.enqueued, summary.delivered, summary.failed) == (2, 2, 2)
    assert [(row, error.name()) for row, error in summary.failures] == [
        (1, "MSG_SIZE_TOO_LARGE"),
        (2, "MSG_SIZE_TOO_LARGE"),
    ]
    assert told == [summary]
    assert sorted(values(consume(2))) == ["a", "b"]


def test_rows_that_are_not_delivered_are_listed(mock_cluster, topic):
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 60_000}) as producer:
        told = []
        summary = producer.produce_arrow(topic, pa.table({"value": list("abc")}), on_delivery=told.append)
        other = producer.produce_arrow(topic, pa.table({"value": list("de")}))
        assert len(producer) == 5
        assert not summary.complete
        producer.purge()
        assert producer.flush(20) == 0
    for one, count in ((summary, 3), (other, 2)):
        assert (one.enqueued, one.delivered, one.failed, one.complete) == (count, 0, count, True)
        assert sorted(row for row, _ in one.failures) == list(range(count))
        assert {error.name() for _, error in one.failures} == {"_PURGE_QUEUE"}
    assert told == [summary]
    assert "3 failed" in repr(summary)


def test_a_batch_larger_than_the_queue_waits_for_room(mock_cluster, topic):
    with Producer(
        {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "queue.buffering.max.messages": 100,
            "linger.ms": 1,
        }
    ) as producer:
        reports = []
        producer.produce(topic, b"with a callback", on_delivery=lambda error, message: reports.append(error))
        summary = producer.produce_arrow(topic, pa.table({"value": ["v"] * 5000}))
        assert summary.enqueued == 5000
        assert producer.flush(20) == 0
        assert (summary.delivered, summary.failed) == (5000, 0)
        assert reports == [None]


def test_no_room_in_time(mock_cluster, topic):
    config = {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "queue.buffering.max.messages": 100,
        "linger.ms": 60_000,
    }
    with Producer(config) as producer:
        for timeout, row in ((0, 100), (0.05, 0)):
            with pytest.raises(BufferError, match=f"row {row}") as raised:
                producer.produce_arrow(topic, pa.table({"value": ["v"] * 1000}), timeout=timeout)
            assert raised.value.summary.enqueued == row
        timer = threading.Timer(0.1, producer.wakeup)
        timer.start()
        with pytest.raises(KafkaException, match="_INTR"):
            producer.produce_arrow(topic, pa.table({"value": ["v"]}))
        timer.join()
        assert len(producer) == 100


def test_a_row_larger_than_the_queue_does_not_wait_for_ever(mock_cluster, topic):
    config = {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "queue.buffering.max.kbytes": 1,
        "linger.ms": 0,
    }
    with Producer(config) as producer, pytest.raises(BufferError, match="row 1"):
        producer.produce_arrow(topic, pa.table({"value": ["v", "v" * 100_000]}))


def test_close_by_another_thread_ends_waiting(mock_cluster, topic):
    config = {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "queue.buffering.max.messages": 10,
        "linger.ms": 60_000,
    }
    producer = Producer(config)
    timer = threading.Timer(0.1, producer.close, (0,))
    timer.start()
    with pytest.raises((RuntimeError, BufferError)) as raised:
        producer.produce_arrow(topic, pa.table({"value": ["v"] * 10_000}), timeout=20)
    timer.join()
    assert raised.value.summary.enqueued >= 10
    with pytest.raises(RuntimeError, match="closed"):
        producer.produce_arrow(topic, pa.table({"value": ["v"]}))


def test_dropping_a_producer_with_rows_in_flight_frees_everything(mock_cluster, topic):
    producer = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 60_000})
    summary = producer.produce_arrow(topic, pa.table({"value": ["v"] * 10}), on_delivery=print)
    references = sys.getrefcount(summary)
    del producer
    gc.collect()
    assert sys.getrefcount(summary) == references - 1
    assert (summary.enqueued, summary.complete) == (10, False)


def test_what_a_summary_callback_raises_comes_out_of_flush(producer, topic):
    def fail(summary):
        raise OSError("from the callback")

    producer.produce_arrow(topic, pa.table({"value": ["v"]}), on_delivery=fail)
    with pytest.raises(OSError, match="from the callback"):
        producer.flush(20)
    assert producer.flush(20) == 0


def test_nothing_to_produce(producer, topic):
    told = []
    for data in (
        pa.table({"value": pa.array([], pa.string())}),
        pa.Table.from_batches([], pa.schema([("value", pa.binary())])),
    ):
        summary = producer.produce_arrow(topic, data, on_delivery=told.append)
        assert (summary.enqueued, summary.complete) == (0, True)
    assert len(told) == 2


@pytest.mark.parametrize("data", [None, 5, [b"v"], {"value": [1]}, b"bytes"])
def test_data_without_the_protocol(producer, topic, data):
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        producer.produce_arrow(topic, data)


def test_data_that_is_an_array_or_fails_while_it_is_read(producer, topic, consume):
    with pytest.raises(TypeError, match="table or record batch"):
        producer.produce_arrow(topic, pa.array(["v"]))

    def batches():
        yield pa.record_batch({"value": ["before"]})
        raise OSError("cannot go on")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("value", pa.string())]), batches())
    with pytest.raises(RuntimeError, match="cannot go on") as raised:
        producer.produce_arrow(topic, reader)
    assert producer.flush(20) == 0
    assert raised.value.summary.delivered == 1
    assert values(consume(1)) == ["before"]


def test_huge_values(mock_cluster, make_consumer, topic):
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "message.max.bytes": 40_000_000}
    with Producer(config) as producer:
        deliver(producer, topic, pa.table({"value": [b"h" * 20_000_000], "partition": [0]}))
    consumer = make_consumer(fetch_message_max_bytes=30_000_000, receive_message_max_bytes=60_000_000)
    consumer.assign([TopicPartition(topic, 0, 0)])
    batch = pa.record_batch(consumer.consume_arrow(1, 20, columns=["value"]))
    assert batch.column("value")[0].as_py() == b"h" * 20_000_000


def test_polars_pandas_and_duckdb(producer, topic, consume):
    polars = pytest.importorskip("polars", reason="needs polars to produce its data frames")
    duckdb = pytest.importorskip("duckdb", reason="needs DuckDB to produce its relations")
    pandas = pytest.importorskip("pandas", reason="needs pandas to produce its data frames")
    columns = {"value": ["a", None, "c"], "partition": [0, 0, 0]}
    deliver(producer, topic, polars.DataFrame(columns))
    deliver(producer, topic, polars.DataFrame(columns).slice(1))
    deliver(producer, topic, pandas.DataFrame(columns))
    with duckdb.connect() as connection:
        deliver(
            producer,
            topic,
            connection.sql("select 'd' || i as value, 0::int as partition from range(3) t(i) order by i"),
        )
    assert values(consume(11)) == ["a", None, "c", None, "c", "a", None, "c", "d0", "d1", "d2"]


def test_consumed_batches_are_produced_again(producer, topic, make_consumer, mock_cluster, consume):
    for i in range(10):
        producer.produce(
            topic,
            f"v{i}",
            key=None if i % 2 else f"k{i}",
            partition=i % 2,
            headers={"n": str(i)},
            timestamp=1000 + i,
        )
    assert producer.flush(20) == 0
    mock_cluster.create_topic("copy", 2, 1)
    consumer = make_consumer()
    consumer.assign([TopicPartition(topic, partition, 0) for partition in (0, 1)])
    summary = producer.produce_arrow("copy", consumer.arrow_batches(4, 20, max_rows=10))
    assert producer.flush(20) == 0
    assert summary.delivered == 10
    copied, originals = consume(10, "copy"), consume(10)
    for one, other in zip(copied, originals, strict=True):
        assert (one.key(), one.value(), one.headers(), one.timestamp()) == (
            other.key(),
            other.value(),
            other.headers(),
            other.timestamp(),
        )


def test_transactions_hold_rows_too(mock_cluster, topic, make_consumer):
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "transactional.id": "rows"}) as producer:
        producer.init_transactions(20)
        producer.begin_transaction()
        aborted = producer.produce_arrow(topic, pa.table({"value": ["gone"] * 3}))
        producer.abort_transaction(20)
        assert aborted.complete
        producer.begin_transaction()
        kept = producer.produce_arrow(topic, pa.table({"value": ["kept"] * 3}))
        producer.commit_transaction(20)
        assert (kept.delivered, kept.complete) == (3, True)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc to measure memory")
def test_a_million_rows_leave_memory_and_references_where_they_were(mock_cluster, topic):
    table = pa.table(
        {
            "key": ["k"] * 20_000,
            "value": ["v" * 50] * 20_000,
            "headers": pa.array(
                [[{"key": "h", "value": b"1"}] if i % 10 == 0 else None for i in range(20_000)],
                pa.list_(HEADER),
            ),
        }
    )

    def produce(times):
        told = []
        for _ in range(times):
            producer.produce_arrow(topic, table, on_delivery=lambda summary: told.append(summary.delivered))
        assert producer.flush(60) == 0
        assert told == [20_000] * times
        told.clear()
        gc.collect()
        return len(gc.get_objects()), int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 5}) as producer:
        produce(25)
        objects, before = produce(5)
        objects_after, after = produce(50)
    assert objects_after <= objects + 20
    assert after - before < 32 << 20
