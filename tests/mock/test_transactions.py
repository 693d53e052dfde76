"""Transactions on the embedded cluster."""

import pytest

from cykafka import (
    AbortableException,
    FatalException,
    KafkaError,
    KafkaException,
    Producer,
    RetriableException,
    TopicPartition,
)
from cykafka.testing import ApiKey
from tests.mock.conftest import take


@pytest.fixture
def make_transactional(mock_cluster):
    made = []

    def make(transactional_id="tx", **properties):
        made.append(
            Producer(
                {
                    "bootstrap.servers": mock_cluster.bootstrap_servers,
                    "transactional.id": transactional_id,
                    "linger.ms": 0,
                    **properties,
                }
            )
        )
        return made[-1]

    yield make
    for producer in made:
        producer.close(5)


def test_commit_delivers_and_serves_reports(make_transactional, make_consumer, mock_cluster):
    mock_cluster.create_topic("topic", 1, 1)
    reports = []
    producer = make_transactional()
    producer.init_transactions(20)
    for round_number in range(3):
        producer.begin_transaction()
        for i in range(10):
            producer.produce("topic", f"{round_number}-{i}", on_delivery=lambda e, m: reports.append(e))
        producer.commit_transaction(20)
    assert reports == [None] * 30
    consumer = make_consumer()
    consumer.assign([TopicPartition("topic", 0, 0)])
    assert len(take(consumer, 30)) == 30


def test_abort_purges_and_serves_reports(make_transactional):
    reports = []
    producer = make_transactional(**{"linger.ms": 10000})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("topic", "v", on_delivery=lambda e, m: reports.append(e.code() if e else None))
    producer.abort_transaction(20)
    assert reports == [KafkaError._PURGE_QUEUE]
    producer.begin_transaction()
    producer.commit_transaction(20)


def test_offsets_are_sent_with_the_transaction(make_transactional, make_consumer, mock_cluster):
    mock_cluster.create_topic("source", 1, 1)
    with Producer({"bootstrap.servers": mock_cluster.bootstrap_servers}) as source:
        for i in range(5):
            source.produce("source", str(i))
    consumer = make_consumer(enable_auto_commit=False)
    consumer.subscribe(["source"])
    take(consumer, 5)
    producer = make_transactional()
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("sink", "v")
    producer.send_offsets_to_transaction(
        consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 20
    )
    producer.commit_transaction(20)
    with pytest.raises(TypeError):
        producer.send_offsets_to_transaction([TopicPartition("source", 0, 5)], None)
    with pytest.raises(KafkaException):
        producer.send_offsets_to_transaction([TopicPartition("source", 0, 5)], b"not metadata")
    with pytest.raises(TypeError):
        producer.send_offsets_to_transaction("source", consumer.consumer_group_metadata())


def test_calls_out_of_order_are_refused(make_transactional, producer):
    transactional = make_transactional()
    with pytest.raises(KafkaException) as caught:
        transactional.begin_transaction()
    assert caught.value.args[0] == KafkaError._STATE
    for call in (
        producer.init_transactions,
        producer.begin_transaction,
        producer.commit_transaction,
        producer.abort_transaction,
    ):
        with pytest.raises(KafkaException) as caught:
            call()
        assert caught.value.args[0] == KafkaError._NOT_CONFIGURED


def test_retriable_errors_are_told_and_the_call_resumes(make_transactional, mock_cluster):
    producer = make_transactional()
    mock_cluster.set_coordinator("transaction", "tx", 1)
    mock_cluster.set_broker_down(1)
    with pytest.raises(RetriableException) as caught:
        producer.init_transactions(0.5)
    assert caught.value.args[0].retriable()
    mock_cluster.set_broker_up(1)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.commit_transaction(20)


def test_abortable_errors_are_told_and_the_transaction_can_be_aborted(make_transactional, mock_cluster):
    producer = make_transactional()
    producer.init_transactions(20)
    producer.begin_transaction()
    mock_cluster.push_request_errors(ApiKey.ADD_PARTITIONS_TO_TXN, [KafkaError.TOPIC_AUTHORIZATION_FAILED])
    producer.produce("topic", "v")
    with pytest.raises(AbortableException) as caught:
        producer.commit_transaction(20)
    assert caught.value.args[0].txn_requires_abort()
    producer.abort_transaction(20)
    producer.begin_transaction()
    producer.produce("topic", "v")
    producer.commit_transaction(20)


def test_fenced_producer_is_fatal(make_transactional, mock_cluster):
    producer = make_transactional()
    producer.init_transactions(20)
    producer.begin_transaction()
    mock_cluster.push_request_errors(ApiKey.ADD_PARTITIONS_TO_TXN, [KafkaError.INVALID_PRODUCER_EPOCH] * 5)
    producer.produce("topic", "v")
    with pytest.raises(FatalException) as caught:
        producer.commit_transaction(20)
    assert caught.value.args[0].fatal()


def test_close_aborts_an_open_transaction(make_transactional, mock_cluster):
    mock_cluster.start_request_tracking()
    producer = make_transactional()
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("topic", "v")
    producer.flush(20)
    producer.close()
    assert ApiKey.END_TXN in [request.api_key for request in mock_cluster.requests()]


def test_an_exception_from_a_report_comes_out_of_commit_which_is_done_all_the_same(make_transactional):
    def on_delivery(error, message):
        raise LookupError

    producer = make_transactional()
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("topic", "v", on_delivery=on_delivery)
    with pytest.raises(LookupError):
        producer.commit_transaction(20)
    producer.begin_transaction()
    producer.commit_transaction(20)


def test_an_interrupted_commit_can_be_called_again(make_transactional, mock_cluster):
    import threading

    producer = make_transactional()
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("topic", "v")
    producer.flush(20)
    mock_cluster.set_broker_rtt(1, 0.6)
    threading.Timer(0.1, producer.wakeup).start()
    with pytest.raises(KafkaException) as caught:
        producer.commit_transaction(20)
    assert caught.value.args[0] == KafkaError._INTR
    producer.commit_transaction(20)
    mock_cluster.set_broker_rtt(1, 0)
    producer.begin_transaction()
    producer.commit_transaction(20)
