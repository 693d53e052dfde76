"""Kinds of resources and of patterns that name them."""

import enum


class ResourceType(enum.Enum):
    """Kind of a resource."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    BROKER = 4
    TRANSACTIONAL_ID = 5

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ResourceType):
            return NotImplemented
        return bool(self.value < other.value)


class ResourcePatternType(enum.Enum):
    """How a name is matched with resources (KIP-290)."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ResourcePatternType):
            return NotImplemented
        return bool(self.value < other.value)
