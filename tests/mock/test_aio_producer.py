"""cykafka.aio.Producer on every kind of loop: futures, room, batches, deliveries that fail."""

import asyncio
import gc
import warnings

import pytest

from cykafka import KafkaError, KafkaException, Message, aio
from cykafka.testing import ApiKey
from tests.mock.conftest import take
from tests.support.loops import KINDS, Runner


@pytest.fixture(params=KINDS)
def every_loop(request):
    runner = Runner(request.param)
    yield runner
    assert runner.reported == []


@pytest.fixture
def run():
    return Runner()


@pytest.fixture
def config(mock_cluster):
    return {"bootstrap.servers": mock_cluster.bootstrap_servers}


def test_send_gives_the_delivered_message(every_loop, config, make_consumer):
    async def main():
        async with aio.Producer(config) as producer:
            return await producer.send("topic", "value", "key", 0, timestamp=1700000000123, headers={"name": b"header"})

    message = every_loop(main)
    assert (message.topic(), message.partition(), message.offset()) == ("topic", 0, 0)
    assert (message.key(), message.value(), message.error()) == (b"key", b"value", None)
    consumer = make_consumer()
    consumer.subscribe(["topic"])
    (consumed,) = take(consumer, 1)
    assert consumed.headers() == [("name", b"header")]
    assert consumed.timestamp()[1] == 1700000000123


def test_futures_of_many_messages_keep_their_order(every_loop, config):
    async def main():
        async with aio.Producer(config) as producer:
            futures = [producer.produce("topic", str(i), partition=0) for i in range(1000)]
            assert all(isinstance(future, asyncio.Future) and not future.done() for future in futures)
            return [await future for future in futures], len(producer)

    messages, left = every_loop(main)
    assert [message.value() for message in messages] == [str(i).encode() for i in range(1000)]
    assert [message.offset() for message in messages] == list(range(1000))
    assert left == 0


def test_tasks_that_await_each_delivery(every_loop, config):
    async def main():
        async with aio.Producer(config) as producer:

            async def sender(number):
                return [(await producer.send("topic", f"{number}-{i}", partition=0)).offset() for i in range(20)]

            return await asyncio.gather(*[sender(number) for number in range(20)])

    offsets = every_loop(main)
    assert all(own == sorted(own) for own in offsets)
    assert sorted(offset for own in offsets for offset in own) == list(range(400))


def test_an_awaited_message_does_not_linger_and_a_set_linger_is_kept(run, config):
    async def latencies(**properties):
        async with aio.Producer(config, **properties) as producer:
            await producer.send("topic", "connects", partition=0)
            return [(await producer.send("topic", "x", partition=0)).latency() for _ in range(20)]

    # By librdkafka's default of 5 ms each would take longer.
    assert min(run(latencies)) < 0.005
    assert min(run(lambda: latencies(linger_ms=50))) >= 0.05


def test_what_is_produced_in_one_turn_goes_out_together(run, mock_cluster, config):
    async def main():
        async with aio.Producer(config) as producer:
            await producer.send("topic", "connects", partition=0)
            mock_cluster.start_request_tracking()
            await asyncio.gather(*[producer.send("topic", str(i), partition=0) for i in range(100)])
            return [request for request in mock_cluster.requests() if request.api_key == ApiKey.PRODUCE]

    # A request for each would be 100; how few it takes is up to the scheduler.
    assert len(run(main)) <= 50


def test_a_failed_delivery_raises_and_carries_its_message(every_loop, config, mock_cluster):
    async def main():
        async with aio.Producer(config) as producer:
            await producer.send("topic", "fine", partition=0)
            mock_cluster.push_request_errors(ApiKey.PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
            with pytest.raises(KafkaException) as info:
                await producer.send("topic", "not fine", "key", partition=0)
            await producer.send("topic", "fine again", partition=0)
            return info.value

    exception = every_loop(main)
    assert exception.args[0] == KafkaError.MSG_SIZE_TOO_LARGE
    assert exception.message.value() == b"not fine"
    assert exception.message.status() == "not_persisted"


def test_produce_raises_what_is_wrong_at_once(run, config):
    async def main():
        async with aio.Producer(config) as producer:
            with pytest.raises(TypeError):
                producer.produce("topic", 3)
            with pytest.raises(TypeError):
                await producer.send(3, "value")
            with pytest.raises(ValueError):
                producer.produce("topic", "value", timestamp=-1)
            with pytest.raises(KafkaException) as info:
                await producer.send("topic", b"x" * 2_000_000)
            assert info.value.args[0] == KafkaError.MSG_SIZE_TOO_LARGE
            assert (await producer.send("topic", "value")).value() == b"value"

    run(main)


def test_large_values_are_delivered_whole(run, config):
    async def main():
        async with aio.Producer(config) as producer:
            value = bytes(range(256)) * 1024
            return (await producer.send("topic", value)).value() == value

    assert run(main)


def test_a_full_queue_is_waited_for_in_order(every_loop, config):
    async def main():
        async with aio.Producer(config, queue_buffering_max_messages=10) as producer:
            with pytest.raises(BufferError):
                for i in range(11):
                    producer.produce("topic", f"first {i}", partition=0)
            futures = []

            async def enqueue(number):
                futures.append((number, await producer.enqueue("topic", str(number), partition=0)))

            await asyncio.gather(*[enqueue(number) for number in range(200)])
            messages = [(number, await future) for number, future in futures]
            return sorted(messages, key=lambda pair: pair[1].offset())

    delivered = every_loop(main)
    assert [number for number, _ in delivered] == list(range(200))


def test_a_cancelled_wait_for_room_enqueues_nothing_and_lets_others_in(run, config):
    async def main():
        async with aio.Producer(config, queue_buffering_max_messages=5, linger_ms=200) as producer:
            for i in range(5):
                producer.produce("topic", str(i), partition=0)
            waiting = [asyncio.create_task(producer.send("topic", f"waits {i}", partition=0)) for i in range(10)]
            await asyncio.sleep(0.01)
            for task in waiting[::2]:
                task.cancel()
            results = await asyncio.gather(*waiting, return_exceptions=True)
            assert all(isinstance(result, asyncio.CancelledError) for result in results[::2])
            return [result.value() for result in results[1::2]], (
                await producer.send("topic", "last", partition=0)
            ).offset()

    values, last = run(main)
    assert values == [f"waits {i}".encode() for i in range(1, 10, 2)]
    assert last == 10


def test_a_message_larger_than_the_queue_says_so(run, config):
    async def main():
        async with aio.Producer(config, queue_buffering_max_kbytes=1) as producer:
            with pytest.raises(BufferError):
                await producer.send("topic", b"x" * 4000)
            assert (await producer.send("topic", b"x" * 100)).offset() == 0

    run(main)


def test_a_cancelled_send_is_delivered_and_counted(run, config, make_consumer):
    async def main():
        async with aio.Producer(config, linger_ms=50) as producer:
            tasks = [asyncio.create_task(producer.send("topic", str(i), partition=0)) for i in range(10)]
            await asyncio.sleep(0)
            assert len(producer) == 10
            for task in tasks:
                task.cancel()
            assert all(
                isinstance(result, asyncio.CancelledError)
                for result in await asyncio.gather(*tasks, return_exceptions=True)
            )
            assert len(producer) == 10
            assert await producer.flush(30) == 0

    run(main)
    assert run.reported == []
    consumer = make_consumer()
    consumer.subscribe(["topic"])
    assert [message.value() for message in take(consumer, 10)] == [str(i).encode() for i in range(10)]


def test_the_failure_of_a_cancelled_send_is_reported(run, config, mock_cluster):
    async def main():
        async with aio.Producer(config) as producer:
            await producer.send("topic", "connects", partition=0)
            mock_cluster.push_request_errors(ApiKey.PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
            task = asyncio.create_task(producer.send("topic", "x", partition=0))
            await asyncio.sleep(0)
            task.cancel()
            await producer.flush(30)

    run(main)
    (exception,) = run.exceptions
    assert exception.args[0] == KafkaError.MSG_SIZE_TOO_LARGE


def test_send_with_a_time_limit(run, config, mock_cluster):
    async def main():
        async with aio.Producer(config) as producer:
            await producer.send("topic", "connects", partition=0)
            mock_cluster.set_broker_rtt(1, 0.4)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(producer.send("topic", "late", partition=0), 0.05)
            assert len(producer) == 1
            mock_cluster.set_broker_rtt(1, 0)
            return await producer.flush(30), (await producer.send("topic", "next", partition=0)).offset()

    assert run(main) == (0, 2)


def test_send_many(every_loop, config):
    async def main():
        async with aio.Producer(config, queue_buffering_max_messages=100) as producer:
            rows = [
                {"value": str(i), "key": b"k", "headers": [("n", str(i))], "timestamp": 1700000000000 + i}
                for i in range(500)
            ]
            return await producer.send_many("topic", rows, partition=1)

    messages = every_loop(main)
    assert [message.value() for message in messages] == [str(i).encode() for i in range(500)]
    assert {message.partition() for message in messages} == {1}
    assert messages[7].headers() == [("n", b"7")]


def test_send_many_accounts_for_every_message(run, config):
    rows = [{"value": b"x"}, {"value": b"x" * 2_000_000}, {"value": b"y"}]

    async def main():
        async with aio.Producer(config) as producer:
            with pytest.raises(KafkaException) as info:
                await producer.send_many("topic", rows, 0)
            assert info.value.args[0] == KafkaError.MSG_SIZE_TOO_LARGE
            with pytest.raises(TypeError):
                await producer.send_many("topic", [b"x"])
            results = await producer.send_many("topic", rows, 0, return_exceptions=True)
            return [type(result) for result in results], results[2].offset()

    assert run(main) == ([Message, KafkaException, Message], 3)
    assert run.reported == []


def test_produce_batch_gives_a_future_for_each(run, config):
    reports = []

    async def main():
        async with aio.Producer(config) as producer:
            futures = await producer.produce_batch(
                "topic",
                [{"value": "a"}, {"value": "b", "on_delivery": lambda error, message: reports.append(("own", error))}],
                on_delivery=lambda error, message: reports.append((message.value(), error)),
            )
            return [(await future).value() for future in futures]

    assert run(main) == [b"a", b"b"]
    assert sorted(reports, key=str) == [("own", None), (b"a", None)]


def test_produce_arrow_from_a_loop(run, config):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    summaries = []

    async def main():
        async with aio.Producer(config, queue_buffering_max_messages=50) as producer:
            table = pyarrow.table({"value": [str(i).encode() for i in range(1000)]})
            summary = await producer.produce_arrow("topic", table, on_delivery=summaries.append)
            await producer.flush(30)
            await asyncio.sleep(0)
            return summary

    summary = run(main)
    assert (summary.enqueued, summary.delivered, summary.failed, summary.complete) == (1000, 1000, 0, True)
    assert summaries == [summary]


def test_flush_returns_what_is_left_and_purge_drops_it(run, config, mock_cluster):
    async def main():
        async with aio.Producer(config) as producer:
            await producer.send("topic", "connects", partition=0)
            mock_cluster.set_broker_rtt(1, 5)
            future = producer.produce("topic", "x", partition=0)
            assert await producer.flush(0.05) == 1
            await producer.purge()
            with pytest.raises(KafkaException) as info:
                await future
            mock_cluster.set_broker_rtt(1, 0)
            return info.value.args[0].code()

    assert run(main) in (KafkaError._PURGE_INFLIGHT, KafkaError._PURGE_QUEUE)


def test_wakeup_ends_flush(run, config, mock_cluster):
    async def main():
        async with aio.Producer(config) as producer:
            await producer.send("topic", "connects", partition=0)
            mock_cluster.set_broker_rtt(1, 1)
            producer.produce("topic", "x", partition=0)
            asyncio.get_running_loop().call_later(0.02, producer.wakeup)
            left = await producer.flush(30)
            mock_cluster.set_broker_rtt(1, 0)
            return left

    assert run(main) == 1


def test_transactions(every_loop, config, make_consumer):
    async def main():
        async with aio.Producer(config, transactional_id="aio") as producer:
            await producer.init_transactions(30)
            await producer.begin_transaction()
            kept = [producer.produce("topic", f"kept {i}", partition=0) for i in range(3)]
            await producer.commit_transaction(30)
            assert [future.done() for future in kept] == [True] * 3
            await producer.begin_transaction()
            await producer.send("topic", "dropped", partition=0)
            # Nobody has to look at the futures of what is dropped.
            dropped = [producer.produce("topic", "dropped", partition=i % 4) for i in range(20)]
            await producer.abort_transaction(30)
            assert all(future.done() for future in dropped)
            del dropped
            gc.collect()
            await producer.begin_transaction()
            await producer.send("topic", "last", partition=0)
            await producer.commit_transaction(30)

    every_loop(main)


def test_close_aborts_an_open_transaction(run, config):
    async def main():
        producer = aio.Producer(config, transactional_id="aio")
        await producer.init_transactions(30)
        await producer.begin_transaction()
        await producer.send("topic", "x", partition=0)
        await producer.close()
        return producer.closed

    assert run(main)


def test_close_delivers_and_then_refuses(every_loop, config):
    async def main():
        producer = aio.Producer(config)
        future = producer.produce("topic", "x")
        first, second = asyncio.create_task(producer.close()), asyncio.create_task(producer.close())
        await asyncio.sleep(0)
        for refused in (producer.produce, producer.send, producer.enqueue):
            with pytest.raises(RuntimeError, match="closed"):
                await refused("topic", "too late")
        await first
        await second
        await producer.close()
        with pytest.raises(RuntimeError, match="closed"):
            await producer.flush()
        with pytest.raises(RuntimeError, match="closed"):
            await producer.list_topics()
        return await future

    assert every_loop(main).value() == b"x"


def test_close_with_a_limit_fails_what_is_left(run, config, mock_cluster):
    async def main():
        producer = aio.Producer(config)
        await producer.send("topic", "connects", partition=0)
        mock_cluster.set_broker_rtt(1, 5)
        futures = [producer.produce("topic", str(i), partition=0) for i in range(5)]
        await producer.close(0.05)
        mock_cluster.set_broker_rtt(1, 0)
        return await asyncio.gather(*futures, return_exceptions=True)

    codes = {result.args[0].code() for result in run(main)}
    assert codes <= {KafkaError._PURGE_INFLIGHT, KafkaError._PURGE_QUEUE}


def test_a_dropped_producer_still_delivers(run, config):
    async def main():
        producer = aio.Producer(config)
        future = producer.produce("topic", "x")
        del producer
        gc.collect()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            message = await future
            for _ in range(50):
                await asyncio.sleep(0.01)
                gc.collect()
        return message.value(), [str(w.message) for w in caught if w.category is ResourceWarning]

    value, warned = run(main)
    assert value == b"x"
    assert any("unclosed <aio.Producer" in text for text in warned)


def test_reads_about_the_cluster_and_can_be_cancelled(run, config, mock_cluster):
    async def main():
        async with aio.Producer(config) as producer:
            metadata = await producer.list_topics("topic", timeout=30)
            assert await producer.cluster_id(30) == metadata.cluster_id
            assert (await producer.metrics(30)).name == producer.name
            mock_cluster.set_broker_rtt(1, 3)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(producer.list_topics(timeout=60), 0.1)
            mock_cluster.set_broker_rtt(1, 0)
            assert (await producer.send("topic", "x")).offset() == 0
            return metadata.topics

    assert list(run(main)) == ["topic"]


def test_interceptors_and_a_partitioner_in_python(every_loop, config):
    seen = []

    class Interceptor:
        def on_send(self, record):
            record.headers.append(("by", b"interceptor"))

        def on_acknowledgement(self, record, error, message):
            seen.append((record.topic, error))

    async def main():
        hooks = {"partitioner": lambda topic, key, count, available: int(key), "interceptors": [Interceptor()]}
        async with aio.Producer({**config, **hooks}, queue_buffering_max_messages=10) as producer:
            return await asyncio.gather(*[producer.send("topic", "value", str(i % 4)) for i in range(40)])

    messages = every_loop(main)
    assert [message.partition() for message in messages] == [i % 4 for i in range(40)]
    assert messages[0].headers() == [("by", b"interceptor")]
    # Refused once and again while the queue was full, they say so, too.
    assert [entry for entry in seen if entry[1] is None] == [("topic", None)] * 40


def test_callbacks_for_errors_only_leave_futures_alone(run, config, mock_cluster):
    reports = []

    async def main():
        def callback(error, message):
            reports.append(error.code())

        async with aio.Producer(config, on_delivery=callback, delivery_report_only_error=True) as producer:
            assert (await producer.send("topic", "x", partition=0)).offset() == 0
            mock_cluster.push_request_errors(ApiKey.PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
            with pytest.raises(KafkaException):
                await producer.send("topic", "x", partition=0)

    run(main)
    assert reports == [KafkaError.MSG_SIZE_TOO_LARGE]
    with pytest.raises(ValueError, match="poll_in_background"):
        aio.Producer(config, poll_in_background=True)


def test_a_cancelled_commit_of_a_transaction_goes_on(run, config, mock_cluster):
    async def main():
        async with aio.Producer(config, transactional_id="aio") as producer:
            await producer.init_transactions(30)
            await producer.begin_transaction()
            future = producer.produce("topic", "x", partition=0)
            mock_cluster.set_broker_rtt(1, 1)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(producer.commit_transaction(60), 0.2)
            mock_cluster.set_broker_rtt(1, 0)
            await producer.commit_transaction(60)
            await producer.begin_transaction()
            await producer.commit_transaction(60)
            return (await future).value()

    assert run(main) == b"x"
    assert run.reported == []


def test_a_cancelled_table_ends_and_its_rows_are_accounted_for(run, config, mock_cluster):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    summaries = []

    async def main():
        async with aio.Producer(config, queue_buffering_max_messages=10) as producer:
            await producer.send("topic", "connects", partition=0)
            mock_cluster.set_broker_rtt(1, 1)
            table = pyarrow.table({"value": ["x"] * 1000})
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(producer.produce_arrow("topic", table, on_delivery=summaries.append), 0.2)
            mock_cluster.set_broker_rtt(1, 0)
            assert await producer.flush(30) == 0
            await asyncio.sleep(0)

    run(main)
    (summary,) = summaries
    assert summary.enqueued == summary.delivered + summary.failed
    assert 10 <= summary.enqueued < 1000
