"""Streams, with Spark's own connector as the yardstick."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from cykafka import Consumer, TopicPartition
from cykafka.admin import AdminClient, NewPartitions
from tests.spark.support import JVM, OURS, Query, read_stream, send, values
from tests.support import wire

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(300)]


@pytest.fixture
def query(tmp_path):
    return Query(tmp_path)


@pytest.fixture
def admin(kafka):
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


def finish(futures):
    for future in futures.values():
        future.result(30)


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def texts(collected):
    return sorted(each.decode() for each in values(collected))


def numbers(first, last):
    return sorted(str(number) for number in range(first, last))


def test_reads_what_is_there_and_goes_on_from_the_checkpoint(spark, kafka, topic, query):
    name = topic(partitions=2)
    frame = read_stream(spark, OURS, kafka, subscribe=name, startingOffsets="earliest")
    assert frame.isStreaming
    for first, last in ((0, 20), (20, 30), (30, 30)):
        send(kafka, name, numbers(first, last))
        query.run(frame)
        assert texts(query.rows(spark)) == numbers(0, last)
    assert query.offsets()[-1] == {name: {"0": 15, "1": 15}}
    # Nothing new, no batch.
    assert len(query.offsets()) == 2


def test_same_batches_as_the_jvm_connector(spark, kafka, topic, tmp_path):
    name = topic(partitions=3)
    send(kafka, name, numbers(0, 100), partition=0)
    send(kafka, name, numbers(0, 7), partition=1)
    offsets, output = {}, {}
    for form in (JVM, OURS):
        query = Query(tmp_path / form)
        frame = read_stream(
            spark, form, kafka, subscribe=name, startingOffsets="earliest", maxOffsetsPerTrigger=20, minPartitions=4
        )
        query.run(frame)
        offsets[form], output[form] = query.offsets(), query.rows(spark)
    assert output[OURS] == output[JVM]
    first = offsets[OURS].pop(0)
    assert {topic: offset for topic, offset in first.items() if offset} == offsets[JVM].pop(0)
    assert offsets[OURS] == offsets[JVM]
    assert len(offsets[OURS]) >= 5


@pytest.mark.parametrize("finished", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_checkpoints_go_from_the_jvm_connector_to_ours_and_back(spark, kafka, topic, query, finished):
    name = topic(partitions=2)
    send(kafka, name, numbers(0, 10))
    last = 10
    for form in (JVM, OURS, JVM, OURS, OURS, JVM):
        for _ in range(finished):
            send(kafka, name, numbers(last, last + 6))
            last += 6
            query.run(read_stream(spark, form, kafka, subscribe=name, startingOffsets="earliest"))
        assert texts(query.rows(spark)) == numbers(0, last)


def test_checkpoint_of_a_single_batch_of_ours_goes_to_the_jvm_connector(spark, kafka, topic, query):
    name = topic(partitions=2)
    send(kafka, name, numbers(0, 10))
    query.run(read_stream(spark, OURS, kafka, subscribe=name, startingOffsets="earliest"))
    send(kafka, name, numbers(10, 13))
    query.run(read_stream(spark, JVM, kafka, subscribe=name, startingOffsets="earliest"))
    assert texts(query.rows(spark)) == numbers(0, 13)


def test_first_batch_is_replayed_as_it_was(spark, kafka, topic, query):
    """With startingOffsets=latest the end has moved on when Spark asks for the start again."""
    name = topic(partitions=2)
    send(kafka, name, ["before"] * 3)
    frame = read_stream(spark, OURS, kafka, subscribe=name, startingOffsets="latest")
    running = query.start(frame, processingTime="0 seconds")
    wait_until((query.checkpoint / "commits" / "0").exists)
    running.stop()
    # The first batch was empty; a first batch with data is made by hand.
    send(kafka, name, numbers(0, 5), partition=0)
    stored = query.checkpoint / "offsets" / "0"
    lines = stored.read_text().splitlines()
    lines[2] = json.dumps({name: {"0": 7, "1": 1}, json.dumps({name: {"0": 2, "1": 1}}): {}})
    stored.write_text("\n".join(lines))
    (stored.parent / ".0.crc").unlink(missing_ok=True)
    query.forget_last_commit()
    # The files of the first batch say that it is done, too.
    shutil.rmtree(query.output)
    send(kafka, name, numbers(5, 8), partition=1)
    query.run(frame)
    assert texts(query.rows(spark)) == numbers(0, 8)


def test_failed_batch_is_replayed_with_the_same_rows(spark, kafka, topic, tmp_path):
    name = topic(partitions=2)
    send(kafka, name, numbers(0, 9))
    seen = []

    def fail_once(frame, batch):
        seen.append((batch, texts(frame.collect())))
        if len(seen) == 1:
            raise ValueError("as intended")

    frame = read_stream(spark, OURS, kafka, subscribe=name, startingOffsets="earliest")
    writer = frame.writeStream.foreachBatch(fail_once).option("checkpointLocation", str(tmp_path / "c"))
    with pytest.raises(Exception, match="as intended"):
        writer.trigger(availableNow=True).start().awaitTermination(60)
    send(kafka, name, numbers(9, 12))
    writer.trigger(availableNow=True).start().awaitTermination(60)
    assert seen == [(0, numbers(0, 9)), (0, numbers(0, 9)), (1, numbers(9, 12))]


def test_available_now_ends_though_records_keep_coming(spark, kafka, topic, query):
    name = topic(partitions=1)
    send(kafka, name, numbers(0, 30), partition=0)
    frame = read_stream(
        spark, OURS, kafka, subscribe=name, startingOffsets="earliest", maxOffsetsPerTrigger=10,
        minOffsetsPerTrigger=10,
    )  # fmt: skip
    running = query.start(frame)
    send(kafka, name, ["later"] * 50, partition=0)
    assert running.awaitTermination(120)
    found = texts(query.rows(spark))
    assert [each for each in found if each != "later"] == numbers(0, 30)
    assert len(query.offsets()) == -(-len(found) // 10)


def test_min_offsets_hold_a_batch_back(spark, kafka, topic, query):
    name = topic(partitions=1)
    send(kafka, name, numbers(0, 3), partition=0)
    frame = read_stream(
        spark, OURS, kafka, subscribe=name, startingOffsets="earliest", minOffsetsPerTrigger=10, maxTriggerDelay="1h"
    )
    running = query.start(frame, processingTime="0 seconds")
    wait_until(lambda: len(query.offsets()) == 1)
    send(kafka, name, numbers(3, 10), partition=0)
    time.sleep(1)
    assert len(query.offsets()) == 1
    send(kafka, name, numbers(10, 13), partition=0)
    wait_until(lambda: len(query.offsets()) == 2)
    running.processAllAvailable()
    running.stop()
    assert texts(query.rows(spark)) == numbers(0, 13)


def test_max_trigger_delay_lets_a_small_batch_go(spark, kafka, topic, query):
    name = topic(partitions=1)
    send(kafka, name, numbers(0, 3), partition=0)
    frame = read_stream(
        spark, OURS, kafka, subscribe=name, startingOffsets="earliest", minOffsetsPerTrigger=100, maxTriggerDelay="1s"
    )
    running = query.start(frame, processingTime="0 seconds")
    wait_until(lambda: len(query.offsets()) == 1)
    send(kafka, name, numbers(3, 5), partition=0)
    wait_until(lambda: len(query.offsets()) == 2)
    running.stop()


def test_progress_says_how_far_the_query_is_behind(spark, kafka, topic, query):
    name = topic(partitions=2)
    send(kafka, name, numbers(0, 30), partition=0)
    frame = read_stream(spark, OURS, kafka, subscribe=name, startingOffsets="earliest", maxOffsetsPerTrigger=10)
    finished = query.run(frame)
    progress = [each for each in finished.recentProgress if each.numInputRows]
    assert [each.numInputRows for each in progress] == [10, 10, 10]
    latest = [json.loads(each.sources[0].latestOffset) for each in progress]
    assert latest[0][name] == {"0": 30, "1": 0}
    assert [each["$metrics"]["maxOffsetsBehindLatest"] for each in latest] == ["20", "10", "0"]
    assert latest[0]["$metrics"]["minOffsetsBehindLatest"] == "0"
    assert latest[0]["$metrics"]["avgOffsetsBehindLatest"] == "10.0"


def test_positions_are_committed_to_a_group_for_lag_tools(spark, kafka, topic, query):
    name = topic(partitions=2)
    send(kafka, name, numbers(0, 30))
    frame = read_stream(
        spark, OURS, kafka, subscribe=name, startingOffsets="earliest", maxOffsetsPerTrigger=10, commitGroupId=name
    )
    query.run(frame)
    with Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": name}) as consumer:
        found = consumer.committed([TopicPartition(name, 0), TopicPartition(name, 1)], timeout=10)
    # Spark tells a source that a batch is done when it plans the next one.
    assert [each.offset for each in found] == [10, 10]


def test_new_partitions_are_read_from_their_beginning(spark, kafka, topic, query, admin):
    name = topic(partitions=1)
    send(kafka, name, numbers(0, 3), partition=0)
    frame = read_stream(spark, OURS, kafka, subscribePattern=f"{name[:-4]}.*", startingOffsets="latest")
    query.run(frame)
    finish(admin.create_partitions([NewPartitions(name, 2)]))
    wire_ready = lambda: send(kafka, name, numbers(3, 8), partition=1) or True  # noqa: E731
    wait_until(wire_ready)
    query.run(frame)
    assert texts(query.rows(spark)) == numbers(3, 8)


class TestDataLoss:
    @pytest.fixture
    def name(self, spark, kafka, topic, query):
        name = topic(partitions=2)
        send(kafka, name, numbers(0, 10))
        query.run(read_stream(spark, OURS, kafka, subscribe=name, startingOffsets="earliest"))
        send(kafka, name, numbers(10, 20))
        return name

    def check(self, spark, kafka, name, query, left):
        for form in (OURS, JVM):
            with pytest.raises(Exception, match="(?i)lost|missed|loss|OffsetOutOfRange"):
                query.run(read_stream(spark, form, kafka, subscribe=name))
        query.run(read_stream(spark, OURS, kafka, subscribe=name, failOnDataLoss="false"))
        assert texts(query.rows(spark)) == sorted(left)

    def test_records_that_were_aged_out(self, spark, kafka, name, query, admin):
        finish(admin.delete_records([TopicPartition(name, 0, 8)]))
        self.check(spark, kafka, name, query, numbers(0, 10) + numbers(10, 20)[1::2] + numbers(10, 20)[6::2])

    def test_topic_that_was_made_anew(self, spark, kafka, name, query, admin):
        finish(admin.delete_topics([name]))
        wait_until(lambda: name not in admin.list_topics(timeout=10).topics)
        wire.create_topic(kafka.bootstrap_servers, name, 2, 1, {})
        send(kafka, name, ["new"] * 4)
        self.check(spark, kafka, name, query, numbers(0, 10))

    def test_topic_that_was_deleted(self, spark, kafka, name, query, admin):
        finish(admin.delete_topics([name]))
        wait_until(lambda: name not in admin.list_topics(timeout=10).topics)
        self.check(spark, kafka, name, query, numbers(0, 10))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"endingOffsets": "latest"}, "endingOffsets"),
        ({"maxOffsetsPerTrigger": "1", "minOffsetsPerTrigger": "2"}, "minOffsetsPerTrigger"),
        ({"startingOffsets": '{"no-such":{"0":1}}'}, "startingOffsets"),
        ({"startingTimestamp": "1800000000000"}, "startingTimestamp"),
    ],
)
def test_wrong_options_are_named(spark, kafka, topic, query, options, named):
    name = topic()
    with pytest.raises(Exception, match=f"Option '{named}'"):
        query.run(read_stream(spark, OURS, kafka, subscribe=name, **options))


def test_read_committed_stream_waits_for_open_transactions(spark, kafka, topic, query):
    from cykafka import Producer

    name = topic()
    frame = read_stream(
        spark, OURS, kafka, subscribe=name, startingOffsets="earliest", kafka__isolation__level="read_committed"
    )
    with Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": name}) as producer:
        producer.init_transactions(30)
        for committed in (True, False, True):
            producer.begin_transaction()
            for number in range(3):
                producer.produce(name, f"{committed}-{number}")
            producer.flush(30)
            query.run(frame)
            if committed:
                producer.commit_transaction(30)
            else:
                producer.abort_transaction(30)
        query.run(frame)
    assert texts(query.rows(spark)) == sorted(["True-0", "True-1", "True-2"] * 2)


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsetsByTimestamp": {0: 1_700_000_007_000, 1: 0}, "startingOffsetsByTimestampStrategy": "latest"},
        {"startingTimestamp": 1_700_000_004_000, "startingOffsets": "latest", "maxRecordsPerPartition": 3},
        {"startingOffsets": {0: 3, 1: -1}, "minPartitions": 5, "includeHeaders": "true"},
    ],
    ids=["by-timestamp", "timestamp", "offsets"],
)
def test_starts_and_splits_are_those_of_the_jvm_connector(spark, kafka, topic, tmp_path, options):
    name = topic(partitions=2, config={"retention.ms": "-1"})
    for number in range(12):
        send(
            kafka,
            name,
            [str(number)],
            partition=number % 2,
            timestamp=1_700_000_000_000 + number * 1000,
            headers=[("h", b"1")],
        )
    options = {key: json.dumps({name: value}) if isinstance(value, dict) else value for key, value in options.items()}
    found = {}
    for form in (JVM, OURS):
        query = Query(tmp_path / form)
        # Small ranges would share a task here; the JVM connector does not know the option.
        whole = {} if "minPartitions" in options else {"minRecordsPerPartition": "0"}
        frame = read_stream(spark, form, kafka, assign=json.dumps({name: [0, 1]}), **options, **whole)
        frame = frame.selectExpr("*", "spark_partition_id() as task")
        query.run(frame)
        collected = query.rows(spark)
        tasks = {
            task: [each.offset for each in collected if each.task == task] for task in {each.task for each in collected}
        }
        # Tasks are numbered as it happens.
        found[form] = [each[:-1] for each in collected], sorted(tasks.values())
    assert found[OURS] == found[JVM]
    assert found[OURS][0]
