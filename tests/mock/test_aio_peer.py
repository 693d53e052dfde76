"""The names and signatures of confluent_kafka.aio, and the clients of objects."""

import asyncio
import inspect

import pytest

from cykafka import KafkaError, Message, TopicPartition, aio
from cykafka.error import (
    ConsumeError,
    KeySerializationError,
    ValueDeserializationError,
    ValueSerializationError,
)
from cykafka.serialization import StringDeserializer, StringSerializer
from tests.support.clients import run_python
from tests.support.loops import Runner


@pytest.fixture
def run():
    runner = Runner()
    yield runner
    assert runner.reported == []


@pytest.fixture
def config(mock_cluster):
    mock_cluster.create_topic("topic", 1)
    return {"bootstrap.servers": mock_cluster.bootstrap_servers}


@pytest.fixture
def consuming(config):
    return {**config, "group.id": "group", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 20}


def test_the_producers_signature_and_futures(run, config):
    async def main():
        async with aio.AIOProducer(config, max_workers=2, executor=None, batch_size=10, buffer_timeout=0.5) as producer:
            future = await producer.produce("topic", b"value", b"key", partition=0, headers={"a": "b"}, timestamp=5)
            assert isinstance(future, asyncio.Future)
            message = await future
            futures = [await producer.produce("topic", str(i)) for i in range(50)]
            assert await producer.poll(0) == 0
            assert await producer.flush() == 0
            assert all(future.done() for future in futures)
            assert len(producer) == 0
            return message

    message = run(main)
    assert (message.key(), message.value(), message.headers()) == (b"key", b"value", [("a", b"b")])


def test_the_producer_waits_for_room(run, config):
    async def main():
        async with aio.AIOProducer({**config, "queue.buffering.max.messages": 5}) as producer:
            futures = [await producer.produce("topic", str(i)) for i in range(100)]
            return [(await future).offset() for future in futures]

    assert run(main) == list(range(100))


def test_wrong_arguments_of_the_producer(config):
    for wrong in ({"batch_size": 0}, {"buffer_timeout": -1}, {"max_workers": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            aio.AIOProducer(config, **wrong)
    assert list(inspect.signature(aio.AIOProducer).parameters) == [
        "producer_conf",
        "max_workers",
        "executor",
        "batch_size",
        "buffer_timeout",
    ]
    assert list(inspect.signature(aio.AIOConsumer).parameters) == ["consumer_conf", "max_workers", "executor"]


def test_every_method_of_the_peers_is_a_coroutine():
    producer = [
        "abort_transaction",
        "begin_transaction",
        "close",
        "cluster_id",
        "commit_transaction",
        "flush",
        "init_transactions",
        "list_topics",
        "poll",
        "produce",
        "purge",
        "send_offsets_to_transaction",
        "set_sasl_credentials",
    ]
    consumer = [
        "assign",
        "assignment",
        "close",
        "cluster_id",
        "commit",
        "committed",
        "consume",
        "consumer_group_metadata",
        "get_watermark_offsets",
        "incremental_assign",
        "incremental_unassign",
        "list_topics",
        "offsets_for_times",
        "pause",
        "poll",
        "position",
        "resume",
        "seek",
        "set_sasl_credentials",
        "store_offsets",
        "subscribe",
        "unassign",
        "unsubscribe",
    ]
    for cls, names in ((aio.AIOProducer, producer), (aio.AIOConsumer, consumer)):
        assert [name for name in names if not inspect.iscoroutinefunction(getattr(cls, name))] == []


def test_standing_in_for_confluent_kafka(mock_cluster):
    program = """
import sys
import cykafka
cykafka.install_as_confluent_kafka()
import asyncio
from confluent_kafka.aio import AIOConsumer, AIOProducer, AsyncDeserializingConsumer, AsyncSerializingProducer
from confluent_kafka.aio.producer import AIOProducer as Same
assert AIOProducer is Same is cykafka.aio.AIOProducer

async def main(servers):
    producer = AIOProducer({"bootstrap.servers": servers})
    message = await (await producer.produce("topic", value=b"x"))
    await producer.close()
    consumer = AIOConsumer({"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"})
    await consumer.subscribe(["topic"])
    print((await consumer.poll(30)).value(), message.error(), await consumer.consume(2, 0.1))
    await consumer.close()

asyncio.run(main(sys.argv[1]))
"""
    assert run_python(program, mock_cluster.bootstrap_servers) == "b'x' None []\n"


class Builder:
    """Builds a serde asynchronously, and takes a property of its own."""

    def __init__(self, serde):
        self.serde = serde

    async def build(self, conf, is_key):
        await asyncio.sleep(0)
        rest = dict(conf)
        self.serde.size = rest.pop("own.size")
        return self.serde, rest


class Exclaiming:
    closed = False

    async def __call__(self, value, context):
        await asyncio.sleep(0.001)
        if value == "bad":
            raise ValueError("bad value")
        context.headers = [*(context.headers or []), ("by", context.field.encode())]
        return f"{value}!".encode()

    async def close(self):
        self.closed = True


class Asking:
    async def __call__(self, value, context):
        await asyncio.sleep(0.02)
        if value == b"worse!":
            raise ValueError("worse value")
        return value.decode() + "?"


def test_clients_of_objects(run, config, consuming):
    exclaiming = Exclaiming()

    async def main():
        conf = {**config, "own.size": 3, "value.serializer.builder": Builder(exclaiming)}
        async with await aio.AsyncSerializingProducer({**conf, "key.serializer": StringSerializer()}) as producer:
            for value in ("one", "two", "worse", "three"):
                await (await producer.produce("topic", "key", value))
            with pytest.raises(ValueSerializationError):
                await producer.produce("topic", "key", "bad")
            with pytest.raises(KeySerializationError):
                await producer.produce("topic", 3, "one")
            with pytest.raises(TypeError):
                await producer.produce(3)
        conf = {**consuming, "key.deserializer": StringDeserializer(), "value.deserializer": Asking()}
        async with await aio.AsyncDeserializingConsumer(conf) as consumer:
            await consumer.assign([TopicPartition("topic", 0, 0)])
            first = await consumer.poll(30)
            task = asyncio.create_task(consumer.poll(30))
            await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait([task])
            second = first if task.cancelled() is False else await consumer.poll(30)
            with pytest.raises(ValueDeserializationError) as info:
                await consumer.poll(30)
            await consumer.seek(TopicPartition("topic", 0, 0))
            batch = await consumer.consume(4, 30, min_messages=4)
            return first, second, info.value.kafka_message, batch

    first, second, failed, batch = run(main)
    assert (first.key(), first.value(), first.headers()) == ("key", "one!?", [("by", b"value")])
    assert second.value() == "two!?"
    assert failed.value() == b"worse!"
    assert [message.value() for message in batch] == ["one!?", "two!?", b"worse!", "three!?"]
    assert [message.error() and message.error().code() for message in batch] == [
        None,
        None,
        KafkaError._VALUE_DESERIALIZATION,
        None,
    ]
    assert exclaiming.size == 3
    assert exclaiming.closed


def test_events_and_wrong_settings_of_the_deserializing_consumer(run, consuming):
    async def main():
        conf = {**consuming, "enable.partition.eof": True}
        async with await aio.AsyncDeserializingConsumer(conf) as consumer:
            await consumer.assign([TopicPartition("topic", 0, 0)])
            with pytest.raises(ConsumeError) as info:
                await consumer.poll(30)
            assert await consumer.poll(0.01) is None
            assert info.value.code == KafkaError._PARTITION_EOF
        with pytest.raises(TypeError, match="callable"):
            await aio.AsyncDeserializingConsumer({**consuming, "value.deserializer": 3})
        with pytest.raises(ValueError, match=r"group\.id"):
            await aio.AsyncDeserializingConsumer({"bootstrap.servers": "127.0.0.1:1"})
        return isinstance(info.value.kafka_message, Message)

    assert run(main)
