"""From the columns that Kafka gives to the rows of the user's schema."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cykafka.spark.errors import CorruptRecordError, OptionError, SchemaError
from cykafka.spark.formats import Decoded, Decoder, check_format, combine, make_decoder
from cykafka.spark.json_format import native_fields
from cykafka.spark.options import GivenOptions, ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

_SPARK_TO_KAFKA = {
    "key": "key",
    "value": "value",
    "topic": "topic",
    "partition": "partition",
    "offset": "offset",
    "timestamp": "timestamp",
    "timestampType": "timestamp_type",
    "headers": "headers",
}
_KAFKA_TYPES = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
}
# What `cykafka.JsonDecoder` calls its column of values that do not decode.
_NATIVE_CORRUPT = "corrupt"


class Mode(enum.Enum):
    """What is done with records that do not decode."""

    PERMISSIVE = "PERMISSIVE"
    DROP = "DROPMALFORMED"
    FAIL = "FAILFAST"


class Role(enum.Enum):
    """What a column of the schema is."""

    KAFKA = "a column of Kafka as it is"
    KEY = "the decoded key"
    VALUE = "the decoded value"
    FIELD = "a field of the decoded value"
    CORRUPT = "the text of values that do not decode"


def kafka_schema(options: Mapping[str, str]) -> str:
    """Give the schema of a read without a schema of the user's, as DDL.

    Args:
        options: As Spark hands them over; whether for a batch or a stream, it does not say.

    Raises:
        OptionError: A format needs a schema of the user's.
    """
    given = GivenOptions(options)
    types = dict(_KAFKA_TYPES)
    if not given.boolean("includeHeaders", default=False):
        del types["headers"]
    for field in ("key", "value"):
        name = given.text(f"{field}Format") or "raw"
        if name == "string":
            types[field] = "string"
        elif name != "raw":
            raise OptionError(
                f"{field}Format",
                f"{name} needs a schema: give the fields of the value by .schema(...), or '{field} struct<...>'",
            )
    return ", ".join(f"{name} {kind}" for name, kind in types.items())


@dataclass(frozen=True)
class DecodePlan:
    """How each column of the schema is made; picklable.

    Attributes:
        schema: Spark schema of the rows.
        roles: Role of each of its columns.
        mode: What is done with records that do not decode.
        key_format: Format of keys.
        value_format: Format of values.
        options: Options of decoding; names in lower case.
    """

    schema: StructType
    roles: tuple[Role, ...]
    mode: Mode
    key_format: str
    value_format: str
    options: dict[str, str]

    @classmethod
    def make(cls, schema: StructType, options: ReadOptions) -> DecodePlan:
        """Assign a role to each column.

        Args:
            schema: Spark schema of the rows.
            options: Options of the reader.

        Raises:
            OptionError: An option of decoding is malformed.
            SchemaError: A column belongs to no role, or has a type that its role cannot give.
        """
        decoding = options.decoding
        mode_name = decoding.get("mode", Mode.PERMISSIVE.value).upper()
        if mode_name not in {each.value for each in Mode}:
            raise OptionError("mode", f"must be PERMISSIVE, DROPMALFORMED or FAILFAST, not '{mode_name}'")
        corrupt_name = decoding.get("columnnameofcorruptrecord", "_corrupt_record")
        roles = tuple(_role(each.name, each.dataType, options, corrupt_name) for each in schema)
        plan = cls(schema, roles, Mode(mode_name), options.key_format, options.value_format, dict(decoding))
        if Role.VALUE in roles and Role.FIELD in roles:
            column = plan.columns_of(Role.FIELD)[0]
            raise SchemaError(column, "is not a column of Kafka; with 'value' in the schema put it into that")
        if Role.KEY in roles:
            check_format("key", plan.key_format, schema["key"].dataType, decoding)
        if plan.value_type is not None:
            check_format("value", plan.value_format, plan.value_type, decoding)
        return plan

    @property
    def value_type(self) -> DataType | None:
        """Spark type that values are decoded to; None if they are not."""
        from pyspark.sql.types import StructType

        if Role.VALUE in self.roles:
            return self.schema["value"].dataType
        fields = [each for each, role in zip(self.schema, self.roles, strict=True) if role is Role.FIELD]
        return StructType(fields) if fields else None

    def columns_of(self, role: Role) -> list[str]:
        """Names of the columns with a role."""
        return [each.name for each, its in zip(self.schema, self.roles, strict=True) if its is role]

    @property
    def native_fields(self) -> dict[str, str] | None:
        """Fields of values that `cykafka.JsonDecoder` reads while they are fetched; None if it does not."""
        from pyspark.sql.types import StructType

        if self.value_format != "json" or Role.FIELD not in self.roles:
            return None
        fields = native_fields(StructType([self.schema[name] for name in self.columns_of(Role.FIELD)]))
        taken = {*_SPARK_TO_KAFKA.values(), _NATIVE_CORRUPT}
        return None if fields is None or taken & fields.keys() else fields

    @property
    def kafka_columns(self) -> list[str]:
        """Columns to fetch, as `Consumer.consume_arrow` names them; ``offset`` always."""
        needed = {_SPARK_TO_KAFKA[name] for name in self.columns_of(Role.KAFKA)} | {"offset"}
        if Role.KEY in self.roles:
            needed.add("key")
        if self.value_type is not None and self.native_fields is None:
            needed.add("value")
        return [name for name in _SPARK_TO_KAFKA.values() if name in needed]


def _role(name: str, kind: DataType, options: ReadOptions, corrupt_name: str) -> Role:
    from pyspark.sql.types import BinaryType, StringType

    formats = {"key": (options.key_format, Role.KEY), "value": (options.value_format, Role.VALUE)}
    if name in formats and formats[name][0] != "raw":
        return formats[name][1]
    if name in _KAFKA_TYPES:
        if kind.simpleString() != _KAFKA_TYPES[name]:
            hint = f"; to decode it set '{name}Format'" if name in formats else ""
            raise SchemaError(name, f"is {_KAFKA_TYPES[name]} in Kafka, not {kind.simpleString()}{hint}")
        return Role.KAFKA
    if name == corrupt_name:
        if not isinstance(kind, StringType | BinaryType):
            raise SchemaError(name, f"holds corrupt records and must be string or binary, not {kind.simpleString()}")
        return Role.CORRUPT
    if options.value_format in {"raw", "string"}:
        raise SchemaError(
            name,
            f"is none of Kafka's columns ({', '.join(_KAFKA_TYPES)}); to decode values into columns set 'valueFormat'",
        )
    return Role.FIELD


def arrow_schema(schema: StructType) -> pa.Schema:
    """Give the Arrow schema that Spark expects from a Python data source."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:
        return to_arrow_schema(schema)


class RowMaker:
    """Makes rows on a worker; for one thread.

    Args:
        plan: How columns are made.
        topic: Topic of the records.
    """

    def __init__(self, plan: DecodePlan, topic: str) -> None:
        self._plan = plan
        self._topic = topic
        self._schema = arrow_schema(plan.schema)
        self._key_decoder: Decoder | None = None
        self._value_decoder: Decoder | None = None
        if Role.KEY in plan.roles:
            self._key_decoder = self._decoder("key", plan.key_format, plan.schema["key"].dataType)
        if plan.value_type is not None:
            self._value_decoder = self._decoder("value", plan.value_format, plan.value_type)

    def rows(self, fetched: pa.RecordBatch) -> pa.RecordBatch:
        """Make rows of what was fetched.

        Args:
            fetched: Columns as `DecodePlan.kafka_columns` names them.

        Raises:
            CorruptRecordError: A record does not decode, and that is to fail the query.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        key = self._key_decoder(fetched.column("key"), self._topic) if self._key_decoder else None
        value = self._value(fetched)
        corrupt = combine([each.corrupt for each in (key, value) if each is not None])
        if corrupt is not None and self._plan.mode is Mode.FAIL:
            raise self._failure(fetched, corrupt, key, value)
        arrays: list[Any] = []
        for index, (column, role) in enumerate(zip(self._schema, self._plan.roles, strict=True)):
            if role is Role.KAFKA:
                arrays.append(self._kafka_column(fetched, column.name, index))
            elif role is Role.CORRUPT:
                arrays.append(self._corrupt_column(fetched, key, value, index))
            elif role is Role.KEY and key is not None:
                arrays.append(key.values)
            elif role is Role.VALUE and value is not None:
                arrays.append(value.values)
            elif value is not None:
                arrays.append(pc.struct_field(value.values, column.name))
        result = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        if corrupt is not None and self._plan.mode is Mode.DROP:
            return result.filter(pc.invert(corrupt))
        return result

    def _value(self, fetched: pa.RecordBatch) -> Decoded | None:
        if self._value_decoder is None:
            return None
        if self._plan.native_fields is None:
            return self._value_decoder(fetched.column("value"), self._topic)
        return self._finish_native(fetched, self._value_decoder)

    def _finish_native(self, fetched: pa.RecordBatch, decoder: Decoder) -> Decoded:
        """Take what is decoded already; where that found fault, Spark's habits decide."""
        import pyarrow as pa
        import pyarrow.compute as pc

        fields = [self._schema.field(name) for name in self._plan.columns_of(Role.FIELD)]
        arrays = [fetched.column(each.name).cast(each.type) for each in fields]
        values = pa.StructArray.from_arrays(arrays, fields=fields)
        texts = fetched.column(_NATIVE_CORRUPT)
        if texts.null_count == len(texts):
            return Decoded(values)
        again = pc.is_valid(texts)
        second = decoder(texts.filter(again), self._topic)
        # Which row of `second` a row is.
        positions = pc.subtract(pc.cumulative_sum(again.cast(pa.int64())), 1)
        rows = pa.array(range(len(texts)), pa.int64())
        both = pa.concat_arrays([values, second.values])
        values = both.take(pc.if_else(again, pc.add(positions, len(texts)), rows))
        if second.corrupt is None:
            return Decoded(values)
        found = second.corrupt.take(pc.if_else(again, positions, pa.scalar(None, pa.int64())))
        return Decoded(values, pc.fill_null(found, False), second.reason)

    def _decoder(self, field: str, name: str, kind: DataType) -> Decoder:
        from pyspark.sql.types import StructField, StructType

        arrow_type = arrow_schema(StructType([StructField(field, kind)])).field(0).type
        return make_decoder(field, name, kind, arrow_type, self._plan.options)

    def _kafka_column(self, fetched: pa.RecordBatch, name: str, index: int) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = fetched.column(_SPARK_TO_KAFKA[name])
        if name == "timestampType":
            # Kafka counts from -1 (none), librdkafka from 0.
            return pc.subtract(column, pa.scalar(1, pa.int32()))
        wanted = self._schema.field(index).type
        return column if column.type == wanted else column.cast(wanted)

    def _corrupt_column(
        self, fetched: pa.RecordBatch, key: Decoded | None, value: Decoded | None, index: int
    ) -> pa.Array:
        """Give the records that do not decode: the value, or the key if the value does."""
        import pyarrow as pa

        wanted = self._schema.field(index).type
        native = self._plan.native_fields is not None
        cells: list[bytes | None] = [None] * fetched.num_rows
        for decoded, column in ((key, "key"), (value, _NATIVE_CORRUPT if native else "value")):
            if decoded is not None and decoded.corrupt is not None:
                records = fetched.column(column).to_pylist()
                cells = [
                    record if bad else cell
                    for cell, record, bad in zip(cells, records, decoded.corrupt.to_pylist(), strict=True)
                ]
        if pa.types.is_binary(wanted):
            return pa.array(cells, wanted)
        return pa.array([None if cell is None else cell.decode("utf-8", "replace") for cell in cells], wanted)

    def _failure(
        self, fetched: pa.RecordBatch, corrupt: pa.Array, key: Decoded | None, value: Decoded | None
    ) -> CorruptRecordError:
        offset = fetched.column("offset").filter(corrupt)[0].as_py()
        field, decoded = ("key", key) if key is not None and key.corrupt is not None else ("value", value)
        reason = decoded.reason if decoded is not None else ""
        format_name = self._plan.key_format if field == "key" else self._plan.value_format
        return CorruptRecordError(
            f"[MALFORMED_RECORD_IN_PARSING] The {field} of the record at offset {offset} of topic "
            f"'{self._topic}' "
            f"is not {format_name} of the schema ({reason}). Mode: FAILFAST. To go on after such records, "
            "set the "
            "option 'mode' to PERMISSIVE or DROPMALFORMED."
        )
