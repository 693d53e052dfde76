"""Checks of what is given to `AdminClient`: what is wrong is said before anything is sent."""

from collections.abc import Iterable
from typing import Any

from cykafka._model import IsolationLevel
from cykafka._rdkafka.core import TopicPartition

_FLAGS = frozenset({"validate_only", "include_authorized_operations", "require_stable"})
_LONGEST = 3600
_HIGHEST_BROKER = 2**31 - 1


class ArgumentError(TypeError, ValueError):
    """A list is of the wrong kind, or something in it is.

    confluent_kafka raises TypeError for some of these and ValueError for others: programs may catch either.
    """


def options(given: dict[str, Any], *allowed: str) -> dict[str, Any]:
    """Return the options given, without those that are None.

    Args:
        given: Options by name.
        *allowed: The options that the operation has besides request_timeout.

    Raises:
        TypeError: If the operation has no such option, or a value has the wrong type.
        ValueError: If a value is out of range.
    """
    known = ("request_timeout", *allowed)
    checked = {}
    for name, value in given.items():
        if name not in known:
            raise TypeError(
                f"'{name}' is an invalid keyword argument for this operation: it takes {', '.join(sorted(known))}"
            )
        if value is None:
            continue
        if name.endswith("_timeout"):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"{name} must be a number of seconds, not {type(value).__name__}")
            if not 0 <= value <= _LONGEST:
                raise ValueError(f"{name} must be between 0 and {_LONGEST} seconds, not {value!r}")
        elif name in _FLAGS:
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be bool, not {type(value).__name__}")
        elif name == "broker":
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"broker must be a broker id, an int, not {type(value).__name__}")
            if not 0 <= value <= _HIGHEST_BROKER:
                raise ValueError(f"broker must be a broker id, between 0 and {_HIGHEST_BROKER}, not {value}")
        elif name == "isolation_level" and not isinstance(value, IsolationLevel):
            raise TypeError(f"isolation_level must be an IsolationLevel, not {type(value).__name__}")
        checked[name] = value
    return checked


def items(given: Any, kind: type | tuple[type, ...], what: str, *, empty: bool = False) -> list[Any]:
    """Return items as a list.

    Args:
        given: An iterable, but not a str.
        kind: Class or classes that the items must have.
        what: What they are, for the error's text.
        empty: There may be none.

    Raises:
        ArgumentError: If it is not iterable, or an item has the wrong type.
        ValueError: If there are none.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    names = " or ".join(k.__name__ for k in kinds)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ArgumentError(f"Expected {what} to be a list of {names}, not {type(given).__name__}")
    checked = list(given)
    if not checked and not empty:
        raise ValueError(f"Expected {what} to be a non-empty list of {names}")
    for item in checked:
        if not isinstance(item, kinds):
            raise ArgumentError(f"Expected {what} to be a list of {names}, but it contains {type(item).__name__}")
    return checked


def names(given: Any, what: str, *, empty: bool = False) -> list[str]:
    """Return names as a list in which each stands once.

    Args:
        given: Names.
        what: What they are, for the error's text.
        empty: There may be none.

    Raises:
        TypeError: If it is not an iterable of str.
        ValueError: If a name is empty, or there are none.
    """
    checked = list(dict.fromkeys(items(given, str, what, empty=empty)))
    if "" in checked:
        raise ValueError(f"{what} must not contain an empty name")
    return checked


def partitions(given: Any, what: str, *, empty: bool = False) -> list[TopicPartition]:
    """Return partitions as a list.

    Args:
        given: Partitions.
        what: What they are, for the error's text.
        empty: There may be none.

    Raises:
        TypeError: If it is not an iterable of TopicPartition.
        ValueError: If a topic is empty, a partition negative, or there are none.
    """
    checked = items(given, TopicPartition, what, empty=empty)
    for partition in checked:
        if not partition.topic:
            raise ValueError(f"{what} must not contain an empty topic name")
        if partition.partition < 0:
            raise ValueError(f"{what} must not contain a negative partition: {partition}")
    return checked


def name(given: Any, what: str) -> str:
    """Return a name.

    Raises:
        TypeError: If it is not a str.
        ValueError: If it is empty.
    """
    if not isinstance(given, str):
        raise TypeError(f"{what} must be str, not {type(given).__name__}")
    if not given:
        raise ValueError(f"{what} must not be empty")
    return given
