"""Callbacks of the asyncio clients: plain functions and coroutines, and what becomes of what they raise."""

import asyncio
import json
import threading
import time

import pytest

from cykafka import KafkaError, KafkaException, Producer, TopicPartition, aio
from cykafka.testing import ApiKey
from tests.support.loops import KINDS, Runner


class Boom(Exception):
    pass


@pytest.fixture(params=KINDS)
def every_loop(request):
    return Runner(request.param)


@pytest.fixture
def run():
    return Runner()


@pytest.fixture
def config(mock_cluster):
    mock_cluster.create_topic("topic", 2)
    return {"bootstrap.servers": mock_cluster.bootstrap_servers}


@pytest.fixture
def consuming(config):
    return {
        **config,
        "group.id": "group",
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
        "fetch.wait.max.ms": 20,
    }


def asynchronous(callback):
    async def called(*args):
        await asyncio.sleep(0.01)
        return callback(*args)

    return called


async def until(condition, timeout=20.0):
    deadline = time.monotonic() + timeout
    for _ in range(100_000):
        if condition():
            return
        assert time.monotonic() < deadline, "condition never came true"
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("wrap", [lambda callback: callback, asynchronous], ids=["function", "coroutine"])
def test_producer_callbacks_run_on_the_loops_thread(every_loop, config, wrap):
    reports, defaults, statistics, threads = [], [], [], set()

    def note(seen):
        def callback(*args):
            threads.add(threading.get_ident())
            seen.append(args)

        return wrap(callback)

    async def main():
        callbacks = {"on_delivery": note(defaults), "stats_cb": note(statistics), "statistics.interval.ms": 50}
        async with aio.Producer({**config, **callbacks}) as producer:
            own = await producer.send("topic", "own", on_delivery=note(reports))
            await producer.send("topic", "default")
            await until(lambda: statistics)
            return own

    own = every_loop(main)
    assert reports == [(None, own)]
    assert [message.value() for _, message in defaults] == [b"default"]
    assert json.loads(statistics[0][0])["type"] == "producer"
    assert threads == {threading.get_ident()}
    assert every_loop.reported == []


@pytest.mark.parametrize("wrap", [lambda callback: callback, asynchronous], ids=["function", "coroutine"])
def test_what_producer_callbacks_raise_goes_to_the_loop_and_all_is_delivered(run, config, wrap, mock_cluster):
    def fail(*args):
        raise Boom(*args)

    async def main():
        async with aio.Producer(config, stats_cb=wrap(fail), statistics_interval_ms=100) as producer:
            futures = [producer.produce("topic", str(i), partition=0, on_delivery=wrap(fail)) for i in range(20)]
            messages = [await future for future in futures]
            await until(lambda: any(isinstance(e.args[0], str) for e in run.exceptions))
            mock_cluster.push_request_errors(ApiKey.PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
            with pytest.raises(KafkaException):
                await producer.send("topic", "fails", partition=0, on_delivery=wrap(fail))
            return messages, len(producer)

    messages, left = run(main)
    assert [message.value() for message in messages] == [str(i).encode() for i in range(20)]
    assert left == 0
    assert {type(exception) for exception in run.exceptions} == {Boom}
    deliveries = [exception.args for exception in run.exceptions if not isinstance(exception.args[0], str)]
    assert sorted(int(message.value()) for error, message in deliveries if error is None) == list(range(20))
    assert [error.code() for error, _ in deliveries if error] == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert "on_delivery" in " ".join(context["message"] for context in run.reported)


def test_a_callback_may_use_its_producer(run, config):
    async def main():
        done = asyncio.get_running_loop().create_future()
        async with aio.Producer(config) as producer:

            async def again(error, message):
                second = await producer.send("topic", "second", partition=0)
                await producer.flush()
                done.set_result((message.offset(), second.offset()))

            await producer.send("topic", "first", partition=0, on_delivery=again)
            return await done

    assert run(main) == (0, 1)
    assert run.reported == []


def test_rebalance_coroutines_are_waited_for(every_loop, config, consuming):
    with Producer(config) as producer:
        for i in range(20):
            producer.produce("topic", str(i), partition=i % 2)
    events = []

    async def on_assign(consumer, partitions):
        events.append("assigning")
        assert await consumer.assignment() == []
        committed = await consumer.committed(partitions, 30)
        assert {tp.offset for tp in committed} == {-1001}
        await asyncio.sleep(0.1)
        await consumer.assign([TopicPartition(tp.topic, tp.partition, 5) for tp in partitions])
        events.append("assigned")

    async def on_revoke(consumer, partitions):
        events.append("revoking")
        assert len(await consumer.assignment()) == 2
        await consumer.commit(offsets=[TopicPartition("topic", 0, 7)], asynchronous=False)
        await asyncio.sleep(0.1)
        events.append("revoked")

    async def main():
        async with aio.Consumer(consuming, enable_auto_commit=False) as consumer:
            await consumer.subscribe(["topic"], on_assign=on_assign, on_revoke=on_revoke)

            async def poll():
                message = await consumer.poll(30)
                assert "assigned" in events
                return message.offset()

            first = await asyncio.gather(*[poll() for _ in range(4)])
        async with aio.Consumer(consuming) as consumer:
            partition = TopicPartition("topic", 0)
            return min(first), (await consumer.committed([partition], 30))[0].offset

    assert every_loop(main) == (5, 7)
    assert events == ["assigning", "assigned", "revoking", "revoked"]
    assert every_loop.reported == []


def test_a_rebalance_coroutine_survives_the_poll_that_began_it(run, config, consuming):
    with Producer(config) as producer:
        producer.produce("topic", "x", partition=0)
    events = []

    async def on_assign(consumer, partitions):
        events.append("begun")
        await asyncio.sleep(0.3)
        events.append("ended")

    async def main():
        async with aio.Consumer(consuming) as consumer:
            await consumer.subscribe(["topic"], on_assign=on_assign)
            poll = asyncio.create_task(consumer.poll())
            await until(lambda: events)
            poll.cancel()
            with pytest.raises(asyncio.CancelledError):
                await poll
            message = await consumer.poll(30)
            assert events == ["begun", "ended"]
            return message.value()

    assert run(main) == b"x"


@pytest.mark.parametrize("wrap", [lambda callback: callback, asynchronous], ids=["function", "coroutine"])
def test_what_rebalance_callbacks_raise_comes_out_of_poll_and_of_close(run, config, consuming, wrap):
    with Producer(config) as producer:
        producer.produce("topic", "x", partition=0)

    def fail(consumer, partitions):
        raise Boom(len(partitions))

    async def main():
        consumer = aio.Consumer(consuming)
        await consumer.subscribe(["topic"], on_assign=wrap(fail), on_revoke=wrap(fail))
        with pytest.raises(Boom):
            await consumer.poll(30)
        # Assigned all the same.
        assert (await consumer.poll(30)).value() == b"x"
        with pytest.raises(Boom):
            await consumer.close()
        return consumer.closed

    assert run(main)
    assert run.reported == []


def test_polling_and_closing_in_rebalance_coroutines(run, config, consuming):
    with Producer(config) as producer:
        producer.produce("topic", "x", partition=0)
    polled = []

    async def on_assign(consumer, partitions):
        polled.append(await consumer.poll(0.05))
        # Also from a task of the callback's.
        polled.append(await asyncio.create_task(consumer.poll(0.05)))

    async def on_revoke(consumer, partitions):
        await consumer.close()

    async def main():
        consumer = aio.Consumer(consuming)
        await consumer.subscribe(["topic"], on_assign=on_assign, on_revoke=on_revoke)
        assert (await consumer.poll(30)).value() == b"x"
        await consumer.unsubscribe()
        with pytest.raises(RuntimeError, match="closed"):
            await consumer.poll(30)
        await consumer.close()
        return consumer.closed

    assert run(main)
    assert polled == [None, None]


@pytest.mark.parametrize("wrap", [lambda callback: callback, asynchronous], ids=["function", "coroutine"])
def test_consumer_callbacks(run, config, consuming, wrap):
    with Producer(config) as producer:
        producer.produce("topic", "x", partition=0)
    commits, statistics = [], []

    async def main():
        callbacks = {
            "on_commit": wrap(lambda error, partitions: commits.append((error, len(partitions)))),
            "stats_cb": wrap(lambda text: statistics.append(json.loads(text)["type"])),
        }
        async with aio.Consumer({**consuming, **callbacks, "statistics.interval.ms": 100}) as consumer:
            await consumer.subscribe(["topic"])
            message = await consumer.poll(30)
            await consumer.commit(message)
            for _ in range(200):
                if commits and statistics:
                    break
                await consumer.poll(0.1)

    run(main)
    assert commits[0] == (None, 1)
    assert statistics[0] == "consumer"
    assert run.reported == []


def test_tokens_from_coroutines(every_loop):
    asked = []

    async def oauth(setting):
        asked.append(setting)
        await asyncio.sleep(0.01)
        if len(asked) == 1:
            raise Boom("no token yet")
        return "token", time.time() + 3600

    config = {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.config": "principal=me",
        "oauth_cb": oauth,
        "group.id": "group",
    }

    async def main():
        # librdkafka asks while there is no loop for it yet, then again 10 s after a failure.
        async with aio.Consumer(config) as consumer:
            await until(lambda: every_loop.reported)
            assert await consumer.poll(0.01) is None

    every_loop(main)
    assert asked == ["principal=me"]
    assert [type(exception) for exception in every_loop.exceptions] == [Boom]


def test_a_wrong_token_of_a_coroutine_is_reported(run):
    async def oauth(setting):
        return "just a token"

    config = {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "OAUTHBEARER",
        "oauth_cb": oauth,
    }

    async def main():
        async with aio.Producer(config):
            await until(lambda: run.reported)

    run(main)
    assert [type(exception) for exception in run.exceptions] == [TypeError]


def test_callbacks_must_be_callable(config):
    for callback in ("error_cb", "stats_cb", "oauth_cb", "on_delivery"):
        with pytest.raises(TypeError):
            aio.Producer(config, **{callback: 3})


@pytest.mark.parametrize("wrap", [lambda callback: callback, asynchronous], ids=["function", "coroutine"])
def test_errors_of_every_kind_of_client(run, wrap):
    errors = []
    config = {"bootstrap.servers": "127.0.0.1:1", "error_cb": wrap(lambda error: errors.append(error.code()))}

    async def main():
        async with aio.Producer(config):
            await until(lambda: KafkaError._ALL_BROKERS_DOWN in errors)
        errors.clear()
        async with aio.AdminClient(config) as admin:
            await admin.set_sasl_credentials("user", "secret")
            await until(lambda: KafkaError._ALL_BROKERS_DOWN in errors)
        errors.clear()
        async with aio.Consumer(config, group_id="group") as consumer:
            await consumer.subscribe(["topic"])
            for _ in range(200):
                await consumer.poll(0.1)
                if KafkaError._ALL_BROKERS_DOWN in errors:
                    break

    run(main)
    assert KafkaError._ALL_BROKERS_DOWN in errors
    assert run.reported == []
