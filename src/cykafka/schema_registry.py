"""Where confluent_kafka has its Schema Registry client; importing it says what to do instead."""

raise ModuleNotFoundError(
    "cykafka.schema_registry does not exist yet: until it does, serialize with a cykafka.serialization.Serializer "
    "of your own that asks the registry",
    name=__name__,
)
