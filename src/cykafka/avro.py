"""Where confluent_kafka has its older Avro classes, deprecated there; importing it says what to do instead."""

raise ModuleNotFoundError(
    "cykafka.avro does not exist: confluent_kafka has deprecated it; use SerializingProducer and "
    "DeserializingConsumer with a serializer of your own",
    name=__name__,
)
