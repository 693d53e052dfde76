"""cykafka.aio.AdminClient: every operation of the other AdminClient, with futures of asyncio."""

import asyncio
import inspect
import threading

import pytest

from cykafka import KafkaError, KafkaException, TopicPartition, aio
from cykafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, OffsetSpec
from tests.support.loops import KINDS, Runner


@pytest.fixture(params=KINDS)
def every_loop(request):
    runner = Runner(request.param)
    yield runner
    assert runner.reported == []


@pytest.fixture
def config(mock_cluster):
    return {"bootstrap.servers": mock_cluster.bootstrap_servers}


def test_operations(every_loop, config):
    async def main():
        async with aio.AdminClient(config) as admin, aio.Producer(config) as producer:
            created = admin.create_topics([NewTopic("one", 2, 1), NewTopic("two", 1, 1)], request_timeout=30)
            assert all(isinstance(future, asyncio.Future) for future in created.values())
            created = await asyncio.gather(*created.values(), return_exceptions=True)
            await producer.send_many("topic", [{"value": "x"}] * 5, 0)
            offsets = admin.list_offsets({TopicPartition("topic", 0): OffsetSpec.latest()}, request_timeout=30)
            (latest,) = await asyncio.gather(*offsets.values())
            cluster = await admin.cluster_id(30)
            topics = await admin.list_topics(timeout=30)
            assert not [thread for thread in threading.enumerate() if thread.name.startswith("cykafka-admin")]
            return created, latest.offset, cluster, topics.topics

    created, offset, cluster, topics = every_loop(main)
    # The mock cluster does not know how to create topics.
    assert all(isinstance(error, KafkaException) for error in created)
    assert offset == 5
    assert cluster
    assert "topic" in topics


def test_wrong_arguments_raise_at_once(config):
    async def main():
        async with aio.AdminClient(config) as admin:
            with pytest.raises(TypeError):
                admin.create_topics("topic")
            with pytest.raises(TypeError):
                admin.create_partitions([NewPartitions("topic", 2)], no_such_option=1)
            with pytest.raises(TypeError):
                admin.describe_configs([ConfigResource("topic", "x"), 3])

    Runner()(main)


def test_closing_fails_what_is_not_done(every_loop):
    async def main():
        admin = aio.AdminClient({"bootstrap.servers": "127.0.0.1:1"})
        futures = [admin.describe_cluster(request_timeout=60), *admin.delete_topics(["topic"]).values()]
        await asyncio.sleep(0.05)
        await admin.close()
        await admin.close()
        with pytest.raises(RuntimeError, match="closed"):
            admin.describe_cluster()
        return await asyncio.gather(*futures, return_exceptions=True)

    results = every_loop(main)
    assert [result.args[0].code() for result in results] == [KafkaError._DESTROY] * 2


def test_has_every_operation_with_the_same_parameters():
    missing = []
    for name, operation in inspect.getmembers(AdminClient, callable):
        if name.startswith("_"):
            continue
        own = getattr(aio.AdminClient, name, None)
        if own is None:
            missing.append(name)
        elif inspect.isfunction(operation) and name != "close":
            theirs, ours = inspect.signature(operation).parameters, inspect.signature(own).parameters
            assert [(p.name, p.kind, p.default) for p in theirs.values()] == [
                (p.name, p.kind, p.default) for p in ours.values()
            ], name
    # The loop serves the callbacks.
    assert missing == ["poll"]
