"""Batch reads, with Spark's own connector as the yardstick."""

from __future__ import annotations

import json
import time

import pytest

from cykafka import Producer
from tests.spark.support import JVM, OURS, ranges, read, rows, values

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def data(spark, kafka):
    """A topic with three partitions of 40, 7 and 0 records, whose first five of partition 0 are deleted."""
    from cykafka import TopicPartition
    from cykafka.admin import AdminClient
    from tests.support import wire

    name = "batch-data"
    wire.create_topic(kafka.bootstrap_servers, name, 3, 1, {"retention.ms": "-1"})
    start = 1_700_000_000_000
    with Producer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
        for number in range(40):
            producer.produce(
                name,
                None if number == 9 else b"value %d" % number,
                None if number % 3 else b"key %d" % number,
                partition=0,
                timestamp=start + number * 1000,
                headers=[("h", b"1"), ("h", None)] if number % 2 else None,
            )
        for number in range(7):
            producer.produce(name, b"x" * number, b"", partition=1, timestamp=start + number * 1000)
        assert producer.flush(30) == 0
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for future in admin.delete_records([TopicPartition(name, 0, 5)]).values():
        future.result(30)
    return name


def both(spark, kafka, **options):
    return [read(spark, form, kafka, **options) for form in (JVM, OURS)]


@pytest.mark.parametrize("headers", ["false", "true"])
def test_same_schema_and_rows(spark, kafka, data, headers):
    jvm, ours = both(spark, kafka, subscribe=data, includeHeaders=headers)
    assert ours.schema == jvm.schema
    assert rows(ours) == rows(jvm)
    assert ours.count() == 42


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": "earliest", "endingOffsets": "latest"},
        {"startingOffsets": {0: 10, 1: 2, 2: 0}},
        {"startingOffsets": {0: -2, 1: -2, 2: -2}, "endingOffsets": {0: 12, 1: -1, 2: -1}},
        {"startingOffsets": {0: 10, 1: 2, 2: 0}, "endingOffsets": {0: 10, 1: 3, 2: 0}},
        {"startingTimestamp": 1_700_000_000_000 + 6_000, "startingOffsetsByTimestampStrategy": "latest"},
        {"startingTimestamp": 1_700_000_000_000, "endingTimestamp": 1_700_000_000_000 + 6_001,
         "startingOffsetsByTimestampStrategy": "latest"},
        {"startingOffsetsByTimestamp": {0: 1_700_000_020_000, 1: 1_700_000_003_000, 2: 0},
         "endingOffsetsByTimestamp": {0: 1_700_000_025_000, 1: 1_800_000_000_000, 2: 0},
         "startingOffsetsByTimestampStrategy": "latest"},
        {"startingTimestamp": 1_700_000_030_000, "startingOffsets": "earliest", "endingOffsets": {0: 40, 1: 7, 2: 0},
         "startingOffsetsByTimestampStrategy": "latest"},
    ],
)  # fmt: skip
def test_starts_and_ends(spark, kafka, data, options):
    options = {name: json.dumps({data: value}) if isinstance(value, dict) else value for name, value in options.items()}
    jvm, ours = both(spark, kafka, subscribe=data, **options)
    assert rows(ours) == rows(jvm)


@pytest.mark.parametrize(
    "choice", [{"assign": '{"batch-data":[1]}'}, {"subscribePattern": "batch-d[a-z]+"}, {"subscribe": "batch-data"}]
)
def test_choices_of_topics(spark, kafka, data, choice):
    jvm, ours = both(spark, kafka, **choice)
    assert rows(ours) == rows(jvm)
    assert ours.count() > 0


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"minPartitions": 2},
        {"minPartitions": 5},
        {"minPartitions": 11},
    ],
)
def test_same_split_into_tasks(spark, kafka, data, options):
    jvm, ours = both(spark, kafka, subscribe=data, **options)
    assert ranges(ours) == ranges(jvm)


def test_tasks_of_limited_size(spark, kafka, data):
    # Spark's own connector heeds this option in streams only.
    ours = read(spark, OURS, kafka, subscribe=data, maxRecordsPerPartition=10)
    assert ranges(ours) == [(data, 0, 5, 12), (data, 0, 13, 21), (data, 0, 22, 30), (data, 0, 31, 39), (data, 1, 0, 6)]
    assert rows(ours) == rows(read(spark, JVM, kafka, subscribe=data))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets"),
        ({"startingOffsets": '{"batch-data":{"0":1}}'}, "startingOffsets"),
        ({"startingOffsets": '{"batch-data":{"0":1,"1":1,"2":0,"3":0}}'}, "startingOffsets"),
        ({"endingOffsets": "earliest"}, "endingOffsets"),
        ({"startingTimestamp": "1800000000000"}, "startingTimestamp"),
        ({"assign": '{"batch-data":[0]}'}, "assign"),
        ({"minPartitions": "x"}, "minPartitions"),
        ({"kafka.group.id": "g", "kafka.enable.auto.commit": "true"}, "kafka.enable.auto.commit"),
        ({"kafka.key.deserializer": "x"}, "kafka.key.deserializer"),
        ({"kafka.auto.offset.reset": "earliest"}, "kafka.auto.offset.reset"),
        ({"kafka.interceptor.classes": "x"}, "kafka.interceptor.classes"),
        ({"failOnDataLoss": "perhaps"}, "failOnDataLoss"),
    ],
)
def test_what_spark_refuses_is_refused_and_the_option_named(spark, kafka, data, options, named):
    with pytest.raises(Exception, match="."):
        read(spark, JVM, kafka, subscribe=data, **options).collect()
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as ours:
        read(spark, OURS, kafka, subscribe=data, **options).collect()
    expected = "subscribe" if named == "assign" else named
    assert f"Option '{expected}'" in str(ours.value)


def test_unknown_property_is_refused_with_its_name(spark, kafka, data):
    with pytest.raises(Exception, match=r"Option 'kafka\.no\.such\.property'"):
        read(spark, OURS, kafka, subscribe=data, kafka__no__such__property="1").collect()


def test_topic_that_does_not_exist(spark, kafka):
    with pytest.raises(Exception, match="do not exist"):
        read(spark, OURS, kafka, subscribe="no-such-topic").collect()


def test_start_before_the_first_offset_is_lost_data(spark, kafka, data):
    start = json.dumps({data: {0: 2, 1: 0, 2: 0}})
    for form in (JVM, OURS):
        with pytest.raises(Exception, match="(?i)data.*(lost|missed|loss)"):
            read(spark, form, kafka, subscribe=data, startingOffsets=start).collect()
    jvm, ours = both(spark, kafka, subscribe=data, startingOffsets=start, failOnDataLoss="false")
    assert rows(ours) == rows(jvm)
    assert ours.count() == 42


def test_end_beyond_the_last_offset_is_lost_data(spark, kafka, data):
    end = json.dumps({data: {0: 45, 1: 7, 2: 0}})
    with pytest.raises(Exception, match="KAFKA_DATA_LOSS"):
        read(spark, OURS, kafka, subscribe=data, endingOffsets=end).collect()
    assert read(spark, OURS, kafka, subscribe=data, endingOffsets=end, failOnDataLoss="false").count() == 42


def test_partial_reads_leave_usable_workers(spark, kafka, data):
    assert len(read(spark, OURS, kafka, subscribe=data, batchRows=2).limit(3).collect()) == 3
    assert read(spark, OURS, kafka, subscribe=data, batchRows=2).count() == 42


def test_transactions(spark, kafka, topic):
    name = topic(partitions=2)
    config = {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": name}
    with Producer(config) as producer:
        producer.init_transactions(30)
        for number in range(6):
            producer.begin_transaction()
            for _ in range(3):
                producer.produce(name, b"%d" % number, partition=0)
            assert producer.flush(30) == 0
            if number % 2:
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)
        options = {"subscribe": name, "kafka__isolation__level": "read_committed"}
        jvm, ours = both(spark, kafka, **options)
        assert rows(ours) == rows(jvm)
        assert values(rows(ours)) == [b"0"] * 3 + [b"2"] * 3 + [b"4"] * 3
        # The range of the last task has nothing but marks of transactions.
        split = read(spark, OURS, kafka, **options, maxRecordsPerPartition=1)
        assert values(rows(split)) == values(rows(ours))
        producer.begin_transaction()
        producer.produce(name, b"open", partition=0)
        producer.flush(30)
        jvm, ours = both(spark, kafka, **options)
        assert rows(ours) == rows(jvm)
        uncommitted = both(spark, kafka, subscribe=name)
        assert rows(uncommitted[1]) == rows(uncommitted[0])
        assert uncommitted[1].count() == 19
        producer.abort_transaction(30)


def test_compacted_topic(spark, kafka, topic):
    name = topic(config={"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01",
                         "segment.bytes": "1048576", "max.compaction.lag.ms": "200"})  # fmt: skip
    with Producer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
        for number in range(50):
            producer.produce(name, b"%d" % number, b"key %d" % (number % 3))
            producer.flush(10)
            if number % 10 == 9:
                time.sleep(0.15)
    jvm, ours = both(spark, kafka, subscribe=name, maxRecordsPerPartition=7)
    assert rows(ours)[-1] == rows(jvm)[-1]
    assert {bytes(each.key) for each in rows(ours)} == {b"key 0", b"key 1", b"key 2"}


@pytest.fixture
def pushdown(spark):
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    yield spark
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.parametrize(
    ("condition", "tasks"),
    [
        ("partition = 1", 1),
        ("partition in (0, 2)", 1),
        ("partition > 0", 1),
        ("offset >= 30 and offset < 33", 1),
        ("partition = 0 and offset = 12", 1),
        ("topic = 'other'", 1),
        ("timestamp >= '2023-11-14 22:13:44'", 1),
        ("timestamp = '2023-11-14 22:13:25' and key is null", 2),
        ("offset < 3 or partition = 1", 2),
        ("value is null", 2),
        ("partition = 0 and partition = 1", 0),
    ],
)
def test_filters_are_pushed_down(pushdown, kafka, data, condition, tasks):
    jvm, ours = (each.where(condition) for each in both(pushdown, kafka, subscribe=data))
    assert rows(ours) == rows(jvm)
    assert ours.rdd.getNumPartitions() == tasks


def test_filters_work_without_push_down_too(spark, kafka, data):
    assert read(spark, OURS, kafka, subscribe=data).where("partition = 1").count() == 7
