"""Exactly-once sessions on the embedded cluster: what each kind of error does."""

import threading
import time

import pytest

from cykafka import (
    AbortableException,
    Consumer,
    DeserializingConsumer,
    FatalException,
    KafkaError,
    KafkaException,
    Producer,
    RetriableException,
    SerializingProducer,
    TopicPartition,
)
from cykafka._rdkafka.core import group_metadata_generation
from cykafka.exactly_once import ExactlyOnceSession
from cykafka.testing import ApiKey
from tests.mock.conftest import take


class Committing(Producer):
    """Keeps the offsets of committed transactions, which the embedded cluster takes and forgets."""

    def __init__(self, config):
        super().__init__(config)
        self.pending, self.offsets = {}, {}

    def send_offsets_to_transaction(self, positions, group_metadata, timeout=-1):
        super().send_offsets_to_transaction(positions, group_metadata, timeout)
        self.pending = {tp: tp.offset for tp in positions}

    def commit_transaction(self, timeout=-1):
        try:
            super().commit_transaction(timeout)
        except KafkaException:
            raise
        except Exception:
            self.offsets.update(self.pending)
            raise
        self.offsets.update(self.pending)

    def abort_transaction(self, timeout=-1):
        super().abort_transaction(timeout)
        self.pending = {}


class Committed(Consumer):
    """Is told of them by its producer."""

    producer = None

    def committed(self, partitions, timeout=-1):
        return [TopicPartition(tp.topic, tp.partition, self.producer.offsets.get(tp, -1001)) for tp in partitions]


@pytest.fixture
def source(mock_cluster, producer):
    """A topic with two partitions of ten messages each."""
    mock_cluster.create_topic("source", 2, 1)
    mock_cluster.create_topic("sink", 1, 1)
    for i in range(20):
        producer.produce("source", str(i), partition=i % 2)
    producer.flush(20)
    return "source"


@pytest.fixture
def make_session(mock_cluster, source):
    made = []

    def make(consumer=None, producer=None, **arguments):
        common = {"bootstrap.servers": mock_cluster.bootstrap_servers}
        made.append(
            Committed(
                {
                    **common,
                    "group.id": "group",
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                    "fetch.wait.max.ms": 20,
                    "session.timeout.ms": 6000,
                    "topic.metadata.refresh.interval.ms": 500,
                    **(consumer or {}),
                }
            )
        )
        made.append(Committing({**common, "transactional.id": "tx", "linger.ms": 0, **(producer or {})}))
        made[-2].producer = made[-1]
        return ExactlyOnceSession(*made[-2:], [source], **{"timeout": 20.0, **arguments})

    yield make
    for client in made:
        client.close()


def work(session, stop, num_messages=4, seconds=60):
    """Copy from source to sink until so many messages have been committed; returns how often there was a batch."""
    committed = batches = 0
    end = time.monotonic() + seconds
    while committed < stop:
        assert time.monotonic() < end, f"only {committed} committed"
        with session.transaction(num_messages, 0.5) as transaction:
            batches += bool(transaction.messages)
            for message in transaction:
                transaction.produce("sink", message.value())
        committed += len(transaction) if transaction.committed else 0
    return batches


def sunk(make_consumer):
    """What a reader finds in the sink; the embedded cluster keeps also what was aborted."""
    consumer = make_consumer(group_id="reader")
    consumer.assign([TopicPartition("sink", 0, 0)])
    return [message.value() for message in take(consumer, 20)]


def committed_offsets(session):
    partitions = [TopicPartition("source", p) for p in (0, 1)]
    return [tp.offset for tp in session.consumer.committed(partitions, 20)]


def test_batches_are_committed_with_their_results(make_session, make_consumer):
    with make_session() as session:
        assert work(session, 20, num_messages=3) >= 7
        assert committed_offsets(session) == [10, 10]
    assert sorted(sunk(make_consumer), key=int) == [str(i).encode() for i in range(20)]


def test_an_exception_aborts_and_the_messages_come_again(make_session):
    with make_session() as session:
        work(session, 4)
        with pytest.raises(ZeroDivisionError):
            while True:
                with session.transaction(5) as transaction:
                    for message in transaction:
                        transaction.produce("sink", b"broken")
                        raise ZeroDivisionError
        assert not transaction.committed
        first = transaction.starts
        left = 20 - sum(max(offset, 0) for offset in committed_offsets(session))
        seen = []
        while len(seen) < left:
            with session.transaction(100) as transaction:
                seen += [(m.partition(), m.offset()) for m in transaction]
        assert len(set(seen)) == len(seen) == left
        assert {(tp.partition, tp.offset) for tp in first} <= set(seen)
        assert committed_offsets(session) == [10, 10]


def test_abort_by_hand(make_session):
    with make_session() as session:
        transaction = None
        while not transaction:
            with session.transaction() as transaction:
                if transaction:
                    transaction.abort()
                    transaction.abort()
                    with pytest.raises(RuntimeError, match="aborted"):
                        transaction.produce("sink", b"v")
        assert not transaction.committed
        assert committed_offsets(session) == [-1001, -1001]
        assert work(session, 20) > 0
        assert committed_offsets(session) == [10, 10]


def test_an_empty_batch_has_no_transaction(make_session):
    with make_session() as session:
        work(session, 20)
        with session.transaction(timeout=0.1) as transaction:
            assert not transaction.messages
            with pytest.raises(RuntimeError, match="empty"):
                transaction.produce("sink", b"v")
        assert not transaction.committed


@pytest.mark.parametrize(
    ("api_key", "error"),
    [
        (ApiKey.TXN_OFFSET_COMMIT, KafkaError.ILLEGAL_GENERATION),
        (ApiKey.TXN_OFFSET_COMMIT, KafkaError.UNKNOWN_MEMBER_ID),
        (ApiKey.TXN_OFFSET_COMMIT, KafkaError.FENCED_INSTANCE_ID),
        (ApiKey.ADD_PARTITIONS_TO_TXN, KafkaError.TOPIC_AUTHORIZATION_FAILED),
        (ApiKey.PRODUCE, KafkaError.MSG_SIZE_TOO_LARGE),
    ],
)
def test_an_abortable_error_rewinds(make_session, mock_cluster, api_key, error):
    with make_session() as session:
        work(session, 4)
        mock_cluster.push_request_errors(api_key, [error])
        work(session, 16)
        assert committed_offsets(session) == [10, 10]
        # Nothing was left out and nothing committed twice.
        with session.transaction(timeout=0.5) as transaction:
            assert not transaction.messages


def test_an_abortable_error_in_the_block_rewinds(make_session, mock_cluster):
    """Once the transaction has failed the producer refuses messages; that ends the block, not the loop."""
    with make_session() as session:
        work(session, 4)
        mock_cluster.push_request_errors(ApiKey.ADD_PARTITIONS_TO_TXN, [KafkaError.TOPIC_AUTHORIZATION_FAILED])
        refused = False
        while not refused:
            with session.transaction(4) as transaction:
                end = time.monotonic() + 20
                while transaction and time.monotonic() < end:
                    try:
                        transaction.produce("sink", b"again and again")
                        session.producer.poll(0.01)
                    except KafkaException:
                        refused = True
                        raise
        assert not transaction.committed
        work(session, 16)
        assert committed_offsets(session) == [10, 10]


@pytest.mark.parametrize(
    ("api_key", "error"),
    [
        (ApiKey.TXN_OFFSET_COMMIT, KafkaError.COORDINATOR_LOAD_IN_PROGRESS),
        (ApiKey.TXN_OFFSET_COMMIT, KafkaError.REQUEST_TIMED_OUT),
        (ApiKey.ADD_OFFSETS_TO_TXN, KafkaError.CONCURRENT_TRANSACTIONS),
        (ApiKey.ADD_PARTITIONS_TO_TXN, KafkaError.COORDINATOR_NOT_AVAILABLE),
        (ApiKey.END_TXN, KafkaError.COORDINATOR_NOT_AVAILABLE),
        (ApiKey.END_TXN, KafkaError.NOT_COORDINATOR),
        (ApiKey.INIT_PRODUCER_ID, KafkaError.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_a_retriable_error_is_tried_again(make_session, mock_cluster, api_key, error):
    mock_cluster.push_request_errors(api_key, [error] * 3)
    with make_session() as session:
        work(session, 20)
        assert committed_offsets(session) == [10, 10]


def test_a_retriable_error_without_end_is_raised_and_the_commit_goes_on_later(make_session, mock_cluster):
    with make_session(timeout=1.0) as session:
        work(session, 4)
        with pytest.raises(RetriableException):
            while True:
                with session.transaction(4) as transaction:
                    if transaction:
                        for message in transaction:
                            transaction.produce("sink", message.value())
                        session.producer.flush(20)
                        mock_cluster.push_request_errors(ApiKey.END_TXN, [KafkaError.COORDINATOR_NOT_AVAILABLE] * 10000)
        mock_cluster.clear_request_errors(ApiKey.END_TXN)
        session.timeout = 20.0
        work(session, 16 - len(transaction))
        assert committed_offsets(session) == [10, 10]


def test_a_fatal_error_is_raised(make_session, mock_cluster):
    with make_session() as session:
        work(session, 4)
        mock_cluster.push_request_errors(ApiKey.ADD_PARTITIONS_TO_TXN, [KafkaError.INVALID_PRODUCER_EPOCH] * 5)
        with pytest.raises(FatalException):
            work(session, 16)


def test_a_transaction_that_always_fails_is_raised_in_the_end(make_session, mock_cluster):
    with make_session(max_aborts=3) as session:
        work(session, 4)
        mock_cluster.push_request_errors(ApiKey.TXN_OFFSET_COMMIT, [KafkaError.ILLEGAL_GENERATION] * 3)
        with pytest.raises(AbortableException):
            work(session, 16)
        work(session, 16)
        assert committed_offsets(session) == [10, 10]


def test_a_delivery_callback_that_raises_does_not_undo_the_commit(make_session):
    def failing(error, message):
        raise OSError("mine")

    with make_session() as session:
        with pytest.raises(OSError, match="mine"):
            while True:
                with session.transaction(100) as transaction:
                    if transaction:
                        transaction.produce("sink", b"v", on_delivery=failing)
        # It came out of the commit, which then was made, or before it, and everything comes again.
        work(session, 20 - sum(max(offset, 0) for offset in committed_offsets(session)))
        assert committed_offsets(session) == [10, 10]


def test_rebalance_callbacks_are_called_between_transactions(make_session):
    events = []
    session = make_session(
        on_assign=lambda consumer, partitions: events.append(("assign", len(partitions))),
        on_revoke=lambda consumer, partitions: events.append(("revoke", len(partitions))),
    )
    with session:
        work(session, 4)
    session.consumer.close()
    assert events == [("assign", 2), ("revoke", 2)]


def test_run_and_stop(make_session):
    session = make_session()
    seen = []

    def process(transaction):
        for message in transaction:
            seen.append(message.value())
            transaction.produce("sink", message.value())
        if len(seen) == 20:
            threading.Timer(0.1, session.stop).start()

    with session:
        session.run(process, num_messages=3, timeout=60.0)
        assert committed_offsets(session) == [10, 10]
    assert len(seen) == 20


def test_partition_ends_are_no_messages_and_errors_are_raised(make_session, mock_cluster):
    with make_session(consumer={"enable.partition.eof": True}) as session:
        work(session, 20)
        mock_cluster.set_topic_error("source", KafkaError.TOPIC_AUTHORIZATION_FAILED)
        with pytest.raises(KafkaException) as caught:
            work(session, 1)
        assert caught.value.args[0] == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("consumer_config", "producer_config", "message"),
    [
        ({"enable.auto.commit": True}, {}, "enable.auto.commit"),
        ({"isolation.level": "read_uncommitted"}, {}, "isolation.level"),
        ({}, {"transactional.id": ""}, "transactional.id"),
    ],
)
def test_a_configuration_that_loses_the_guarantee_is_refused(make_session, consumer_config, producer_config, message):
    with pytest.raises(ValueError, match=message):
        make_session(consumer_config, producer_config)


def test_the_generation_of_group_metadata(make_session):
    session = make_session()
    assert group_metadata_generation(session.consumer.consumer_group_metadata()) == -1
    with session:
        work(session, 4)
        assert group_metadata_generation(session.consumer.consumer_group_metadata()) >= 1
    with pytest.raises(TypeError):
        group_metadata_generation(None)
    with pytest.raises(KafkaException):
        group_metadata_generation(b"nonsense")


def test_clients_that_serialize(mock_cluster, source, make_consumer):
    """A message that cannot be deserialized is in the batch with its error, and does not stop the session."""

    def number(data, context):
        return {"number": int(data)} if data != b"7" else int("seven")

    common = {"bootstrap.servers": mock_cluster.bootstrap_servers}
    consumer = DeserializingConsumer(
        {
            **common,
            "group.id": "group",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "value.deserializer": number,
        }
    )
    producer = SerializingProducer(
        {**common, "transactional.id": "tx", "value.serializer": lambda value, context: str(value).encode()}
    )
    broken = []
    with consumer, producer, ExactlyOnceSession(consumer, producer, [source]) as session:
        done = 0
        while done < 20:
            with session.transaction(timeout=20.0) as transaction:
                for message in transaction:
                    if message.error() is None:
                        transaction.produce("sink", message.value()["number"] * 2, partition=0)
                    else:
                        broken.append((message.error().code(), message.value()))
            done += len(transaction) if transaction.committed else 0
    assert broken == [(KafkaError._VALUE_DESERIALIZATION, b"7")]
    reader = make_consumer(group_id="reader")
    reader.assign([TopicPartition("sink", 0, 0)])
    assert sorted(int(m.value()) for m in take(reader, 19)) == [i * 2 for i in range(20) if i != 7]
