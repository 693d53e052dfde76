"""Producer.send() and its futures, and producers that are polled in the background."""

import asyncio
import concurrent.futures
import gc
import sys
import threading
import weakref

import pytest

from cykafka import DeliveryFuture, KafkaError, KafkaException, Producer, SerializingProducer
from cykafka.serialization import IntegerSerializer
from tests.support.clients import run_python, wait_until


def test_a_future_serves_its_own_delivery(producer):
    futures = [producer.send("topic", str(i), key="k", headers={"h": "x"}, timestamp=5) for i in range(20)]
    messages = [future.result(20) for future in futures]
    assert [m.value() for m in messages] == [str(i).encode() for i in range(20)]
    assert messages[0].error() is None
    assert messages[0].headers() == [("h", b"x")]
    assert [m.offset() for m in messages] == list(range(20))
    assert all(isinstance(future, concurrent.futures.Future) and future.exception(1) is None for future in futures)
    assert len(producer) == 0


def test_poll_and_flush_resolve_futures(producer):
    called = []
    future = producer.send("topic", "v")
    future.add_done_callback(called.append)
    assert not future.cancel()
    producer.flush(20)
    assert future.done()
    assert called == [future]


def test_a_failed_delivery_is_the_exception(mock_cluster):
    with Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}) as producer:
        future = producer.send("topic", "v")
        with pytest.raises(concurrent.futures.TimeoutError):
            future.result(0.05)
        with pytest.raises(concurrent.futures.TimeoutError):
            future.exception(0)
        producer.purge()
        error = future.exception(20)
        assert isinstance(error, KafkaException)
        assert error.args[0] == KafkaError._PURGE_QUEUE
        assert error.message.value() == b"v"
        with pytest.raises(KafkaException):
            future.result()


def test_what_cannot_be_enqueued_is_raised_at_once(producer):
    with pytest.raises(TypeError):
        producer.send("topic", 5)
    with pytest.raises(TypeError):
        producer.send(5, b"v")
    with pytest.raises(TypeError):
        producer.send("topic", b"v", on_delivery=print)


def test_other_callbacks_do_not_raise_out_of_result(producer, monkeypatch):
    caught = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: caught.append(str(unraisable.exc_value)))

    def failing(error, message):
        raise OSError("not yours")

    producer.produce("topic", "v", partition=0, on_delivery=failing)
    assert producer.send("topic", "v", partition=0).result(20).offset() == 1
    assert caught == ["not yours"]


def test_several_threads_may_wait(producer):
    results = []
    futures = [producer.send("topic", str(i)) for i in range(8)]
    threads = [threading.Thread(target=lambda f=f: results.append(f.result(30).value())) for f in futures]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == [str(i).encode() for i in range(8)]


def test_closing_and_dropping_a_producer_ends_its_futures():
    config = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
    producer = Producer(config)
    future = producer.send("topic", "v")
    producer.close(0)
    assert future.exception().args[0] == KafkaError._PURGE_QUEUE
    producer = Producer(config)
    future = producer.send("topic", "v")
    reference = weakref.ref(producer)
    del producer
    gc.collect()
    assert reference() is None
    assert future.exception(20).args[0] == KafkaError._DESTROY


def test_a_serializing_producer_serializes_what_is_sent(mock_cluster):
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "value.serializer": IntegerSerializer()}
    with SerializingProducer(config) as producer:
        assert producer.send("topic", 258).result(20).value() == b"\0\0\1\2"


def test_polled_in_the_background(mock_cluster):
    reports, threads = [], set()
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers, "linger.ms": 0}
    with Producer(config, poll_in_background=True) as producer:
        futures = [producer.send("topic", str(i)) for i in range(10)]
        done, waiting = concurrent.futures.wait(futures, 30)
        assert (len(done), len(waiting)) == (10, 0)
        producer.produce("topic", "v", on_delivery=lambda e, m: threads.add(threading.current_thread().name))
        wait_until(lambda: threads)
        assert threads == {f"{producer.name}-poll"}

        async def sent():
            return await asyncio.wait_for(asyncio.wrap_future(producer.send("topic", "last")), 30)

        assert asyncio.run(sent()).value() == b"last"
        assert producer.send("topic", "v").result(20).value() == b"v"
        name = f"{producer.name}-poll"
    wait_until(lambda: name not in {thread.name for thread in threading.enumerate()})


def test_callbacks_that_raise_in_the_background_are_reported(mock_cluster, monkeypatch):
    caught = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: caught.append(str(unraisable.exc_value)))

    def failing(error, message):
        raise OSError("mine")

    with Producer(bootstrap_servers=mock_cluster.bootstrap_servers, poll_in_background=True) as producer:
        producer.produce("topic", "v", on_delivery=failing)
        wait_until(lambda: caught == ["mine"])
        assert producer.send("topic", "w").result(20).value() == b"w"


def test_the_background_thread_ends_with_a_dropped_producer():
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "poll_in_background": True})
    name, reference = f"{producer.name}-poll", weakref.ref(producer)
    del producer
    wait_until(lambda: reference() is None)
    wait_until(lambda: name not in {thread.name for thread in threading.enumerate()})


def test_an_open_producer_with_a_background_thread_ends_with_its_process(mock_cluster):
    code = """
import sys
from cykafka import Producer
producer = Producer(bootstrap_servers=sys.argv[1], poll_in_background=True)
future = producer.send("topic", "v")
dead = Producer({"bootstrap.servers": "127.0.0.1:1", "poll_in_background": True, "log_level": 0})
dead.send("topic", "v")
print(future.result(30).value().decode())
"""
    assert run_python(code, mock_cluster.bootstrap_servers) == "v\n"


def test_wakeup_is_not_taken_by_the_background_thread():
    config = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "poll_in_background": True}
    with Producer(config) as producer:
        producer.produce("topic", "v")
        threading.Timer(0.2, producer.wakeup).start()
        assert producer.flush(60) == 1
        producer.purge()


def test_futures_are_made_by_the_core():
    assert DeliveryFuture.__mro__[1] is concurrent.futures.Future
