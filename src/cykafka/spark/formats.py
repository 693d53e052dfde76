"""Decoders of keys and values: a column of bytes becomes a column of a Spark type."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from cykafka.spark.errors import OptionError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType


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
        from cykafka.spark.json_format import JsonDecoder

        return JsonDecoder(kind, arrow_type)
    if name == "struct":
        from cykafka.spark.struct_format import StructDecoder

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
        from cykafka.spark.struct_format import StructLayout

        StructLayout.parse(field, options, kind)
    elif name == "json":
        from cykafka.spark.json_format import check_type

        check_type(field, kind)
    elif name not in {"raw", "string"}:
        HookDecoder.load(option, name)


def _decode_strings(data: pa.Array, topic: str) -> Decoded:  # noqa: ARG001
    import pyarrow as pa

    try:
        return Decoded(data.cast(pa.string()))
    except pa.ArrowInvalid:
        return decode_rows(data, pa.string(), lambda record: record.decode("utf-8"))


def decode_rows(
    data: pa.Array, arrow_type: pa.DataType, decode: Callable[[bytes], Any], problems: list[str] | None = None
) -> Decoded:
    """Decode records one at a time.

    Args:
        data: Binary column; null stays null.
        arrow_type: Type of the result.
        decode: Decodes a record; whatever it raises, the record is corrupt.
        problems: Where `decode` notes why a record is corrupt of which it can decode something.
    """
    values: list[Any] = []
    corrupt: list[bool] = []
    reason = ""
    for record in data.to_pylist():
        value, failed = None, False
        if record is not None:
            try:
                value = decode(record)
            except Exception as error:  # noqa: BLE001 - whatever a decoder raises, the record is corrupt
                failed, reason = True, reason or f"{type(error).__name__}: {error}"
            if problems:
                failed, reason = True, reason or problems[0]
                problems.clear()
        values.append(value)
        corrupt.append(failed)
    return _to_column(values, corrupt, arrow_type, reason)


def _to_column(values: list[Any], corrupt: list[bool], arrow_type: pa.DataType, reason: str) -> Decoded:
    """Make a column; values that do not fit in its type are corrupt."""
    import pyarrow as pa

    try:
        column = pa.array(values, arrow_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        for row, value in enumerate(values):
            try:
                pa.scalar(value, arrow_type)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:  # noqa: PERF203
                values[row], corrupt[row] = None, True
                reason = reason or f"{type(error).__name__}: {error}"
        column = pa.array(values, arrow_type)
    return Decoded(column, pa.array(corrupt, pa.bool_()) if any(corrupt) else None, reason)


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
        return decode_rows(data, self._type, lambda record: self._decode(record, topic))


def combine(masks: Sequence[pa.Array | None]) -> pa.Array | None:
    """Say which rows are corrupt in any of several columns."""
    import pyarrow.compute as pc

    result = None
    for mask in masks:
        if mask is not None:
            result = mask if result is None else pc.or_(result, mask)
    return result
