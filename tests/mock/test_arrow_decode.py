"""Message values decoded into typed columns."""

import json
import struct
import time

import pytest

from cykafka import Consumer, JsonDecoder, StructDecoder, TopicPartition

pa = pytest.importorskip("pyarrow", reason="needs pyarrow to look at Arrow columns")

JSON_FIELDS = {
    "flag": "bool",
    "small": "int8",
    "big": "int64",
    "huge": "uint64",
    "price": "float64",
    "half": "float32",
    "name": "utf8",
    "seen": "timestamp[us]",
}


@pytest.fixture
def decode(mock_cluster, producer, make_consumer):
    """Return a function that produces values and returns a table of what they are decoded to."""
    mock_cluster.create_topic("values", 1, 1)

    def decode(values, decoder, **options):
        for value in values:
            producer.produce("values", value, partition=0)
        assert producer.flush(20) == 0
        consumer = make_consumer(enable_partition_eof=True)
        consumer.assign([TopicPartition("values", 0, 0)])
        stream = consumer.arrow_batches(timeout=20, until_end=True, decode=decoder, **options)
        names = stream.column_names
        table = pa.table(stream)
        table.validate(full=True)
        assert table.schema.names == names
        return table

    return decode


@pytest.fixture
def consumer_of(mock_cluster, producer, make_consumer):
    mock_cluster.create_topic("values", 1, 1)

    def consumer_of(values) -> Consumer:
        for value in values:
            producer.produce("values", value, partition=0)
        assert producer.flush(20) == 0
        consumer = make_consumer()
        consumer.assign([TopicPartition("values", 0, 0)])
        end = time.monotonic() + 20
        while consumer.get_watermark_offsets(TopicPartition("values", 0), cached=True)[1] < len(values):
            assert time.monotonic() < end
            time.sleep(0.05)
        return consumer

    return consumer_of


def test_json_objects_become_typed_columns(decode):
    full = {
        "flag": True,
        "small": -128,
        "big": -(1 << 63),
        "huge": (1 << 64) - 1,
        "price": 1.25,
        "half": 0.5,
        "name": 'ü"\n𝄞',
        "seen": 5,
    }
    reordered = dict(reversed(list(full.items()))) | {
        "extra": {"nested": [1, 2]},
        "seen": "2026-11-21T06:42:00.123456789+01:00",
    }
    values = [
        json.dumps(full),
        json.dumps(reordered),
        "{}",
        json.dumps(dict.fromkeys(full)),
        ' {"price": 3, "name": ""} ',
    ]
    table = decode(values, JsonDecoder(JSON_FIELDS), columns=["offset"])
    assert table.schema.types[1:] == [
        pa.bool_(),
        pa.int8(),
        pa.int64(),
        pa.uint64(),
        pa.float64(),
        pa.float32(),
        pa.string(),
        pa.timestamp("us", "UTC"),
    ]
    rows = table.drop_columns(["offset"]).set_column(7, "seen", table.column("seen").cast(pa.int64())).to_pylist()
    nothing = dict.fromkeys(full)
    assert rows == [full, full | {"seen": 1795239720123456}, nothing, nothing, nothing | {"price": 3.0, "name": ""}]


CORRUPT = [
    b"",
    b"not json",
    b"[1]",
    b'{"big": 1',
    b'{"big": 1} x',
    b'{"big": 1.0}',
    b'{"big": "1"}',
    b'{"big": 9223372036854775808}',
    b'{"small": 128}',
    b'{"small": -129}',
    b'{"huge": -1}',
    b'{"flag": 1}',
    b'{"price": true}',
    b'{"name": 1}',
    b'{"name": "\xff"}',
    b'{"name": {"a": 1}}',
    b'{"seen": "yesterday"}',
    b'{"seen": "2026-02-29T00:00:00Z"}',
    b'{"seen": "2026-01-01T24:00:00Z"}',
    b'{"seen": "2026-01-01T00:00:00.Z"}',
    b'{"seen": 1.5}',
]


def test_corrupt_json_makes_null_rows(decode):
    good = b'{"big": 7, "name": "x"}'
    values = [good, *[v for bad in CORRUPT for v in (bad, good)], None]
    table = decode(values, JsonDecoder(JSON_FIELDS), columns=["offset", "value"])
    for row, value in zip(table.to_pylist(), values, strict=True):
        assert row["value"] == value
        assert (row["big"], row["name"]) == ((7, "x") if value == good else (None, None))
        assert [row[name] for name in ("flag", "small", "huge", "price", "half", "seen")] == [None] * 6


def test_corrupt_values_are_kept_in_their_own_column(decode):
    values = [b'{"big": 1}', *CORRUPT, None, b'{"big": 2}']
    table = decode(values, JsonDecoder(JSON_FIELDS, on_error="keep"))
    assert "value" not in table.schema.names
    assert table.column("corrupt").to_pylist() == [None, *CORRUPT, None, None]
    assert table.column("big").to_pylist() == [1, *[None] * (len(CORRUPT) + 1), 2]


def test_a_corrupt_value_raises_after_the_rows_before_it(consumer_of):
    values = [b'{"n": 0}', b'{"n": 1}', b"bad", b"worse", b'{"n": 4}', None]
    consumer = consumer_of(values)
    decoder = JsonDecoder({"n": "int32"}, on_error="raise")
    seen, errors = [], []
    while len(seen) + len(errors) < len(values):
        try:
            seen += pa.record_batch(consumer.consume_arrow(100, 20, columns=["offset"], decode=decoder)).to_pylist()
        except ValueError as error:
            errors.append((error.message.offset(), error.message.value(), str(error).split(" is not")[0]))
    assert seen == [{"offset": i, "n": n} for i, n in ((0, 0), (1, 1), (4, 4), (5, None))]
    assert errors == [(i, value, f"the value of values [0] @ {i}") for i, value in ((2, b"bad"), (3, b"worse"))]


@pytest.mark.parametrize(
    ("text", "unit", "ticks"),
    [
        ("1970-01-01T00:00:00Z", "s", 0),
        ("1970-01-01", "ms", 0),
        ("2000-02-29 12:34:56", "s", 951827696),
        ("1969-12-31T23:59:59.999Z", "ms", -1),
        ("2038-01-19t03:14:08z", "ns", 2147483648 * 10**9),
        ("2026-11-21T00:00:00-05:30", "s", 1795239000),
        ("0001-01-01T00:00:00Z", "us", -62135596800 * 10**6),
        ("9999-12-31T23:59:59.9999999Z", "ms", 253402300799999),
    ],
)
def test_timestamps_in_text(decode, text, unit, ticks):
    table = decode([json.dumps({"t": text})], JsonDecoder({"t": f"timestamp[{unit}]"}))
    assert table.schema.field("t").type == pa.timestamp(unit, "UTC")
    assert table.column("t").cast(pa.int64()).to_pylist() == [ticks]


@pytest.mark.parametrize(("order", "sign"), [("little", "<"), ("big", ">")])
def test_structs_become_typed_columns(decode, order, sign):
    fields = {
        "kind": "uint8",
        "gap": "pad[3]",
        "i8": "int8",
        "i16": "int16",
        "i32": "int32",
        "i64": "int64",
        "u16": "uint16",
        "u32": "uint32",
        "u64": "uint64",
        "f32": "float32",
        "f64": "float64",
        "flag": "bool",
        "symbol": "utf8[8]",
        "raw": "binary[4]",
        "time": "timestamp[ns]",
    }
    packed = struct.Struct(f"{sign}B3xbhiqHIQfd?8s4sq")
    rows = [
        (1, -1, -2, -3, -4, 5, 6, 7, 0.5, 1e300, True, b"ABC", b"\0\1\2\3", 1),
        (
            255,
            -128,
            -(1 << 15),
            -(1 << 31),
            -(1 << 63),
            65535,
            (1 << 32) - 1,
            (1 << 64) - 1,
            -1.0,
            -0.0,
            False,
            b"\xc3\xbc" * 4,
            b"\xff" * 4,
            -1,
        ),
        (0,) * 8 + (0.0, 0.0, False, b"", b"", 0),
    ]
    values = [packed.pack(*row) for row in rows] + [b"", packed.pack(*rows[0])[:-1], packed.pack(*rows[0]) + b"x", None]
    table = decode(values, StructDecoder(fields, byte_order=order, on_error="keep"), columns=[])
    names = [name for name in fields if name != "gap"]
    assert table.schema.names == [*names, "corrupt"]
    table = table.set_column(names.index("time"), "time", table.column("time").cast(pa.int64()))
    expected = [(*row[:11], row[11].decode(), row[12].ljust(4, b"\0"), row[13]) for row in rows]
    assert [tuple(row[name] for name in names) for row in table.to_pylist()[:3]] == expected
    assert table.column("i64").to_pylist()[3:] == [None] * 4
    assert table.column("corrupt").to_pylist() == [None] * 3 + values[3:]


def test_structs_with_invalid_text_or_bool_are_corrupt(decode):
    values = [b"\xff\0\1", b"a\0\2", b"a\0\1"]
    table = decode(values, StructDecoder({"text": "utf8[2]", "flag": "bool"}, on_error="keep"), columns=[])
    assert table.to_pylist() == [
        {"text": None, "flag": None, "corrupt": values[0]},
        {"text": None, "flag": None, "corrupt": values[1]},
        {"text": "a", "flag": True, "corrupt": None},
    ]


def test_decoded_columns_are_split_like_others(decode):
    values = [json.dumps({"name": "x" * i}) for i in range(50)]
    table = decode(values, JsonDecoder({"name": "utf8"}), max_bytes=100)
    assert table.column("name").to_pylist() == ["x" * i for i in range(50)]
    assert table.column("name").num_chunks > 10


def test_large_values_are_decoded(decode):
    text = "y" * 900_000
    small = json.dumps({"name": "small"})
    table = decode([small, json.dumps({"name": text}), small], JsonDecoder({"name": "utf8"}))
    assert table.column("name").to_pylist() == ["small", text, "small"]


@pytest.mark.parametrize(
    ("make", "fields", "options", "error", "text"),
    [
        (JsonDecoder, {}, {}, ValueError, "one field at least"),
        (JsonDecoder, [("a", "int8")], {}, TypeError, "dict"),
        (JsonDecoder, {"a": int}, {}, TypeError, "type of field 'a' must be str"),
        (JsonDecoder, {1: "int8"}, {}, TypeError, "field name"),
        (JsonDecoder, {"a": "integer"}, {}, ValueError, "'integer' is none of bool"),
        (JsonDecoder, {"a": "binary"}, {}, ValueError, "none of"),
        (JsonDecoder, {"a": "utf8[4]"}, {}, ValueError, "in brackets"),
        (JsonDecoder, {"a": "timestamp"}, {}, ValueError, "needs its unit"),
        (JsonDecoder, {"a": "timestamp[h]"}, {}, ValueError, "needs its unit"),
        (JsonDecoder, {"a": "timestamp[s"}, {}, ValueError, "] is missing"),
        (JsonDecoder, {"a": "int8"}, {"on_error": "ignore"}, ValueError, "on_error"),
        (JsonDecoder, {"corrupt": "int8"}, {"on_error": "keep"}, ValueError, "corrupt"),
        (StructDecoder, {"a": "utf8"}, {}, ValueError, "size in bytes"),
        (StructDecoder, {"a": "binary[0]"}, {}, ValueError, "size in bytes"),
        (StructDecoder, {"a": "pad[4]"}, {}, ValueError, "not padding"),
        (StructDecoder, {"a": "int8"}, {"byte_order": "middle"}, ValueError, "byte_order"),
    ],
)
def test_wrong_fields_are_refused(make, fields, options, error, text):
    with pytest.raises(error, match=text.replace("[", r"\[")):
        make(fields, **options)


def test_wrong_use_is_refused(make_consumer):
    consumer = make_consumer()
    with pytest.raises(TypeError, match="JsonDecoder or StructDecoder"):
        consumer.consume_arrow(decode={"a": "int8"})
    with pytest.raises(ValueError, match="'offset' is a field of decode"):
        consumer.consume_arrow(columns=["offset"], decode=JsonDecoder({"offset": "int8"}))
    batch = consumer.consume_arrow(1, 0, decode=JsonDecoder({"offset": "int8"}))
    assert batch.column_names == ["key", "topic", "partition", "timestamp", "timestamp_type", "headers", "offset"]
    assert repr(JsonDecoder({"a": "int8"})) == "JsonDecoder({'a': 'int8'}, on_error='null')"
