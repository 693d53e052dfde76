"""cykafka.aio.Consumer on every kind of loop: polling, batches, columns, cancelling, offsets."""

import asyncio
import time

import pytest

from cykafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
    aio,
)
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
    mock_cluster.create_topic("topic", 2)
    return {
        "bootstrap.servers": mock_cluster.bootstrap_servers,
        "group.id": "group",
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 20,
        "session.timeout.ms": 6000,
    }


@pytest.fixture
def fill(producer: Producer):
    def fill(count, first=0):
        for i in range(first, first + count):
            producer.produce("topic", str(i), partition=0)
        assert producer.flush(30) == 0

    return fill


BEGINNING = [TopicPartition("topic", 0, OFFSET_BEGINNING)]


def values(messages):
    return [int(message.value()) for message in messages]


def test_poll_returns_messages_in_order_and_none_on_time_out(every_loop, config, fill):
    fill(1000)

    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.assign(BEGINNING)
            messages = [await consumer.poll(30) for _ in range(1000)]
            return messages, await consumer.poll(0.05), await consumer.poll(0)

    messages, late, now = every_loop(main)
    assert values(messages) == list(range(1000))
    assert late is None
    assert now is None


def test_poll_waits_for_what_comes_later(every_loop, config, fill):
    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.assign(BEGINNING)
            waiting = asyncio.create_task(consumer.poll())
            await asyncio.sleep(0.3)
            assert not waiting.done()
            await asyncio.get_running_loop().run_in_executor(None, fill, 1)
            return await waiting

    assert every_loop(main).value() == b"0"


def test_a_member_of_a_group_iterates(every_loop, config, fill):
    fill(300)
    assigned = []

    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.subscribe(["topic"], on_assign=lambda consumer, partitions: assigned.append(consumer))
            messages = []
            async for message in consumer:
                messages.append(message)
                if len(messages) == 300:
                    break
            assert assigned == [consumer]
            assert await consumer.subscription() == ["topic"]
            assert len(await consumer.assignment()) == 2
            assert await consumer.memberid()
            assert isinstance(await consumer.consumer_group_metadata(), bytes)
            return messages

    assert values(every_loop(main)) == list(range(300))


def test_iterating_skips_ends_raises_errors_and_stops_on_wakeup(run, config, fill):
    fill(3)

    async def main():
        async with aio.Consumer(config, enable_partition_eof=True) as consumer:
            await consumer.assign(BEGINNING)
            seen = []
            async for message in consumer:
                seen.append(message)
                if len(seen) == 3:
                    asyncio.get_running_loop().call_later(0.1, consumer.wakeup)
            return seen

    assert values(run(main)) == [0, 1, 2]

    async def errors():
        async with aio.Consumer(config, auto_offset_reset="error") as consumer:
            await consumer.assign([TopicPartition("topic", 0, 1000)])
            with pytest.raises(KafkaException) as info:
                await consumer.__anext__()
            return info.value.args[0]

    assert run(errors) == KafkaError._AUTO_OFFSET_RESET


def test_other_tasks_get_their_turn_while_messages_last(run, config, fill):
    fill(3000)

    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.assign(BEGINNING)
            assert await consumer.poll(30)
            await asyncio.sleep(0.5)
            turns = 0
            done = False

            async def other():
                nonlocal turns
                while not done:
                    turns += 1
                    await asyncio.sleep(0)

            task = asyncio.create_task(other())
            for _ in range(2999):
                assert await consumer.poll(30)
            done = True
            await task
            return turns

    assert run(main) >= 10


def test_a_cancelled_poll_loses_nothing(every_loop, config, fill):
    fill(500)

    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.assign(BEGINNING)
            got = []
            for i in range(4000):
                if len(got) == 500:
                    break
                task = asyncio.create_task(consumer.poll(1))
                for _ in range(i % 4):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    message = await task
                except asyncio.CancelledError:
                    await asyncio.sleep(0.001)
                else:
                    got.append(message)
            return got

    assert values(every_loop(main)) == list(range(500))


def test_polls_of_several_tasks_share_the_messages(run, config, fill):
    fill(400)

    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.assign(BEGINNING)
            got = []

            async def worker():
                while message := await consumer.poll(30):
                    got.append(message)
                    if len(got) == 400:
                        # Each of the others waits by now, or will.
                        for worker in workers:
                            worker.cancel()
                    await asyncio.sleep(0)

            workers = [asyncio.create_task(worker()) for _ in range(5)]
            await asyncio.wait(workers)
            return got

    assert values(run(main)) == list(range(400))


def test_consume_returns_what_is_there_or_waits_for_enough(every_loop, config, fill):
    fill(10)

    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.assign(BEGINNING)
            first = await consumer.consume(100, 30)
            while len(first) < 10:
                first += await consumer.consume(100, 30)
            asyncio.get_running_loop().call_later(0.2, fill, 5, 10)
            asyncio.get_running_loop().call_later(0.4, fill, 5, 15)
            enough = await consumer.consume(100, 30, min_messages=10)
            assert await consumer.consume(100, 0.1, min_messages=2) == []
            assert await consumer.consume(0) == []
            return first, enough

    first, enough = every_loop(main)
    assert values(first) == list(range(10))
    assert values(enough) == list(range(10, 20))


def test_consume_gives_what_it_has_when_time_is_over(run, config, fill):
    fill(5)

    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.assign(BEGINNING)
            return await consumer.consume(100, 2, min_messages=6)

    assert values(run(main)) == list(range(5))


def test_a_cancelled_consume_loses_nothing(run, config, fill):
    fill(20)

    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.assign(BEGINNING)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(consumer.consume(100, min_messages=100), 1)
            fill(5, 20)
            got = []
            while len(got) < 25:
                got += await consumer.consume(100, 30)
            return got

    assert values(run(main)) == list(range(25))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((-1,), ValueError),
        ((1_000_001,), ValueError),
        (("x",), TypeError),
        ((1, "x"), TypeError),
        ((1, -2), ValueError),
    ],
)
def test_wrong_arguments_of_consume(run, config, arguments, error):
    async def main():
        async with aio.Consumer(config) as consumer:
            with pytest.raises(error):
                await consumer.consume(*arguments)
            with pytest.raises(ValueError):
                await consumer.consume(1, 0, min_messages=2)

    run(main)


def test_consume_arrow(every_loop, config, fill):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    fill(100)

    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.assign(BEGINNING)
            batch = await consumer.consume_arrow(1000, 30, columns=["offset", "value"], min_messages=100)
            empty = await consumer.consume_arrow(1000, 0.05)
            return pyarrow.record_batch(batch), len(empty)

    batch, empty = every_loop(main)
    assert batch.schema.names == ["offset", "value"]
    assert batch.column("offset").to_pylist() == list(range(100))
    assert empty == 0


def test_arrow_batches(run, config, fill):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    fill(100)

    async def main():
        async with aio.Consumer(config, enable_partition_eof=True) as consumer:
            await consumer.assign(BEGINNING)
            rows = []
            async for batch in consumer.arrow_batches(30, 30, columns=["value"], until_end=True):
                rows += pyarrow.record_batch(batch).column("value").to_pylist() if batch.num_rows else []
            await consumer.seek(BEGINNING[0])
            few = [batch.num_rows async for batch in consumer.arrow_batches(30, 1, columns=["value"], max_rows=40)]
            with pytest.raises(ValueError):
                await consumer.arrow_batches(0).__anext__()
            return rows, few

    rows, few = run(main)
    assert rows == [str(i).encode() for i in range(100)]
    assert sum(few) == 40


def test_offsets(every_loop, config, fill):
    fill(10)

    async def main():
        async with aio.Consumer(config, enable_auto_commit=False, enable_auto_offset_store=False) as consumer:
            await consumer.subscribe(["topic"])
            messages = [await consumer.poll(30) for _ in range(10)]
            await consumer.store_offsets(messages[3])
            (stored,) = [tp for tp in await consumer.commit(asynchronous=False) if tp.partition == 0]
            (given,) = await consumer.commit(messages[5], asynchronous=False)
            assert await consumer.commit(offsets=[TopicPartition("topic", 0, 7)]) is None
            with pytest.raises(ValueError):
                await consumer.commit(messages[0], [stored], asynchronous=False)
            partition = TopicPartition("topic", 0)
            low, high = await consumer.get_watermark_offsets(partition, 30)
            (position,) = await consumer.position([partition])
            (at_time,) = await consumer.offsets_for_times([TopicPartition("topic", 0, 1)], 30)
            await consumer.pause([partition])
            paused = await consumer.paused()
            await consumer.resume([partition])
            await consumer.seek(TopicPartition("topic", 0, 8), 30)
            again = await consumer.poll(30)
            deadline = time.monotonic() + 30
            while (committed := await consumer.committed([partition], 30))[0].offset != 7:
                assert time.monotonic() < deadline
            topics = await consumer.list_topics(timeout=30)
            return (
                stored.offset,
                given.offset,
                (low, high),
                position.offset,
                at_time.error,
                paused,
                again.offset(),
                topics,
            )

    *found, paused, again, topics = every_loop(main)
    assert found == [4, 6, (0, 10), 10, None]
    assert paused == [TopicPartition("topic", 0)]
    assert again == 8
    assert "topic" in topics.topics


def test_a_cancelled_call_ends_and_the_consumer_goes_on(run, config, fill, mock_cluster):
    fill(1)

    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.assign(BEGINNING)
            assert await consumer.poll(30)
            mock_cluster.set_broker_rtt(1, 2)
            started = time.monotonic()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(consumer.get_watermark_offsets(TopicPartition("topic", 0)), 0.1)
            took = time.monotonic() - started
            mock_cluster.set_broker_rtt(1, 0)
            await asyncio.get_running_loop().run_in_executor(None, fill, 1, 1)
            return took, (await consumer.poll(30)).offset()

    took, offset = run(main)
    assert took < 2
    assert offset == 1


def test_wakeup_from_another_thread_ends_poll(run, config):
    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.assign([TopicPartition("topic", 0, OFFSET_END)])
            await consumer.poll(0.3)
            loop = asyncio.get_running_loop()
            loop.call_later(0.05, lambda: loop.run_in_executor(None, consumer.wakeup))
            first = await consumer.poll()
            consumer.wakeup()
            return first, await consumer.consume(10), await consumer.poll(0.01)

    assert run(main) == (None, [], None)


def test_closing_ends_polls_of_other_tasks(every_loop, config):
    async def main():
        consumer = aio.Consumer(config)
        await consumer.subscribe(["topic"])
        polls = [asyncio.create_task(consumer.poll()) for _ in range(3)]
        await asyncio.sleep(0.1)
        await consumer.close()
        await consumer.close()
        results = await asyncio.gather(*polls, return_exceptions=True)
        for refused in (consumer.poll(), consumer.consume(), consumer.subscribe(["topic"]), consumer.committed([])):
            with pytest.raises(RuntimeError, match="closed"):
                await refused
        return consumer.closed, {type(result) for result in results}

    assert every_loop(main) == (True, {RuntimeError})


def test_leaving_the_group_hands_partitions_on_and_commits(run, config, fill):
    fill(10)

    async def main():
        async with aio.Consumer(config) as consumer:
            await consumer.subscribe(["topic"])
            assert await consumer.poll(30)
        async with aio.Consumer(config) as consumer:
            await consumer.subscribe(["topic"])
            return (await consumer.poll(30)).offset()

    assert run(main) == 1


def test_after_install_as_confluent_kafka_consume_waits_for_all(run, config, fill, monkeypatch):
    from cykafka._rdkafka import core

    core.set_consume_waits_for_all(True)
    try:
        consumer = aio.AIOConsumer(config)
    finally:
        core.set_consume_waits_for_all(False)
    fill(5)

    async def main():
        async with consumer:
            await consumer.assign(BEGINNING)
            return await consumer.consume(6, 1.5), await consumer.consume(1, 0.1)

    assert [values(messages) for messages in run(main)] == [list(range(5)), []]


def test_needs_a_group():
    with pytest.raises(ValueError, match=r"group\.id"):
        aio.Consumer({"bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(TypeError):
        aio.Consumer()
    with pytest.raises(ValueError, match="max_workers"):
        aio.Consumer({"group.id": "x"}, max_workers=0)


def test_has_every_method_of_the_synchronous_consumer():
    def public(cls):
        return {name for name in dir(cls) if not name.startswith("_")}

    # A loop does not spin.
    assert public(Consumer) - public(aio.Consumer) == {"spin_us"}
