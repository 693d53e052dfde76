"""Deleted messages."""

import dataclasses


@dataclasses.dataclass(unsafe_hash=True)
class DeletedRecords:
    """What delete_records() did to a partition.

    Args:
        low_watermark: First offset that is left.
    """

    low_watermark: int
