"""Requests and responses by a table: one row a request, from which bytes of every version are made and read.

A row is a line with API key, name, versions and the versions with flexible encoding, then the fields of the
request and of the response, one a line, those of a structure below it and further in::

    48 DescribeClientQuotas 0-1 flexible 1+
    request
      components []
        entity_type string
        match string? = null
      strict bool
    response
      ...

A field's line: name, type (``[]`` before it for an array, nothing after that for an array of structures, ``{}``
for one structure), ``?`` for nullable (``?3+`` from version 3 on), ``@1+`` versions that have it (else all),
``#0`` its tag, ``= -1`` its default (else zero, empty or false). The facts are those of the protocol guide.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cykafka.admin.protocol._codec import ZEROS, MalformedError, Reader, Writer
from cykafka.admin.protocol.tables import cluster, groups, records, security, shares, transactions

_TABLES = (records, groups, shares, transactions, security, cluster)
_API_VERSIONS = 18
_FIELD = re.compile(
    r"(?P<indent> +)(?P<name>\w+) (?P<array>\[\])?(?P<type>\w+|\{\})?(?:(?P<null>\?)(?P<nullable>[\d+-]*))?"
    r"(?: @(?P<versions>[\d+-]+))?(?: #(?P<tag>\d+))?(?: = (?P<default>\S+))?"
)


class UnsupportedFieldError(Exception):
    """A field was given that the version of the request does not have."""


@dataclass(frozen=True)
class Versions:
    """A range of versions, both ends in it."""

    lowest: int
    highest: int

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __str__(self) -> str:
        return f"{self.lowest}-{self.highest}"


@dataclass(frozen=True)
class Field:
    """A field of a request, response or structure.

    Attributes:
        name: Name, in snake case.
        type: Primitive type; None for a structure.
        array: There are any number of them.
        versions: Versions that have it.
        nullable: Versions in which it may be None; None for no version.
        tag: Its tag, if it is optional on the wire (KIP-482).
        default: What it has if it is not given.
        fields: Fields of the structure.
    """

    name: str
    type: str | None
    array: bool
    versions: Versions
    nullable: Versions | None
    tag: int | None
    default: Any
    fields: tuple["Field", ...]

    def value(self) -> Any:
        """Return a value for when nothing is given."""
        if self.array and self.default is not None:
            return []
        if self.type is None and self.default is not None:
            return {field.name: field.value() for field in self.fields}
        return self.default

    def may_be_null(self, version: int) -> bool:
        """Tell whether it may be None."""
        return self.nullable is not None and version in self.nullable


@dataclass(frozen=True)
class Api:
    """A request and its response.

    Attributes:
        key: API key.
        name: Name, as in the protocol guide.
        versions: Versions that the table has.
        flexible: Versions with compact and tagged fields; None for none.
        request: Fields of the request.
        response: Fields of the response.
    """

    key: int
    name: str
    versions: Versions
    flexible: Versions | None
    request: tuple[Field, ...]
    response: tuple[Field, ...]

    def is_flexible(self, version: int) -> bool:
        """Tell whether a version has compact and tagged fields."""
        return self.flexible is not None and version in self.flexible

    def encode_request(
        self, body: Mapping[str, Any], version: int, correlation_id: int, client_id: str | None
    ) -> bytes:
        """Return the bytes of a request with its header, without the length before it.

        Args:
            body: Values by name of field; those left out have their defaults.
            version: Version of the request.
            correlation_id: What the response will be recognised by.
            client_id: Name of the client, for the broker's log and quotas.

        Raises:
            TypeError, ValueError: If a field is unknown or its value wrong; the message names it.
            UnsupportedFieldError: If the version lacks a field that is given.
        """
        flexible = self.is_flexible(version)
        writer = Writer()
        for kind, value in (("int16", self.key), ("int16", version), ("int32", correlation_id)):
            writer.primitive(kind, value, compact=False)
        writer.primitive("string", client_id, compact=False)
        if flexible:
            writer.varint(0)
        _write_fields(writer, self.request, body, version, flexible, self.name)
        return bytes(writer.data)

    def decode_response(self, data: bytes, version: int, correlation_id: int) -> dict[str, Any]:
        """Return the fields of a response by name; those that the version lacks have their defaults.

        Args:
            data: The response with its header, without the length before it.
            version: Version of the request.
            correlation_id: That of the request.

        Raises:
            MalformedError: If the bytes are not a response of that version, or one to another request.
        """
        try:
            reader = Reader(data)
            answered = reader.primitive("int32", compact=False)
            if answered != correlation_id:
                raise MalformedError(f"answers request {answered} instead of {correlation_id}")  # noqa: TRY301
            flexible = self.is_flexible(version)
            # A client must be able to read this response before it knows what the broker supports.
            if flexible and self.key != _API_VERSIONS:
                _skip_tags(reader)
            return self._body(reader, self.response, version)
        except MalformedError as error:
            raise MalformedError(f"{self.name} response, version {version}: {error}") from None

    def decode_request(self, data: bytes, version: int) -> dict[str, Any]:
        """Return the fields of a request's body by name, as a broker reads them.

        Args:
            data: The body, after the header.
            version: Version of the request.

        Raises:
            MalformedError: If the bytes are not a request of that version.
        """
        return self._body(Reader(data), self.request, version)

    def encode_response(self, body: Mapping[str, Any], version: int) -> bytes:
        """Return the bytes of a response's body, without its header, as a broker writes them.

        Args:
            body: Values by name of field; those left out have their defaults.
            version: Version of the request.

        Raises:
            TypeError, ValueError, UnsupportedFieldError: As `encode_request`.
        """
        writer = Writer()
        _write_fields(writer, self.response, body, version, self.is_flexible(version), self.name)
        return bytes(writer.data)

    def _body(self, reader: Reader, fields: tuple[Field, ...], version: int) -> dict[str, Any]:
        body = _read_fields(reader, fields, version, self.is_flexible(version))
        if reader.left:
            raise MalformedError(f"{reader.left} bytes are left over")
        return body


def api(name_or_key: str | int) -> Api:
    """Return the row of a request.

    Args:
        name_or_key: Its name as in the protocol guide (``DescribeQuorum``), in snake case, or its API key.

    Raises:
        TypeError: If it is neither str nor int.
        ValueError: If the table has no such request.
    """
    if isinstance(name_or_key, bool) or not isinstance(name_or_key, (str, int)):
        raise TypeError(f"A request is named by str or API key, not {type(name_or_key).__name__}")
    wanted = name_or_key.replace("_", "").lower() if isinstance(name_or_key, str) else name_or_key
    row = _rows().get(wanted)
    if row is None:
        raise ValueError(f"Unknown request {name_or_key!r}: cykafka.admin.protocol.names() lists those there are")
    return _parse(row)


def names() -> list[str]:
    """Return the names of all requests in the table."""
    return sorted(row.split(maxsplit=2)[1] for key, row in _rows().items() if isinstance(key, int))


@functools.cache
def _rows() -> dict[str | int, str]:
    rows: dict[str | int, str] = {}
    for table in _TABLES:
        for row in table.TABLE.strip().split("\n\n"):
            key, name, _ = row.split(maxsplit=2)
            rows[int(key)] = rows[name.lower()] = row
    return rows


@functools.cache
def _parse(row: str) -> Api:
    head, *lines = row.splitlines()
    key, name, given, *flexible = head.split()
    lowest, _, highest = given.partition("-")
    versions = Versions(int(lowest), int(highest))
    split = lines.index("response")
    return Api(
        int(key),
        name,
        versions,
        _versions(flexible[1], versions) if flexible else None,
        _fields(lines[1:split], versions),
        _fields(lines[split + 1 :], versions),
    )


def _versions(text: str, all_versions: Versions) -> Versions:
    if text.endswith("+"):
        return Versions(int(text[:-1]), all_versions.highest)
    lowest, _, highest = text.partition("-")
    return Versions(int(lowest), int(highest or lowest))


def _fields(lines: list[str], all_versions: Versions) -> tuple[Field, ...]:
    fields = []
    at = 0
    while at < len(lines):
        match = _FIELD.fullmatch(lines[at])
        if match is None:
            raise ValueError(f"not a field: {lines[at]!r}")
        inside = match["indent"] + " "
        end = at + 1
        while end < len(lines) and lines[end].startswith(inside):
            end += 1
        kind = None if match["type"] in {None, "{}"} else match["type"]
        fields.append(
            Field(
                match["name"],
                kind,
                match["array"] is not None,
                _versions(match["versions"], all_versions) if match["versions"] else all_versions,
                _versions(match["nullable"] or f"{all_versions.lowest}+", all_versions) if match["null"] else None,
                None if match["tag"] is None else int(match["tag"]),
                _default(match["default"], kind, match["array"] is not None),
                _fields(lines[at + 1 : end], all_versions),
            )
        )
        at = end
    return tuple(fields)


def _default(text: str | None, kind: str | None, array: bool) -> Any:
    if text == "null":
        return None
    if array or kind is None:
        return ()
    if text is None:
        return ZEROS[kind]
    if kind == "bool":
        return text == "true"
    return float(text) if kind == "float64" else int(text) if "int" in kind else text


def _write_fields(
    writer: Writer, fields: tuple[Field, ...], body: Any, version: int, flexible: bool, path: str
) -> None:
    if not isinstance(body, Mapping):
        raise TypeError(f"{path} must be a mapping of fields to values, not {type(body).__name__}")
    unknown = set(body) - {field.name for field in fields}
    if unknown:
        known = ", ".join(field.name for field in fields) or "no field"
        raise ValueError(f"{path} has no field {', '.join(map(repr, sorted(map(str, unknown))))}: it has {known}")
    tagged = {}
    for field in fields:
        value = body.get(field.name, _MISSING)
        if version not in field.versions:
            if value is not _MISSING and value != field.value():
                raise UnsupportedFieldError(
                    f"{path}.{field.name} is in versions {field.versions} of the request, but it is sent in {version}"
                )
            continue
        if value is _MISSING:
            value = field.value()
            if value is None and not field.may_be_null(version):
                value = [] if field.array else {} if field.type is None else ZEROS[field.type]
        if field.tag is None:
            _write_value(writer, field, value, version, flexible, f"{path}.{field.name}")
        elif value != field.value():
            tagged[field.tag] = (field, value)
    if not flexible:
        return
    writer.varint(len(tagged))
    for tag, (field, value) in sorted(tagged.items()):
        inner = Writer()
        _write_value(inner, field, value, version, flexible, f"{path}.{field.name}")
        writer.varint(tag)
        writer.varint(len(inner.data))
        writer.data += inner.data


_MISSING = object()


def _write_value(writer: Writer, field: Field, value: Any, version: int, flexible: bool, path: str) -> None:
    if value is None and not field.may_be_null(version) and field.type != "records":
        raise TypeError(f"{path} must not be None")
    if not field.array:
        _write_one(writer, field, value, version, flexible, path)
        return
    if value is None:
        writer.length(None, flexible, ">i")
        return
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        raise TypeError(f"{path} must be a list, not {type(value).__name__}")
    items = list(value)
    writer.length(len(items), flexible, ">i")
    for index, item in enumerate(items):
        _write_one(writer, field, item, version, flexible, f"{path}[{index}]")


def _write_one(writer: Writer, field: Field, value: Any, version: int, flexible: bool, path: str) -> None:
    if field.type is not None:
        if value is None and field.array:
            raise TypeError(f"{path} must not be None")
        try:
            writer.primitive(field.type, value, flexible)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{path} {error}") from None
        return
    if not field.array and field.may_be_null(version):
        writer.data += b"\xff" if value is None else b"\x01"
        if value is None:
            return
    _write_fields(writer, field.fields, value, version, flexible, path)


def _read_fields(reader: Reader, fields: tuple[Field, ...], version: int, flexible: bool) -> dict[str, Any]:
    body = {}
    tagged = {}
    for field in fields:
        if version not in field.versions:
            body[field.name] = field.value()
        elif field.tag is None:
            body[field.name] = _read_value(reader, field, version, flexible)
        else:
            body[field.name] = field.value()
            tagged[field.tag] = field
    if flexible:
        for tag, data in _tags(reader):
            if tag in tagged:
                inner = Reader(data)
                body[tagged[tag].name] = _read_value(inner, tagged[tag], version, flexible)
                if inner.left:
                    raise MalformedError(f"{inner.left} bytes are left over in {tagged[tag].name}")
    return body


def _tags(reader: Reader) -> list[tuple[int, bytes]]:
    return [(reader.varint(), reader.take(reader.varint())) for _ in range(_count(reader, reader.varint()))]


def _skip_tags(reader: Reader) -> None:
    _tags(reader)


def _count(reader: Reader, count: int) -> int:
    if count > reader.left:
        raise MalformedError(f"names a count of {count}, {reader.left} bytes are left")
    return count


def _read_value(reader: Reader, field: Field, version: int, flexible: bool) -> Any:
    if not field.array:
        value = _read_one(reader, field, version, flexible)
        if value is None and field.type not in {None, "records"} and not field.may_be_null(version):
            raise MalformedError(f"{field.name} is null")
        return value
    count = reader.length(flexible, ">i")
    if count is None:
        if not field.may_be_null(version):
            raise MalformedError(f"{field.name} is null")
        return None
    return [_read_one(reader, field, version, flexible) for _ in range(count)]


def _read_one(reader: Reader, field: Field, version: int, flexible: bool) -> Any:
    if field.type is not None:
        value = reader.primitive(field.type, flexible)
        if value is None and field.array:
            raise MalformedError(f"{field.name} has an item that is null")
        return value
    if not field.array and field.may_be_null(version) and reader.primitive("int8", flexible) < 0:
        return None
    return _read_fields(reader, field.fields, version, flexible)
