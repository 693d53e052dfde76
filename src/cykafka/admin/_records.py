"""Deleted messages."""


class DeletedRecords:
    """What delete_records() did to a partition.

    Args:
        low_watermark: First offset that is left.
    """

    def __init__(self, low_watermark: int) -> None:
        self.low_watermark = low_watermark

    def __repr__(self) -> str:
        return f"DeletedRecords(low_watermark={self.low_watermark})"
