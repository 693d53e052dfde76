"""Messages as Arrow columns."""

import datetime as dt
import gc
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from cykafka import Consumer, KafkaException, Producer, RecordBatch, RecordBatchStream, TopicPartition
from cykafka.testing import MockCluster

pa = pytest.importorskip("pyarrow", reason="needs pyarrow to look at Arrow columns")

ALL = ["key", "value", "topic", "partition", "offset", "timestamp", "timestamp_type", "headers"]
ROWS = 20


@pytest.fixture
def filled(mock_cluster: MockCluster, producer: Producer) -> str:
    """A topic of two partitions with every kind of message."""
    mock_cluster.create_topic("filled", 2, 1)
    for i in range(ROWS):
        producer.produce(
            "filled",
            None if i % 5 == 0 else b"" if i % 5 == 1 else b"v" * i,
            key=None if i % 3 == 0 else f"k{i}",
            partition=i % 2,
            timestamp=1_700_000_000_000 + i,
            headers=[("a", b"1"), ("a", None), ("ü", b"")] if i % 4 == 0 else None,
        )
    assert producer.flush(20) == 0
    return "filled"


@pytest.fixture
def consumer(make_consumer, filled) -> Consumer:
    client = make_consumer(enable_partition_eof=True)
    client.assign([TopicPartition(filled, partition, 0) for partition in (0, 1)])
    return client


def read(consumer: Consumer, **options):
    """Read the assigned partitions to their ends, as a pyarrow table."""
    table = pa.table(consumer.arrow_batches(timeout=20, until_end=True, **options))
    table.validate(full=True)
    return table


def by_number(table):
    return sorted(table.to_pylist(), key=lambda row: row["timestamp"])


def test_every_column_has_its_type_and_values(consumer):
    table = read(consumer)
    headers = pa.list_(
        pa.field("item", pa.struct([pa.field("key", pa.string(), False), pa.field("value", pa.binary())]), False)
    )
    assert table.schema == pa.schema(
        [
            pa.field("key", pa.binary()),
            pa.field("value", pa.binary()),
            pa.field("topic", pa.string(), False),
            pa.field("partition", pa.int32(), False),
            pa.field("offset", pa.int64(), False),
            pa.field("timestamp", pa.timestamp("us", "UTC")),
            pa.field("timestamp_type", pa.int32(), False),
            pa.field("headers", headers),
        ]
    )
    for i, row in enumerate(by_number(table)):
        assert row == {
            "key": None if i % 3 == 0 else f"k{i}".encode(),
            "value": None if i % 5 == 0 else b"" if i % 5 == 1 else b"v" * i,
            "topic": "filled",
            "partition": i % 2,
            "offset": i // 2,
            "timestamp": dt.datetime.fromtimestamp(1_700_000_000, dt.timezone.utc) + dt.timedelta(milliseconds=i),
            "timestamp_type": 1,
            "headers": [{"key": "a", "value": b"1"}, {"key": "a", "value": None}, {"key": "ü", "value": b""}]
            if i % 4 == 0
            else None,
        }
    assert table.num_rows == ROWS


@pytest.mark.parametrize("columns", [["value"], ["offset", "key"], ["headers"], list(reversed(ALL))])
def test_chosen_columns_come_in_their_order(consumer, columns):
    batch = consumer.consume_arrow(5, 20, columns=columns)
    assert batch.column_names == columns
    assert batch.num_columns == len(columns)
    assert pa.record_batch(batch).schema.names == columns
    assert 0 < len(batch) == batch.num_rows <= 5
    assert batch.nbytes > 0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"columns": ["nothing"]}, ValueError),
        ({"columns": ["key", "key"]}, ValueError),
        ({"columns": []}, ValueError),
        ({"columns": "key"}, TypeError),
        ({"num_messages": -1}, ValueError),
        ({"num_messages": 1_000_001}, ValueError),
        ({"num_messages": "many"}, TypeError),
        ({"min_messages": 20_000}, ValueError),
        ({"max_bytes": 0}, ValueError),
        ({"max_bytes": 1 << 31}, ValueError),
        ({"timeout": "long"}, TypeError),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_lost(consumer, options, error):
    with pytest.raises(error):
        consumer.consume_arrow(**{"timeout": 0, **options})
    with pytest.raises(error):
        consumer.arrow_batches(**{"timeout": 0, **options})
    assert read(consumer).num_rows == ROWS


def test_nothing_to_consume_is_a_batch_without_rows(make_consumer):
    batch = make_consumer().consume_arrow(10, 0.01)
    assert len(batch) == 0
    assert not batch
    assert batch.errors == batch.partition_ends == []
    table = pa.record_batch(batch)
    table.validate(full=True)
    assert table.num_rows == 0
    assert table.schema.names == ALL
    assert len(make_consumer().consume_arrow(0, 10)) == 0


def test_partition_ends_come_apart_from_rows(consumer):
    rows, ends = 0, []
    while len(ends) < 2:
        batch = consumer.consume_arrow(1000, 20)
        assert batch
        rows += len(batch)
        ends += batch.partition_ends
        assert not batch.errors
    assert rows == ROWS
    assert sorted((end.topic, end.partition, end.offset) for end in ends) == [
        ("filled", 0, 10),
        ("filled", 1, 10),
    ]


def test_errors_come_apart_from_rows(make_consumer, filled):
    consumer = make_consumer(auto_offset_reset="error")
    consumer.assign([TopicPartition(filled, 0, 5000)])
    batch = consumer.consume_arrow(10, 20)
    assert len(batch) == 0
    assert batch
    assert batch.errors[0].error().name() == "_AUTO_OFFSET_RESET"
    assert batch.errors[0].topic() == filled
    assert "1 errors" in repr(batch)


def test_an_error_ends_a_stream_after_its_rows(make_consumer, filled):
    consumer = make_consumer(auto_offset_reset="error")
    consumer.assign([TopicPartition(filled, 0, 5000)])
    with pytest.raises(OSError, match="AUTO_OFFSET_RESET"):
        pa.table(consumer.arrow_batches(timeout=20))


def test_too_many_bytes_for_a_column_are_split_without_loss(consumer):
    batches = []
    ends = []
    while len(ends) < 2:
        batch = consumer.consume_arrow(1000, 20, max_bytes=20)
        batches.append(pa.record_batch(batch))
        ends += batch.partition_ends
        batches[-1].validate(full=True)
        values = batches[-1].column("value")
        assert len(values) <= 1 or sum(len(v.as_py() or b"") for v in values) <= 20
    assert len(batches) > 5
    table = pa.Table.from_batches(batches)
    assert [row["value"] for row in by_number(table)] == [
        None if i % 5 == 0 else b"" if i % 5 == 1 else b"v" * i for i in range(ROWS)
    ]
    assert [row["headers"] is not None for row in by_number(table)] == [i % 4 == 0 for i in range(ROWS)]


def test_what_a_split_left_comes_first_in_poll_and_consume(consumer):
    seen = []
    while len(seen) < ROWS:
        for batch in (
            consumer.consume_arrow(1000, 20, max_bytes=20),
            consumer.consume_arrow(1000, 0, max_bytes=20),
        ):
            seen += [(row["partition"], row["offset"]) for row in pa.record_batch(batch).to_pylist()]
        for message in [consumer.poll(0), *consumer.consume(2, 0)]:
            if message is not None and message.error() is None:
                seen.append((message.partition(), message.offset()))
    assert len(seen) == ROWS
    for partition in (0, 1):
        assert [offset for p, offset in seen if p == partition] == list(range(10))


def test_min_messages_waits_for_them(consumer):
    batch = consumer.consume_arrow(1000, 20, min_messages=ROWS)
    assert len(batch) + len(batch.partition_ends) >= ROWS


def test_wakeup_and_close_end_waiting(make_consumer):
    consumer = make_consumer()
    timer = threading.Timer(0.1, consumer.wakeup)
    timer.start()
    assert not consumer.consume_arrow(10)
    timer.join()
    timer = threading.Timer(0.1, consumer.close)
    timer.start()
    with pytest.raises(RuntimeError, match="closed"):
        consumer.consume_arrow(10)
    timer.join()
    for call in (consumer.consume_arrow, consumer.arrow_batches):
        with pytest.raises(RuntimeError, match="closed"):
            call(1)


def test_callbacks_run_before_messages_are_taken(make_consumer, filled):
    consumer = make_consumer()
    assigned = []

    def on_assign(client, partitions):
        assigned.extend(partitions)
        if len(assigned) == 2:
            raise OSError("from the callback")

    consumer.subscribe([filled], on_assign=on_assign)
    with pytest.raises(OSError, match="from the callback"):
        consumer.consume_arrow(100, 20)
    rows = 0
    end = time.monotonic() + 20
    while rows < ROWS and time.monotonic() < end:
        rows += len(consumer.consume_arrow(100, 1))
    assert rows == ROWS


def test_an_interrupted_wait_keeps_its_messages(consumer):
    timer = threading.Timer(2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        consumer.consume_arrow(1000, 60, min_messages=900)
    timer.join()
    kept = consumer.consume_arrow(1000, 20)
    assert len(kept) + len(kept.partition_ends) == ROWS + 2
    assert {row["headers"] is None for row in pa.record_batch(kept).to_pylist()} == {True, False}


def test_stream_ends_after_max_rows(consumer):
    assert sum(len(batch) for batch in consumer.arrow_batches(3, 20, max_rows=7)) == 7
    assert pa.table(consumer.arrow_batches(100, 20, max_rows=5)).num_rows == 5
    assert list(consumer.arrow_batches(max_rows=0)) == []
    stream = consumer.arrow_batches(timeout=20, until_end=True, columns=["value"])
    table = pa.RecordBatchReader.from_stream(stream).read_all()
    assert table.num_rows == ROWS - 12 == stream.num_rows
    assert table.schema.names == ["value"] == list(stream.column_names)


def test_stream_ends_when_nothing_comes(make_consumer, filled):
    consumer = make_consumer()
    consumer.assign([TopicPartition(filled, 0, 0)])
    assert pa.table(consumer.arrow_batches(timeout=1)).num_rows == ROWS // 2
    with pytest.raises(ValueError, match=r"enable\.partition"):
        consumer.arrow_batches(until_end=True)


def test_stream_hands_on_what_a_callback_raises(make_consumer, filled):
    consumer = make_consumer()

    def on_assign(client, partitions):
        raise OSError("from the callback")

    consumer.subscribe([filled], on_assign=on_assign)
    with pytest.raises(OSError, match=r"OSError: from the callback"):
        pa.table(consumer.arrow_batches(timeout=20))


def test_memory_outlives_batch_and_consumer(make_consumer, filled):
    consumer = make_consumer(enable_partition_eof=True)
    consumer.assign([TopicPartition(filled, 0, 0)])
    batch = consumer.consume_arrow(ROWS, 20, min_messages=ROWS // 2)
    first, second = pa.record_batch(batch), pa.record_batch(batch)
    value = first.column("value")
    headers = first.column("headers")
    expected = (value.to_pylist(), headers.to_pylist())
    consumer.close()
    del batch, first, consumer
    gc.collect()
    assert (value.to_pylist(), headers.to_pylist()) == expected
    thread = threading.Thread(target=second.validate, kwargs={"full": True})
    thread.start()
    thread.join()
    assert (second.column("value").to_pylist(), second.column("headers").to_pylist()) == expected


def test_capsules_nobody_imports_are_freed(consumer):
    batch = consumer.consume_arrow(ROWS, 20)
    for _ in range(1000):
        batch.__arrow_c_array__()
        batch.__arrow_c_schema__()
        batch.__arrow_c_stream__()
    assert pa.record_batch(batch).num_rows == len(batch)


def test_polars_takes_batches_and_streams(consumer):
    polars = pytest.importorskip("polars", reason="needs polars to hand columns to it")
    batch = consumer.consume_arrow(ROWS, 20, min_messages=4)
    frame = polars.DataFrame(batch)
    assert frame.columns == ALL
    assert frame.to_dicts() == pa.record_batch(batch).to_pylist()
    rest = polars.DataFrame(consumer.arrow_batches(timeout=20, until_end=True))
    assert frame.height + rest.height == ROWS


def test_duckdb_queries_batches_and_streams(consumer):
    duckdb = pytest.importorskip("duckdb", reason="needs DuckDB to query columns")
    batch = consumer.consume_arrow(ROWS, 20, min_messages=4)
    query = 'select count(*), sum("offset"), count(headers) from '
    table = pa.record_batch(batch)
    with duckdb.connect() as connection:
        rows = connection.execute(query + "batch").fetchall()
        assert rows[0][:2] == (table.num_rows, sum(table.column("offset").to_pylist()))
        stream = consumer.arrow_batches(timeout=20, until_end=True)
        assert connection.execute("select count(*) from stream").fetchall() == [(ROWS - table.num_rows,)]


def test_pandas_takes_batches(consumer):
    pandas = pytest.importorskip("pandas", reason="needs pandas to hand columns to it")
    batch = consumer.consume_arrow(ROWS, 20, min_messages=4, columns=["topic", "offset"])
    frame = pandas.DataFrame.from_arrow(batch)
    assert list(frame.columns) == ["topic", "offset"]
    assert len(frame) == len(batch)


def test_header_keys_are_text(mock_cluster, producer, make_consumer):
    mock_cluster.create_topic("keys", 1, 1)
    producer.produce("keys", b"v", headers=[("ok", b"2"), ("", b"3"), ("𝄞é", b"4")])
    assert producer.flush(20) == 0
    consumer = make_consumer(enable_partition_eof=True)
    consumer.assign([TopicPartition("keys", 0, 0)])
    assert [h["key"] for h in read(consumer).column("headers")[0].as_py()] == ["ok", "", "𝄞é"]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc to measure memory")
def test_a_million_rows_leave_memory_where_it_was(mock_cluster, producer, make_consumer):
    mock_cluster.create_topic("many", 1, 1)
    for i in range(10_000):
        producer.produce("many", b"x" * 100, key=b"k", partition=0, headers=[("h", b"v")] if i % 10 == 0 else None)
    assert producer.flush(30) == 0
    consumer = make_consumer(enable_partition_eof=True)

    def read_again(times):
        rows = 0
        for _ in range(times):
            consumer.assign([TopicPartition("many", 0, 0)])
            for batch in consumer.arrow_batches(5000, 20, until_end=True):
                rows += pa.record_batch(batch).num_rows
        gc.collect()
        return rows, int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    per_round, _ = read_again(1)
    _, before = read_again(10)
    rows, after = read_again(1_000_000 // per_round)
    assert rows >= 1_000_000 - per_round
    assert after - before < 16 << 20


def test_batches_and_streams_are_not_made_by_hand():
    for made in (RecordBatch, RecordBatchStream):
        with pytest.raises(TypeError, match=r"made by Consumer"):
            made()


def test_kafka_exception_is_what_iteration_raises(make_consumer, filled):
    consumer = make_consumer(auto_offset_reset="error")
    consumer.assign([TopicPartition(filled, 0, 5000)])
    stream = consumer.arrow_batches(timeout=20)
    assert next(stream).errors
    consumer.assign([TopicPartition(filled, 0, 5000)])
    with pytest.raises(KafkaException):
        next(iter(consumer))
