"""How failures of this layer become `KafkaException`."""

from cykafka._rdkafka.core import KafkaError, KafkaException, make_exception

#: Codes with which a broker says that another one is to be asked, or itself a little later (Kafka's protocol guide).
MISROUTED = frozenset({5, 6, 14, 15, 16, 41})


def failure(code: int, reason: str, *, retriable: bool = False) -> KafkaException:
    """Make an exception.

    Args:
        code: Code of a `KafkaError`.
        reason: What went wrong, and what to do about it.
        retriable: It may be tried again as it is.
    """
    return make_exception(KafkaError(code, reason, retriable=retriable))


def broker_error(code: int, message: str | None = None) -> KafkaError:
    """Make the error that a broker reported; the code's own description stands in for a message."""
    return KafkaError(code, message or None, retriable=code in MISROUTED)


def timed_out(doing: str) -> KafkaException:
    """Make the exception for a deadline that has passed."""
    return failure(KafkaError._TIMED_OUT, f"{doing}: timed out", retriable=True)
