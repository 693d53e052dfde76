"""Callbacks: on the caller's thread, re-entrant, exceptions out of the serving call."""

import logging
import sys
import threading
import time

import pytest

from cykafka import Consumer, KafkaError, KafkaException, Producer, ThrottleEvent, TopicPartition
from tests.mock.conftest import poll_until, take


class Boom(Exception):
    pass


@pytest.fixture
def unraisable(monkeypatch):
    caught = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: caught.append(info.exc_value))
    return caught


PRODUCER_CALLS = {
    "poll": lambda p: p.poll(0),
    "poll with timeout": lambda p: p.poll(0.01),
    "flush": lambda p: p.flush(5),
    "list_topics": lambda p: p.list_topics(timeout=5),
    "produce": lambda p: p.produce("topic", "from the callback"),
    "produce_batch": lambda p: p.produce_batch("topic", [{"value": "x"}]),
    "purge": lambda p: p.purge(),
    "len": len,
    "cluster_id": lambda p: p.cluster_id(5),
    "wakeup": lambda p: p.wakeup(),
    "close": lambda p: p.close(5),
    "set_sasl_credentials": lambda p: p.set_sasl_credentials("a", "b"),
}


@pytest.mark.parametrize("call", PRODUCER_CALLS)
def test_a_delivery_callback_may_call_anything(mock_cluster, call):
    producer = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 20})
    done = []

    def on_delivery(error, message):
        if not done:
            done.append(None)
            PRODUCER_CALLS[call](producer)
        done.append((error, message.value()))

    for i in range(10):
        producer.produce("topic", str(i), partition=0, on_delivery=on_delivery)
    deadline = time.monotonic() + 20
    while len(done) < 11 and time.monotonic() < deadline:
        try:
            producer.poll(0.1)
        except RuntimeError:
            assert call == "close"
            break
    assert sorted(entry[1] for entry in done[1:]) == [str(i).encode() for i in range(10)]
    producer.close()


@pytest.mark.parametrize("call", PRODUCER_CALLS)
def test_an_error_callback_may_call_anything(call):
    done = []

    def error_cb(error):
        if not done:
            done.append(error.code())
            try:
                {
                    "list_topics": lambda p: p.list_topics(timeout=0.1),
                    "cluster_id": lambda p: p.cluster_id(0.1),
                    "flush": lambda p: p.flush(0.1),
                    "close": lambda p: p.close(0.1),
                }.get(call, PRODUCER_CALLS[call])(producer)
            except KafkaException:
                pass
            done.append("called")

    producer = Producer({"bootstrap.servers": "127.0.0.1:9", "error_cb": error_cb})
    deadline = time.monotonic() + 20
    while "called" not in done and time.monotonic() < deadline:
        try:
            producer.poll(0.1)
        except RuntimeError:
            assert call == "close"
    assert "called" in done
    producer.close(0)


CONSUMER_CALLS = {
    "poll": lambda c, ps: c.poll(0),
    "consume": lambda c, ps: c.consume(10, 0),
    "assign": lambda c, ps: c.assign(ps),
    "assignment": lambda c, ps: c.assignment(),
    "position": lambda c, ps: c.position(ps),
    "committed": lambda c, ps: c.committed(ps, 5),
    "list_topics": lambda c, ps: c.list_topics(timeout=5),
    "watermarks": lambda c, ps: c.get_watermark_offsets(ps[0], 5),
    "memberid": lambda c, ps: c.memberid(),
    "commit": lambda c, ps: c.commit(offsets=[TopicPartition(ps[0].topic, 0, 0)], asynchronous=False),
    "unsubscribe": lambda c, ps: c.unsubscribe(),
    "close": lambda c, ps: c.close(),
}


@pytest.mark.parametrize("call", CONSUMER_CALLS)
def test_a_rebalance_callback_may_call_anything(mock_cluster, make_consumer, call):
    mock_cluster.create_topic("topic", 2, 1)
    called = []

    def on_assign(consumer, partitions):
        if not called:
            called.append(threading.get_ident())
            CONSUMER_CALLS[call](consumer, partitions)
            called.append(call)

    consumer = make_consumer()
    consumer.subscribe(["topic"], on_assign=on_assign)
    deadline = time.monotonic() + 20
    while len(called) < 2 and time.monotonic() < deadline:
        try:
            consumer.poll(0.1)
        except RuntimeError:
            assert call == "close"
            break
    assert called == [threading.get_ident(), call]
    if call not in ("close", "unsubscribe"):
        poll_until(consumer, lambda: consumer.assignment())


def test_an_exception_comes_out_of_the_serving_call_and_further_ones_are_unraisable(mock_cluster, unraisable):
    seen = []

    def on_delivery(error, message):
        seen.append(message.value())
        raise Boom(message.value())

    producer = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 20})
    for i in range(5):
        producer.produce("topic", str(i), partition=0, on_delivery=on_delivery)
    with pytest.raises(Boom) as caught:
        producer.flush(20)
    assert caught.value.args == (b"0",)
    while len(seen) < 5:
        with pytest.raises(Boom):
            producer.poll(20)
    assert sorted(seen) == [str(i).encode() for i in range(5)]
    assert all(isinstance(error, Boom) for error in unraisable)
    producer.close()


def test_each_exception_comes_out_somewhere(mock_cluster, unraisable):
    def on_delivery(error, message):
        raise Boom(message.value())

    producer = Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 20})
    for i in range(5):
        producer.produce("topic", str(i), partition=0, on_delivery=on_delivery)
    raised = []
    while len(raised) + len(unraisable) < 5:
        try:
            producer.close(20)
        except Boom as error:
            raised.append(error)
        if producer.closed:
            break
    assert sorted(error.args[0] for error in [*raised, *unraisable]) == [b"0", b"1", b"2", b"3", b"4"]
    assert raised


def test_events_not_served_stay_queued():
    seen = []

    def error_cb(error):
        seen.append(error.code())
        if len(seen) == 1:
            raise Boom

    producer = Producer({"bootstrap.servers": "127.0.0.1:9,127.0.0.1:10", "error_cb": error_cb})
    time.sleep(0.5)
    with pytest.raises(Boom):
        producer.poll(20)
    poll_until(producer, lambda: len(seen) > 1)
    producer.close(0)


def test_an_exception_in_a_rebalance_callback_leaves_the_consumer_working(mock_cluster, make_consumer, producer):
    mock_cluster.create_topic("topic", 1, 1)
    producer.produce("topic", "v")
    producer.flush(20)

    def on_assign(consumer, partitions):
        raise Boom

    consumer = make_consumer()
    consumer.subscribe(["topic"], on_assign=on_assign)
    with pytest.raises(Boom):
        take(consumer, 1)
    assert take(consumer, 1)[0].value() == b"v"


def test_exception_in_on_revoke_comes_out_of_close_which_closes_all_the_same(mock_cluster, make_consumer):
    mock_cluster.create_topic("topic", 1, 1)

    def on_revoke(consumer, partitions):
        raise Boom

    consumer = make_consumer()
    consumer.subscribe(["topic"], on_revoke=on_revoke)
    poll_until(consumer, lambda: consumer.assignment())
    with pytest.raises(Boom):
        consumer.close()
    assert consumer.closed


def test_own_offsets_in_on_assign_are_kept(mock_cluster, make_consumer, producer):
    mock_cluster.create_topic("topic", 1, 1)
    for i in range(10):
        producer.produce("topic", str(i))
    producer.flush(20)

    def on_assign(consumer, partitions):
        for partition in partitions:
            partition.offset = 7
        consumer.assign(partitions)

    consumer = make_consumer()
    consumer.subscribe(["topic"], on_assign=on_assign)
    assert [m.value() for m in take(consumer, 3)] == [b"7", b"8", b"9"]


@pytest.mark.parametrize(
    "properties",
    [
        {"partition.assignment.strategy": "range"},
        {"partition.assignment.strategy": "cooperative-sticky"},
        {"group.protocol": "consumer"},
    ],
)
def test_rebalancing_between_two_members(mock_cluster, properties):
    mock_cluster.create_topic("topic", 4, 1)
    events = []
    config = {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "group.id": "group",
        "auto.offset.reset": "earliest",
        **properties,
    }
    if "group.protocol" not in properties:
        config.update({"session.timeout.ms": 6000, "heartbeat.interval.ms": 300})

    def subscribe(name):
        consumer = Consumer(config)
        consumer.subscribe(
            ["topic"],
            on_assign=lambda c, ps: events.append((name, "assign", len(ps))),
            on_revoke=lambda c, ps: events.append((name, "revoke", len(ps))),
        )
        return consumer

    def settle(*consumers):
        end = time.monotonic() + 40
        while sorted(len(c.assignment()) for c in consumers) != [4 // len(consumers)] * len(consumers):
            assert time.monotonic() < end, events
            for consumer in consumers:
                consumer.poll(0.05)

    first = subscribe("first")
    settle(first)
    second = subscribe("second")
    settle(first, second)
    assert ("first", "assign", 4) in events
    assert any(event[:2] == ("first", "revoke") for event in events)
    assert any(event[:2] == ("second", "assign") for event in events)
    second.close()
    settle(first)
    first.close()
    assert events[-1][:2] == ("first", "revoke")


def test_lost_partitions_go_to_on_lost(mock_cluster, make_consumer):
    mock_cluster.create_topic("topic", 1, 1)
    lost, revoked = [], []
    consumer = make_consumer(max_poll_interval_ms=6000, heartbeat_interval_ms=300)
    consumer.subscribe(["topic"], on_revoke=lambda c, ps: revoked.extend(ps), on_lost=lambda c, ps: lost.extend(ps))
    poll_until(consumer, lambda: consumer.assignment())
    time.sleep(7)
    poll_until(consumer, lambda: lost)
    assert [tp.topic for tp in lost] == ["topic"]
    assert revoked == []


def test_statistics_arrive_as_json_text(mock_cluster):
    import json

    seen = []
    with Producer(
        {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "statistics.interval.ms": 50,
            "stats_cb": seen.append,
        }
    ) as producer:
        poll_until(producer, lambda: seen)
        assert json.loads(seen[0])["name"] == producer.name


def test_logs_go_to_the_logger_by_poll(mock_cluster, caplog):
    logger = logging.getLogger("test.cykafka")
    caplog.set_level(logging.DEBUG, logger="test.cykafka")
    with Producer(
        {"bootstrap.servers": mock_cluster.bootstrap_servers, "debug": "broker", "logger": logger}
    ) as producer:
        poll_until(producer, lambda: caplog.records)
        assert producer.name in caplog.records[0].getMessage()
        assert caplog.records[0].name == "test.cykafka"


def test_throttle_event_reads_well():
    event = ThrottleEvent("broker", 3, 1.5)
    assert (event.broker_name, event.broker_id, event.throttle_time) == ("broker", 3, 1.5)
    assert str(event) == "broker/3 throttled for 1500 ms"


def test_oauth_callback_is_asked_before_the_first_connection_and_its_failure_surfaces():
    asked, errors = [], []

    def oauth_cb(config):
        asked.append(config)
        raise Boom("no token today")

    with pytest.raises(Boom):
        Producer(
            {
                "bootstrap.servers": "127.0.0.1:9",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanisms": "OAUTHBEARER",
                "sasl.oauthbearer.config": "scope=x",
                "oauth_cb": oauth_cb,
                "error_cb": errors.append,
            }
        )
    assert asked == ["scope=x"]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "token",
        ("token",),
        ("token", "soon"),
        (5, 1e12),
        ("a", 1e12, 5),
        ("t", 1e12, "p", "ext"),
        ("token", 0.0),
    ],
)
def test_a_bad_answer_of_the_oauth_callback_is_an_error(answer):
    with pytest.raises((TypeError, ValueError, AttributeError, KafkaException)):
        Producer(
            {
                "bootstrap.servers": "127.0.0.1:9",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanisms": "OAUTHBEARER",
                "oauth_cb": lambda config: answer,
            }
        )


def test_oauth_token_with_extensions_is_taken():
    producer = Producer(
        {
            "bootstrap.servers": "127.0.0.1:9",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanisms": "OAUTHBEARER",
            "oauth_cb": lambda config: ("token", time.time() + 100, "principal", {"ext": "value"}),
        }
    )
    producer.close(0)


def test_fatal_error_reaches_the_error_callback_and_produce(mock_cluster):
    errors = []
    producer = Producer(
        {
            "bootstrap.servers": mock_cluster.bootstrap_servers,
            "enable.idempotence": True,
            "error_cb": errors.append,
            "linger.ms": 0,
        }
    )
    producer.produce("topic", "v", partition=0)
    producer.flush(20)
    from cykafka.testing import ApiKey

    mock_cluster.push_request_errors(ApiKey.PRODUCE, [KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER])
    producer.produce("topic", "w", partition=0)
    poll_until(producer, lambda: any(error.fatal() for error in errors))
    fatal = next(error for error in errors if error.fatal())
    assert fatal == KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER
    with pytest.raises(KafkaException) as caught:
        producer.produce("topic", "x")
    assert caught.value.args[0].fatal()
    producer.purge()
    producer.close(1)
