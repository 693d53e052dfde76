"""cykafka: the Kafka client for Python that is as fast as C.

librdkafka and a Cython module in one package. `Producer`, `Consumer` and `cykafka.admin.AdminClient` follow
the names of confluent_kafka, so ``import cykafka as confluent_kafka`` works; `install_as_confluent_kafka`
does it for whole programs.
"""

from cykafka._compat import install_as_confluent_kafka
from cykafka._model import (
    AcknowledgeType,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    IsolationLevel,
    Messages,
    Node,
    TopicCollection,
    TopicPartitionInfo,
)
from cykafka._rdkafka import core as _core
from cykafka._rdkafka.core import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    AbortableException,
    ConcurrentModificationException,
    Consumer,
    DeliverySummary,
    FatalException,
    IllegalStateException,
    JsonDecoder,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    RecordBatch,
    RecordBatchStream,
    RetriableException,
    ShareConsumer,
    StructDecoder,
    ThrottleEvent,
    TopicPartition,
    Uuid,
    builtin_features,
    consistent,
    fnv1a,
    libversion,
    murmur2,
    version,
)
from cykafka._version import __version__
from cykafka.deserializing_consumer import DeserializingConsumer
from cykafka.deserializing_share_consumer import DeserializingShareConsumer
from cykafka.serializing_producer import SerializingProducer

_core._client_software_version = __version__

__all__ = [
    "OFFSET_BEGINNING",
    "OFFSET_END",
    "OFFSET_INVALID",
    "OFFSET_STORED",
    "TIMESTAMP_CREATE_TIME",
    "TIMESTAMP_LOG_APPEND_TIME",
    "TIMESTAMP_NOT_AVAILABLE",
    "AbortableException",
    "AcknowledgeType",
    "ConcurrentModificationException",
    "Consumer",
    "ConsumerGroupState",
    "ConsumerGroupTopicPartitions",
    "ConsumerGroupType",
    "DeliverySummary",
    "DeserializingConsumer",
    "DeserializingShareConsumer",
    "ElectionType",
    "FatalException",
    "IllegalStateException",
    "IsolationLevel",
    "JsonDecoder",
    "KafkaError",
    "KafkaException",
    "Message",
    "Messages",
    "Node",
    "Producer",
    "RecordBatch",
    "RecordBatchStream",
    "RetriableException",
    "SerializingProducer",
    "ShareConsumer",
    "StructDecoder",
    "ThrottleEvent",
    "TopicCollection",
    "TopicPartition",
    "TopicPartitionInfo",
    "Uuid",
    "__version__",
    "builtin_features",
    "consistent",
    "fnv1a",
    "install_as_confluent_kafka",
    "libversion",
    "murmur2",
    "version",
]
