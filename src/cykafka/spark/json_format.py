"""Decoding of JSON objects, as Spark's `from_json` does it."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cykafka.spark.errors import SchemaError
from cykafka.spark.formats import Decoded, decode_rows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

_UTC = dt.timezone.utc
_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_NOT_NUMBERS = {"NaN": "nan", "Infinity": "inf", "+Infinity": "inf", "-Infinity": "-inf", "+INF": "inf",
                "INF": "inf", "-INF": "-inf"}  # fmt: skip
_TIMESTAMP = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d{2}:?\d{2})?")
# What `cykafka.JsonDecoder` calls the types that it reads as Spark does.
_NATIVE_TYPES = {
    "boolean": "bool", "tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64",
    "float": "float32", "double": "float64", "string": "utf8",
}  # fmt: skip

Convert = Callable[[Any], Any]


def native_fields(kind: StructType) -> dict[str, str] | None:
    """Give the fields of a struct as `cykafka.JsonDecoder` takes them.

    Args:
        kind: Spark struct.

    Returns:
        Types by name, or None if it does not read one of them as Spark does.
    """
    fields = {each.name: _NATIVE_TYPES.get(each.dataType.simpleString(), "") for each in kind}
    return fields if all(fields.values()) else None


def check_type(field: str, kind: DataType) -> None:
    """Check that a type can be read from JSON objects.

    Args:
        field: ``key`` or ``value``.
        kind: Spark type.

    Raises:
        SchemaError: It cannot.
    """
    from pyspark.sql.types import StructType

    if not isinstance(kind, StructType):
        raise SchemaError(field, f"is {kind.simpleString()}, but JSON objects give a struct")
    for each in kind:
        try:
            _converter(each.dataType, [])
        except TypeError as error:  # noqa: PERF203 - it says which field
            raise SchemaError(each.name, str(error)) from None


class JsonDecoder:
    """Decodes JSON objects: a whole batch at once in C, or one by one if that finds fault with any.

    A field that is not of its type is null and the record corrupt; its other fields are kept.

    Args:
        kind: Spark struct.
        arrow_type: The same as an Arrow type.
    """

    def __init__(self, kind: DataType, arrow_type: pa.DataType) -> None:
        self._problems: list[str] = []
        self._convert = _converter(kind, self._problems)
        self._type = arrow_type
        self._at_once = _can_parse_at_once(kind)
        # Numbers with all their digits.
        self._float: Convert = decimal.Decimal if "decimal" in kind.simpleString() else float

    def __call__(self, data: pa.Array, topic: str) -> Decoded:
        """Decode a column of JSON texts."""
        if self._at_once and len(data) > 0:
            result = self._parse_at_once(data)
            if result is not None:
                return Decoded(result)
        return decode_rows(data, self._type, self._decode, self._problems)

    def _decode(self, record: bytes) -> Any:
        """Decode a record; one that is no JSON object has all fields, and they are null; a blank one is null."""
        if not record.strip():
            raise ValueError("the record is empty")
        try:
            value = json.loads(record.decode("utf-8"), parse_float=self._float)
        except ValueError as error:
            self._problems.append(str(error))
            value = {}
        if not isinstance(value, dict):
            self._problems.append(f"expected a JSON object, not {type(value).__name__}")
            value = {}
        return self._convert(value)

    def _parse_at_once(self, data: pa.Array) -> pa.Array | None:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.json

        texts = pc.fill_null(data, b"{}")
        # One object to a record and nothing else, so that no two mistakes make up for each other.
        objects = pc.and_(pc.starts_with(texts, b"{"), pc.ends_with(texts, b"}"))
        if not pc.all(objects).as_py():
            return None
        lists = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
        joined = pc.binary_join(lists, b"\n")[0].as_buffer()
        try:
            table = pyarrow.json.read_json(
                pa.BufferReader(joined),
                pyarrow.json.ReadOptions(use_threads=False, block_size=joined.size + 1),
                pyarrow.json.ParseOptions(
                    explicit_schema=pa.schema(list(self._type)),
                    newlines_in_values=True,
                    unexpected_field_behavior="ignore",
                ),
            )
        except pa.ArrowInvalid:
            return None
        if table.num_rows != len(data):
            return None
        columns = [table.column(each.name).combine_chunks() for each in self._type]
        arrays = [each.chunk(0) if isinstance(each, pa.ChunkedArray) else each for each in columns]
        mask = pc.is_null(data) if data.null_count else None
        return pa.StructArray.from_arrays(arrays, fields=list(self._type), mask=mask)


def _can_parse_at_once(kind: DataType) -> bool:
    """Whether Arrow reads JSON into this type as Spark does."""
    from pyspark.sql import types

    if isinstance(kind, types.StructType):
        return len(kind) > 0 and all(_can_parse_at_once(each.dataType) for each in kind)
    return kind.simpleString() in _NATIVE_TYPES


def _converter(kind: DataType, problems: list[str]) -> Convert:
    """Return a function from decoded JSON to what Arrow takes for a type.

    Args:
        kind: Spark type.
        problems: Where the function notes what does not fit in fields of structs; elsewhere it raises.

    Raises:
        TypeError: The type cannot be read from JSON.
    """
    from pyspark.sql import types

    if isinstance(kind, types.StructType):
        fields = [(each.name, _converter(each.dataType, problems)) for each in kind]

        def to_struct(value: Any) -> Any:
            result = {}
            for name, convert in fields:
                try:
                    result[name] = convert(value.get(name))
                except (TypeError, ValueError, ArithmeticError) as error:  # noqa: PERF203 - each field
                    problems.append(f"field '{name}': {error}")
                    result[name] = None
            return result

        return _nullable(lambda value: to_struct(_expect(value, dict)))
    if isinstance(kind, types.ArrayType):
        element = _converter(kind.elementType, problems)
        return _nullable(lambda value: [element(each) for each in _expect(value, list)])
    if isinstance(kind, types.MapType):
        if not isinstance(kind.keyType, types.StringType):
            raise TypeError(f"is {kind.simpleString()}; maps read from JSON have keys of type string")
        item = _converter(kind.valueType, problems)
        return _nullable(lambda value: [(key, item(each)) for key, each in _expect(value, dict).items()])
    if isinstance(kind, types.IntegralType):
        bits = _INTEGER_BITS[kind.simpleString()]
        return _nullable(lambda value: _to_integer(value, bits))
    converters: dict[type[DataType], Convert] = {
        types.StringType: _to_text,
        types.BooleanType: lambda value: _expect(value, bool),
        types.FloatType: _to_float,
        types.DoubleType: _to_float,
        types.BinaryType: lambda value: base64.b64decode(_expect(value, str), validate=True),
        types.TimestampType: _to_timestamp,
        types.DateType: lambda value: dt.date.fromisoformat(_expect(value, str)),
        types.DecimalType: lambda value: decimal.Decimal(str(value)),
    }
    if type(kind) not in converters:
        raise TypeError(f"is {kind.simpleString()}, which cannot be read from JSON here")
    return _nullable(converters[type(kind)])


def _nullable(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, not {type(value).__name__}")
    return value


def _to_text(value: Any) -> str:
    if isinstance(value, str | decimal.Decimal):
        return str(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=float)


def _to_integer(value: Any, bits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected a whole number, not {type(value).__name__}")
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{value} does not fit in {bits} bits")
    return value


def _to_float(value: Any) -> float:
    if isinstance(value, str) and value in _NOT_NUMBERS:
        return float(_NOT_NUMBERS[value])
    if isinstance(value, bool) or not isinstance(value, int | float | decimal.Decimal):
        raise TypeError(f"expected a number, not {type(value).__name__}")
    return float(value)


def _to_timestamp(value: Any) -> dt.datetime:
    """Read a time as ISO 8601 has it, in UTC if it does not say, or seconds since 1970."""
    if isinstance(value, int) and not isinstance(value, bool):
        return dt.datetime.fromtimestamp(value, _UTC)
    found = _TIMESTAMP.fullmatch(_expect(value, str).strip())
    if found is None:
        raise ValueError(f"expected a time such as 2024-05-17T12:30:00.125Z, not {value!r}")
    day, clock, fraction, zone = found.groups()
    moment = dt.datetime.fromisoformat(f"{day}T{clock or '00:00'}").replace(
        microsecond=int((fraction or "0").ljust(6, "0")[:6]), tzinfo=_UTC
    )
    if zone in {None, "Z"}:
        return moment
    offset = dt.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return moment + offset if zone[0] == "-" else moment - offset
