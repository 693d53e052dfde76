"""Retry topics and dead letters on a real Kafka: nothing is lost under kill -9."""

import signal

import pytest

from cykafka import Consumer, Producer
from cykafka.retries import RetryingConsumer, RetryPolicy, origin_of
from tests.broker.test_behaviour import in_child, take
from tests.support.clients import wait_until

pytestmark = pytest.mark.broker


def test_every_message_is_processed_or_set_aside_under_kill_9(kafka, topic):
    servers = kafka.bootstrap_servers
    source = topic(partitions=2)
    with Producer({"bootstrap.servers": servers}) as producer:
        for i in range(60):
            producer.produce(source, str(i), partition=i % 2)
    code = """
        import sys
        from cykafka import Consumer, Producer
        from cykafka.retries import RetryingConsumer, RetryPolicy, origin_of
        servers, source = sys.argv[1:]
        consumer = Consumer({'bootstrap.servers': servers, 'group.id': 'g', 'auto.offset.reset': 'earliest',
                             'enable.auto.offset.store': False, 'auto.commit.interval.ms': 50,
                             'group.instance.id': 'one', 'topic.metadata.refresh.interval.ms': 500})
        producer = Producer({'bootstrap.servers': servers, 'linger.ms': 0})
        def process(message):
            value, attempt = int(message.value()), origin_of(message).attempts
            print('seen', value, flush=True)
            # Multiples of seven never succeed, other multiples of three only when they are tried again.
            if value % 7 == 0 or (value % 3 == 0 and attempt == 0):
                raise ValueError(value)
            print('done', value, flush=True)
        retrying = RetryingConsumer(consumer, producer, [source], RetryPolicy(delays=(0.2, 0.5)))
        with retrying:
            retrying.create_topics(1, 1)
            retrying.create_topics(1, 1)
            retrying.run(process, num_messages=10, timeout=0.2)
    """
    done = set()
    for kill_after in (15, 30, 25, None):
        child = in_child(code, servers, source)
        try:
            seen = 0
            for line in child.stdout:
                what, value = line.split()
                seen += what == "seen"
                if what == "done":
                    done.add(int(value))
                if seen == kill_after or (kill_after is None and done >= {i for i in range(60) if i % 7}):
                    break
            if kill_after is None:
                # The last ones are set aside after their third attempt.
                wanted = {str(i).encode() for i in range(0, 60, 7)}
                config = {"bootstrap.servers": servers, "group.id": "reader", "auto.offset.reset": "earliest"}
                with Consumer(config) as reader:
                    reader.subscribe([f"{source}.g.dead-letter"])
                    letters = {}

                    def all_there():
                        for message in reader.consume(100, 0.5):
                            if message.error() is None:
                                letters[message.value()] = origin_of(message)
                        return set(letters) >= wanted

                    wait_until(all_there, 60)
        finally:
            child.send_signal(signal.SIGKILL)
            # What it printed before it died counts too: it may have committed that.
            done |= {int(line.split()[1]) for line in child.stdout if line.startswith("done")}
            child.wait(30)
            child.stdout.close()
    assert done == {i for i in range(60) if i % 7}
    assert set(letters) == wanted
    assert {(o.topic, o.attempts, o.error_type) for o in letters.values()} == {(source, 3, "builtins.ValueError")}
    assert {(int(value) % 2, int(value) // 2) for value in letters} == {
        (o.partition, o.offset) for o in letters.values()
    }


def test_two_members_share_the_work(kafka, topic):
    """A message that waits for its time moves to the other member with its partition."""
    servers = kafka.bootstrap_servers
    source = topic()
    common = {"bootstrap.servers": servers}
    config = {
        **common,
        # Not the group of the test above: its last static member was killed, and is missed for 45 s.
        "group.id": "pair",
        "auto.offset.reset": "earliest",
        "enable.auto.offset.store": False,
        "auto.commit.interval.ms": 50,
        "session.timeout.ms": 6000,
        "topic.metadata.refresh.interval.ms": 500,
    }
    calls = []

    def process(message):
        calls.append((message.topic(), message.value()))
        if message.topic() == source and message.value() == b"bad":
            raise OSError("later")

    policy = RetryPolicy(delays=(3.0,))
    with Producer(common) as producer, Consumer(config) as second_consumer:
        for value in ("a", "bad", "b"):
            producer.produce(source, value)
        producer.flush(30)
        with Consumer(config) as consumer, RetryingConsumer(consumer, producer, [source], policy) as retrying:
            retrying.create_topics(1, 1)
            wait_until(lambda: retrying.step(process, timeout=0.1) >= 0 and retrying._paused, 60)
        assert [value for _, value in calls] == [b"a", b"bad", b"b"]
        with RetryingConsumer(second_consumer, producer, [source], policy) as retrying:
            wait_until(lambda: retrying.step(process, timeout=0.1) >= 0 and len(calls) == 4, 60)
        assert calls[3] == (f"{source}.pair.retry.1", b"bad")
    with Consumer({**config, "group.id": "other"}) as reader:
        reader.subscribe([source])
        assert len(take(reader, 3)) == 3
