"""What a producer promises about order and duplicates, on a real Kafka: reordering by retries, idempotence, gaps."""

import time

import pytest

from cykafka import Consumer, KafkaError, Producer, TopicPartition
from tests.support.clients import Reports

pytestmark = pytest.mark.broker


def read_all(servers, topic):
    """Read partition 0 from its beginning to its end."""
    values = []
    config = {"bootstrap.servers": servers, "group.id": "reader", "enable.partition.eof": True}
    with Consumer(config) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while True:
            message = consumer.poll(30)
            assert message is not None, "neither a message nor the end of the partition came"
            if message.error() is not None:
                assert message.error() == KafkaError._PARTITION_EOF
                return values
            values.append(int(message.value()))


@pytest.mark.parametrize("idempotent", [False, True])
def test_retry_reordering(kafka, topic, idempotent):
    """With requests in flight when the broker dies, retries may reorder and double; never with idempotence."""
    name = topic()
    reports = Reports()
    config = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "enable.idempotence": idempotent,
        "max.in.flight": 5,
        "batch.num.messages": 5,
        "linger.ms": 1,
        "retry.backoff.ms": 50,
        "reconnect.backoff.max.ms": 200,
        "log_level": 0,
    }
    with Producer(config) as producer:
        producer.list_topics(name, 30)
        with kafka.killed():
            for i in range(500):
                producer.produce(name, str(i), partition=0, on_delivery=reports)
            producer.poll(0.5)
        assert producer.flush(90) == 0
    values = read_all(kafka.bootstrap_servers, name)
    assert reports.errors == [None] * 500
    assert set(reports.statuses) == {"persisted"}
    assert set(values) == set(range(500))
    if idempotent:
        assert values == list(range(500))
        assert [message.offset() for message in reports.messages] == list(range(500))


def test_idempotent_gap(kafka, topic):
    """Messages that time out in the queue leave a gap; those after it are delivered, in order and without a fatal error."""
    name = topic()
    early, late = Reports(), Reports()
    errors = []
    config = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "enable.idempotence": True,
        "linger.ms": 0,
        "message.timeout.ms": 3000,
        "reconnect.backoff.max.ms": 200,
        "error_cb": errors.append,
        "log_level": 0,
    }
    with Producer(config) as producer:
        producer.produce(name, "0", partition=0)
        assert producer.flush(30) == 0
        with kafka.killed():
            time.sleep(0.5)
            for i in range(1, 11):
                producer.produce(name, str(i), partition=0, on_delivery=early)
            assert producer.flush(30) == 0
        assert early.errors == [KafkaError._MSG_TIMED_OUT] * 10
        assert set(early.statuses) == {"not_persisted"}
        deadline = time.monotonic() + 60
        # The broker needs a moment to come back, and a message has only three seconds.
        while not late.errors or late.errors[-1] is not None:
            assert time.monotonic() < deadline
            producer.produce(name, "11", partition=0, on_delivery=late)
            producer.flush(10)
        for i in range(12, 20):
            producer.produce(name, str(i), partition=0, on_delivery=late)
        assert producer.flush(30) == 0
    assert not any(error.fatal() for error in errors)
    assert read_all(kafka.bootstrap_servers, name) == [0, *range(11, 20)]


def test_a_delivery_report_names_where_and_when(kafka, topic):
    """Offset and timestamp of a report are those that consumers see."""
    name = topic()
    reports = Reports()
    with Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": "all"}) as producer:
        for i in range(3):
            producer.produce(name, str(i), partition=0, timestamp=1_700_000_000_000 + i, on_delivery=reports)
    assert [(m.offset(), m.timestamp()) for m in reports.messages] == [
        (i, (1, 1_700_000_000_000 + i)) for i in range(3)
    ]
    with Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g"}) as consumer:
        consumer.assign([TopicPartition(name, 0, 0)])
        assert consumer.poll(30).timestamp() == (1, 1_700_000_000_000)
        (found,) = consumer.offsets_for_times([TopicPartition(name, 0, 1_700_000_000_001)], 30)
        assert found.offset == 1
        assert consumer.get_watermark_offsets(TopicPartition(name, 0), 30) == (0, 3)
