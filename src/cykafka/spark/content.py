"""A fingerprint of rows that does not depend on their order, to know a repeated write again."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_MASK = (1 << 64) - 1
# Odd numbers that keep the columns apart; from the golden ratio, as usual in multiplicative hashing.
_FACTORS = {
    "key": 0x9E3779B97F4A7C15,
    "value": 0xC2B2AE3D27D4EB4F,
    "topic": 0x165667B19E3779F9,
    "partition": 0x27D4EB2F165667C5,
    "headers": 0xD6E8FEB86659FD93,
}


@dataclass(frozen=True)
class Content:
    """Fingerprint of a set of rows.

    Attributes:
        rows: Number of rows.
        hash: Sum of the rows' hashes, modulo 2^64.
    """

    rows: int = 0
    hash: int = 0

    def __add__(self, other: Content) -> Content:
        return Content(self.rows + other.rows, (self.hash + other.hash) & _MASK)


def content_of(batch: pa.RecordBatch) -> Content:
    """Take the fingerprint of a batch.

    Args:
        batch: Rows of the sink; columns ``key``, ``value``, ``topic``, ``partition`` and ``headers`` count.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    total = pa.nulls(batch.num_rows, pa.uint64()).fill_null(0)
    for name, factor in _FACTORS.items():
        if name in batch.schema.names:
            cells = pa.array(_hashes(name, batch.column(name)), pa.uint64())
            total = pc.add(total, pc.multiply(cells, pa.scalar(factor, pa.uint64())))
    # Without mixing, values that change places between two rows would not show.
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        total = pc.bit_wise_xor(total, pc.shift_right(total, pa.scalar(shift, pa.uint64())))
        total = pc.multiply(total, pa.scalar(factor, pa.uint64()))
    return Content(batch.num_rows, sum(total.to_pylist()) & _MASK)


def _hashes(name: str, column: Any) -> list[int]:
    """Hash each cell; null differs from all values."""
    import pyarrow as pa

    crc32: Callable[[bytes], int] = zlib.crc32
    if name == "partition":
        return [0 if cell is None else cell + 1 for cell in column.to_pylist()]
    if name == "headers":
        return [0 if cell is None else crc32(repr(cell).encode()) + 1 for cell in column.to_pylist()]
    cells = column.cast(pa.binary()).to_pylist()
    return [0 if cell is None else crc32(cell) + (len(cell) << 32) + 1 for cell in cells]
