"""The asyncio clients and their loops: several in several threads, wrong ones, ones that are closed too early."""

import asyncio
import gc
import os
import sys
import threading
import warnings

import pytest

from cykafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition, aio
from tests.mock.conftest import take
from tests.support.clients import run_python
from tests.support.loops import KINDS, Runner, new_loop


@pytest.fixture
def config(mock_cluster):
    mock_cluster.create_topic("topic", 4)
    return {"bootstrap.servers": mock_cluster.bootstrap_servers}


@pytest.fixture
def consuming(config):
    return {**config, "group.id": "group", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 20}


@pytest.mark.parametrize("kind", KINDS)
def test_several_loops_in_several_threads(kind, config, consuming):
    results = {}

    def work(number):
        async def main():
            async with aio.Producer(config) as producer, aio.Consumer(consuming) as consumer:
                sent = [await producer.send("topic", f"{number}-{i}", partition=number) for i in range(50)]
                await consumer.assign([TopicPartition("topic", number, OFFSET_BEGINNING)])
                return [message.value() for message in sent], [(await consumer.poll(30)).value() for _ in range(50)]

        results[number] = Runner(kind)(main)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    for number in range(4):
        expected = [f"{number}-{i}".encode() for i in range(50)]
        assert results[number] == (expected, expected)


def test_clients_may_be_made_before_there_is_a_loop(config, consuming):
    producer, consumer = aio.Producer(config), aio.Consumer(consuming)

    async def main():
        async with producer, consumer:
            await producer.send("topic", "x", partition=0)
            await consumer.assign([TopicPartition("topic", 0, OFFSET_BEGINNING)])
            return (await consumer.poll(30)).value()

    assert Runner()(main) == b"x"


def test_another_loop_is_refused_and_says_why(config, consuming):
    async def main():
        async with aio.Producer(config) as producer, aio.Consumer(consuming) as consumer:
            await producer.send("topic", "x")
            refused = []

            async def elsewhere():
                for call in (
                    lambda: producer.produce("topic", "x"),
                    lambda: producer.send("topic", "x"),
                    consumer.poll,
                    lambda: consumer.consume(10),
                    producer.flush,
                    producer.close,
                    consumer.list_topics,
                ):
                    try:
                        await call()
                    except RuntimeError as error:
                        refused.append(str(error))

            thread = threading.Thread(target=Runner(), args=(elsewhere,))
            thread.start()
            await asyncio.get_running_loop().run_in_executor(None, thread.join)
            await producer.send("topic", "goes on")
            return refused

    refused = Runner()(main)
    assert len(refused) == 7
    assert all("belongs to another event loop" in text for text in refused)


def test_without_a_loop_nothing_is_produced(config):
    producer = aio.Producer(config)
    with pytest.raises(RuntimeError, match="no running event loop"):
        producer.produce("topic", "x")
    assert len(producer) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_closed_with_messages_in_flight(kind, config, consuming, mock_cluster):
    reports = []
    loop = new_loop(kind)

    async def leave():
        producer = aio.Producer(config, linger_ms=100, on_delivery=lambda error, message: reports.append(error))
        futures = [producer.produce("topic", str(i), partition=0) for i in range(10)]
        futures[0].add_done_callback(lambda _: None)
        return producer

    producer = loop.run_until_complete(leave())
    loop.close()

    async def main():
        with pytest.raises(RuntimeError, match="closed, with 10 messages in flight"):
            producer.produce("topic", "x")
        with pytest.raises(RuntimeError, match=r"await close\(\) before its loop ends"):
            await producer.send("topic", "x")
        await producer.close()

    Runner()(main)
    assert producer.closed
    assert reports == [None] * 10
    with Consumer({**consuming}) as consumer:
        consumer.assign([TopicPartition("topic", 0, OFFSET_BEGINNING)])
        assert len(take(consumer, 10)) == 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_closed_with_a_consumer_in_it(kind, config, consuming):
    with Producer(config) as producer:
        producer.produce("topic", "x", partition=0)
    loop = new_loop(kind)

    async def leave():
        consumer = aio.Consumer(consuming)
        await consumer.assign([TopicPartition("topic", 0, OFFSET_BEGINNING)])
        return consumer, await consumer.poll(30)

    consumer, message = loop.run_until_complete(leave())
    loop.close()
    assert message.value() == b"x"

    async def main():
        with pytest.raises(RuntimeError, match="has been closed"):
            await consumer.poll()
        await consumer.close()

    Runner()(main)
    assert consumer.closed


def test_a_program_that_forgets_to_close_ends_well(mock_cluster):
    program = """
import asyncio, sys, warnings
warnings.simplefilter("ignore", ResourceWarning)
from cykafka import aio

async def main():
    global producer, consumer
    producer = aio.Producer({"bootstrap.servers": sys.argv[1]})
    consumer = aio.Consumer({"bootstrap.servers": sys.argv[1], "group.id": "group"})
    await consumer.subscribe(["topic"])
    asyncio.create_task(consumer.poll())
    producer.produce("topic", "x")
    await asyncio.sleep(0.05)

asyncio.run(main())
print("ended")
"""
    assert run_python(program, mock_cluster.bootstrap_servers) == "ended\n"


def test_dropped_clients_are_freed_and_say_so(config, consuming):
    async def main():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for make in (
                lambda: aio.Producer(config),
                lambda: aio.Consumer(consuming),
                lambda: aio.AdminClient(config),
            ):
                client = make()
                async_name = await client.cluster_id(30)
                assert async_name
                del client
            gc.collect()
            await asyncio.sleep(0)
        return [str(warning.message) for warning in caught]

    assert len([text for text in Runner()(main) if text.startswith("unclosed <aio.")]) == 3


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc/self/fd to count descriptors")  # noqa: PTH112
@pytest.mark.parametrize("kind", KINDS)
def test_no_descriptors_and_threads_are_left(kind, config, consuming):
    async def main():
        async with aio.Producer(config) as producer, aio.Consumer(consuming) as consumer:
            await producer.send("topic", "x")
            # Without fetching: the mock cluster keeps the sockets of fetch requests that it did not answer.
            assert await consumer.poll(0.05) is None
            await consumer.list_topics(timeout=30)

    Runner(kind)(main)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        Runner(kind)(main)
    gc.collect()
    # Those of the cluster's side go when it notices.
    deadline = threading.Event()
    for _ in range(100):
        left = len(os.listdir("/proc/self/fd"))
        names = [thread.name for thread in threading.enumerate() if thread.name.startswith("cykafka")]
        if left <= before and not names:
            break
        deadline.wait(0.1)
    assert left <= before
    assert names == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_client_in_a_forked_child_says_what_to_do(mock_cluster):
    program = """
import asyncio, os, sys, warnings
from cykafka import aio
producer = aio.Producer({"bootstrap.servers": sys.argv[1]})

async def main():
    try:
        await producer.send("topic", "x")
    except RuntimeError as error:
        print(error)

warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    asyncio.run(main())
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)

async def fork_in_a_loop():
    async with aio.Consumer({"bootstrap.servers": sys.argv[1], "group.id": "group"}) as consumer:
        await consumer.list_topics(timeout=30)
        child = os.fork()
        if child == 0:
            # Dropping the parent's client must not take the parent's loop away from it.
            consumer.__del__()
            os._exit(0)
        os.waitpid(child, 0)
        await consumer.list_topics(timeout=30)
        consumer.wakeup()
        assert await consumer.poll() is None

asyncio.run(fork_in_a_loop())

async def close():
    await producer.send("topic", "x")
    await producer.close()

asyncio.run(close())
"""
    assert "made before this process was forked" in run_python(program, mock_cluster.bootstrap_servers)


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="counts references")
def test_messages_and_futures_leave_no_references(config):
    async def main():
        async with aio.Producer(config) as producer:
            value = bytes(100_000)
            before = sys.getrefcount(value)
            for _ in range(10):
                await asyncio.gather(*[producer.send("topic", value) for _ in range(10)])
            await asyncio.sleep(0)
            gc.collect()
            return sys.getrefcount(value) - before

    assert Runner()(main) == 0
