"""The primitive types of the Kafka protocol (its guide, "Protocol Primitive Types"; KIP-482 for compact ones)."""

import base64
import binascii
import struct
import uuid
from collections.abc import Callable
from typing import Any

_LONGEST_VARINT = 5
_LONGEST_STRING = 2**15 - 1
_INTEGERS = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "int64": ">q"}
#: What a field has that is not given and for which the table names no default.
ZEROS: dict[str, Any] = {
    **dict.fromkeys(_INTEGERS, 0),
    "float64": 0.0,
    "bool": False,
    "string": "",
    "bytes": b"",
    "records": None,
    "uuid": "AAAAAAAAAAAAAAAAAAAAAA",
}


class MalformedError(Exception):
    """Bytes are not what the protocol says: they end early, name an impossible length, or are left over."""


class Writer:
    """Bytes of a request in the making."""

    def __init__(self) -> None:
        self.data = bytearray()

    def varint(self, value: int) -> None:
        """Append an unsigned variable-length integer."""
        while value > 0x7F:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def length(self, value: int | None, compact: bool, width: str) -> None:
        """Append a length or a count; None stands for null."""
        if compact:
            self.varint(0 if value is None else value + 1)
        else:
            self.data += struct.pack(width, -1 if value is None else value)

    def primitive(self, kind: str, value: Any, compact: bool) -> None:
        """Append a value of a primitive type.

        Raises:
            TypeError: If it has the wrong Python type.
            ValueError: If it is out of range.
        """
        _WRITERS[kind](self, value, compact)


class Reader:
    """Bytes of a response, read from the front; never beyond their end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """How many bytes are not read yet."""
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        """Read some bytes."""
        if not 0 <= count <= self.left:
            raise MalformedError(f"ends early: {count} bytes expected, {self.left} left")
        self._at += count
        return self._data[self._at - count : self._at]

    def varint(self) -> int:
        """Read an unsigned variable-length integer."""
        value = 0
        for position in range(_LONGEST_VARINT):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * position)
            if byte < 0x80:
                return value
        raise MalformedError("a variable-length integer has more than 5 bytes")

    def length(self, compact: bool, width: str) -> int | None:
        """Read a length or a count; None for null. No valid one is above the number of bytes left."""
        if compact:
            value = self.varint() - 1
        else:
            (value,) = struct.unpack(width, self.take(struct.calcsize(width)))
        if value == -1:
            return None
        if not 0 <= value <= self.left:
            raise MalformedError(f"names a length of {value}, {self.left} bytes are left")
        return int(value)

    def primitive(self, kind: str, compact: bool) -> Any:
        """Read a value of a primitive type."""
        return _READERS[kind](self, compact)


def _write_integer(layout: str) -> Callable[[Writer, Any, bool], None]:
    def write(writer: Writer, value: Any, _compact: bool) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"must be int, not {type(value).__name__}")
        try:
            writer.data += struct.pack(layout, value)
        except struct.error:
            raise ValueError(f"is out of range: {value}") from None

    return write


def _write_bool(writer: Writer, value: Any, _compact: bool) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"must be bool, not {type(value).__name__}")
    writer.data.append(value)


def _write_float(writer: Writer, value: Any, _compact: bool) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"must be float, not {type(value).__name__}")
    writer.data += struct.pack(">d", value)


def _write_string(writer: Writer, value: Any, compact: bool) -> None:
    if value is None:
        writer.length(None, compact, ">h")
        return
    if not isinstance(value, str):
        raise TypeError(f"must be str, not {type(value).__name__}")
    data = value.encode()
    if len(data) > _LONGEST_STRING:
        raise ValueError(f"is too long: {len(data)} bytes, at most {_LONGEST_STRING}")
    writer.length(len(data), compact, ">h")
    writer.data += data


def _write_bytes(writer: Writer, value: Any, compact: bool) -> None:
    if value is None:
        writer.length(None, compact, ">i")
        return
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"must be bytes, not {type(value).__name__}")
    data = bytes(value)
    writer.length(len(data), compact, ">i")
    writer.data += data


def _write_uuid(writer: Writer, value: Any, _compact: bool) -> None:
    if isinstance(value, uuid.UUID):
        writer.data += value.bytes
        return
    if not isinstance(value, str):
        raise TypeError(f"must be uuid.UUID or str, not {type(value).__name__}")
    try:
        data = base64.b64decode(value + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if len(data) != 16:
        raise ValueError(f"must be 22 characters of URL-safe base64, as Kafka writes ids, not {value!r}")
    writer.data += data


def _read_layout(layout: str) -> Callable[[Reader, bool], Any]:
    size = struct.calcsize(layout)

    def read(reader: Reader, _compact: bool) -> Any:
        return struct.unpack(layout, reader.take(size))[0]

    return read


def _read_string(reader: Reader, compact: bool) -> str | None:
    length = reader.length(compact, ">h")
    if length is None:
        return None
    try:
        return reader.take(length).decode()
    except UnicodeDecodeError:
        raise MalformedError("has a string that is not UTF-8") from None


def _read_bytes(reader: Reader, compact: bool) -> bytes | None:
    length = reader.length(compact, ">i")
    return None if length is None else reader.take(length)


def _read_uuid(reader: Reader, _compact: bool) -> str:
    return base64.urlsafe_b64encode(reader.take(16)).decode().rstrip("=")


_WRITERS: dict[str, Callable[[Writer, Any, bool], None]] = {
    **{kind: _write_integer(layout) for kind, layout in _INTEGERS.items()},
    "bool": _write_bool,
    "float64": _write_float,
    "string": _write_string,
    "bytes": _write_bytes,
    "records": _write_bytes,
    "uuid": _write_uuid,
}
_READERS: dict[str, Callable[[Reader, bool], Any]] = {
    **{kind: _read_layout(layout) for kind, layout in _INTEGERS.items()},
    "bool": lambda reader, _compact: reader.take(1) != b"\0",
    "float64": _read_layout(">d"),
    "string": _read_string,
    "bytes": _read_bytes,
    "records": _read_bytes,
    "uuid": _read_uuid,
}
