"""The asyncio clients on a real Kafka."""

import asyncio
import contextlib

import pytest

from cykafka import Consumer, KafkaError, KafkaException, TopicPartition, aio
from cykafka.admin import NewTopic, OffsetSpec
from tests.support.loops import KINDS, Runner

pytestmark = pytest.mark.broker


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
def config(kafka):
    return {"bootstrap.servers": kafka.bootstrap_servers}


def consuming(config, group, **properties):
    return {**config, "group.id": group, "auto.offset.reset": "earliest", **properties}


def test_what_is_sent_is_consumed(every_loop, config, topic):
    name = topic(partitions=3)

    async def main():
        async with aio.Producer(config) as producer, aio.Consumer(consuming(config, name)) as consumer:
            await consumer.subscribe([name])
            sending = asyncio.create_task(
                producer.send_many(
                    name,
                    [{"value": str(i), "headers": {"n": str(i)}, "timestamp": 1700000000000 + i} for i in range(3000)],
                )
            )
            messages = []
            async for message in consumer:
                messages.append(message)
                if len(messages) == 3000:
                    break
            sent = await sending
            (committed,) = await consumer.commit(messages[-1], asynchronous=False)
            return sent, messages, committed

    sent, messages, committed = every_loop(main)
    place = {(m.partition(), m.offset()): m.value() for m in sent}
    assert {(m.partition(), m.offset()): m.value() for m in messages} == place
    assert len(place) == 3000
    assert all(m.headers() == [("n", m.value())] for m in messages)
    assert all(m.timestamp()[1] == 1700000000000 + int(m.value()) for m in messages)
    assert (committed.partition, committed.offset) == (messages[-1].partition(), messages[-1].offset() + 1)


def test_members_hand_partitions_over_in_coroutines(run, config, topic):
    name = topic(partitions=4)
    group = f"group-{name}"
    events = []

    async def main():
        async with aio.Producer(config) as producer:
            for partition in range(4):
                await producer.send_many(name, [{"value": "x"}] * 25, partition)

        async def on_revoke(consumer, partitions):
            # Interrupted and late, but done before others get the partitions.
            await asyncio.sleep(0.2)
            # At the end there is nothing new to commit.
            with contextlib.suppress(KafkaException):
                await consumer.commit(asynchronous=False)
            events.append(len(partitions))

        seen = []

        async def work(until):
            properties = consuming(config, group, **{"enable.auto.commit": False})
            properties["partition.assignment.strategy"] = "cooperative-sticky"
            async with aio.Consumer(properties) as consumer:
                await consumer.subscribe([name], on_revoke=on_revoke)
                while not until():
                    message = await consumer.poll(0.1)
                    if message is not None and message.error() is None:
                        seen.append((message.partition(), message.offset()))

        one = asyncio.create_task(work(lambda: bool(events)))
        for _ in range(600):
            if seen or one.done():
                break
            await asyncio.sleep(0.05)
        other = asyncio.create_task(work(lambda: one.done() and len(seen) >= 100))
        await asyncio.gather(one, other)
        return seen

    seen = run(main, timeout=110)
    # Each message once: who gave up a partition had committed what it had read.
    assert sorted(seen) == [(p, o) for p in range(4) for o in range(25)]
    assert events


def test_consume_transform_produce_in_transactions(run, config, topic):
    source, target = topic(), topic()

    async def main():
        async with aio.Producer(config) as filler:
            await filler.send_many(source, [{"value": str(i)} for i in range(50)], 0)
        transactional = {**config, "transactional.id": f"tx-{target}"}
        properties = consuming(config, f"group-{source}", **{"enable.auto.commit": False})
        async with aio.Producer(transactional) as producer, aio.Consumer(properties) as consumer:
            await producer.init_transactions(60)
            await consumer.subscribe([source])
            done = 0
            number = 0
            while done < 50:
                messages = await consumer.consume(10, 30)
                await producer.begin_transaction()
                for message in messages:
                    producer.produce(target, message.value() + b"!", partition=0)
                number += 1
                if number == 1:
                    await producer.abort_transaction(60)
                    for partition in {m.partition() for m in messages}:
                        await consumer.seek(TopicPartition(source, partition, messages[0].offset()))
                    continue
                positions = await consumer.position(await consumer.assignment())
                await producer.send_offsets_to_transaction(positions, await consumer.consumer_group_metadata(), 60)
                await producer.commit_transaction(60)
                done += len(messages)

    run(main, timeout=110)
    values = []
    with Consumer(
        consuming(config, "check", **{"isolation.level": "read_committed", "enable.partition.eof": True})
    ) as c:
        c.assign([TopicPartition(target, 0, 0)])
        while (message := c.poll(30)) is not None and message.error() is None:
            values.append(message.value())
    assert values == [f"{i}!".encode() for i in range(50)]


def test_operations(run, config, topic):
    name = f"{topic()}-made"

    async def main():
        async with aio.AdminClient(config) as admin:
            await asyncio.gather(*admin.create_topics([NewTopic(name, 2, 1)]).values())
            with pytest.raises(KafkaException) as info:
                await admin.create_topics([NewTopic(name, 2, 1)])[name]
            partition = TopicPartition(name, 0)
            for _ in range(100):
                try:
                    offsets = await admin.list_offsets({partition: OffsetSpec.latest()})[partition]
                    break
                except KafkaException:
                    # The new topic has no leader yet.
                    await asyncio.sleep(0.1)
            cluster = await admin.describe_cluster()
            quorum = await admin.describe_metadata_quorum()
            await admin.delete_topics([name])[name]
            return info.value.args[0].code(), offsets.offset, len(cluster.nodes), quorum.leader_id

    code, offset, nodes, leader = run(main)
    assert code == KafkaError.TOPIC_ALREADY_EXISTS
    assert (offset, nodes) == (0, 1)
    assert leader >= 0


def test_a_restart_of_the_broker_loses_nothing(run, kafka, config, topic):
    name = topic()
    properties = {**config, "log_level": 0, "reconnect.backoff.max.ms": 500}

    async def main():
        async with aio.Producer(properties, enable_idempotence=True) as producer:
            await producer.send(name, "0")
            loop = asyncio.get_running_loop()
            restart = loop.run_in_executor(None, kafka.restart)
            sends = []
            for i in range(1, 200):
                sends.append(asyncio.create_task(producer.send(name, str(i))))
                await asyncio.sleep(0.01)
            for task in sends[::10]:
                task.cancel()
            await restart
            await asyncio.gather(*sends, return_exceptions=True)
            assert await producer.flush(60) == 0
        async with aio.Consumer(consuming(config, name)) as consumer:
            await consumer.assign([TopicPartition(name, 0, 0)])
            return [int((await consumer.poll(30)).value()) for _ in range(200)]

    # Also those whose tasks were cancelled.
    assert run(main, timeout=110) == list(range(200))
