"""Exactly-once sessions and offsets in a database, on a real Kafka: under kill -9, rebalances, and with zombies."""

import signal
import sqlite3
import threading
import time
from collections import Counter
from contextlib import closing, suppress

import pytest

from cykafka import Consumer, Producer, TopicPartition
from cykafka.exactly_once import ExactlyOnceSession
from cykafka.offset_store import OffsetConflictError, OffsetStore
from tests.broker.test_behaviour import in_child, produce, read_all
from tests.support.clients import wait_until

pytestmark = pytest.mark.broker


def consumer_for(servers, group, **properties):
    config = {
        "bootstrap.servers": servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        **properties,
    }
    if "group.protocol" not in properties:
        config.update({"session.timeout.ms": 6000, "heartbeat.interval.ms": 500})
    return Consumer(config)


def transactional(servers, name):
    return Producer({"bootstrap.servers": servers, "transactional.id": name, "linger.ms": 0})


def fill(servers, topic, partitions, count):
    """Produce so many numbers, spread over the partitions."""
    with Producer({"bootstrap.servers": servers}) as producer:
        for i in range(count):
            producer.produce(topic, str(i), partition=i % partitions)
        assert producer.flush(60) == 0
    return sorted(str(i).encode() for i in range(count))


class Feeder(threading.Thread):
    """A thread that produces numbers until it is stopped, so that there is work for whoever joins late."""

    def __init__(self, servers, topic, partitions):
        super().__init__(daemon=True)
        self.producer = Producer({"bootstrap.servers": servers, "linger.ms": 5})
        self.topic, self.partitions = topic, partitions
        self.count = 0
        self.stopping = threading.Event()
        self.start()

    def run(self):
        with self.producer:
            while not self.stopping.wait(0.01):
                for _ in range(8):
                    self.producer.produce(self.topic, str(self.count), partition=self.count % self.partitions)
                    self.count += 1

    def stop(self):
        """End it and return what it has produced, in the order of sorted()."""
        self.stopping.set()
        self.join(60)
        return sorted(str(i).encode() for i in range(self.count))


def test_a_session_is_exactly_once_under_kill_9(kafka, topic):
    source, sink = topic(partitions=2), topic()
    values = fill(kafka.bootstrap_servers, source, 2, 300)
    code = """
        import sys
        from cykafka import Consumer, Producer
        from cykafka.exactly_once import ExactlyOnceSession
        servers, source, sink = sys.argv[1:]
        consumer = Consumer({'bootstrap.servers': servers, 'group.id': 'g-' + source, 'auto.offset.reset': 'earliest',
                             'enable.auto.commit': False, 'group.instance.id': 'one'})
        producer = Producer({'bootstrap.servers': servers, 'transactional.id': 'tx-' + source, 'linger.ms': 0})
        with ExactlyOnceSession(consumer, producer, [source]) as session:
            while True:
                with session.transaction(7, 5) as transaction:
                    for message in transaction:
                        transaction.produce(sink, message.value(), partition=0)
                    producer.flush(30)
                    print('half', flush=True)
                if transaction.committed:
                    print('done', flush=True)
                elif not transaction.messages and set(consumer.lag().values()) == {0}:
                    print('empty', flush=True)
    """
    for kill_at in ("half", "done", "half", "empty"):
        child = in_child(code, kafka.bootstrap_servers, source, sink)
        rounds = 0
        try:
            for line in child.stdout:
                rounds += line.startswith("half")
                if line.strip() == kill_at and (rounds >= 4 or kill_at == "empty"):
                    break
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait(30)
            child.stdout.close()
    with transactional(kafka.bootstrap_servers, f"tx-{source}") as producer:
        producer.init_transactions(60)
    assert sorted(read_all(kafka.bootstrap_servers, sink, **{"isolation.level": "read_committed"})) == values


def test_offsets_in_sqlite_are_exactly_once_under_kill_9(kafka, topic, tmp_path):
    source = topic(partitions=2)
    values = fill(kafka.bootstrap_servers, source, 2, 300)
    database = tmp_path / "results.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE results (value TEXT)")
        connection.commit()
    code = """
        import sqlite3, sys
        from cykafka import Consumer
        from cykafka.offset_store import OffsetStore
        servers, source, database = sys.argv[1:]
        consumer = Consumer({'bootstrap.servers': servers, 'group.id': 'g-' + source, 'auto.offset.reset': 'earliest',
                             'enable.auto.commit': False, 'group.instance.id': 'one'})
        store = OffsetStore(sqlite3.connect(database), consumer)
        store.create_table()
        store.subscribe([source])
        while True:
            with store.batch(7, 5) as batch:
                for message in batch:
                    batch.cursor.execute('INSERT INTO results VALUES (?)', (message.value().decode(),))
                print('half', flush=True)
            if batch.messages:
                print('done', flush=True)
            elif set(consumer.lag().values()) == {0}:
                print('empty', flush=True)
    """
    for kill_at in ("half", "done", "half", "empty"):
        child = in_child(code, kafka.bootstrap_servers, source, str(database))
        rounds = 0
        try:
            for line in child.stdout:
                rounds += line.startswith("half")
                if line.strip() == kill_at and (rounds >= 6 or kill_at == "empty"):
                    break
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait(30)
            child.stdout.close()
    with closing(sqlite3.connect(database)) as connection:
        assert sorted(row[0].encode() for row in connection.execute("SELECT value FROM results")) == values
        assert connection.execute("SELECT SUM(next_offset) FROM kafka_offsets").fetchone() == (300,)


class Writer(threading.Thread):
    """A thread that writes messages and their offsets into a database until it is told to leave."""

    def __init__(self, servers, source, database):
        super().__init__(daemon=True)
        self.consumer = consumer_for(servers, f"g-{source}", **{"partition.assignment.strategy": "cooperative-sticky"})
        self.source, self.database = source, database
        self.written = 0
        self.error = None
        self.leaving = threading.Event()
        self.start()

    def run(self):
        try:
            with self.consumer, closing(sqlite3.connect(self.database, timeout=60)) as connection:
                store = OffsetStore(connection, self.consumer)
                store.subscribe([self.source])
                while not self.leaving.is_set():
                    with suppress(OffsetConflictError), store.batch(10, 0.2) as batch:
                        for message in batch:
                            batch.cursor.execute("INSERT INTO results VALUES (?)", (message.value().decode(),))
                    self.written += len(batch) if batch.committed else 0
        except Exception as error:
            self.error = error

    def leave(self):
        self.leaving.set()
        self.join(60)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error


def test_offsets_in_sqlite_are_exactly_once_under_rebalances(kafka, topic, tmp_path):
    servers = kafka.bootstrap_servers
    source = topic(partitions=4)
    database = tmp_path / "results.db"
    with closing(sqlite3.connect(database)) as connection, consumer_for(servers, "unused") as consumer:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE results (value TEXT)")
        OffsetStore(connection, consumer).create_table()
    writers = []
    feeder = Feeder(servers, source, 4)
    try:
        for _ in range(3):
            writers.append(Writer(servers, source, database))
            wait_until(lambda: writers[-1].written > 30 or writers[-1].error, 60)
            if len(writers) == 2:
                writers[0].leave()
        values = feeder.stop()
        wait_until(lambda: sum(w.written for w in writers) >= len(values) or any(w.error for w in writers), 90)
    finally:
        feeder.stop()
        for writer in writers:
            writer.leaving.set()
    for writer in writers:
        writer.leave()
    with closing(sqlite3.connect(database)) as connection:
        assert sorted(row[0].encode() for row in connection.execute("SELECT value FROM results")) == values
        assert connection.execute("SELECT SUM(next_offset) FROM kafka_offsets").fetchone() == (len(values),)


class Member(threading.Thread):
    """A thread with a session of its own that copies until it is told to leave."""

    def __init__(self, servers, source, sink, name, **properties):
        super().__init__(daemon=True)
        self.consumer = consumer_for(servers, f"g-{source}", **properties)
        self.producer = transactional(servers, f"tx-{source}-{name}")
        self.session = ExactlyOnceSession(self.consumer, self.producer, [source])
        self.sink = sink
        self.copied = 0
        self.error = None
        self.start()

    def run(self):
        try:
            with self.consumer, self.producer, self.session as session:
                session.run(self.copy, num_messages=10, timeout=0.2)
        except Exception as error:
            self.error = error

    def copy(self, transaction):
        for message in transaction:
            transaction.produce(self.sink, message.value(), partition=0)
        time.sleep(0.02)
        self.copied += len(transaction)

    def leave(self):
        self.session.stop()
        self.join(60)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"partition.assignment.strategy": "cooperative-sticky"},
        {"group.protocol": "consumer"},
    ],
    ids=["eager", "cooperative", "KIP-848"],
)
def test_a_session_is_exactly_once_under_rebalances(kafka, topic, properties):
    servers = kafka.bootstrap_servers
    source, sink = topic(partitions=4), topic()
    members = []
    feeder = Feeder(servers, source, 4)

    def join(name):
        members.append(Member(servers, source, sink, name, **properties))
        return members[-1]

    try:
        first = join("a")
        wait_until(lambda: first.copied > 50 or first.error)
        second = join("b")
        wait_until(lambda: second.copied > 50 or second.error, 60)
        third = join("c")
        first.leave()
        # A new member with the transactional id of the one that has left.
        fourth = join("a")
        wait_until(lambda: fourth.copied > 50 or fourth.error, 60)
        values = feeder.stop()
        wait_until(lambda: progress(servers, source) == len(values) or any(m.error for m in members), 90)
    finally:
        feeder.stop()
        for member in members:
            member.session.stop()
    for member in members:
        member.leave()
    assert fourth.error is third.error is None
    assert sorted(read_all(servers, sink, **{"isolation.level": "read_committed"})) == values


def progress(servers, source, partitions=4):
    """Sum of the offsets that the group has committed."""
    with consumer_for(servers, f"g-{source}") as consumer:
        committed = consumer.committed([TopicPartition(source, p) for p in range(partitions)], 30)
        return sum(max(tp.offset, 0) for tp in committed)


def test_a_member_that_the_group_has_thrown_out_commits_nothing(kafka, topic):
    """It processed a batch for longer than max.poll.interval.ms, and another one has done the work meanwhile."""
    servers = kafka.bootstrap_servers
    source, sink = topic(), topic()
    values = fill(servers, source, 1, 20)
    group = f"g-{source}"
    slow = consumer_for(servers, group, **{"max.poll.interval.ms": 6000})
    with (
        slow,
        transactional(servers, f"tx-slow-{source}") as producer,
        ExactlyOnceSession(slow, producer, [source]) as session,
    ):
        transaction = None
        while not transaction:
            with session.transaction(20, 1.0) as transaction:
                for message in transaction:
                    transaction.produce(sink, b"by the zombie: " + message.value(), partition=0)
                if transaction:
                    other = consumer_for(servers, group)
                    with (
                        other,
                        transactional(servers, f"tx-other-{source}") as other_producer,
                        ExactlyOnceSession(other, other_producer, [source]) as other_session,
                    ):
                        done = 0
                        end = time.monotonic() + 60
                        while done < 20:
                            assert time.monotonic() < end
                            with other_session.transaction(20, 1.0) as second:
                                for message in second:
                                    second.produce(sink, message.value(), partition=0)
                            done += len(second) if second.committed else 0
        assert not transaction.committed
        # It goes on as a member, and finds nothing left to do.
        with session.transaction(20, 10.0) as transaction:
            assert not transaction.messages
    assert sorted(read_all(servers, sink, **{"isolation.level": "read_committed"})) == values


def test_lag_of_a_transactional_topic_comes_to_nothing(kafka, topic):
    """The marker at the end of a transaction takes an offset, but nobody has to wait for it."""
    name = topic()
    with transactional(kafka.bootstrap_servers, f"tx-{name}") as producer:
        producer.init_transactions(60)
        for value in ("a", "b"):
            producer.begin_transaction()
            producer.produce(name, value, partition=0)
            producer.commit_transaction(60)
    tp = TopicPartition(name, 0)
    with consumer_for(kafka.bootstrap_servers, "g") as consumer:
        consumer.assign([TopicPartition(name, 0, 0)])
        values = []
        while len(values) < 2:
            message = consumer.poll(30)
            values.append(message.value())
        wait_until(lambda: consumer.poll(0.05) is None and consumer.lag() == {tp: 0})
        assert consumer.lag(query=True, timeout=30) == {tp: 0}
    assert Counter(values) == {b"a": 1, b"b": 1}
    assert produce(kafka.bootstrap_servers, name, [b"c"])


@pytest.mark.slow
def test_a_session_is_exactly_once_when_brokers_die(kafka3, topic):
    """Leaders, coordinators and in-flight requests go with a broker; the session tries again or aborts."""
    servers = kafka3.bootstrap_servers
    source = topic(partitions=3, replication_factor=3, cluster=kafka3)
    sink = topic(replication_factor=3, cluster=kafka3)
    values = fill(servers, source, 3, 1500)
    member = Member(servers, source, sink, "a")
    try:
        for node in (1, 2):
            before = member.copied
            wait_until(lambda count=before: member.copied > count + 100 or member.error, 60)
            with kafka3.killed(node):
                before = member.copied
                wait_until(lambda count=before: member.copied > count + 50 or member.error, 90)
        wait_until(lambda: progress(servers, source, 3) == 1500 or member.error, 120)
    finally:
        member.session.stop()
    member.leave()
    assert sorted(read_all(servers, sink, **{"isolation.level": "read_committed"})) == values
