"""Types of the compiled core; mypy's stubtest holds them against it."""

import builtins
import concurrent.futures
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from typing_extensions import Buffer, Self, disjoint_base

from cykafka._model import Messages

_Data: TypeAlias = str | Buffer | None
_HeaderValue: TypeAlias = str | Buffer | None
_Headers: TypeAlias = dict[str, Any] | Sequence[Any]
_DeliveryCallback: TypeAlias = Callable[[KafkaError | None, Message], object]
_RebalanceCallback: TypeAlias = Callable[[Any, list[TopicPartition]], object]

_consume_waits_for_all: bool
_client_software_version: str

OFFSET_BEGINNING: Final = -2
OFFSET_END: Final = -1
OFFSET_STORED: Final = -1000
OFFSET_INVALID: Final = -1001
TIMESTAMP_NOT_AVAILABLE: Final = 0
TIMESTAMP_CREATE_TIME: Final = 1
TIMESTAMP_LOG_APPEND_TIME: Final = 2
ACL_OPERATION_UNKNOWN: Final = 0
ACL_OPERATION_ANY: Final = 1
ACL_OPERATION_ALL: Final = 2
ACL_OPERATION_READ: Final = 3
ACL_OPERATION_WRITE: Final = 4
ACL_OPERATION_CREATE: Final = 5
ACL_OPERATION_DELETE: Final = 6
ACL_OPERATION_ALTER: Final = 7
ACL_OPERATION_DESCRIBE: Final = 8
ACL_OPERATION_CLUSTER_ACTION: Final = 9
ACL_OPERATION_DESCRIBE_CONFIGS: Final = 10
ACL_OPERATION_ALTER_CONFIGS: Final = 11
ACL_OPERATION_IDEMPOTENT_WRITE: Final = 12
ACL_PERMISSION_TYPE_UNKNOWN: Final = 0
ACL_PERMISSION_TYPE_ANY: Final = 1
ACL_PERMISSION_TYPE_DENY: Final = 2
ACL_PERMISSION_TYPE_ALLOW: Final = 3
ALTER_CONFIG_OP_TYPE_SET: Final = 0
ALTER_CONFIG_OP_TYPE_DELETE: Final = 1
ALTER_CONFIG_OP_TYPE_APPEND: Final = 2
ALTER_CONFIG_OP_TYPE_SUBTRACT: Final = 3
CONFIG_SOURCE_UNKNOWN_CONFIG: Final = 0
CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG: Final = 1
CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG: Final = 2
CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG: Final = 3
CONFIG_SOURCE_STATIC_BROKER_CONFIG: Final = 4
CONFIG_SOURCE_DEFAULT_CONFIG: Final = 5
CONFIG_SOURCE_GROUP_CONFIG: Final = 8
CONSUMER_GROUP_STATE_UNKNOWN: Final = 0
CONSUMER_GROUP_STATE_PREPARING_REBALANCE: Final = 1
CONSUMER_GROUP_STATE_COMPLETING_REBALANCE: Final = 2
CONSUMER_GROUP_STATE_STABLE: Final = 3
CONSUMER_GROUP_STATE_DEAD: Final = 4
CONSUMER_GROUP_STATE_EMPTY: Final = 5
CONSUMER_GROUP_TYPE_UNKNOWN: Final = 0
CONSUMER_GROUP_TYPE_CONSUMER: Final = 1
CONSUMER_GROUP_TYPE_CLASSIC: Final = 2
ELECTION_TYPE_PREFERRED: Final = 0
ELECTION_TYPE_UNCLEAN: Final = 1
ISOLATION_LEVEL_READ_UNCOMMITTED: Final = 0
ISOLATION_LEVEL_READ_COMMITTED: Final = 1
OFFSET_SPEC_MAX_TIMESTAMP: Final = -3
OFFSET_SPEC_EARLIEST: Final = -2
OFFSET_SPEC_LATEST: Final = -1
RESOURCE_UNKNOWN: Final = 0
RESOURCE_ANY: Final = 1
RESOURCE_TOPIC: Final = 2
RESOURCE_GROUP: Final = 3
RESOURCE_BROKER: Final = 4
RESOURCE_TRANSACTIONAL_ID: Final = 5
RESOURCE_PATTERN_UNKNOWN: Final = 0
RESOURCE_PATTERN_ANY: Final = 1
RESOURCE_PATTERN_MATCH: Final = 2
RESOURCE_PATTERN_LITERAL: Final = 3
RESOURCE_PATTERN_PREFIXED: Final = 4
SCRAM_MECHANISM_UNKNOWN: Final = 0
SCRAM_MECHANISM_SHA_256: Final = 1
SCRAM_MECHANISM_SHA_512: Final = 2
SHARE_ACKNOWLEDGE_TYPE_ACCEPT: Final = 1
SHARE_ACKNOWLEDGE_TYPE_RELEASE: Final = 2
SHARE_ACKNOWLEDGE_TYPE_REJECT: Final = 3

class MockRequest(NamedTuple):
    broker_id: int
    api_key: int
    timestamp_us: int

@disjoint_base
class KafkaError:
    _BAD_MSG: ClassVar[int]
    _BAD_COMPRESSION: ClassVar[int]
    _DESTROY: ClassVar[int]
    _FAIL: ClassVar[int]
    _TRANSPORT: ClassVar[int]
    _CRIT_SYS_RESOURCE: ClassVar[int]
    _RESOLVE: ClassVar[int]
    _MSG_TIMED_OUT: ClassVar[int]
    _PARTITION_EOF: ClassVar[int]
    _UNKNOWN_PARTITION: ClassVar[int]
    _FS: ClassVar[int]
    _UNKNOWN_TOPIC: ClassVar[int]
    _ALL_BROKERS_DOWN: ClassVar[int]
    _INVALID_ARG: ClassVar[int]
    _TIMED_OUT: ClassVar[int]
    _QUEUE_FULL: ClassVar[int]
    _ISR_INSUFF: ClassVar[int]
    _NODE_UPDATE: ClassVar[int]
    _SSL: ClassVar[int]
    _WAIT_COORD: ClassVar[int]
    _UNKNOWN_GROUP: ClassVar[int]
    _IN_PROGRESS: ClassVar[int]
    _PREV_IN_PROGRESS: ClassVar[int]
    _EXISTING_SUBSCRIPTION: ClassVar[int]
    _ASSIGN_PARTITIONS: ClassVar[int]
    _REVOKE_PARTITIONS: ClassVar[int]
    _CONFLICT: ClassVar[int]
    _STATE: ClassVar[int]
    _UNKNOWN_PROTOCOL: ClassVar[int]
    _NOT_IMPLEMENTED: ClassVar[int]
    _AUTHENTICATION: ClassVar[int]
    _NO_OFFSET: ClassVar[int]
    _OUTDATED: ClassVar[int]
    _TIMED_OUT_QUEUE: ClassVar[int]
    _UNSUPPORTED_FEATURE: ClassVar[int]
    _WAIT_CACHE: ClassVar[int]
    _INTR: ClassVar[int]
    _KEY_SERIALIZATION: ClassVar[int]
    _VALUE_SERIALIZATION: ClassVar[int]
    _KEY_DESERIALIZATION: ClassVar[int]
    _VALUE_DESERIALIZATION: ClassVar[int]
    _PARTIAL: ClassVar[int]
    _READ_ONLY: ClassVar[int]
    _NOENT: ClassVar[int]
    _UNDERFLOW: ClassVar[int]
    _INVALID_TYPE: ClassVar[int]
    _RETRY: ClassVar[int]
    _PURGE_QUEUE: ClassVar[int]
    _PURGE_INFLIGHT: ClassVar[int]
    _FATAL: ClassVar[int]
    _INCONSISTENT: ClassVar[int]
    _GAPLESS_GUARANTEE: ClassVar[int]
    _MAX_POLL_EXCEEDED: ClassVar[int]
    _UNKNOWN_BROKER: ClassVar[int]
    _NOT_CONFIGURED: ClassVar[int]
    _FENCED: ClassVar[int]
    _APPLICATION: ClassVar[int]
    _ASSIGNMENT_LOST: ClassVar[int]
    _NOOP: ClassVar[int]
    _AUTO_OFFSET_RESET: ClassVar[int]
    _LOG_TRUNCATION: ClassVar[int]
    _INVALID_DIFFERENT_RECORD: ClassVar[int]
    _DESTROY_BROKER: ClassVar[int]
    UNKNOWN: ClassVar[int]
    NO_ERROR: ClassVar[int]
    OFFSET_OUT_OF_RANGE: ClassVar[int]
    INVALID_MSG: ClassVar[int]
    UNKNOWN_TOPIC_OR_PART: ClassVar[int]
    INVALID_MSG_SIZE: ClassVar[int]
    LEADER_NOT_AVAILABLE: ClassVar[int]
    NOT_LEADER_FOR_PARTITION: ClassVar[int]
    REQUEST_TIMED_OUT: ClassVar[int]
    BROKER_NOT_AVAILABLE: ClassVar[int]
    REPLICA_NOT_AVAILABLE: ClassVar[int]
    MSG_SIZE_TOO_LARGE: ClassVar[int]
    STALE_CTRL_EPOCH: ClassVar[int]
    OFFSET_METADATA_TOO_LARGE: ClassVar[int]
    NETWORK_EXCEPTION: ClassVar[int]
    COORDINATOR_LOAD_IN_PROGRESS: ClassVar[int]
    COORDINATOR_NOT_AVAILABLE: ClassVar[int]
    NOT_COORDINATOR: ClassVar[int]
    TOPIC_EXCEPTION: ClassVar[int]
    RECORD_LIST_TOO_LARGE: ClassVar[int]
    NOT_ENOUGH_REPLICAS: ClassVar[int]
    NOT_ENOUGH_REPLICAS_AFTER_APPEND: ClassVar[int]
    INVALID_REQUIRED_ACKS: ClassVar[int]
    ILLEGAL_GENERATION: ClassVar[int]
    INCONSISTENT_GROUP_PROTOCOL: ClassVar[int]
    INVALID_GROUP_ID: ClassVar[int]
    UNKNOWN_MEMBER_ID: ClassVar[int]
    INVALID_SESSION_TIMEOUT: ClassVar[int]
    REBALANCE_IN_PROGRESS: ClassVar[int]
    INVALID_COMMIT_OFFSET_SIZE: ClassVar[int]
    TOPIC_AUTHORIZATION_FAILED: ClassVar[int]
    GROUP_AUTHORIZATION_FAILED: ClassVar[int]
    CLUSTER_AUTHORIZATION_FAILED: ClassVar[int]
    INVALID_TIMESTAMP: ClassVar[int]
    UNSUPPORTED_SASL_MECHANISM: ClassVar[int]
    ILLEGAL_SASL_STATE: ClassVar[int]
    UNSUPPORTED_VERSION: ClassVar[int]
    TOPIC_ALREADY_EXISTS: ClassVar[int]
    INVALID_PARTITIONS: ClassVar[int]
    INVALID_REPLICATION_FACTOR: ClassVar[int]
    INVALID_REPLICA_ASSIGNMENT: ClassVar[int]
    INVALID_CONFIG: ClassVar[int]
    NOT_CONTROLLER: ClassVar[int]
    INVALID_REQUEST: ClassVar[int]
    UNSUPPORTED_FOR_MESSAGE_FORMAT: ClassVar[int]
    POLICY_VIOLATION: ClassVar[int]
    OUT_OF_ORDER_SEQUENCE_NUMBER: ClassVar[int]
    DUPLICATE_SEQUENCE_NUMBER: ClassVar[int]
    INVALID_PRODUCER_EPOCH: ClassVar[int]
    INVALID_TXN_STATE: ClassVar[int]
    INVALID_PRODUCER_ID_MAPPING: ClassVar[int]
    INVALID_TRANSACTION_TIMEOUT: ClassVar[int]
    CONCURRENT_TRANSACTIONS: ClassVar[int]
    TRANSACTION_COORDINATOR_FENCED: ClassVar[int]
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED: ClassVar[int]
    SECURITY_DISABLED: ClassVar[int]
    OPERATION_NOT_ATTEMPTED: ClassVar[int]
    KAFKA_STORAGE_ERROR: ClassVar[int]
    LOG_DIR_NOT_FOUND: ClassVar[int]
    SASL_AUTHENTICATION_FAILED: ClassVar[int]
    UNKNOWN_PRODUCER_ID: ClassVar[int]
    REASSIGNMENT_IN_PROGRESS: ClassVar[int]
    DELEGATION_TOKEN_AUTH_DISABLED: ClassVar[int]
    DELEGATION_TOKEN_NOT_FOUND: ClassVar[int]
    DELEGATION_TOKEN_OWNER_MISMATCH: ClassVar[int]
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: ClassVar[int]
    DELEGATION_TOKEN_AUTHORIZATION_FAILED: ClassVar[int]
    DELEGATION_TOKEN_EXPIRED: ClassVar[int]
    INVALID_PRINCIPAL_TYPE: ClassVar[int]
    NON_EMPTY_GROUP: ClassVar[int]
    GROUP_ID_NOT_FOUND: ClassVar[int]
    FETCH_SESSION_ID_NOT_FOUND: ClassVar[int]
    INVALID_FETCH_SESSION_EPOCH: ClassVar[int]
    LISTENER_NOT_FOUND: ClassVar[int]
    TOPIC_DELETION_DISABLED: ClassVar[int]
    FENCED_LEADER_EPOCH: ClassVar[int]
    UNKNOWN_LEADER_EPOCH: ClassVar[int]
    UNSUPPORTED_COMPRESSION_TYPE: ClassVar[int]
    STALE_BROKER_EPOCH: ClassVar[int]
    OFFSET_NOT_AVAILABLE: ClassVar[int]
    MEMBER_ID_REQUIRED: ClassVar[int]
    PREFERRED_LEADER_NOT_AVAILABLE: ClassVar[int]
    GROUP_MAX_SIZE_REACHED: ClassVar[int]
    FENCED_INSTANCE_ID: ClassVar[int]
    ELIGIBLE_LEADERS_NOT_AVAILABLE: ClassVar[int]
    ELECTION_NOT_NEEDED: ClassVar[int]
    NO_REASSIGNMENT_IN_PROGRESS: ClassVar[int]
    GROUP_SUBSCRIBED_TO_TOPIC: ClassVar[int]
    INVALID_RECORD: ClassVar[int]
    UNSTABLE_OFFSET_COMMIT: ClassVar[int]
    THROTTLING_QUOTA_EXCEEDED: ClassVar[int]
    PRODUCER_FENCED: ClassVar[int]
    RESOURCE_NOT_FOUND: ClassVar[int]
    DUPLICATE_RESOURCE: ClassVar[int]
    UNACCEPTABLE_CREDENTIAL: ClassVar[int]
    INCONSISTENT_VOTER_SET: ClassVar[int]
    INVALID_UPDATE_VERSION: ClassVar[int]
    FEATURE_UPDATE_FAILED: ClassVar[int]
    PRINCIPAL_DESERIALIZATION_FAILURE: ClassVar[int]
    UNKNOWN_TOPIC_ID: ClassVar[int]
    INCONSISTENT_TOPIC_ID: ClassVar[int]
    FENCED_MEMBER_EPOCH: ClassVar[int]
    UNRELEASED_INSTANCE_ID: ClassVar[int]
    UNSUPPORTED_ASSIGNOR: ClassVar[int]
    STALE_MEMBER_EPOCH: ClassVar[int]
    MISMATCHED_ENDPOINT_TYPE: ClassVar[int]
    UNSUPPORTED_ENDPOINT_TYPE: ClassVar[int]
    UNKNOWN_CONTROLLER_ID: ClassVar[int]
    UNKNOWN_SUBSCRIPTION_ID: ClassVar[int]
    TELEMETRY_TOO_LARGE: ClassVar[int]
    INVALID_REGISTRATION: ClassVar[int]
    TRANSACTION_ABORTABLE: ClassVar[int]
    INVALID_RECORD_STATE: ClassVar[int]
    SHARE_SESSION_NOT_FOUND: ClassVar[int]
    INVALID_SHARE_SESSION_EPOCH: ClassVar[int]
    FENCED_STATE_EPOCH: ClassVar[int]
    INVALID_VOTER_KEY: ClassVar[int]
    DUPLICATE_VOTER: ClassVar[int]
    VOTER_NOT_FOUND: ClassVar[int]
    INVALID_REGULAR_EXPRESSION: ClassVar[int]
    REBOOTSTRAP_REQUIRED: ClassVar[int]
    STREAMS_INVALID_TOPOLOGY: ClassVar[int]
    STREAMS_INVALID_TOPOLOGY_EPOCH: ClassVar[int]
    STREAMS_TOPOLOGY_FENCED: ClassVar[int]
    SHARE_SESSION_LIMIT_REACHED: ClassVar[int]
    def __init__(
        self,
        code: int,
        reason: str | None = None,
        fatal: bool = False,
        retriable: bool = False,
        txn_requires_abort: bool = False,
    ) -> None: ...
    def code(self) -> int: ...
    def name(self) -> builtins.str: ...
    def str(self) -> builtins.str: ...
    def fatal(self) -> bool: ...
    def retriable(self) -> bool: ...
    def txn_requires_abort(self) -> bool: ...
    def __repr__(self) -> builtins.str: ...
    def __str__(self) -> builtins.str: ...
    def __hash__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __reduce__(self) -> Any: ...

class KafkaException(Exception): ...
class RetriableException(KafkaException): ...
class AbortableException(KafkaException): ...
class FatalException(KafkaException): ...
class IllegalStateException(RuntimeError): ...
class ConcurrentModificationException(RuntimeError): ...

def make_exception(error: KafkaError) -> KafkaException: ...

@disjoint_base
class TopicPartition:
    topic: Final[str]
    partition: int
    offset: int
    error: Final[KafkaError | None]
    def __init__(
        self,
        topic: str,
        partition: int = -1,
        offset: int = -1001,
        metadata: str | None = None,
        leader_epoch: int | None = None,
    ) -> None: ...
    @property
    def metadata(self) -> str | None: ...
    @metadata.setter
    def metadata(self, value: str | None) -> None: ...
    @property
    def leader_epoch(self) -> int | None: ...
    @leader_epoch.setter
    def leader_epoch(self, value: int | None) -> None: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...
    def __setstate__(self, error: KafkaError) -> None: ...

@disjoint_base
class Uuid:
    def __init__(self, most_significant_bits: int, least_significant_bits: int) -> None: ...
    def get_most_significant_bits(self) -> int: ...
    def get_least_significant_bits(self) -> int: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    def __int__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

@disjoint_base
class Message:
    def __init__(
        self,
        topic: str | None = None,
        partition: int | None = -1,
        offset: int | None = -1001,
        key: Any = None,
        value: Any = None,
        headers: Any = None,
        error: KafkaError | None = None,
        timestamp: tuple[int, int] | None = (0, 0),
        latency: float | None = None,
        leader_epoch: int | None = -1,
        delivery_count: int | None = -1,
    ) -> None: ...
    def topic(self) -> str | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def key(self) -> Any: ...
    def value(self) -> Any: ...
    def headers(self) -> list[tuple[str, Any]] | None: ...
    def error(self) -> KafkaError | None: ...
    def timestamp(self) -> tuple[int, int]: ...
    def latency(self) -> float | None: ...
    def leader_epoch(self) -> int | None: ...
    def delivery_count(self) -> int | None: ...
    def status(self) -> str | None: ...
    def opaque(self) -> Any: ...
    def deserialized_key(self) -> Any: ...
    def deserialized_value(self) -> Any: ...
    def set_topic(self, topic: str | None) -> None: ...
    def set_key(self, key: Any) -> None: ...
    def set_value(self, value: Any) -> None: ...
    def set_headers(self, headers: Any) -> None: ...
    def set_error(self, error: KafkaError | None) -> None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __repr__(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

def merge_config(args: Any, kwargs: Any, what: str) -> dict[str, Any]: ...

class BrokerMetadata:
    id: int
    host: str
    port: int
    def __init__(self) -> None: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...

class PartitionMetadata:
    id: int
    leader: int
    replicas: list[int]
    isrs: list[int]
    error: KafkaError | None
    def __init__(self) -> None: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...

class TopicMetadata:
    topic: str
    partitions: dict[int, PartitionMetadata]
    error: KafkaError | None
    def __init__(self) -> None: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...

class ClusterMetadata:
    cluster_id: str | None
    controller_id: int
    brokers: dict[int, BrokerMetadata]
    topics: dict[str, TopicMetadata]
    orig_broker_id: int
    orig_broker_name: str | None
    def __init__(self) -> None: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...

class GroupMember:
    id: str
    client_id: str
    client_host: str
    metadata: bytes | None
    assignment: bytes | None
    def __init__(self) -> None: ...

class GroupMetadata:
    broker: BrokerMetadata
    id: str
    error: KafkaError | None
    state: str
    protocol_type: str
    protocol: str
    members: list[GroupMember]
    def __init__(self) -> None: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...

class ThrottleEvent:
    broker_name: str
    broker_id: int
    throttle_time: float
    def __init__(self, broker_name: str, broker_id: int, throttle_time: float) -> None: ...
    def __str__(self) -> str: ...

@disjoint_base
class Client:
    _config: Final[dict[str, Any]]
    def list_topics(self, topic: str | None = None, timeout: float | None = -1) -> ClusterMetadata: ...
    def cluster_id(self, timeout: float | None = -1) -> str: ...
    def set_sasl_credentials(self, username: str, password: str) -> None: ...
    def wakeup(self) -> None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def closed(self) -> bool: ...
    def __repr__(self) -> str: ...
    def __reduce__(self) -> Any: ...

def version() -> str: ...
def libversion() -> tuple[str, int]: ...
def builtin_features() -> list[str]: ...
def murmur2(key: Any, partition_count: int) -> int: ...
def fnv1a(key: Any, partition_count: int) -> int: ...
def consistent(key: Any, partition_count: int) -> int: ...

@disjoint_base
class AvailablePartitions(Sequence[int]):
    def __reversed__(self) -> Iterator[int]: ...
    def index(self, value: Any, *args: int) -> int: ...
    def count(self, value: Any) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[int]: ...
    def __contains__(self, partition: object, /) -> bool: ...
    def __repr__(self) -> str: ...

@disjoint_base
class ProducerRecord:
    topic: str
    value: Any
    key: Any
    partition: int
    timestamp: int
    headers: list[tuple[str, Any]]
    state: dict[Any, Any]
    def __init__(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        timestamp: int = 0,
        headers: list[tuple[str, Any]] | None = None,
    ) -> None: ...
    def __repr__(self) -> str: ...

class DeliveryFuture(concurrent.futures.Future[Message]):
    def __init__(self, producer: Producer) -> None: ...
    def result(self, timeout: float | None = None) -> Message: ...
    def exception(self, timeout: float | None = None) -> BaseException | None: ...

@disjoint_base
class Producer(Client):
    def __init__(self, config: dict[str, Any] = ..., **properties: Any) -> None: ...
    def produce(
        self,
        topic: str,
        value: _Data = None,
        key: _Data = None,
        partition: int = -1,
        callback: _DeliveryCallback | None = None,
        on_delivery: _DeliveryCallback | None = None,
        timestamp: int | None = 0,
        headers: _Headers | None = None,
        *,
        opaque: object = None,
        timeout: float | None = 0,
    ) -> None: ...
    def send(
        self,
        topic: str,
        value: _Data = None,
        key: _Data = None,
        partition: int = -1,
        timestamp: int = 0,
        headers: _Headers | None = None,
        *,
        timeout: float | None = 0,
    ) -> DeliveryFuture: ...
    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = -1,
        callback: _DeliveryCallback | None = None,
        on_delivery: _DeliveryCallback | None = None,
    ) -> int: ...
    def produce_arrow(
        self,
        topic: str | None,
        data: Any,
        *,
        key: str | None = "key",
        value: str | None = "value",
        headers: str | None = "headers",
        partition: str | None = "partition",
        timestamp: str | None = "timestamp",
        topic_column: str | None = "topic",
        on_delivery: Callable[[DeliverySummary], object] | None = None,
        timeout: float | None = -1,
    ) -> DeliverySummary: ...
    def poll(self, timeout: float | None = -1) -> int: ...
    def flush(self, timeout: float | None = -1) -> int: ...
    def purge(self, in_queue: bool = True, in_flight: bool = True, blocking: bool = True) -> None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def init_transactions(self, timeout: float | None = -1) -> None: ...
    def begin_transaction(self) -> None: ...
    def send_offsets_to_transaction(
        self, positions: Iterable[TopicPartition], group_metadata: bytes, timeout: float | None = -1
    ) -> None: ...
    def commit_transaction(self, timeout: float | None = -1) -> None: ...
    def abort_transaction(self, timeout: float | None = -1) -> None: ...
    def close(self, timeout: float | None = -1) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, exc_type: object, exc_value: object, exc_traceback: object) -> None: ...

def set_consume_waits_for_all(waits: bool) -> None: ...

@disjoint_base
class Consumer(Client):
    def __init__(self, config: dict[str, Any] = ..., **properties: Any) -> None: ...
    def poll(self, timeout: float | None = -1) -> Message | None: ...
    def consume(
        self, num_messages: int = 1, timeout: float | None = -1, *, min_messages: int | None = None
    ) -> list[Message]: ...
    def consume_arrow(
        self,
        num_messages: int = 10000,
        timeout: float | None = -1,
        *,
        columns: Sequence[str] | None = None,
        min_messages: int = 1,
        max_bytes: int | None = None,
        decode: Decoder | None = None,
    ) -> RecordBatch: ...
    def arrow_batches(
        self,
        num_messages: int = 10000,
        timeout: float | None = -1,
        *,
        columns: Sequence[str] | None = None,
        min_messages: int = 1,
        max_rows: int | None = None,
        until_end: bool = False,
        max_bytes: int | None = None,
        decode: Decoder | None = None,
    ) -> RecordBatchStream: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Message: ...
    def subscribe(
        self,
        topics: Sequence[str] | set[str] | frozenset[str],
        on_assign: _RebalanceCallback | None = None,
        on_revoke: _RebalanceCallback | None = None,
        on_lost: _RebalanceCallback | None = None,
    ) -> None: ...
    def unsubscribe(self) -> None: ...
    def subscription(self) -> list[str]: ...
    def assign(self, partitions: Iterable[TopicPartition]) -> None: ...
    def unassign(self) -> None: ...
    def incremental_assign(self, partitions: Iterable[TopicPartition]) -> None: ...
    def incremental_unassign(self, partitions: Iterable[TopicPartition]) -> None: ...
    def assignment(self) -> list[TopicPartition]: ...
    def pause(self, partitions: Iterable[TopicPartition]) -> None: ...
    def resume(self, partitions: Iterable[TopicPartition]) -> None: ...
    def paused(self) -> list[TopicPartition]: ...
    def seek(self, partition: TopicPartition | Iterable[TopicPartition], timeout: float | None = -1) -> None: ...
    def commit(
        self, message: Message | None = None, offsets: Iterable[TopicPartition] | None = None, asynchronous: bool = True
    ) -> list[TopicPartition] | None: ...
    def store_offsets(
        self, message: Message | None = None, offsets: Iterable[TopicPartition] | None = None
    ) -> None: ...
    def committed(self, partitions: Iterable[TopicPartition], timeout: float | None = -1) -> list[TopicPartition]: ...
    def offsets_for_times(
        self, partitions: Iterable[TopicPartition], timeout: float | None = -1
    ) -> list[TopicPartition]: ...
    def position(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]: ...
    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float | None = -1, cached: bool = False
    ) -> tuple[int, int]: ...
    def lag(
        self, partitions: Iterable[TopicPartition] | None = None, *, query: bool = False, timeout: float | None = -1
    ) -> dict[TopicPartition, int | None]: ...
    def keepalive(self) -> None: ...
    def memberid(self) -> str | None: ...
    def consumer_group_metadata(self) -> bytes: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, exc_type: object, exc_value: object, exc_traceback: object) -> None: ...

@disjoint_base
class Decoder:
    fields: Final[dict[str, str]]
    on_error: Final[str]
    @property
    def column_names(self) -> list[str]: ...
    def __repr__(self) -> str: ...

class JsonDecoder(Decoder):
    def __init__(self, fields: dict[str, str], *, on_error: str = "null") -> None: ...

class StructDecoder(Decoder):
    def __init__(self, fields: dict[str, str], *, byte_order: str = "little", on_error: str = "null") -> None: ...

@disjoint_base
class DeliverySummary:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def enqueued(self) -> int: ...
    @property
    def delivered(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def complete(self) -> bool: ...
    @property
    def failures(self) -> list[tuple[int, KafkaError]]: ...

@disjoint_base
class RecordBatch:
    errors: Final[list[Message]]
    partition_ends: Final[list[TopicPartition]]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __repr__(self) -> str: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def nbytes(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@disjoint_base
class RecordBatchStream:
    num_rows: Final[int]
    @property
    def column_names(self) -> list[str]: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> RecordBatch: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@disjoint_base
class ShareConsumer(Client):
    def __init__(self, config: dict[str, Any] = ..., **properties: Any) -> None: ...
    def poll(self, timeout: float | None = -1) -> Messages: ...
    def acknowledge(self, message: Message, ack_type: int = 1) -> None: ...
    def acknowledge_offset(self, topic: str, partition: int, offset: int, ack_type: int = 1) -> None: ...
    def commit_async(self) -> None: ...
    def commit_sync(self, timeout: float | None = 60) -> dict[TopicPartition, KafkaException | None]: ...
    def set_acknowledgement_commit_callback(
        self, callback: Callable[[dict[TopicPartition, set[int]], KafkaException | None], object] | None
    ) -> None: ...
    def subscribe(self, topics: Sequence[str] | Set[str]) -> None: ...
    def unsubscribe(self) -> None: ...
    def subscription(self) -> list[str]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, exc_type: object, exc_value: object, exc_traceback: object) -> None: ...

@disjoint_base
class NewTopic:
    topic: Final[str]
    num_partitions: int
    replication_factor: int
    replica_assignment: list[list[int]] | None
    config: dict[str, str] | None
    def __init__(
        self,
        topic: str,
        num_partitions: int = -1,
        replication_factor: int = -1,
        replica_assignment: list[list[int]] | None = None,
        config: dict[str, str] | None = None,
    ) -> None: ...
    def __repr__(self) -> str: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

@disjoint_base
class NewPartitions:
    topic: Final[str]
    new_total_count: int
    replica_assignment: list[list[int]] | None
    def __init__(self, topic: str, new_total_count: int, replica_assignment: list[list[int]] | None = None) -> None: ...
    def __repr__(self) -> str: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

@disjoint_base
class AdminRequests(Client):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def poll(self, timeout: float | None = -1) -> int: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, exc_type: object, exc_value: object, exc_traceback: object) -> None: ...
    def create_topics(
        self,
        new_topics: Any,
        future: Any,
        validate_only: Any = False,
        request_timeout: Any = -1,
        operation_timeout: Any = -1,
        broker: Any = -1,
    ) -> None: ...
    def delete_topics(
        self,
        topics: Sequence[str] | set[str] | frozenset[str],
        future: Any,
        request_timeout: Any = -1,
        operation_timeout: Any = -1,
        broker: Any = -1,
    ) -> None: ...
    def create_partitions(
        self,
        new_partitions: Any,
        future: Any,
        validate_only: Any = False,
        request_timeout: Any = -1,
        operation_timeout: Any = -1,
        broker: Any = -1,
    ) -> None: ...
    def delete_records(
        self, topic_partition_offsets: Any, future: Any, request_timeout: Any = -1, operation_timeout: Any = -1
    ) -> None: ...
    def describe_topics(
        self,
        future: Any,
        topic_names: Any,
        request_timeout: Any = -1,
        include_authorized_operations: Any = False,
        broker: Any = -1,
    ) -> None: ...
    def describe_cluster(
        self, future: Any, request_timeout: Any = -1, include_authorized_operations: Any = False, broker: Any = -1
    ) -> None: ...
    def list_offsets(
        self, topic_partitions: Any, future: Any, isolation_level_value: Any = None, request_timeout: Any = -1
    ) -> None: ...
    def elect_leaders(
        self,
        election_type: Any,
        partitions: Iterable[TopicPartition] | None,
        future: Any,
        request_timeout: Any = -1,
        operation_timeout: Any = -1,
        broker: Any = -1,
    ) -> None: ...
    def describe_configs(self, resources: Any, future: Any, request_timeout: Any = -1, broker: Any = -1) -> None: ...
    def alter_configs(
        self, resources: Any, future: Any, validate_only: Any = False, request_timeout: Any = -1, broker: Any = -1
    ) -> None: ...
    def incremental_alter_configs(
        self, resources: Any, future: Any, validate_only: Any = False, request_timeout: Any = -1, broker: Any = -1
    ) -> None: ...

class _AdminClientImpl(AdminRequests):
    def list_consumer_groups(
        self, future: Any, states_int: Any = None, types_int: Any = None, request_timeout: Any = -1
    ) -> None: ...
    def describe_consumer_groups(
        self, future: Any, group_ids: Any, request_timeout: Any = -1, include_authorized_operations: Any = False
    ) -> None: ...
    def delete_consumer_groups(self, group_ids: Any, future: Any, request_timeout: Any = -1) -> None: ...
    def list_groups(self, group: Any = None, timeout: float | None = -1) -> list[GroupMetadata]: ...
    def list_consumer_group_offsets(
        self,
        group_id: Any,
        partitions: Iterable[TopicPartition],
        future: Any,
        require_stable: Any = False,
        request_timeout: Any = -1,
    ) -> None: ...
    def alter_consumer_group_offsets(
        self, group_id: Any, partitions: Iterable[TopicPartition], future: Any, request_timeout: Any = -1
    ) -> None: ...
    def delete_consumer_group_offsets(
        self, group_id: Any, partitions: Iterable[TopicPartition], future: Any, request_timeout: Any = -1
    ) -> None: ...
    def create_acls(self, acls: Any, future: Any, request_timeout: Any = -1, broker: Any = -1) -> None: ...
    def describe_acls(self, acl_filter: Any, future: Any, request_timeout: Any = -1, broker: Any = -1) -> None: ...
    def delete_acls(self, acl_filters: Any, future: Any, request_timeout: Any = -1, broker: Any = -1) -> None: ...
    def describe_user_scram_credentials(
        self, users: Any, future: Any, request_timeout: Any = -1, broker: Any = -1
    ) -> None: ...
    def alter_user_scram_credentials(
        self, alterations: Any, future: Any, request_timeout: Any = -1, broker: Any = -1
    ) -> None: ...

@disjoint_base
class MockCluster:
    num_brokers: Final[int]
    bootstrap_servers: Final[str]
    def __init__(
        self, num_brokers: int = 1, *, default_partitions: int = 4, default_replication_factor: int | None = None
    ) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, exc_type: object, exc_value: object, exc_traceback: object) -> None: ...
    def __repr__(self) -> str: ...
    def create_topic(self, topic: str, num_partitions: int = 1, replication_factor: int = 1) -> None: ...
    def delete_topic(self, topic: str) -> None: ...
    def set_topic_error(self, topic: str, error: int) -> None: ...
    def delete_records(self, topic: str, partition: int, before_offset: int) -> None: ...
    def set_leader(self, topic: str, partition: int, broker_id: int) -> None: ...
    def set_follower(self, topic: str, partition: int, broker_id: int) -> None: ...
    def set_broker_down(self, broker_id: int) -> None: ...
    def set_broker_up(self, broker_id: int) -> None: ...
    def set_broker_rtt(self, broker_id: int, rtt: float) -> None: ...
    def set_broker_rack(self, broker_id: int, rack: str) -> None: ...
    def set_controller(self, broker_id: int) -> None: ...
    def set_coordinator(self, key_type: str, key: str, broker_id: int) -> None: ...
    def set_group_initial_rebalance_delay(self, delay: float) -> None: ...
    def set_share_groups(
        self,
        *,
        auto_offset_reset: str | None = None,
        record_lock_duration: float | None = None,
        max_delivery_attempts: int | None = None,
        session_timeout: float | None = None,
        heartbeat_interval: float | None = None,
    ) -> None: ...
    def push_request_errors(self, api_key: int, errors: Iterable[Any]) -> None: ...
    def push_broker_request_errors(self, broker_id: int, api_key: int, errors: Iterable[Any]) -> None: ...
    def push_partition_request_errors(
        self, topic: str, partition: int, api_key: int, errors: Iterable[Any]
    ) -> None: ...
    def clear_request_errors(self, api_key: int) -> None: ...
    def set_api_versions(self, api_key: int, min_version: int, max_version: int) -> None: ...
    def start_request_tracking(self) -> None: ...
    def stop_request_tracking(self) -> None: ...
    def clear_requests(self) -> None: ...
    def requests(self) -> list[MockRequest]: ...
