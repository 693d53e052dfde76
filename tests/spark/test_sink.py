"""Writes, with Spark's own connector as the yardstick and the reader."""

from __future__ import annotations

import json

import pytest

from cykafka import Consumer, TopicPartition
from tests.spark.support import JVM, OURS, read, read_stream, send, with_options

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(300)]

HEADERS = "array<struct<key:string,value:binary>>"


def write(frame, form, kafka, **options):
    writer = frame.write.format(form).option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    with_options(writer, options).mode("append").save()


def content(collected, *, placed):
    """What rows say, and where they are, if that does not depend on chance."""
    return sorted(
        repr((each.partition if placed or each.key is not None else None, each.key, each.value, each.headers))
        for each in collected
    )


def everything(spark, kafka, *topics):
    return read(spark, JVM, kafka, subscribe=",".join(topics), includeHeaders="true").collect()


@pytest.mark.parametrize(
    ("expressions", "options"),
    [
        (["cast(id as string) value"], {}),
        (["cast(cast(id as string) as binary) value", "cast(id % 7 as string) key"], {}),
        (["if(id % 5 = 0, null, cast(id as string)) value", "if(id % 3 = 0, null, cast(cast(id as string) as binary)) key"], {}),
        (["cast(id as string) value", "cast(id % 3 as int) partition"], {}),
        (["cast(id as string) value", "if(id % 2 = 0, null, cast(0 as int)) partition", "id + 1 as other"], {}),
        (["'x' value", "array(named_struct('key', 'h', 'value', cast(cast(id as string) as binary))) headers"],
         {"includeHeaders": "true"}),
        (["'x' value", f"if(id % 2 = 0, null, cast(array() as {HEADERS})) headers"], {"includeHeaders": "true"}),
        (["'x' value", "array(named_struct('key', 'h', 'value', cast(null as binary))) headers"], {}),
    ],
)  # fmt: skip
def test_writes_what_the_jvm_connector_writes(spark, kafka, topic, expressions, options):
    frame = spark.range(100).selectExpr(*expressions)
    names = {form: topic(partitions=3) for form in (JVM, OURS)}
    for form, name in names.items():
        write(frame, form, kafka, topic=name, **options)
    found = {form: everything(spark, kafka, name) for form, name in names.items()}
    assert len(found[OURS]) == 100
    placed = any(each.endswith(" partition") and "null" not in each for each in expressions)
    assert content(found[OURS], placed=placed) == content(found[JVM], placed=placed)


def test_partitions_of_keys_are_those_of_the_java_client(spark, kafka, topic):
    frame = spark.range(200).selectExpr("cast(id as string) key", "cast(id as string) value")
    placed = []
    for form in (JVM, OURS):
        name = topic(partitions=5)
        write(frame, form, kafka, topic=name)
        placed.append({bytes(each.key): each.partition for each in everything(spark, kafka, name)})
    assert placed[0] == placed[1]


def test_topic_column_and_the_option_over_it(spark, kafka, topic):
    first, second, third = topic(), topic(), topic()
    frame = spark.range(10).selectExpr(f"if(id < 4, '{first}', '{second}') topic", "cast(id as string) value")
    write(frame, OURS, kafka)
    assert [each.topic for each in everything(spark, kafka, first, second)].count(first) == 4
    write(frame, OURS, kafka, topic=third)
    assert len(everything(spark, kafka, third)) == 10


@pytest.mark.parametrize(
    ("expressions", "options", "problem"),
    [
        (["'k' key"], {"topic": "t"}, "Column 'value'"),
        (["'v' value"], {}, "Column 'topic'"),
        (["id value"], {"topic": "t"}, "Column 'value': must be string or binary, not bigint"),
        (["'v' value", "1.5 key"], {"topic": "t"}, "Column 'key'"),
        (["'v' value", "id partition"], {"topic": "t"}, "Column 'partition'"),
        (["'v' value", "1 topic"], {}, "Column 'topic'"),
        (["'v' value", "map('a', 'b') headers"], {"topic": "t"}, "Column 'headers'"),
        (["'v' value"], {"topic": "t", "kafka__value__serializer": "x"}, "Option 'kafka.value.serializer'"),
        (["'v' value"], {"topic": "t", "kafka__acks": "some"}, "Option 'kafka.acks'"),
        (["'v' value"], {"topic": "t", "delivery": "exactly_once"}, "Option 'txnAppId'"),
    ],
)
def test_wrong_rows_and_options_are_named(spark, kafka, expressions, options, problem):
    frame = spark.range(3).selectExpr(*expressions)
    with pytest.raises(Exception, match=problem):
        write(frame, OURS, kafka, **options)


def test_row_without_topic(spark, kafka, topic):
    name = topic()
    frame = spark.range(3).selectExpr(f"if(id = 1, null, '{name}') topic", "'v' value")
    with pytest.raises(Exception, match="Column 'topic': is null in a row"):
        write(frame.coalesce(1), OURS, kafka)


def test_row_that_is_too_large(spark, kafka, topic):
    name = topic()
    frame = spark.range(3).selectExpr("repeat('x', int(id * 2000000)) value")
    with pytest.raises(Exception, match="MSG_SIZE_TOO_LARGE"):
        write(frame, OURS, kafka, topic=name)


def test_partition_that_does_not_exist(spark, kafka, topic):
    name = topic()
    with pytest.raises(Exception, match="(?i)unknown.*partition"):
        write(spark.range(1).selectExpr("'v' value", "7 partition"), OURS, kafka, topic=name)


def test_overwriting_is_refused(spark, kafka):
    frame = spark.range(1).selectExpr("'v' value")
    writer = frame.write.format(OURS).option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    with pytest.raises(Exception, match="Option 'mode'"):
        writer.option("topic", "t").mode("overwrite").save()


def test_stream_to_stream(spark, kafka, topic, tmp_path):
    source, sink = topic(partitions=2), topic(partitions=2)
    send(kafka, source, [str(number) for number in range(50)])
    frame = read_stream(spark, OURS, kafka, subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger=20)
    writer = frame.writeStream.format(OURS).option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    writer = writer.option("topic", sink).option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    assert writer.start().awaitTermination(120)
    assert sorted(each.value for each in everything(spark, kafka, sink)) == sorted(
        each.value for each in everything(spark, kafka, source)
    )


class TestExactlyOnceBatches:
    def write(self, spark, kafka, name, version, count=20, partitions=2, **options):
        frame = spark.range(0, count, 1, partitions).selectExpr("cast(id as string) value")
        options = {"markerTopic": "markers-of-tests", "txnAppId": name, **options}
        write(frame, OURS, kafka, topic=name, delivery="exactly_once", txnVersion=version, **options)

    def count(self, kafka, name):
        config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "isolation.level": "read_committed",
                  "enable.partition.eof": True}  # fmt: skip
        with Consumer(config) as consumer:
            consumer.assign([TopicPartition(name, 0, 0)])
            found = 0
            while True:
                for message in consumer.consume(1000, 10):
                    if message.error() is not None:
                        return found
                    found += 1

    def test_repeated_write_is_written_once(self, spark, kafka, topic):
        name = topic()
        for version in (1, 1, 2, 2):
            self.write(spark, kafka, name, version)
        assert self.count(kafka, name) == 40

    def test_repeated_write_with_other_rows_is_refused(self, spark, kafka, topic):
        name = topic()
        self.write(spark, kafka, name, 1)
        with pytest.raises(Exception, match="the same rows when a batch is repeated"):
            self.write(spark, kafka, name, 1, count=21)
        assert self.count(kafka, name) == 20

    def test_version_that_goes_back_is_refused(self, spark, kafka, topic):
        name = topic()
        self.write(spark, kafka, name, 5)
        with pytest.raises(Exception, match="'txnVersion' went back"):
            self.write(spark, kafka, name, 4)
        assert self.count(kafka, name) == 20

    def test_fewer_partitions_when_repeated_are_noticed(self, spark, kafka, topic):
        """Rows of a partition that there is no more might be written twice."""
        name = topic()
        self.write(spark, kafka, name, 1, count=10, partitions=2)
        self.write(spark, kafka, name, 2, count=10, partitions=2)
        # As if partition 0 had not been written: its rows would now include those of partition 1.
        from cykafka import Producer

        with Producer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
            from cykafka.spark.markers import marker_partition

            scope = f"cykafka-spark-{name}-{name}"
            producer.produce("markers-of-tests", json.dumps({"batch": 1, "partition": 0, "rows": 5, "hash": 1, "run": ""}),
                             f"{scope}-0", marker_partition(scope, 0))  # fmt: skip
            assert producer.flush(10) == 0
        with pytest.raises(Exception, match="had at least 2 and had written partition 1"):
            self.write(spark, kafka, name, 2, count=10, partitions=1)

    def test_failed_task_leaves_nothing(self, spark, kafka, topic):
        name = topic()
        frame = spark.range(0, 20, 1, 1).selectExpr("if(id = 15, raise_error('as intended'), cast(id as string)) value")
        with pytest.raises(Exception, match="as intended"):
            write(frame, OURS, kafka, topic=name, delivery="exactly_once", txnAppId=name, txnVersion=1)
        assert self.count(kafka, name) == 0
        self.write(spark, kafka, name, 1)
        assert self.count(kafka, name) == 20
