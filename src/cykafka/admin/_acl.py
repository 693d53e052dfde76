"""Access control lists."""

import functools
from typing import Any, ClassVar

from cykafka._model import OrderedEnum, as_enum
from cykafka.admin._resource import ResourcePatternType, ResourceType


class AclOperation(OrderedEnum):
    """Operation that an ACL allows or denies."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class AclPermissionType(OrderedEnum):
    """Whether an ACL allows or denies."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


def as_operations(values: "list[Any] | None") -> list[AclOperation] | None:
    """Return operations as members, given members, names or numbers; None stays None."""
    return None if values is None else [as_enum(AclOperation, value, "operation") for value in values]


@functools.total_ordering
class AclBinding:
    """A rule: who may or may not do what with which resources.

    Args:
        restype: `ResourceType`, its name or number.
        name: Name of the resource, or its prefix.
        resource_pattern_type: `ResourcePatternType`, its name or number.
        principal: Principal, like ``User:alice``.
        host: Host that the rule is for, ``*`` for all.
        operation: `AclOperation`, its name or number.
        permission_type: `AclPermissionType`, its name or number.

    Raises:
        ValueError: If a value is unknown, missing, or good for filters only.
        TypeError: If a value has the wrong type.
    """

    _forbidden: ClassVar[dict[str, tuple[str, ...]]] = {
        "restype": ("ANY",),
        "resource_pattern_type": ("ANY", "MATCH"),
        "operation": ("ANY",),
        "permission_type": ("ANY",),
    }
    _required: ClassVar[tuple[str, ...]] = ("name", "principal", "host")
    _why: ClassVar[str] = "it is good for filters only"

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str,
        resource_pattern_type: ResourcePatternType | str | int,
        principal: str,
        host: str,
        operation: AclOperation | str | int,
        permission_type: AclPermissionType | str | int,
    ) -> None:
        self.restype = as_enum(ResourceType, restype, "restype")
        self.name = name
        self.resource_pattern_type = as_enum(ResourcePatternType, resource_pattern_type, "resource_pattern_type")
        self.principal = principal
        self.host = host
        self.operation = as_enum(AclOperation, operation, "operation")
        self.permission_type = as_enum(AclPermissionType, permission_type, "permission_type")
        for attribute in ("name", "principal", "host"):
            value = getattr(self, attribute)
            if value is None and attribute in self._required:
                raise ValueError(f"Expected {attribute} to be a string, not None: only filters leave it open")
            if value is not None and not isinstance(value, str):
                raise TypeError(f"Expected {attribute} to be a string, not {type(value).__name__}")
        for attribute, names in self._forbidden.items():
            member = getattr(self, attribute)
            if member.name in names:
                raise ValueError(f"Cannot use {attribute} {member.name} in {type(self).__name__}: {self._why}")
        self.restype_int = int(self.restype.value)
        self.resource_pattern_type_int = int(self.resource_pattern_type.value)
        self.operation_int = int(self.operation.value)
        self.permission_type_int = int(self.permission_type.value)

    def _to_tuple(self) -> tuple[Any, ...]:
        return (
            self.restype,
            self.name,
            self.resource_pattern_type,
            self.principal,
            self.host,
            self.operation,
            self.permission_type,
        )

    def _to_native(self) -> tuple[Any, ...]:
        """Return the tuple that the compiled core takes."""
        return (
            self.restype_int,
            self.name,
            self.resource_pattern_type_int,
            self.principal,
            self.host,
            self.operation_int,
            self.permission_type_int,
        )

    def __hash__(self) -> int:
        return hash(self._to_tuple())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AclBinding):
            return NotImplemented
        return self._to_tuple() == other._to_tuple()

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, AclBinding):
            return NotImplemented
        return bool(self._to_native() < other._to_native())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({','.join(str(value) for value in self._to_tuple())})"


class AclBindingFilter(AclBinding):
    """A filter for rules: as `AclBinding`, with None and ANY matching everything."""

    _forbidden: ClassVar[dict[str, tuple[str, ...]]] = {
        "restype": ("UNKNOWN",),
        "resource_pattern_type": ("UNKNOWN",),
        "operation": ("UNKNOWN",),
        "permission_type": ("UNKNOWN",),
    }
    _required: ClassVar[tuple[str, ...]] = ()
    _why: ClassVar[str] = "use ANY to match everything"
