# Decoders: which fields message values have, for columns of their own. Decoding itself is in arrow_decode.c.

cdef dict _TYPES = {
    "bool": (0, 1), "int8": (1, 1), "int16": (2, 2), "int32": (3, 4), "int64": (4, 8), "uint8": (5, 1),
    "uint16": (6, 2), "uint32": (7, 4), "uint64": (8, 8), "float32": (9, 4), "float64": (10, 8), "utf8": (11, 0),
    "binary": (12, 0), "timestamp": (13, 8), "pad": (14, 0),
}
cdef dict _UNITS = {"s": b"s", "ms": b"m", "us": b"u", "ns": b"n"}


cdef class Decoder:
    """Base class of decoders; not made directly.

    Attributes:
        fields: Types of the fields by name, in order.
        on_error: What happens to values that are not as the fields say.
    """

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.native.field_cnt):
            free(self.native.fields[i].name)
        free(self.native.fields)

    @property
    def column_names(self):
        """Names of the columns that decoding adds, in order."""
        names = [name for name, type_ in self.fields.items() if not type_.startswith("pad")]
        return [*names, "corrupt"] if self.on_error == "keep" else names

    cdef int _fill(self, object fields, object on_error, bint json) except -1:
        """Take over the arguments."""
        cdef cyk_field_t *field
        cdef bytes name
        if self.native.fields is not NULL:
            raise RuntimeError(f"{type(self).__name__} is already initialised")
        if not isinstance(fields, dict):
            raise TypeError(f"fields must be a dict of type by name, not {type(fields).__name__}")
        if not fields:
            raise ValueError("fields must name one field at least")
        if on_error not in ("null", "keep", "raise"):
            raise ValueError(f"on_error must be 'null', 'keep' or 'raise', not {on_error!r}")
        if on_error == "keep" and "corrupt" in fields:
            raise ValueError("with on_error='keep' there is a column 'corrupt': name the field otherwise")
        self.native.fields = <cyk_field_t *>calloc(len(fields), sizeof(cyk_field_t))
        if self.native.fields is NULL:
            raise MemoryError
        for key, type_ in fields.items():
            name = encode_name(key, "field name")
            field = &self.native.fields[self.native.field_cnt]
            _parse_type(field, key, type_, json)
            field.name_len = len(name)
            field.name = strdup(name)
            if field.name is NULL:
                raise MemoryError
            self.native.field_cnt += 1
            self.native.size += field.size
        self.fields = dict(fields)
        self.on_error = on_error
        self.native.json = json
        self.native.keep_corrupt = on_error == "keep"
        self.native.stop_at_corrupt = on_error == "raise"
        if not self.column_names:
            raise ValueError("fields must name one field at least that is not padding")
        return 0

    def __repr__(self):
        return f"{type(self).__name__}({self.fields!r}, on_error={self.on_error!r})"


cdef const cyk_decoder_t *native_decoder(Decoder decoder) noexcept:
    """Return what C uses of a decoder, NULL for None; valid while the decoder lives."""
    return NULL if decoder is None else &decoder.native


cdef int _parse_type(cyk_field_t *field, object name, object type_, bint json) except -1:
    """Translate ``utf8``, ``timestamp[us]`` or ``binary[16]``."""
    if not isinstance(type_, str):
        raise TypeError(f"type of field {name!r} must be str, not {type(type_).__name__}")
    base, bracket, argument = type_.partition("[")
    if bracket:
        if not argument.endswith("]"):
            raise ValueError(f"type of field {name!r}: a ] is missing in {type_!r}")
        argument = argument.removesuffix("]")
    known = _TYPES.get(base)
    if known is None or json and base in ("binary", "pad"):
        there = ", ".join(known for known in _TYPES if not (json and known in ("binary", "pad")))
        raise ValueError(f"type of field {name!r}: {type_!r} is none of {there}")
    field.type = <cyk_type_t><int>known[0]
    field.size = known[1]
    if base == "timestamp":
        if argument not in _UNITS:
            raise ValueError(f"type of field {name!r}: timestamp needs its unit, timestamp[s], [ms], [us] or [ns]")
        field.unit = (<bytes>_UNITS[argument])[0]
    elif not json and base in ("utf8", "binary", "pad"):
        if not argument.isdecimal() or not 1 <= int(argument) <= 1000000:
            raise ValueError(f"type of field {name!r}: {base} needs its size in bytes in a struct: {base}[16]")
        field.size = int(argument)
    elif bracket:
        raise ValueError(f"type of field {name!r}: {base} takes nothing in brackets here")
    return 0


cdef class JsonDecoder(Decoder):
    """Reads the fields of JSON objects into columns.

    Args:
        fields: Types by name: ``bool``, ``int8`` to ``int64``, ``uint8`` to ``uint64``, ``float32``, ``float64``,
            ``utf8``, and ``timestamp[s]``, ``[ms]``, ``[us]`` or ``[ns]`` (a number in that unit, or text as in
            RFC 3339; UTC). Fields of the objects that are not named are passed over; one that is missing or null
            becomes null.
        on_error: What happens to a value that is no JSON object, or has a field of another type or out of range:
            ``"null"`` makes all fields of the row null, ``"keep"`` also puts the value into a column ``corrupt``
            (binary, null for the other rows), ``"raise"`` raises ValueError once the messages before it were
            returned, with the `Message` as the exception's attribute ``message``; the next call goes on after it.

    A message without a value makes all fields null and is no error. Decoders do not change and may be shared.

    Raises:
        TypeError, ValueError: If an argument is wrong.
    """

    def __init__(self, fields, *, on_error="null"):
        self._fill(fields, on_error, True)


cdef class StructDecoder(Decoder):
    """Reads packed binary structs of fixed size into columns.

    Args:
        fields: Types by name, in the order of the bytes: as for `JsonDecoder`, and ``utf8[N]`` (N bytes, trailing
            NULs are dropped), ``binary[N]``, and ``pad[N]`` for N bytes that make no column. Timestamps are int64,
            a bool is one byte, 0 or 1.
        byte_order: ``"little"`` or ``"big"``.
        on_error: As for `JsonDecoder`; corrupt is a value of another size, with invalid UTF-8, or a bool above 1.

    Raises:
        TypeError, ValueError: If an argument is wrong.
    """

    def __init__(self, fields, *, byte_order="little", on_error="null"):
        if byte_order not in ("little", "big"):
            raise ValueError(f"byte_order must be 'little' or 'big', not {byte_order!r}")
        self._fill(fields, on_error, False)
        self.native.big_endian = byte_order == "big"
