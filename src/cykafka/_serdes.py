"""Serializers and deserializers in a client's configuration."""

from collections.abc import Callable
from typing import Any

from cykafka.serialization import DeserializerBuilder, SerializerBuilder


def take_serdes(conf: dict[str, Any], key_property: str, value_property: str) -> tuple[list[Any], dict[str, Any]]:
    """Take the key's and the value's serializer (or deserializer) out of a configuration.

    A builder (`SerializerBuilder`, `DeserializerBuilder`) is asked to build one from the configuration.

    Args:
        conf: Configuration as the user gave it; not changed.
        key_property: Name of the key's property.
        value_property: Name of the value's property.

    Returns:
        tuple: [key's or None, value's or None], and the configuration for the client itself.

    Raises:
        TypeError: If something is not callable.
    """
    if not isinstance(conf, dict):
        raise TypeError(f"expected configuration dict, not {type(conf).__name__}")
    rest = dict(conf)
    given = [rest.pop(key_property, None), rest.pop(value_property, None)]
    found = []
    for is_key, serde in zip((True, False), given, strict=True):
        built = serde
        if isinstance(serde, SerializerBuilder | DeserializerBuilder):
            built, rest = serde.build(rest, is_key)
        if built is not None and not callable(built):
            raise TypeError(
                f"{key_property if is_key else value_property} must be callable, not {type(built).__name__}"
            )
        found.append(built)
    return found, rest


def share_cluster_id(serdes: list[Any], resolver: Callable[[], Any]) -> None:
    """Tell serializers that ask for it how to learn the cluster's identifier."""
    for serde in serdes:
        take = getattr(serde, "set_cluster_id_resolver", None)
        if callable(take):
            take(resolver)


def close_serdes(serdes: list[Any]) -> None:
    """Close serializers that can be closed."""
    for serde in serdes:
        close = getattr(serde, "close", None)
        if callable(close):
            close()
