"""Kinds of resources and of patterns that name them."""

from cykafka._model import OrderedEnum


class ResourceType(OrderedEnum):
    """Kind of a resource."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    BROKER = 4
    TRANSACTIONAL_ID = 5


class ResourcePatternType(OrderedEnum):
    """How a name is matched with resources (KIP-290)."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4
