"""Retry topics and dead letters, on the embedded cluster."""

import threading
import time

import pytest

from cykafka import DeserializingConsumer, KafkaError, KafkaException, Producer, SerializingProducer, TopicPartition
from cykafka.retries import Origin, RetryingConsumer, RetryPolicy, origin_of
from cykafka.testing import ApiKey
from tests.mock.conftest import take

FAST = RetryPolicy(delays=(0.05, 0.1))


@pytest.fixture
def start(mock_cluster, make_consumer, producer):
    """Function that makes a `RetryingConsumer` of the topic ``orders``, which has ten messages."""
    mock_cluster.create_topic("orders", 2, 1)
    for name in ("retry.1", "retry.2", "dead-letter"):
        mock_cluster.create_topic(f"orders.group.{name}", 1, 1)
    for i in range(10):
        producer.produce("orders", str(i), f"key {i}", i % 2, headers=[("own", "1")], timestamp=1_700_000_000_000 + i)
    producer.flush(20)

    def make(policy=FAST, **arguments):
        consumer = make_consumer(enable_auto_offset_store=False, auto_commit_interval_ms=50)
        return RetryingConsumer(consumer, producer, ["orders"], policy, **arguments)

    return make


def run_until(retrying, process, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "condition never came true"
        retrying.step(process, timeout=0.05)


def dead_letters(make_consumer, count):
    consumer = make_consumer(group_id="reader")
    consumer.assign([TopicPartition("orders.group.dead-letter", 0, 0)])
    return take(consumer, count)


def test_what_succeeds_is_processed_once(start):
    seen = []
    with start() as retrying:
        run_until(retrying, lambda message: seen.append(message.value()), lambda: len(seen) == 10)
        consumer = retrying.consumer
        partitions = [TopicPartition("orders", p) for p in (0, 1)]
        end = time.monotonic() + 20
        while [tp.offset for tp in consumer.committed(partitions, 20)] != [5, 5]:
            assert time.monotonic() < end
            retrying.step(seen.append, timeout=0.05)
    assert sorted(seen) == [str(i).encode() for i in range(10)]


def test_what_fails_is_tried_again_when_it_is_due(start):
    attempts, due = {}, []

    def process(message):
        attempts.setdefault(message.value(), []).append((message.topic(), origin_of(message)))
        if message.topic() != "orders":
            headers = dict(message.headers())
            due.append(time.time() - int(headers["retry-due"]) / 1000)
            assert headers["own"] == b"1"
            assert message.key() == b"key " + message.value()
        if message.value() == b"4" and len(attempts[b"4"]) < 3:
            raise ValueError(f"attempt {len(attempts[b'4'])}")

    with start() as retrying:
        run_until(retrying, process, lambda: len(attempts.get(b"4", [])) == 3 and len(attempts) == 10)
    assert [len(tries) for value, tries in sorted(attempts.items())] == [1, 1, 1, 1, 3, 1, 1, 1, 1, 1]
    where = ("orders", 0, 2, 1_700_000_000_004)
    assert attempts[b"4"] == [
        ("orders", Origin(*where)),
        ("orders.group.retry.1", Origin(*where, 1, "builtins.ValueError", "attempt 1")),
        ("orders.group.retry.2", Origin(*where, 2, "builtins.ValueError", "attempt 2")),
    ]
    assert len(due) == 2
    assert min(due) >= 0


def test_what_fails_for_good_is_set_aside(start, make_consumer):
    calls = []

    def process(message):
        calls.append(message.value())
        if message.value() in (b"3", b"8"):
            raise RuntimeError("broken " * 2000)

    with start(RetryPolicy(delays=(0.05, 0.1), with_traceback=True)) as retrying:
        run_until(retrying, process, lambda: calls.count(b"3") == calls.count(b"8") == 3)
        letters = dead_letters(make_consumer, 2)
    assert sorted(m.value() for m in letters) == [b"3", b"8"]
    for message in letters:
        number = int(message.value())
        origin = origin_of(message)
        assert (origin.topic, origin.partition, origin.offset) == ("orders", number % 2, number // 2)
        assert (origin.attempts, origin.error_type) == (3, "builtins.RuntimeError")
        assert origin.error_message.startswith("broken broken")
        assert len(origin.error_message) < 9000
        headers = dict(message.headers())
        assert headers["own"] == b"1"
        assert b"Traceback" in headers["retry-error-traceback"]
        assert "retry-due" not in headers
        assert len(headers) == len(message.headers())


def test_some_errors_are_not_tried_again_and_others_are_raised(start, make_consumer):
    policy = RetryPolicy(delays=(0.05, 0.1), retry_on=(OSError,), dead_letter_on=(ValueError, FileNotFoundError))
    failures = {b"1": ValueError("x"), b"2": FileNotFoundError("y"), b"5": ZeroDivisionError("z")}
    calls = []

    def process(message):
        calls.append(message.value())
        if message.value() in failures:
            raise failures[message.value()]

    with start(policy) as retrying:
        with pytest.raises(ZeroDivisionError):
            run_until(retrying, process, lambda: len(calls) > 100)
        # It comes first in its partition when the loop goes on.
        del failures[b"5"]
        run_until(retrying, process, lambda: len(set(calls)) == 10 and calls.count(b"5") == 2)
        assert sorted(origin_of(m).error_type for m in dead_letters(make_consumer, 2)) == [
            "builtins.FileNotFoundError",
            "builtins.ValueError",
        ]
    assert len(calls) == 11


def test_without_delays_everything_is_set_aside_at_once(start, make_consumer):
    def process(message):
        raise OSError("no")

    with start(RetryPolicy(delays=())) as retrying:
        assert retrying.retry_topics == []
        done = 0
        while done < 10:
            done += retrying.step(process)
        assert {origin_of(m).attempts for m in dead_letters(make_consumer, 10)} == {1}


def test_what_cannot_be_passed_on_is_not_lost(start, mock_cluster, make_consumer):
    calls = []

    def process(message):
        calls.append(message.value())
        if message.value() == b"0":
            if calls.count(b"0") < 3:
                mock_cluster.push_request_errors(ApiKey.PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
            raise OSError("no")

    with start(RetryPolicy(delays=())) as retrying:
        for _ in range(2):
            with pytest.raises(KafkaException) as caught:
                run_until(retrying, process, lambda: False)
            assert caught.value.args[0] == KafkaError.MSG_SIZE_TOO_LARGE
        run_until(retrying, process, lambda: len(set(calls)) == 10 and calls.count(b"0") == 3)
        assert [m.value() for m in dead_letters(make_consumer, 1)] == [b"0"]


def test_an_interrupted_step_loses_nothing(start):
    calls = []

    def process(message):
        calls.append(message.value())
        if len(calls) in (1, 4, 7):
            raise KeyboardInterrupt

    with start() as retrying:
        interrupts = 0
        while len(set(calls)) < 10:
            try:
                retrying.step(process)
            except KeyboardInterrupt:
                interrupts += 1
    assert interrupts == 3
    assert len(calls) == 13


def test_a_rebalance_drops_what_waits(start):
    """A message that is not due yet belongs to whoever has its partition next."""
    calls = []

    def process(message):
        calls.append(message.topic())
        if message.value() == b"0":
            raise OSError("later")

    with start(RetryPolicy(delays=(3600.0,))) as retrying:
        run_until(retrying, process, lambda: retrying._paused)
        assert retrying.consumer.paused() == [TopicPartition("orders.group.retry.1", 0)]
        retrying.consumer.unsubscribe()
        run_until(retrying, process, lambda: not retrying._waiting)
        assert not retrying._paused
    assert calls.count("orders") == 10
    assert "orders.group.retry.1" not in calls


def test_run_and_stop(start):
    seen = []
    with start() as retrying:

        def process(message):
            seen.append(message.value())
            if len(seen) == 10:
                threading.Timer(0.1, retrying.stop).start()

        retrying.run(process, timeout=60.0)
    assert len(seen) == 10
    retrying.consumer.close()
    retrying.stop()


def test_errors_of_the_consumer_are_raised_after_its_messages(start, mock_cluster):
    seen = []
    with start() as retrying:
        run_until(retrying, seen.append, lambda: len(seen) == 10)
        # A retry topic that is not there does not matter, a topic does.
        mock_cluster.set_topic_error("orders", KafkaError.TOPIC_AUTHORIZATION_FAILED)
        with pytest.raises(KafkaException) as caught:
            run_until(retrying, seen.append, lambda: False)
    assert caught.value.args[0] == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_names_of_topics(make_consumer, producer):
    policy = RetryPolicy(delays=(1, 2), retry_topic="{group}-{topic}-again-{attempt}", dead_letter_topic="dead-{group}")
    retrying = RetryingConsumer(make_consumer(enable_auto_offset_store=False), producer, ["a", "b"], policy)
    assert retrying.retry_topics == ["group-a-again-1", "group-a-again-2", "group-b-again-1", "group-b-again-2"]
    assert policy.dead_letters("a", "group") == "dead-group"


def test_clients_that_could_lose_messages_are_refused(make_consumer, producer, mock_cluster):
    good = make_consumer(enable_auto_offset_store=False)
    servers = {"bootstrap.servers": mock_cluster.bootstrap_servers}
    with pytest.raises(ValueError, match="enable.auto.offset.store"):
        RetryingConsumer(make_consumer(), producer, ["a"])
    with pytest.raises(ValueError, match="enable.auto.commit"):
        RetryingConsumer(make_consumer(enable_auto_offset_store=False, enable_auto_commit=False), producer, ["a"])
    with Producer({**servers, "acks": 1}) as weak, pytest.raises(ValueError, match="acks"):
        RetryingConsumer(good, weak, ["a"])
    with pytest.raises(TypeError, match="list"):
        RetryingConsumer(good, producer, "a")
    with SerializingProducer(servers) as serializing, pytest.raises(TypeError, match="plain"):
        RetryingConsumer(good, serializing, ["a"])
    config = {**servers, "group.id": "g", "enable.auto.offset.store": False}
    with DeserializingConsumer(config) as deserializing, pytest.raises(TypeError, match="plain"):
        RetryingConsumer(deserializing, producer, ["a"])


def test_headers_that_are_not_ours_are_an_error_or_ignored(start, producer):
    producer.produce("orders", "x", partition=0, headers={"retry-due": "nonsense"})
    producer.produce("orders", "y", partition=0, headers={"retry-original-topic": "z"})
    producer.flush(20)
    failures = []

    def process(message):
        if message.value() in (b"x", b"y"):
            try:
                failures.append(origin_of(message).topic)
            except ValueError as error:
                failures.append(str(error))

    with start() as retrying:
        run_until(retrying, process, lambda: len(failures) == 2)
    assert failures[0] == "orders"
    assert "retry-original-partition" in failures[1]
