"""Configurations of topics, brokers and groups."""

import functools
import re
from typing import Any

from cykafka._model import OrderedEnum, as_enum
from cykafka._rdkafka.core import KafkaError
from cykafka.admin._arguments import ArgumentError
from cykafka.admin._resource import ResourceType

#: Names of properties whose values stay out of texts.
_SECRET = re.compile(r"password|secret|jaas", re.IGNORECASE)


class ConfigSource(OrderedEnum):
    """Where a configuration value comes from."""

    UNKNOWN_CONFIG = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    GROUP_CONFIG = 8


class AlterConfigOpType(OrderedEnum):
    """What incremental_alter_configs() does with a value."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigEntry:
    """A configuration property.

    Args:
        name: Name of the property.
        value: Its value; None if it is unset or sensitive.
        source: Where the value comes from.
        is_read_only: It cannot be changed.
        is_default: The value is the default.
        is_sensitive: The value is not told.
        is_synonym: The entry stands in another entry's synonyms.
        synonyms: Lower-ranking sources of the value, by name.
        incremental_operation: What incremental_alter_configs() shall do.
    """

    def __init__(
        self,
        name: str,
        value: str | None,
        source: ConfigSource = ConfigSource.UNKNOWN_CONFIG,
        is_read_only: bool = False,
        is_default: bool = False,
        is_sensitive: bool = False,
        is_synonym: bool = False,
        synonyms: "dict[str, ConfigEntry]" = {},  # noqa: B006 - the peer's signature; copied, never changed
        incremental_operation: AlterConfigOpType | None = None,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source
        self.is_read_only = bool(is_read_only)
        self.is_default = bool(is_default)
        self.is_sensitive = bool(is_sensitive)
        self.is_synonym = bool(is_synonym)
        self.synonyms = dict(synonyms)
        self.incremental_operation = incremental_operation

    def _to_change(self) -> tuple[str, int, Any]:
        """Return the change that incremental_alter_configs() shall make, as the compiled core takes it.

        Raises:
            TypeError, ValueError: If a value is wrong.
        """
        operation = AlterConfigOpType.SET if self.incremental_operation is None else self.incremental_operation
        if not isinstance(operation, AlterConfigOpType):
            raise TypeError(f"incremental_operation of {self.name!r} must be an AlterConfigOpType, not {operation!r}")
        if self.value is None and operation is not AlterConfigOpType.DELETE:
            raise ArgumentError(f"value of {self.name!r} must not be None, unless it is deleted")
        return (self.name, operation.value, self.value)

    def __repr__(self) -> str:
        return f"ConfigEntry({self})"

    def __str__(self) -> str:
        secret = self.value is not None and (self.is_sensitive or _SECRET.search(self.name))
        return f'{self.name}="{"(hidden)" if secret else self.value}"'


@functools.total_ordering
class ConfigResource:
    """A resource that has a configuration.

    Args:
        restype: `ResourceType`, its name or number.
        name: Name of the resource; a broker's is its id.
        set_config: Values to set, for alter_configs().
        described_configs: Entries found, in results.
        error: `KafkaError` in results.
        incremental_configs: Entries to change, for incremental_alter_configs().

    Raises:
        ValueError: If the kind is unknown or the name is not a str.
        TypeError: If the kind is something else than that, or the entries are not a list of `ConfigEntry`.
    """

    Type = ResourceType

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str,
        set_config: dict[str, str] | None = None,
        described_configs: dict[str, ConfigEntry] | None = None,
        error: KafkaError | None = None,
        incremental_configs: list[ConfigEntry] | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise ValueError(  # noqa: TRY004 - the class that users of confluent_kafka expect
                f"Expected resource name to be a string, not {type(name).__name__}"
            )
        self.restype = as_enum(ResourceType, restype, "resource type")
        self.restype_int = int(self.restype.value)
        self.name = name
        self.set_config_dict: dict[str, str] = dict(set_config) if set_config is not None else {}
        self.incremental_configs: list[ConfigEntry] = list(incremental_configs or [])
        self.configs = described_configs
        self.error = error

    def set_config(self, name: str, value: str, overwrite: bool = True) -> None:
        """Set a value for alter_configs().

        Args:
            name: Name of the property.
            value: Its value.
            overwrite: Replace a value set before.
        """
        if overwrite or name not in self.set_config_dict:
            self.set_config_dict[name] = value

    def add_incremental_config(self, config_entry: ConfigEntry) -> None:
        """Add a change for incremental_alter_configs()."""
        self.incremental_configs.append(config_entry)

    def _key(self) -> tuple[int, str]:
        return (self.restype_int, self.name)

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfigResource):
            return NotImplemented
        return self._key() == other._key()

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ConfigResource):
            return NotImplemented
        return self._key() < other._key()

    def __len__(self) -> int:
        return len(self.set_config_dict)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        error = "" if self.error is None else f",{self.error}"
        return f"ConfigResource({self.restype},{self.name}{error})"
