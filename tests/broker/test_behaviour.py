"""What a Kafka client promises, on a real Kafka: delivery, retries, groups, transactions, faults."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from cykafka import Consumer, FatalException, KafkaError, KafkaException, Producer, TopicPartition
from cykafka.admin import AdminClient, NewTopic

pytestmark = pytest.mark.broker


def produce(servers, topic, values, **properties):
    """Produce and return the reports as (error, message)."""
    reports = []
    with Producer({"bootstrap.servers": servers, "linger.ms": 0, **properties}) as producer:
        for value in values:
            producer.produce(topic, value, partition=0, on_delivery=lambda e, m: reports.append((e, m)), timeout=30)
        producer.flush(60)
    return reports


def read_all(servers, topic, **properties):
    """Read a topic's only partition to its end."""
    config = {
        "bootstrap.servers": servers,
        "group.id": "reader",
        "enable.partition.eof": True,
        "enable.auto.commit": False,
        **properties,
    }
    values = []
    with Consumer(config) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while True:
            message = consumer.poll(30)
            assert message is not None, "neither a message nor the end of the partition came"
            if message.error() is None:
                values.append(message.value())
            elif message.error() == KafkaError._PARTITION_EOF:
                return values
            else:
                raise KafkaException(message.error())


def consumer_of(servers, group, **properties):
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
            **properties,
        }
    )


def take(consumer, count, seconds=60):
    messages = []
    end = time.monotonic() + seconds
    while len(messages) < count:
        assert time.monotonic() < end, f"only {len(messages)} of {count}"
        messages += [m for m in consumer.consume(count - len(messages), 0.5) if m.error() is None]
    return messages


def in_child(code, *arguments):
    """Start a child process that runs code."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_round_trip_with_every_compression(kafka, topic, codec):
    name = topic()
    values = [f"value {i}".encode() * 20 for i in range(200)]
    assert all(
        e is None
        for e, _ in produce(kafka.bootstrap_servers, name, values, **{"compression.type": codec, "linger.ms": 20})
    )
    assert read_all(kafka.bootstrap_servers, name) == values


def test_topic_creation_propagates_before_the_message_fails(kafka, topic):
    name = topic() + "-later"
    reports = []
    with Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "topic.metadata.propagation.max.ms": 20000}
    ) as producer:
        producer.produce(name, "v", on_delivery=lambda e, m: reports.append(e))
        producer.poll(0.3)
        assert reports == []
        with AdminClient({"bootstrap.servers": kafka.bootstrap_servers}) as admin:
            admin.create_topics([NewTopic(name, 1)])[name].result(20)
        producer.flush(30)
    assert reports == [None]


def test_unknown_topic_fails_when_propagation_time_is_over(kafka):
    ((error, message),) = produce(
        kafka.bootstrap_servers, "never-made", ["v"], **{"topic.metadata.propagation.max.ms": 500}
    )[:1]
    assert error in (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART)
    assert message.status() == "not_persisted"


def test_not_persisted_when_the_broker_refuses(kafka, topic):
    name = topic(config={"max.message.bytes": "1000"})
    ((error, message),) = produce(kafka.bootstrap_servers, name, [b"x" * 5000])
    assert error == KafkaError.MSG_SIZE_TOO_LARGE
    assert message.status() == "not_persisted"


def test_timed_out_in_queue_is_not_persisted_and_in_flight_is_possibly_persisted(kafka, topic):
    name = topic()
    statuses = {}
    with Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "linger.ms": 0,
            "message.timeout.ms": 2500,
            "log_level": 0,
            "max.in.flight": 1,
            "socket.timeout.ms": 60000,
        }
    ) as producer:
        producer.produce(name, "warm", partition=0)
        assert producer.flush(20) == 0
        with kafka.paused():
            producer.produce(
                name,
                "in flight",
                partition=0,
                on_delivery=lambda e, m: statuses.update({m.value(): (e.code(), m.status())}),
            )
            producer.poll(0.5)
            producer.produce(
                name,
                "in queue",
                partition=0,
                on_delivery=lambda e, m: statuses.update({m.value(): (e.code(), m.status())}),
            )
            producer.flush(20)
    assert statuses[b"in flight"] == (KafkaError._MSG_TIMED_OUT, "possibly_persisted")
    assert statuses[b"in queue"] == (KafkaError._MSG_TIMED_OUT, "not_persisted")


def test_idempotent_producer_keeps_order_and_count_over_a_broker_restart(kafka, topic):
    name = topic()
    reports = []
    with Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "enable.idempotence": True,
            "linger.ms": 1,
            "log_level": 0,
            "retry.backoff.ms": 50,
            "reconnect.backoff.max.ms": 200,
        }
    ) as producer:
        for i in range(300):
            producer.produce(name, str(i), partition=0, on_delivery=lambda e, m: reports.append(e))
            if i == 100:
                producer.poll(0.1)
                kafka.restart()
        assert producer.flush(60) == 0
    assert reports == [None] * 300
    assert read_all(kafka.bootstrap_servers, name) == [str(i).encode() for i in range(300)]


def test_a_transactional_id_fences_its_older_producer(kafka, topic):
    name = topic()
    config = {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"tx-{name}", "log_level": 0}
    old, new = Producer(config), Producer(config)
    old.init_transactions(30)
    old.begin_transaction()
    old.produce(name, "old")
    old.flush(20)
    new.init_transactions(30)
    with pytest.raises(FatalException) as caught:
        old.commit_transaction(30)
    assert caught.value.args[0] in (
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    )
    new.begin_transaction()
    new.produce(name, "new")
    new.commit_transaction(30)
    old.close(1)
    new.close(10)
    assert read_all(kafka.bootstrap_servers, name, **{"isolation.level": "read_committed"}) == [b"new"]


def test_read_committed_does_not_see_what_was_aborted(kafka, topic):
    name = topic()
    with Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"tx-{name}"}) as producer:
        producer.init_transactions(30)
        for outcome in ("commit", "abort", "commit"):
            producer.begin_transaction()
            producer.produce(name, outcome)
            producer.flush(20)
            getattr(producer, f"{outcome}_transaction")(30)
    assert read_all(kafka.bootstrap_servers, name, **{"isolation.level": "read_committed"}) == [
        b"commit",
        b"commit",
    ]
    assert len(read_all(kafka.bootstrap_servers, name, **{"isolation.level": "read_uncommitted"})) == 3


@pytest.mark.parametrize(
    ("reset", "expected"),
    [("earliest", b"0"), ("latest", b"later"), ("error", KafkaError._AUTO_OFFSET_RESET)],
)
def test_auto_offset_reset(kafka, topic, reset, expected):
    name = topic()
    produce(kafka.bootstrap_servers, name, ["0", "1"])
    with consumer_of(kafka.bootstrap_servers, f"g-{name}", **{"auto.offset.reset": reset}) as consumer:
        consumer.subscribe([name])
        end = time.monotonic() + 30
        message = None
        while message is None:
            assert time.monotonic() < end
            message = consumer.poll(1)
            if message is None and reset == "latest":
                produce(kafka.bootstrap_servers, name, ["later"])
        found = message.value() if message.error() is None else message.error()
        assert found == expected


@pytest.mark.parametrize(
    "protocol", [{}, {"partition.assignment.strategy": "cooperative-sticky"}, {"group.protocol": "consumer"}]
)
def test_group_protocols_share_and_hand_over_partitions(kafka, topic, protocol):
    name = topic(partitions=4)
    config = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": f"g-{name}",
        "auto.offset.reset": "earliest",
        **protocol,
    }
    first, second = Consumer(config), Consumer(config)
    for consumer in (first, second):
        consumer.subscribe([name])
    end = time.monotonic() + 60
    while [len(c.assignment()) for c in (first, second)] != [2, 2]:
        assert time.monotonic() < end
        first.poll(0.05)
        second.poll(0.05)
    second.close()
    while len(first.assignment()) != 4:
        assert time.monotonic() < end
        first.poll(0.05)
    first.close()


def test_static_member_comes_back_without_a_rebalance_of_the_others(kafka, topic):
    name = topic(partitions=2)
    group = f"g-{name}"
    revoked = []
    other = consumer_of(kafka.bootstrap_servers, group, **{"group.instance.id": "other"})
    other.subscribe([name], on_revoke=lambda c, ps: revoked.extend(ps))
    static = consumer_of(kafka.bootstrap_servers, group, **{"group.instance.id": "static"})
    static.subscribe([name])
    end = time.monotonic() + 60
    while [len(c.assignment()) for c in (other, static)] != [1, 1]:
        assert time.monotonic() < end
        other.poll(0.05)
        static.poll(0.05)
    revoked.clear()
    before = static.assignment()
    static.close()
    static = consumer_of(kafka.bootstrap_servers, group, **{"group.instance.id": "static"})
    static.subscribe([name])
    while not static.assignment():
        assert time.monotonic() < end
        other.poll(0.05)
        static.poll(0.05)
    assert static.assignment() == before
    assert revoked == []
    static.close()
    other.close()


def test_max_poll_interval_loses_the_partitions(kafka, topic):
    name = topic()
    lost, errors = [], []
    with consumer_of(
        kafka.bootstrap_servers, f"g-{name}", **{"max.poll.interval.ms": 6000, "log_level": 0}
    ) as consumer:
        consumer.subscribe([name], on_lost=lambda c, ps: lost.extend(ps))
        end = time.monotonic() + 60
        while not consumer.assignment():
            assert time.monotonic() < end
            consumer.poll(0.1)
        time.sleep(7)
        while not (lost and errors):
            assert time.monotonic() < end
            message = consumer.poll(0.5)
            if message is not None and message.error() is not None:
                errors.append(message.error())
    assert errors[0] == KafkaError._MAX_POLL_EXCEEDED
    assert lost == [TopicPartition(name, 0)]


def test_at_least_once_with_stored_offsets_under_kill_9(kafka, topic):
    name = topic()
    values = [str(i).encode() for i in range(400)]
    produce(kafka.bootstrap_servers, name, values, **{"linger.ms": 5})
    code = """
        import sys, cykafka
        servers, topic = sys.argv[1:]
        consumer = cykafka.Consumer({'bootstrap.servers': servers, 'group.id': 'g-' + topic, 'auto.offset.reset': 'earliest',
                                     'enable.auto.offset.store': False, 'auto.commit.interval.ms': 20, 'session.timeout.ms': 6000})
        consumer.subscribe([topic])
        for message in consumer:
            print(message.value().decode(), flush=True)
            consumer.store_offsets(message=message)
    """
    seen = []
    for kill_after in (80, 150, None):
        if set(seen) == set(values):
            break
        child = in_child(code, kafka.bootstrap_servers, name)
        try:
            for count, line in enumerate(child.stdout, 1):
                seen.append(line.strip().encode())
                if count == kill_after or set(seen) == set(values):
                    break
        finally:
            child.send_signal(signal.SIGKILL)
            # What it printed before it died counts too: it may have committed that. Not communicate(), which reads the
            # descriptor and misses what the iteration above has buffered.
            seen += [line.strip().encode() for line in child.stdout]
            child.stdout.close()
            child.wait(30)
    assert set(seen) == set(values)


def test_consume_transform_produce_is_exactly_once_under_kill_9(kafka, topic):
    source, sink = topic(), topic()
    values = [str(i).encode() for i in range(300)]
    produce(kafka.bootstrap_servers, source, values, **{"linger.ms": 5})
    code = """
        import sys, cykafka
        servers, source, sink = sys.argv[1:]
        consumer = cykafka.Consumer({'bootstrap.servers': servers, 'group.id': 'g-' + source, 'auto.offset.reset': 'earliest',
                                     'enable.auto.commit': False, 'session.timeout.ms': 6000, 'isolation.level': 'read_committed'})
        producer = cykafka.Producer({'bootstrap.servers': servers, 'transactional.id': 'tx-' + source, 'linger.ms': 0})
        producer.init_transactions(60)
        consumer.subscribe([source])
        while True:
            messages = consumer.consume(7, 5)
            if not messages:
                continue
            producer.begin_transaction()
            for message in messages:
                producer.produce(sink, message.value(), partition=0)
            producer.flush(30)
            print('half', flush=True)
            producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 30)
            producer.commit_transaction(30)
            print('done', consumer.position(consumer.assignment())[0].offset, flush=True)
    """
    for kill_at in ("half", "done", "half", None):
        child = in_child(code, kafka.bootstrap_servers, source, sink)
        rounds = 0
        try:
            for line in child.stdout:
                rounds += line.startswith("half")
                if (kill_at and rounds == 4 and line.startswith(kill_at)) or line.strip() == f"done {len(values)}":
                    break
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait(30)
            child.stdout.close()
    # The last transaction of a killed producer is aborted when its successor starts.
    with Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"tx-{source}"}) as producer:
        producer.init_transactions(60)
    assert read_all(kafka.bootstrap_servers, sink, **{"isolation.level": "read_committed"}) == values


def test_fetch_from_the_follower_in_the_same_rack(kafka3, topic):
    name = topic(replication_factor=3, cluster=kafka3)
    produce(kafka3.bootstrap_servers, name, [str(i) for i in range(10)], acks="all")
    with AdminClient({"bootstrap.servers": kafka3.bootstrap_servers}) as admin:
        nodes = admin.describe_cluster().result(30).nodes
        leader = admin.list_topics(name, 30).topics[name].partitions[0].leader
    follower = next(node for node in nodes if node.id != leader)
    assert follower.rack
    import json

    stats = []
    with Consumer(
        {
            "bootstrap.servers": kafka3.bootstrap_servers,
            "group.id": "g",
            "client.rack": follower.rack,
            "stats_cb": stats.append,
            "statistics.interval.ms": 100,
            "metadata.max.age.ms": 5000,
        }
    ) as consumer:
        consumer.assign([TopicPartition(name, 0, 0)])
        assert len(take(consumer, 10)) == 10
        end = time.monotonic() + 30

        def preferred():
            return json.loads(stats[-1])["topics"][name]["partitions"]["0"]["broker"] if stats else None

        while preferred() != follower.id:
            assert time.monotonic() < end, preferred()
            consumer.poll(0.2)


def test_a_dead_leader_costs_no_acknowledged_message(kafka3, topic):
    name = topic(replication_factor=3, cluster=kafka3)
    reports = []
    with Producer(
        {
            "bootstrap.servers": kafka3.bootstrap_servers,
            "enable.idempotence": True,
            "log_level": 0,
            "linger.ms": 1,
        }
    ) as producer:
        leader = producer.list_topics(name, 30).topics[name].partitions[0].leader
        for i in range(200):
            producer.produce(name, str(i), partition=0, on_delivery=lambda e, m: reports.append((e, m.value())))
            if i == 100:
                producer.poll(0.05)
                kafka3.kill(leader)
        assert producer.flush(60) == 0
    assert [e for e, _ in reports] == [None] * 200
    assert read_all(kafka3.bootstrap_servers, name, log_level=0) == [str(i).encode() for i in range(200)]


def test_unreachable_brokers_and_wrong_credentials_are_told(kafka_secure):
    errors = []
    with Producer({"bootstrap.servers": "127.0.0.1:9", "error_cb": errors.append}) as producer:
        end = time.monotonic() + 20
        while not any(e == KafkaError._ALL_BROKERS_DOWN for e in errors):
            assert time.monotonic() < end
            producer.poll(0.2)
        with pytest.raises(KafkaException) as caught:
            producer.list_topics(timeout=0.5)
        assert caught.value.args[0] in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT)
    errors.clear()
    config = kafka_secure.client_config("SASL_PLAINTEXT", mechanism="PLAIN")
    with Producer(
        {**config, "sasl.username": "alice", "sasl.password": "wrong password", "error_cb": errors.append}
    ) as producer:
        end = time.monotonic() + 20
        while not any(e == KafkaError._AUTHENTICATION for e in errors):
            assert time.monotonic() < end
            producer.poll(0.2)
    assert "wrong password" not in "".join(str(e) for e in errors)
