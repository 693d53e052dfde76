"""Offsets in the user's own database, on the embedded cluster."""

import contextlib
import pickle
import sqlite3
import sys
import time
import types

import pytest

from cykafka import Consumer, KafkaError, KafkaException, TopicPartition
from cykafka.offset_store import OffsetConflictError, OffsetStore


@pytest.fixture
def source(mock_cluster, producer):
    mock_cluster.create_topic("source", 2, 1)
    for i in range(20):
        producer.produce("source", str(i), partition=i % 2)
    producer.flush(20)
    return "source"


@pytest.fixture
def connection(tmp_path):
    """A database with the table of the results."""
    with contextlib.closing(sqlite3.connect(tmp_path / "results.db")) as opened:
        opened.execute("CREATE TABLE results (value TEXT)")
        opened.commit()
        yield opened


@pytest.fixture
def make_store(make_consumer, connection, source):
    def make(over=None, consumer=None, **arguments):
        own = consumer or make_consumer(enable_auto_commit=False)
        store = OffsetStore(over or connection, own, **arguments)
        store.create_table()
        return store

    return make


def work(store, count, seconds=60):
    """Write so many messages to the results."""
    done = 0
    end = time.monotonic() + seconds
    while done < count:
        assert time.monotonic() < end, f"only {done}"
        with store.batch(3, 0.5) as batch:
            write(batch)
        done += len(batch)


def write(batch):
    batch.cursor.executemany("INSERT INTO results VALUES (?)", [(m.value().decode(),) for m in batch])


def results(connection):
    return sorted(int(row[0]) for row in connection.execute("SELECT value FROM results"))


def stored(connection):
    return dict(connection.execute("SELECT partition_id, next_offset FROM kafka_offsets"))


def test_results_and_offsets_are_committed_together(make_store, connection, tmp_path):
    store = make_store()
    store.subscribe(["source"])
    work(store, 20)
    with contextlib.closing(sqlite3.connect(tmp_path / "results.db")) as other:
        assert results(other) == list(range(20))
        assert stored(other) == {0: 10, 1: 10}
        assert other.execute("SELECT DISTINCT consumer_group, topic FROM kafka_offsets").fetchall() == [
            ("group", "source")
        ]


def test_an_exception_rolls_both_back_and_the_messages_come_again(make_store, connection):
    store = make_store()
    store.subscribe(["source"])
    work(store, 3)
    before = stored(connection), results(connection)
    with pytest.raises(ZeroDivisionError):
        while True:
            with store.batch() as batch:
                write(batch)
                if batch:
                    raise ZeroDivisionError
    assert not batch.committed
    assert (stored(connection), results(connection)) == before
    work(store, 20 - len(before[1]))
    assert results(connection) == list(range(20))
    assert stored(connection) == {0: 10, 1: 10}


def test_a_failing_commit_rolls_back(make_store, connection):
    class Refusing:
        refuse = True

        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def commit(self):
            if self.refuse:
                raise sqlite3.OperationalError("disk full")
            self.inner.commit()

    refusing = Refusing(connection)
    refusing.refuse = False
    store = make_store(refusing, paramstyle="qmark")
    store.subscribe(["source"])
    refusing.refuse = True
    with pytest.raises(sqlite3.OperationalError, match="disk full"):
        while True:
            with store.batch() as batch:
                write(batch)
                batch.messages or refusing.__setattr__("refuse", False)
            refusing.refuse = True
    assert results(connection) == []
    refusing.refuse = False
    work(store, 20)
    assert results(connection) == list(range(20))


def test_a_new_consumer_goes_on_at_the_stored_offsets(make_store, make_consumer, connection):
    store = make_store()
    store.assign([TopicPartition("source", 0, 4), TopicPartition("source", 1, 0)])
    while len(results(connection)) < 16:
        with store.batch(5) as batch:
            write(batch)
    store.consumer.close()
    connection.execute("UPDATE kafka_offsets SET next_offset = 7 WHERE partition_id = 1")
    connection.commit()
    again = make_store()
    again.subscribe(["source"])
    with again.batch(100, 20.0) as batch:
        assert [(m.partition(), m.offset()) for m in batch] == [(1, 7), (1, 8), (1, 9)]
    assert [tp.offset for tp in again.load([TopicPartition("source", p) for p in (0, 1, 5)])] == [10, 10, -1001]


def test_groups_and_tables_are_kept_apart(make_store, make_consumer, connection):
    one = make_store(group="one")
    one.assign([TopicPartition("source", 0, 0)])
    two = make_store(group="two", table="main.other_offsets")
    two.assign([TopicPartition("source", 0, 5)])
    for store, count in ((one, 10), (two, 5)):
        done = 0
        while done < count:
            with store.batch(timeout=20.0) as batch:
                done += len(batch)
    assert connection.execute("SELECT * FROM kafka_offsets").fetchall() == [("one", "source", 0, 10)]
    assert connection.execute("SELECT * FROM other_offsets").fetchall() == [("two", "source", 0, 10)]


def test_a_consumer_that_was_thrown_out_writes_nothing(make_store, connection):
    """Two consumers that both believe to own a partition: the one that is behind is rolled back and goes on."""
    first, second = make_store(), make_store()
    for store in (first, second):
        store.assign([TopicPartition("source", 0, 0)])
    with pytest.raises(OffsetConflictError, match="source"), first.batch(5, 20.0) as batch:
        write(batch)
        connection.rollback()
        with second.batch(3, 20.0) as other:
            write(other)
            assert len(other) <= 3
        written = stored(connection)[0]
        write(batch)
    assert not batch.committed
    assert len(results(connection)) == written == stored(connection)[0]
    while stored(connection)[0] < 10:
        with first.batch(100, 20.0) as batch:
            write(batch)
    assert len(results(connection)) == 10
    # And an offset that moved on under a stored one.
    connection.execute("UPDATE kafka_offsets SET next_offset = 3")
    connection.commit()
    second._known[TopicPartition("source", 0)] = 2
    with pytest.raises(OffsetConflictError) as caught, second.batch(100, 20.0):
        pass
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.partition, copy.partition.offset) == (TopicPartition("source", 0), 2)


def test_when_the_table_cannot_be_read_nothing_is_consumed_from_elsewhere(make_store, connection):
    """The partitions are assigned all the same, at Kafka's offsets: their messages must not be used."""
    store = make_store()
    connection.execute("INSERT INTO kafka_offsets VALUES ('group', 'source', 0, 6), ('group', 'source', 1, 8)")
    connection.execute("ALTER TABLE kafka_offsets RENAME TO hidden")
    connection.commit()
    store.subscribe(["source"])
    with pytest.raises(sqlite3.OperationalError):
        while True:
            with store.batch() as batch:
                assert not batch.messages
    connection.execute("ALTER TABLE hidden RENAME TO kafka_offsets")
    connection.commit()
    work(store, 6)
    assert results(connection) == [12, 14, 16, 17, 18, 19]


def test_rebalance_callbacks(make_store):
    events = []
    store = make_store()
    store.subscribe(
        ["source"],
        on_assign=lambda consumer, partitions: events.append(("assign", [tp.offset for tp in partitions])),
        on_revoke=lambda consumer, partitions: events.append(("revoke", len(partitions))),
    )
    work(store, 20)
    store.consumer.close()
    assert events == [("assign", [-1001, -1001]), ("revoke", 2)]


@pytest.mark.parametrize("properties", [{"partition_assignment_strategy": "cooperative-sticky"}, {"KIP-848": True}])
def test_incremental_rebalancing(make_store, make_consumer, mock_cluster, connection, properties):
    if "KIP-848" in properties:
        consumer = Consumer(
            {
                "bootstrap.servers": mock_cluster.bootstrap_servers,
                "group.id": "new",
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
    else:
        consumer = make_consumer(enable_auto_commit=False, **properties)
    with consumer:
        store = make_store(consumer=consumer)
        connection.execute(f"INSERT INTO kafka_offsets VALUES ('{store.group}', 'source', 1, 8)")
        connection.commit()
        store.subscribe(["source"])
        work(store, 12)
    assert results(connection) == [0, 2, 4, 6, 8, 10, 12, 14, 16, 17, 18, 19]


def driver(paramstyle, count_rows=True):
    """A DB-API driver for sqlite3 with another paramstyle, as a module of its own."""
    module = types.ModuleType(f"driver_{paramstyle}")
    module.paramstyle = paramstyle

    class Cursor:
        def __init__(self, inner):
            self.inner = inner

        rowcount = property(lambda self: self.inner.rowcount if count_rows else -1)

        def execute(self, statement, values=None):
            if paramstyle == "format":
                statement = statement.replace("%s", "?")
            elif paramstyle == "pyformat":
                for name in values or ():
                    statement = statement.replace(f"%({name})s", f":{name}")
            elif paramstyle == "numeric":
                for number in range(1, len(values or ()) + 1):
                    statement = statement.replace(f":{number}", f"?{number}")
            return self.inner.execute(statement, values if values is not None else ())

        def __getattr__(self, name):
            return getattr(self.inner, name)

    class Connection:
        def __init__(self, inner):
            self.inner = inner

        def cursor(self):
            return Cursor(self.inner.cursor())

        def commit(self):
            self.inner.commit()

        def rollback(self):
            self.inner.rollback()

    Connection.__module__ = f"{module.__name__}.inner"
    return module, Connection


@pytest.mark.parametrize("paramstyle", ["qmark", "numeric", "named", "format", "pyformat"])
@pytest.mark.parametrize("count_rows", [True, False])
def test_every_paramstyle(make_store, connection, monkeypatch, paramstyle, count_rows):
    module, connect = driver(paramstyle, count_rows)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    store = make_store(connect(connection))
    store.subscribe(["source"])
    done = 0
    while done < 20:
        with store.batch(4, 20.0) as batch:
            done += len(batch)
    assert stored(connection) == {0: 10, 1: 10}
    connection.execute("UPDATE kafka_offsets SET next_offset = 1")
    connection.commit()
    store.consumer.seek([TopicPartition("source", 0, 0)], 20)
    with pytest.raises(OffsetConflictError), store.batch(4, 20.0) as batch:
        assert batch.messages


def test_errors_of_the_consumer_are_raised_and_no_message_is_lost(make_store, make_consumer, mock_cluster, connection):
    store = make_store(consumer=make_consumer(enable_auto_commit=False, enable_partition_eof=True))
    store.subscribe(["source"])
    work(store, 20)
    mock_cluster.set_topic_error("source", KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException) as caught:
        work(store, 1)
    assert caught.value.args[0] == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert results(connection) == list(range(20))


def test_what_would_lose_the_guarantee_is_refused(make_consumer, connection, tmp_path):
    with pytest.raises(ValueError, match="enable.auto.commit"):
        OffsetStore(connection, make_consumer())
    consumer = make_consumer(enable_auto_commit=False)
    with pytest.raises(ValueError, match="SQL name"):
        OffsetStore(connection, consumer, table="offsets; DROP TABLE results")
    with pytest.raises(ValueError, match="paramstyle"):
        OffsetStore(object(), consumer)
    with pytest.raises(ValueError, match="paramstyle"):
        OffsetStore(connection, consumer, paramstyle="nonsense")
    with (
        contextlib.closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as autocommit,
        pytest.raises(ValueError, match="commits each statement"),
    ):
        OffsetStore(autocommit, consumer)
    connected = types.SimpleNamespace(autocommit=True)
    with pytest.raises(ValueError, match="commits each statement"):
        OffsetStore(connected, consumer, paramstyle="qmark")
    consumer.assign([])
