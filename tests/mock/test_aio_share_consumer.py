"""cykafka.aio.ShareConsumer on the mock cluster, on every kind of loop."""

import asyncio

import pytest

from cykafka import AcknowledgeType, IllegalStateException, Producer, ShareConsumer, aio
from tests.support.loops import KINDS, Runner


@pytest.fixture(params=KINDS)
def every_loop(request):
    runner = Runner(request.param)
    yield runner
    assert runner.reported == []


@pytest.fixture
def run():
    runner = Runner()
    yield runner
    assert runner.reported == []


@pytest.fixture
def config(mock_cluster):
    mock_cluster.set_share_groups(auto_offset_reset="earliest", heartbeat_interval=0.1, record_lock_duration=30)
    mock_cluster.create_topic("topic", 2)
    return {"bootstrap.servers": mock_cluster.bootstrap_servers, "group.id": "share"}


@pytest.fixture
def fill(producer: Producer):
    def fill(count, first=0):
        for i in range(first, first + count):
            producer.produce("topic", str(i), partition=i % 2)
        assert producer.flush(30) == 0

    return fill


async def take(consumer, count):
    messages = []
    while len(messages) < count:
        messages += await consumer.poll(30)
    return messages


def values(messages):
    return sorted(int(message.value()) for message in messages)


def test_implicit_acknowledgement(every_loop, config, fill):
    fill(20)

    async def main():
        async with aio.ShareConsumer(config) as consumer:
            await consumer.subscribe(["topic"])
            assert await consumer.subscription() == ["topic"]
            messages = await take(consumer, 20)
            asyncio.get_running_loop().call_later(0.3, fill, 5, 20)
            messages += await take(consumer, 5)
            outcome = await consumer.commit_sync(30)
            assert not await consumer.poll(0.05)
            assert not await consumer.poll(0)
            return messages, outcome

    messages, outcome = every_loop(main)
    assert values(messages) == list(range(25))
    assert {message.delivery_count() for message in messages} == {1}
    assert set(outcome.values()) == {None}


@pytest.mark.parametrize("coroutine", [False, True])
def test_explicit_acknowledgement_and_its_callback(run, config, fill, coroutine):
    fill(6)
    reported = []

    def plain(offsets, exception):
        reported.append((sum(len(each) for each in offsets.values()), exception))

    async def asynchronous(offsets, exception):
        await asyncio.sleep(0)
        plain(offsets, exception)

    async def main():
        async with aio.ShareConsumer(config, share_acknowledgement_mode="explicit") as consumer:
            await consumer.set_acknowledgement_commit_callback(asynchronous if coroutine else plain)
            await consumer.subscribe(["topic"])
            messages = await take(consumer, 6)
            for message in messages[1:]:
                await consumer.acknowledge(message)
            await consumer.acknowledge_offset(
                "topic", messages[0].partition(), messages[0].offset(), AcknowledgeType.RELEASE
            )
            await consumer.commit_async()
            (again,) = await take(consumer, 1)
            await consumer.acknowledge(again)
            await consumer.commit_sync(30)
            while sum(count for count, _ in reported) < 7:
                await asyncio.sleep(0.01)
                await consumer.poll(0)
            return messages[0].value(), again

    released, again = run(main)
    assert again.value() == released
    assert again.delivery_count() == 2
    assert {exception for _, exception in reported} == {None}


def test_tasks_take_turns_and_cancelling_loses_nothing(run, config, fill):
    fill(4)

    async def main():
        async with aio.ShareConsumer(config) as consumer:
            await consumer.subscribe(["topic"])
            messages = await take(consumer, 4)
            poll = asyncio.create_task(consumer.poll())
            commits = await asyncio.gather(*[consumer.commit_sync(30) for _ in range(3)])
            poll.cancel()
            with pytest.raises(asyncio.CancelledError):
                await poll
            fill(4, 4)
            return messages + await take(consumer, 4), len(commits)

    messages, commits = run(main)
    assert values(messages) == list(range(8))
    assert commits == 3


def test_wakeup_wrong_calls_and_closing(every_loop, config):
    async def main():
        consumer = aio.ShareConsumer(config)
        with pytest.raises(IllegalStateException):
            await consumer.poll(1)
        await consumer.subscribe(["topic"])
        asyncio.get_running_loop().call_later(0.1, consumer.wakeup)
        assert not await consumer.poll()
        poll = asyncio.create_task(consumer.poll())
        await asyncio.sleep(0.05)
        await consumer.close()
        await consumer.close()
        with pytest.raises(RuntimeError, match="closed"):
            await poll
        with pytest.raises(RuntimeError, match="closed"):
            await consumer.unsubscribe()
        return consumer.closed

    assert every_loop(main)


def test_errors_reach_the_callback(run, config):
    errors = []

    async def main():
        conf = {**config, "bootstrap.servers": "127.0.0.1:1", "error_cb": errors.append}
        async with aio.ShareConsumer(conf) as consumer:
            await consumer.subscribe(["topic"])
            while not errors:
                await consumer.poll(0.1)

    run(main)
    assert errors


def test_has_every_method_of_the_synchronous_consumer():
    def public(cls):
        return {name for name in dir(cls) if not name.startswith("_")}

    assert public(ShareConsumer) - public(aio.ShareConsumer) == {"spin_us"}
