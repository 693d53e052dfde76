"""Decoders of keys and values: a column of bytes becomes a column of a Spark type."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import importlib
import json
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from cykafka.spark.errors import OptionError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType

_UTC = dt.timezone.utc


@dataclass(frozen=True)
class Decoded:
    """What became of a column.

    Attributes:
        values: The column, null where a record does not decode or has nothing.
        corrupt: True where a record does not decode; None if all do.
        reason: Why the first of those does not decode.
    """

    values: pa.Array
    corrupt: pa.Array | None = None
    reason: str = ""


class Decoder(Protocol):
    """Decodes the keys or values of a batch."""

    def __call__(self, data: pa.Array, topic: str) -> Decoded:
        """Decode a column of bytes.

        Args:
            data: Binary column; null stays null.
            topic: Topic of the records.
        """


def make_decoder(field: str, name: str, kind: DataType, arrow_type: pa.DataType, options: Mapping[str, str]) -> Decoder:
    """Make the decoder that ``keyFormat`` or ``valueFormat`` asks for; called on a worker.

    Args:
        field: ``key`` or ``value``.
        name: Format: string, json, struct, or ``module:function``.
        kind: Spark type of the column.
        arrow_type: The same as an Arrow type.
        options: Options of decoding; names in lower case.

    Raises:
        OptionError: The format is unknown, or lacks an option.
        SchemaError: The format cannot give such a type.
    """
    if name == "string":
        return _decode_strings
    if name == "json":
        return JsonDecoder(kind, arrow_type)
    if name == "struct":
        return StructDecoder(field, kind, arrow_type, options)
    return HookDecoder(field, name, kind, arrow_type, options)


def check_format(field: str, name: str, kind: DataType, options: Mapping[str, str]) -> None:
    """Check on the driver what `make_decoder` would find on a worker.

    Args:
        field: ``key`` or ``value``.
        name: Format.
        kind: Spark type of the column.
        options: Options of decoding; names in lower case.

    Raises:
        OptionError: The format is unknown, or lacks an option.
        SchemaError: The format cannot give such a type.
    """
    from pyspark.sql.types import BinaryType, StringType, StructType

    option = f"{field}Format"
    expected = {"raw": BinaryType, "string": StringType}.get(name)
    if expected is not None and not isinstance(kind, expected):
        raise SchemaError(field, f"is {kind.simpleString()}, but '{option}' {name} gives {expected().simpleString()}")
    if name == "struct":
        if not isinstance(kind, StructType):
            raise SchemaError(field, f"is {kind.simpleString()}, but '{option}' struct gives a struct")
        StructLayout.parse(field, options, kind)
    elif name not in {"raw", "string", "json"}:
        HookDecoder.load(option, name)


def _decode_strings(data: pa.Array, topic: str) -> Decoded:  # noqa: ARG001
    import pyarrow as pa

    try:
        return Decoded(data.cast(pa.string()))
    except pa.ArrowInvalid:
        return _row_by_row(data, pa.string(), lambda record: record.decode("utf-8"))


def _row_by_row(data: pa.Array, arrow_type: pa.DataType, decode: Callable[[bytes], Any]) -> Decoded:
    """Decode records one at a time; for batches in which some do not decode."""
    import pyarrow as pa

    values: list[Any] = []
    corrupt: list[bool] = []
    reason = ""
    for record in data.to_pylist():
        value, failed = None, False
        if record is not None:
            try:
                value = decode(record)
                pa.scalar(value, arrow_type)
            except Exception as error:  # noqa: BLE001 - whatever a decoder raises, the record is corrupt
                value, failed = None, True
                reason = reason or f"{type(error).__name__}: {error}"
        values.append(value)
        corrupt.append(failed)
    mask = pa.array(corrupt, pa.bool_()) if any(corrupt) else None
    return Decoded(pa.array(values, arrow_type), mask, reason)


class JsonDecoder:
    """Decodes JSON objects: a whole batch at once in C, or one by one if that finds fault with any.

    Args:
        kind: Spark type.
        arrow_type: The same as an Arrow type.
    """

    def __init__(self, kind: DataType, arrow_type: pa.DataType) -> None:
        self._convert = _json_converter(kind)
        self._type = arrow_type
        self._at_once = _can_parse_at_once(kind)

    def __call__(self, data: pa.Array, topic: str) -> Decoded:
        """Decode a column of JSON texts."""
        if self._at_once and len(data) > 0:
            result = self._parse_at_once(data)
            if result is not None:
                return Decoded(result)
        return _row_by_row(data, self._type, lambda record: self._convert(json.loads(record)))

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

    plain = (
        types.BooleanType, types.ByteType, types.ShortType, types.IntegerType, types.LongType,
        types.FloatType, types.DoubleType, types.StringType,
    )  # fmt: skip
    if isinstance(kind, types.StructType):
        return len(kind) > 0 and all(
            isinstance(each.dataType, types.StructType | plain)
            and (not isinstance(each.dataType, types.StructType) or _can_parse_at_once(each.dataType))
            for each in kind
        )
    return False


def _json_converter(kind: DataType) -> Callable[[Any], Any]:
    """Return a function from decoded JSON to what Arrow takes for a type; it raises for what does not fit."""
    from pyspark.sql import types

    if isinstance(kind, types.StructType):
        fields = [(each.name, _json_converter(each.dataType)) for each in kind]

        def to_struct(value: Any) -> Any:
            if value is not None and not isinstance(value, dict):
                raise ValueError(f"expected a JSON object, not {type(value).__name__}")
            return None if value is None else {name: convert(value.get(name)) for name, convert in fields}

        return to_struct
    if isinstance(kind, types.ArrayType):
        element = _json_converter(kind.elementType)
        return _nullable(lambda value: [element(each) for each in _expect(value, list)])
    if isinstance(kind, types.MapType):
        item = _json_converter(kind.valueType)
        return _nullable(lambda value: [(key, item(each)) for key, each in _expect(value, dict).items()])
    if isinstance(kind, types.StringType):
        return _nullable(lambda value: value if isinstance(value, str) else json.dumps(value))
    converters: dict[type[DataType], Callable[[Any], Any]] = {
        types.BooleanType: lambda value: _expect(value, bool),
        types.FloatType: _to_float,
        types.DoubleType: _to_float,
        types.BinaryType: lambda value: base64.b64decode(_expect(value, str), validate=True),
        types.TimestampType: _to_timestamp,
        types.DateType: lambda value: dt.date.fromisoformat(_expect(value, str)),
        types.DecimalType: lambda value: decimal.Decimal(str(value)),
    }
    if type(kind) in converters:
        return _nullable(converters[type(kind)])
    if isinstance(kind, types.IntegralType):
        return _nullable(_to_integer)
    raise SchemaError("value", f"the type {kind.simpleString()} cannot be read from JSON here")


def _nullable(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, not {type(value).__name__}")
    return value


def _to_integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected a whole number, not {json.dumps(value)}")
    return value


def _to_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, not {json.dumps(value)}")
    return float(value)


def _to_timestamp(value: Any) -> dt.datetime:
    text = re.sub(r"Z$", "+00:00", _expect(value, str))
    moment = dt.datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=_UTC)


@dataclass(frozen=True)
class StructLayout:
    """Layout of a record of fixed width.

    Attributes:
        format: As the module `struct` takes it, beginning with the byte order.
        codes: Type code of each field, with its count.
        size: Bytes.
    """

    format: str
    codes: tuple[str, ...]
    size: int

    @classmethod
    def parse(cls, field: str, options: Mapping[str, str], kind: Any) -> StructLayout:
        """Read the option that gives the layout and check it against the schema.

        Args:
            field: ``key`` or ``value``.
            options: Options of decoding; names in lower case.
            kind: Spark struct whose fields are in the order of the layout.

        Raises:
            OptionError: The option is missing or malformed.
            SchemaError: The schema has other fields.
        """
        option = f"{field}StructFormat"
        text = options.get(option.lower(), "").strip()
        if not text or text[0] not in "<>=!":
            raise OptionError(
                option,
                "must give the layout as Python's module struct does, beginning with the byte order: "
                "'<8sdIq' "
                f"(< little endian, > big endian), not '{text}'",
            )
        try:
            size = struct.calcsize(text)
        except struct.error as error:
            raise OptionError(option, f"'{text}' is not a layout: {error}") from None
        codes = []
        for count, code in re.findall(r"(\d*)([a-zA-Z?])", text[1:]):
            if code == "s":
                codes.append(f"{count or 1}s")
            elif code in "bBhHiIlLqQfd?":
                codes += [code] * int(count or 1)
            elif code != "x":
                raise OptionError(option, f"the type code '{code}' cannot be read here")
        if len(codes) != len(kind):
            raise SchemaError(
                field, f"has {len(kind)} fields, but '{option}' {text} has {len(codes)}; make them the same"
            )
        for each, code in zip(kind, codes, strict=True):
            _check_code(each.name, each.dataType, code, option)
        return cls(text, tuple(codes), size)


def _check_code(column: str, kind: Any, code: str, option: str) -> None:
    from pyspark.sql import types

    fitting: tuple[type, ...] = (types.ByteType, types.ShortType, types.IntegerType, types.LongType)
    if code in "fd":
        fitting = (types.FloatType, types.DoubleType)
    elif code == "?":
        fitting = (types.BooleanType,)
    elif code.endswith("s"):
        fitting = (types.StringType, types.BinaryType)
    elif code in "qQ":
        fitting = (types.LongType, types.TimestampType)
    if not isinstance(kind, fitting):
        raise SchemaError(column, f"is {kind.simpleString()}, which '{code}' in '{option}' cannot fill")


class StructDecoder:
    """Decodes records of fixed width, a whole batch at once. Needs numpy.

    Args:
        field: ``key`` or ``value``.
        kind: Spark struct.
        arrow_type: The same as an Arrow type.
        options: Options of decoding; names in lower case.
    """

    def __init__(self, field: str, kind: DataType, arrow_type: pa.DataType, options: Mapping[str, str]) -> None:
        self._layout = StructLayout.parse(field, options, kind)
        self._type = arrow_type
        self._dtype = _numpy_dtype(self._layout, f"{field}Format")

    def __call__(self, data: pa.Array, topic: str) -> Decoded:
        """Decode a column of records."""
        import pyarrow as pa
        import pyarrow.compute as pc

        fits = pc.equal(pc.binary_length(data), self._layout.size)
        if data.null_count == 0 and pc.all(fits).as_py():
            return Decoded(self._decode(data))
        good = pc.fill_null(fits, False)
        decoded = self._decode(data.filter(good))
        positions = pc.subtract(pc.cumulative_sum(good.cast(pa.int64())), 1)
        values = decoded.take(pc.if_else(good, positions, pa.scalar(None, pa.int64())))
        corrupt = pc.and_(pc.is_valid(data), pc.invert(good))
        if not pc.any(corrupt).as_py():
            return Decoded(values)
        first = data.filter(corrupt)[0].as_py()
        return Decoded(values, corrupt, f"{len(first)} bytes instead of {self._layout.size}")

    def _decode(self, data: pa.Array) -> pa.Array:
        """Decode records that all have the right size."""
        import numpy as np
        import pyarrow as pa

        count = len(data)
        if count == 0:
            return pa.array([], self._type)
        offsets = np.frombuffer(data.buffers()[1], dtype=np.int32, count=count + 1, offset=4 * data.offset)
        records = np.frombuffer(data.buffers()[2], dtype=self._dtype, count=count, offset=int(offsets[0]))
        columns = [
            _struct_column(records[name], code, each.type)
            for name, code, each in zip(self._dtype.names, self._layout.codes, self._type, strict=True)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(self._type))


def _numpy_dtype(layout: StructLayout, option: str) -> Any:
    try:
        import numpy as np
    except ImportError:
        raise OptionError(option, "struct needs the package numpy on every worker: pip install numpy") from None
    order = {"!": ">", "=": "="}.get(layout.format[0], layout.format[0])
    sizes = {"l": "i4", "L": "u4", "i": "i4", "I": "u4", "h": "i2", "H": "u2", "b": "i1", "B": "u1",
             "q": "i8", "Q": "u8", "f": "f4", "d": "f8", "?": "?"}  # fmt: skip
    names: list[str] = []
    formats: list[str] = []
    offsets: list[int] = []
    at = 0
    for count, code in re.findall(r"(\d*)([a-zA-Z?])", layout.format[1:]):
        repeat = int(count or 1)
        if code == "x":
            at += repeat
        elif code == "s":
            names.append(f"f{len(names)}")
            formats.append(f"V{repeat}")
            offsets.append(at)
            at += repeat
        else:
            for _ in range(repeat):
                names.append(f"f{len(names)}")
                formats.append(order + sizes[code])
                offsets.append(at)
                at += struct.calcsize("=" + code)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": layout.size})


def _struct_column(values: Any, code: str, arrow_type: pa.DataType) -> pa.Array:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if code.endswith("s"):
        width = int(code[:-1])
        raw = pa.Array.from_buffers(pa.binary(width), len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
        if pa.types.is_string(arrow_type):
            return pc.ascii_rtrim(raw.cast(pa.binary()).cast(pa.string()), "\0")
        return raw.cast(arrow_type)
    native = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("=")))
    if pa.types.is_timestamp(arrow_type):
        return pa.array(native.astype(np.int64)).cast(arrow_type)
    return pa.array(native).cast(arrow_type)


class HookDecoder:
    """Decodes with a function of the user's, one record at a time: for Schema Registry formats and any other.

    ``valueFormat`` names it as ``module:function``. The function is called on each worker as
    ``function(schema, options)`` with the Spark type and the options that begin with ``value`` (or ``key``)
    and ``schema.registry.``, and returns ``decode(data: bytes, topic: str)``, which returns a value of that
    type (a dict for a struct). What `decode` raises makes the record corrupt.

    Args:
        field: ``key`` or ``value``.
        name: ``module:function``.
        kind: Spark type.
        arrow_type: The same as an Arrow type.
        options: Options of decoding; names in lower case.
    """

    def __init__(
        self, field: str, name: str, kind: DataType, arrow_type: pa.DataType, options: Mapping[str, str]
    ) -> None:
        self._decode = self.load(f"{field}Format", name)(kind, dict(options))
        self._type = arrow_type

    @staticmethod
    def load(option: str, name: str) -> Callable[[Any, dict[str, str]], Callable[[bytes, str], Any]]:
        """Import the function.

        Raises:
            OptionError: There is none of that name.
        """
        module, _, function = name.partition(":")
        if not function:
            raise OptionError(
                option, f"must be raw, string, json, struct, or module:function of a decoder, not '{name}'"
            )
        try:
            found = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError) as error:
            raise OptionError(option, f"cannot import the decoder '{name}': {error}") from None
        if not callable(found):
            raise OptionError(option, f"the decoder '{name}' is not callable")
        return found  # type: ignore[no-any-return]

    def __call__(self, data: pa.Array, topic: str) -> Decoded:
        """Decode a column of records."""
        return _row_by_row(data, self._type, lambda record: self._decode(record, topic))


def combine(masks: Sequence[pa.Array | None]) -> pa.Array | None:
    """Say which rows are corrupt in any of several columns."""
    import pyarrow.compute as pc

    result = None
    for mask in masks:
        if mask is not None:
            result = mask if result is None else pc.or_(result, mask)
    return result
