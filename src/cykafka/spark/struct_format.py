"""Decoding of binary records of fixed width."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cykafka.spark.errors import OptionError, SchemaError
from cykafka.spark.formats import Decoded, combine

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType

_GREATEST_BIGINT = (1 << 63) - 1
# Spark types by type code that hold all its values; of unsigned 64 bits greater ones are corrupt.
_FITTING = {
    "b": ("tinyint", "smallint", "int", "bigint"),
    "B": ("smallint", "int", "bigint"),
    "h": ("smallint", "int", "bigint"),
    "H": ("int", "bigint"),
    "i": ("int", "bigint"),
    "l": ("int", "bigint"),
    "I": ("bigint",),
    "L": ("bigint",),
    "q": ("bigint", "timestamp"),
    "Q": ("bigint", "timestamp"),
    "f": ("float", "double"),
    "d": ("double",),
    "?": ("boolean",),
    "s": ("string", "binary"),
}


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
    fitting = _FITTING[code[-1]]
    if kind.simpleString() not in fitting:
        raise SchemaError(column, f"is {kind.simpleString()}; '{code}' in '{option}' gives {' or '.join(fitting)}")


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
            return self._decode(data)
        good = pc.fill_null(fits, False)
        decoded = self._decode(data.filter(good))
        positions = pc.subtract(pc.cumulative_sum(good.cast(pa.int64())), 1)
        positions = pc.if_else(good, positions, pa.scalar(None, pa.int64()))
        corrupt = pc.and_(pc.is_valid(data), pc.invert(good))
        reason = decoded.reason
        if pc.any(corrupt).as_py():
            first = data.filter(corrupt)[0].as_py()
            reason = f"{len(first)} bytes instead of {self._layout.size}"
        if decoded.corrupt is not None:
            corrupt = pc.or_(corrupt, pc.fill_null(decoded.corrupt.take(positions), False))
        return Decoded(decoded.values.take(positions), corrupt if reason else None, reason)

    def _decode(self, data: pa.Array) -> Decoded:
        """Decode records that all have the right size."""
        import numpy as np
        import pyarrow as pa

        count = len(data)
        if count == 0:
            return Decoded(pa.array([], self._type))
        offsets = np.frombuffer(data.buffers()[1], dtype=np.int32, count=count + 1, offset=4 * data.offset)
        records = np.frombuffer(data.buffers()[2], dtype=self._dtype, count=count, offset=int(offsets[0]))
        columns, masks, reason = [], [], ""
        for name, code, each in zip(self._dtype.names, self._layout.codes, self._type, strict=True):
            column, bad = _column(records[name], code, each.type)
            columns.append(column)
            masks.append(bad)
            if bad is not None:
                reason = reason or f"field '{each.name}' is {'not UTF-8' if code[-1] == 's' else 'too large'}"
        return Decoded(pa.StructArray.from_arrays(columns, fields=list(self._type)), combine(masks), reason)


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


def _column(values: Any, code: str, arrow_type: pa.DataType) -> tuple[pa.Array, pa.Array | None]:
    """Give a column, and which of its cells are corrupt (and null), if any are."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if code.endswith("s"):
        width = int(code[:-1])
        raw = pa.Array.from_buffers(pa.binary(width), len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
        return _text(raw) if pa.types.is_string(arrow_type) else (raw.cast(arrow_type), None)
    native = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("=")))
    if code != "Q":
        column = pa.array(native)
        return (column.cast(pa.int64()) if pa.types.is_timestamp(arrow_type) else column).cast(arrow_type), None
    bad = pa.array(native > _GREATEST_BIGINT)
    column = pa.array(native.astype(np.int64)).cast(arrow_type)
    if not pc.any(bad).as_py():
        return column, None
    return pc.if_else(bad, pa.scalar(None, arrow_type), column), bad


def _text(raw: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Read texts that are padded with NULs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.ascii_rtrim(raw.cast(pa.binary()).cast(pa.string()), "\0"), None
    except pa.ArrowInvalid:
        texts: list[str | None] = []
        for cell in raw.to_pylist():
            try:
                texts.append(cell.rstrip(b"\0").decode("utf-8"))
            except UnicodeDecodeError:  # noqa: PERF203 - each cell for itself
                texts.append(None)
        return pa.array(texts, pa.string()), pa.array([each is None for each in texts])
