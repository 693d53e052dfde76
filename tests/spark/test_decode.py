"""Decoding in the source, with Spark's own functions over the raw values as the yardstick."""

from __future__ import annotations

import json
import struct

import pytest

from cykafka.spark.decode import DecodePlan, kafka_schema
from cykafka.spark.errors import OptionError, SchemaError
from cykafka.spark.options import read_options
from tests.spark.support import OURS, read, read_stream, rows, send

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(300)]

TICK = "symbol string, price double, size bigint"
GOOD = [
    b'{"symbol": "A", "price": 1.5, "size": 3}',
    b'{"price": 2, "symbol": "B\\u00e9\\n", "size": 9007199254740993, "other": [1, {"a": null}]}',
    b' {"symbol": null, "size": -1}\n',
    b"{}",
    None,
    '{"symbol": "é", "price": -1e300, "size": 0}'.encode(),
]
BAD = [b"{", b"", b"[1]", b'{"symbol": "A"', b"null", b'{"price": "x", "symbol": "C"}', b'{"size": 1.5, "symbol": "D"}']


@pytest.fixture
def loaded(kafka, topic):
    def load(values, **fields):
        name = topic()
        send(kafka, name, values, partition=0, **fields)
        return name

    return load


def by_from_json(spark, kafka, name, schema, mode="PERMISSIVE"):
    """What Spark makes of the raw values itself."""
    from pyspark.sql import functions as F

    raw = read(spark, OURS, kafka, subscribe=name)
    decoded = F.from_json(F.col("value").cast("string"), schema, {"mode": mode})
    return [each.decoded for each in raw.orderBy("offset").select(decoded.alias("decoded")).collect()]


@pytest.mark.parametrize("values", [GOOD, GOOD + BAD, BAD], ids=["good", "mixed", "bad"])
def test_json_is_what_from_json_makes_of_it(spark, kafka, loaded, values):
    name = loaded(values)
    frame = read(spark, OURS, kafka, subscribe=name, valueFormat="json", schema=f"value struct<{TICK}>, offset bigint")
    ours = [each.value for each in frame.orderBy("offset").collect()]
    assert ours == by_from_json(spark, kafka, name, TICK)


@pytest.mark.parametrize("values", [GOOD, GOOD + BAD, BAD], ids=["good", "mixed", "bad"])
def test_json_in_columns_of_their_own(spark, kafka, loaded, values):
    """Fields are decoded while they are fetched, which must make no difference."""
    name = loaded(values)
    frame = read(spark, OURS, kafka, subscribe=name, valueFormat="json", schema=f"{TICK}, offset bigint")
    expected = by_from_json(spark, kafka, name, TICK)
    ours = [(each.symbol, each.price, each.size) for each in frame.orderBy("offset").collect()]
    assert ours == [(None,) * 3 if each is None else tuple(each) for each in expected]


NESTED = "a struct<b: int, c: struct<d: string>>, l array<bigint>, m map<string, double>, t timestamp, n decimal(10,2)"


def test_nested_json_is_what_from_json_makes_of_it(spark, kafka, loaded):
    name = loaded(
        [
            b'{"a": {"b": 1, "c": {"d": "x"}}, "l": [1, 2], "m": {"k": 1.5}, "n": 1.25, "t": "2024-05-17T12:30:00.125Z"}',
            b'{"a": {"b": 2147483648, "c": {"d": "x"}}, "l": [3], "m": {}, "n": 12345678.91}',
            b'{"a": {"c": {"d": [1, {"e": "f g"}]}}, "l": null, "t": "2024-05-17T12:30:00+02:00"}',
            b'{"a": null, "l": [], "t": "2024-05-17 12:30:00"}',
            b'{"a": {"c": {"d": 1.5}}, "m": {"k": "NaN", "j": "-Infinity"}, "t": "2024-05-17T12:30:00.1-0330"}',
        ]
    )
    frame = read(
        spark, OURS, kafka, subscribe=name, valueFormat="json", schema=f"value struct<{NESTED}>, offset bigint"
    )
    assert repr([each.value for each in rows_by_offset(frame)]) == repr(by_from_json(spark, kafka, name, NESTED))


def test_keys_are_decoded_too(spark, kafka, loaded):
    name = loaded([b'{"v": 1}', b'{"v": 2}'], key=b'{"k": "x"}')
    schema = "key struct<k string>, v int, offset bigint"
    frame = read(spark, OURS, kafka, subscribe=name, keyFormat="json", valueFormat="json", schema=schema)
    assert [(each.key.k, each.v) for each in rows_by_offset(frame)] == [("x", 1), ("x", 2)]


def rows_by_offset(frame):
    return frame.orderBy("offset").collect()


class TestModes:
    VALUES = (b'{"v": 1, "w": "a"}', b'{"v": "x", "w": "b"}', b"{", None, b"\xff{")

    def read(self, spark, kafka, name, schema, **options):
        return read(spark, OURS, kafka, subscribe=name, valueFormat="json", schema=schema, **options)

    def test_permissive_keeps_what_it_can_and_the_text(self, spark, kafka, loaded):
        name = loaded(self.VALUES)
        schema = "offset bigint, v int, w string, _corrupt_record string"
        assert [tuple(each) for each in rows_by_offset(self.read(spark, kafka, name, schema))] == [
            (0, 1, "a", None),
            (1, None, "b", '{"v": "x", "w": "b"}'),
            (2, None, None, "{"),
            (3, None, None, None),
            (4, None, None, "\ufffd{"),
        ]

    def test_column_of_another_name_and_type(self, spark, kafka, loaded):
        name = loaded(self.VALUES)
        frame = self.read(spark, kafka, name, "v int, bad binary", columnNameOfCorruptRecord="bad")
        assert sorted(bytes(each.bad) for each in frame.where("bad is not null").collect()) == [
            b"{",
            b'{"v": "x", "w": "b"}',
            b"\xff{",
        ]

    def test_drop(self, spark, kafka, loaded):
        name = loaded(self.VALUES)
        frame = self.read(spark, kafka, name, "offset bigint, v int", mode="DROPMALFORMED")
        assert [tuple(each) for each in rows_by_offset(frame)] == [(0, 1), (3, None)]

    def test_fail_fast_names_the_record(self, spark, kafka, loaded):
        name = loaded(self.VALUES)
        frame = self.read(spark, kafka, name, "v int", mode="failfast")
        with pytest.raises(Exception, match=r"MALFORMED_RECORD_IN_PARSING.*offset 1 of topic '.*field 'v'"):
            frame.collect()

    def test_good_batches_do_not_fail(self, spark, kafka, loaded):
        name = loaded(self.VALUES[:1] * 3)
        assert self.read(spark, kafka, name, "v int", mode="FAILFAST").count() == 3


class TestStructs:
    LAYOUT = "<4sxd?IqQ2sh"
    FIELDS = "s string, d double, b boolean, i bigint, q timestamp, u bigint, r binary, h int"

    def pack(self, *fields):
        return struct.pack(self.LAYOUT, *fields)

    def test_fixed_width_records(self, spark, kafka, loaded):
        good = self.pack(b"ab", 1.5, True, 1 << 31, 1_000_001, 5, b"\0\xff", -2)
        values = [good, None, b"short", self.pack(b"\xff\xfe", -0.5, False, 0, 0, 1 << 63, b"xy", 7), good]
        name = loaded(values)
        schema = f"offset bigint, {self.FIELDS}, _corrupt_record binary"
        frame = read(
            spark, OURS, kafka, subscribe=name, valueFormat="struct", valueStructFormat=self.LAYOUT, schema=schema
        )
        found = rows_by_offset(frame)
        first = found[0]
        assert (first.s, first.d, first.b, first.i, first.u, bytes(first.r), first.h) == (
            "ab",
            1.5,
            True,
            1 << 31,
            5,
            b"\0\xff",
            -2,
        )
        assert first.q.microsecond == 1
        assert found[4][1:] == first[1:]
        assert set(found[1][1:]) == {None}
        assert bytes(found[2]._corrupt_record) == b"short"
        assert (found[3].s, found[3].u, found[3].d, found[3].h) == (None, None, -0.5, 7)
        assert bytes(found[3]._corrupt_record) == values[3]

    def test_keys_and_big_endian(self, spark, kafka, loaded):
        name = loaded([b"v"] * 2, key=struct.pack(">Hd", 3, 2.5))
        frame = read(
            spark, OURS, kafka, subscribe=name, keyFormat="struct", keyStructFormat=">Hd",
            schema="key struct<n: int, x: double>, value binary",
        )  # fmt: skip
        assert [tuple(each.key) for each in frame.collect()] == [(3, 2.5)] * 2


def hook(schema, options):
    """Decodes ``PREFIX:number`` into a struct."""
    prefix = options.get("valueprefix", "")

    def decode(data, topic):
        found, _, number = data.decode().partition(":")
        if found != prefix:
            raise ValueError(f"no {prefix}")
        return {schema.fieldNames()[0]: int(number), "topic_name": topic}

    return decode


def test_hook_for_formats_of_the_users(spark, kafka, loaded):
    name = loaded([b"x:1", b"y:2", b"x:3000000000"])
    frame = read(
        spark, OURS, kafka, subscribe=name, valueFormat="tests.spark.test_decode:hook", valuePrefix="x",
        schema="offset bigint, n int, topic_name string, _corrupt_record string",
    )  # fmt: skip
    assert [tuple(each) for each in rows_by_offset(frame)] == [
        (0, 1, name, None), (1, None, None, "y:2"), (2, None, None, "x:3000000000"),
    ]  # fmt: skip


def test_strings(spark, kafka, loaded):
    name = loaded([b"a", None, b"\xff", "é".encode()])
    frame = read(spark, OURS, kafka, subscribe=name, valueFormat="string")
    assert [each.value for each in rows(frame)] == ["a", None, None, "é"]


def test_streams_decode_too(spark, kafka, loaded, tmp_path):
    name = loaded([json.dumps({"v": number}) for number in range(5)])
    frame = read_stream(
        spark, OURS, kafka, subscribe=name, startingOffsets="earliest", valueFormat="json", schema="v int"
    )
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "c"))
    assert writer.trigger(availableNow=True).start(str(tmp_path / "o")).awaitTermination(120)
    assert sorted(each.v for each in spark.read.parquet(str(tmp_path / "o")).collect()) == list(range(5))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"valueFormat": "json"}, "Option 'valueFormat': json needs a schema"),
        ({"valueFormat": "avro", "schema": "v int"}, "Option 'valueFormat': must be raw, string, json, struct, or"),
        ({"valueFormat": "no.such:thing", "schema": "v int"}, "cannot import the decoder 'no.such:thing'"),
        ({"valueFormat": "json", "schema": "value string"}, "Column 'value': is string, but JSON objects give a struct"),
        ({"valueFormat": "json", "schema": "v map<int, string>"}, "Column 'v': is map<int,string>; maps read from JSON"),
        ({"valueFormat": "json", "schema": "v interval day to second"}, "Column 'v'"),
        ({"valueFormat": "json", "schema": "value struct<v: int>, w int"}, "Column 'w'"),
        ({"schema": "v int"}, "Column 'v': is none of Kafka's columns"),
        ({"schema": "value string"}, "Column 'value': is binary in Kafka, not string; to decode it set 'valueFormat'"),
        ({"valueFormat": "json", "schema": "v int", "mode": "LENIENT"}, "Option 'mode'"),
        ({"valueFormat": "json", "schema": "v int, _corrupt_record int"}, "Column '_corrupt_record'"),
        ({"valueFormat": "struct", "schema": "v int"}, "Option 'valueStructFormat': must give the layout"),
        ({"valueFormat": "struct", "valueStructFormat": "<i", "schema": "v smallint"}, "Column 'v': is smallint; 'i'"),
        ({"valueFormat": "struct", "valueStructFormat": "<iq", "schema": "v int"}, "Column 'value': has 1 fields"),
        ({"valueFormat": "struct", "valueStructFormat": "<p", "schema": "v int"}, "Option 'valueStructFormat'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(spark, options, problem):
    from pyspark.sql.types import _parse_datatype_string

    given = {"kafka.bootstrap.servers": "localhost:1", "subscribe": "t", **options}
    with pytest.raises((OptionError, SchemaError)) as caught:
        schema = _parse_datatype_string(given.pop("schema", None) or kafka_schema(given))
        DecodePlan.make(schema, read_options(given, streaming=False))
    assert problem in str(caught.value)


def test_spark_passes_on_what_does_not_fit(spark, kafka, topic):
    frame = read(spark, OURS, kafka, subscribe=topic(), valueFormat="json", schema="value string")
    with pytest.raises(Exception, match="Column 'value': is string, but JSON objects give a struct"):
        frame.collect()
