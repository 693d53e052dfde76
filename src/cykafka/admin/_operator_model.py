"""What the operations that librdkafka lacks take and return. All of it is immutable data, for any thread."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from cykafka._rdkafka.core import TopicPartition


class QuotaMatch(Enum):
    """What a filter takes besides a name."""

    ANY = "any"


@dataclass(frozen=True)
class ClientQuotaEntity:
    """Whom a quota is for (KIP-546).

    Args:
        entries: Names by entity type (``user``, ``client-id``, ``ip``); None is the default of the type.
    """

    entries: Mapping[str, str | None]

    def __hash__(self) -> int:
        return hash(frozenset(self.entries.items()))


@dataclass(frozen=True)
class ClientQuotaFilterComponent:
    """What an entity must have to be described.

    Args:
        entity_type: ``user``, ``client-id`` or ``ip``.
        match: Name; None for the default of the type; `QuotaMatch.ANY` for every one with that type.
    """

    entity_type: str
    match: str | QuotaMatch | None = QuotaMatch.ANY


@dataclass(frozen=True)
class ClientQuotaAlteration:
    """A change of quotas.

    Args:
        entity: Whom it is for.
        ops: Values by quota (``producer_byte_rate``, ``consumer_byte_rate``, ``request_percentage``,
            ``controller_mutation_rate``, ``connection_creation_rate``); None takes a quota away.
    """

    entity: ClientQuotaEntity
    ops: Mapping[str, float | None]


@dataclass(frozen=True)
class PartitionReassignment:
    """A reassignment under way: broker ids of all replicas, of those being added, of those being removed."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


@dataclass(frozen=True)
class TopicPartitionReplica:
    """A replica: topic, partition number and broker id."""

    topic: str
    partition: int
    broker_id: int


@dataclass(frozen=True)
class ReplicaInfo:
    """A replica in a log directory.

    Attributes:
        size: Bytes.
        offset_lag: How many messages it is behind; for a future replica, behind the current one.
        is_future: It is being moved to this directory.
    """

    size: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True)
class LogDirDescription:
    """A log directory of a broker.

    Attributes:
        replicas: Replicas by partition.
        total_bytes: Size of its volume; None if the broker does not say (before Kafka 3.3).
        usable_bytes: What is free of that; None likewise.
    """

    replicas: Mapping[TopicPartition, ReplicaInfo]
    total_bytes: int | None
    usable_bytes: int | None


@dataclass(frozen=True)
class ReplicaLogDirInfo:
    """Where a replica is, and where it is being moved to.

    Attributes:
        current_log_dir: Directory; None if the broker has no such replica.
        current_offset_lag: How many messages it is behind; -1 if there is none.
        future_log_dir: Directory that it is being moved to; None if it stays.
        future_offset_lag: How many messages the copy there is behind; -1 if there is none.
    """

    current_log_dir: str | None = None
    current_offset_lag: int = -1
    future_log_dir: str | None = None
    future_offset_lag: int = -1


@dataclass(frozen=True)
class VersionRange:
    """Lowest and highest level of a feature."""

    min_version: int
    max_version: int


@dataclass(frozen=True)
class FeatureMetadata:
    """Features of a cluster (KIP-584).

    Attributes:
        finalized_features: Levels in force by feature.
        finalized_features_epoch: Grows with each change; None if unknown.
        supported_features: Levels that the broker asked supports, by feature.
    """

    finalized_features: Mapping[str, VersionRange]
    finalized_features_epoch: int | None
    supported_features: Mapping[str, VersionRange]


class UpgradeType(Enum):
    """How a feature's level may change."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True)
class FeatureUpdate:
    """A new level of a feature; level 0 takes the feature away."""

    max_version_level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


@dataclass(frozen=True)
class RaftVoterEndpoint:
    """A listener of a controller."""

    name: str
    host: str
    port: int


@dataclass(frozen=True)
class QuorumReplica:
    """A controller, or a broker that follows them.

    Attributes:
        replica_id: Node id.
        replica_directory_id: Id of its metadata directory; None if the broker does not say (before Kafka 3.9).
        log_end_offset: End of its log.
        last_fetch_timestamp: When it last fetched, in milliseconds since 1970; None if unknown.
        last_caught_up_timestamp: When it last had everything, likewise.
    """

    replica_id: int
    replica_directory_id: str | None
    log_end_offset: int
    last_fetch_timestamp: int | None
    last_caught_up_timestamp: int | None


@dataclass(frozen=True)
class QuorumInfo:
    """The quorum of controllers (KIP-836)."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    nodes: Mapping[int, tuple[RaftVoterEndpoint, ...]]


@dataclass(frozen=True)
class TransactionListing:
    """A transactional id, its producer and its state (``Ongoing``, ``CompleteCommit``, ``Empty``, ...)."""

    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True)
class TransactionDescription:
    """A transaction (KIP-664).

    Attributes:
        state: ``Ongoing``, ``PrepareAbort``, ``Empty``, ...
        producer_id: Producer.
        producer_epoch: Its epoch.
        transaction_timeout: Seconds.
        transaction_start_time: Milliseconds since 1970; None if no transaction is open.
        partitions: Partitions that are part of it.
    """

    state: str
    producer_id: int
    producer_epoch: int
    transaction_timeout: float
    transaction_start_time: int | None
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True)
class ProducerState:
    """A producer that a partition's leader knows (KIP-664).

    Attributes:
        producer_id: Producer.
        producer_epoch: Its epoch.
        last_sequence: Sequence number of its last message; -1 if unknown.
        last_timestamp: Time of that, in milliseconds since 1970; -1 if unknown.
        coordinator_epoch: Epoch of the transaction coordinator; None if it wrote outside transactions.
        current_transaction_start_offset: Offset at which its open transaction begins; None if there is none.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int | None
    current_transaction_start_offset: int | None


@dataclass(frozen=True)
class AbortTransactionSpec:
    """A transaction that hangs on a partition, as `ProducerState` shows it."""

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


@dataclass(frozen=True)
class ProducerIdAndEpoch:
    """What fences a transactional id's older producers."""

    producer_id: int
    producer_epoch: int


@dataclass(frozen=True)
class MemberToRemove:
    """A member of a group: a static one by its group.instance.id, or any by its member id."""

    group_instance_id: str | None = None
    member_id: str = ""


@dataclass(frozen=True)
class ClassicGroupMember:
    """A member of a classic group; metadata and assignment are the bytes of the group's own protocol."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes = field(repr=False)
    assignment: bytes = field(repr=False)


@dataclass(frozen=True)
class ClassicGroupDescription:
    """A group of the classic protocol, of consumers or of others like Kafka Connect.

    Attributes:
        group_id: Group id.
        protocol_type: ``consumer``, ``connect``, ...
        protocol: What the members agreed on, for consumers the assignor.
        state: ``Stable``, ``Empty``, ...
        members: Members.
    """

    group_id: str
    protocol_type: str
    protocol: str
    state: str
    members: tuple[ClassicGroupMember, ...]


@dataclass(frozen=True)
class GroupListing:
    """A group of any type.

    Attributes:
        group_id: Group id.
        protocol_type: ``consumer``, ``share``, ``connect``, ...
        state: ``Stable``, ``Empty``, ...; None if the broker does not say (before Kafka 2.6).
        type: Classic, consumer, share or streams, as the broker spells it; None likewise (before Kafka 3.8).
    """

    group_id: str
    protocol_type: str
    state: str | None
    type: str | None


@dataclass(frozen=True)
class ShareGroupOffset:
    """Where a share group begins to read.

    Attributes:
        start_offset: First offset that may still be delivered; -1 before the group has read.
        leader_epoch: Leader epoch; None if unknown.
        lag: How many messages are left; None if unknown (before Kafka 4.2).
    """

    start_offset: int
    leader_epoch: int | None
    lag: int | None


@dataclass(frozen=True)
class ShareGroupMember:
    """A member of a share group."""

    member_id: str
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    assignment: frozenset[TopicPartition]


@dataclass(frozen=True)
class ShareGroupDescription:
    """A share group (KIP-932)."""

    group_id: str
    state: str
    group_epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[ShareGroupMember, ...]


@dataclass(frozen=True)
class StreamsTasks:
    """Tasks of a member of a streams group: partitions by subtopology id."""

    active: Mapping[str, tuple[int, ...]]
    standby: Mapping[str, tuple[int, ...]]
    warmup: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class StreamsGroupMember:
    """A member of a streams group."""

    member_id: str
    member_epoch: int
    group_instance_id: str | None
    client_id: str
    client_host: str
    process_id: str
    assignment: StreamsTasks
    target_assignment: StreamsTasks


@dataclass(frozen=True)
class StreamsGroupDescription:
    """A streams group (KIP-1071); subtopologies are source topics by subtopology id."""

    group_id: str
    state: str
    group_epoch: int
    assignment_epoch: int
    subtopologies: Mapping[str, tuple[str, ...]]
    members: tuple[StreamsGroupMember, ...]


@dataclass(frozen=True)
class ConfigResourceListing:
    """A resource that has a configuration.

    Attributes:
        name: Name.
        type: Number of the type: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    """

    name: str
    type: int


@dataclass(frozen=True)
class DelegationToken:
    """A delegation token (KIP-48). The HMAC is a secret, and is not in the repr.

    Attributes:
        token_id: User name for SASL/SCRAM.
        hmac: Secret; base64 of it is the password.
        owner: Principal, like ``User:alice``.
        renewers: Principals that may renew it.
        issue_timestamp: Milliseconds since 1970.
        expiry_timestamp: Likewise: when it has to be renewed.
        max_timestamp: Likewise: until when it can be.
    """

    token_id: str
    hmac: bytes = field(repr=False)
    owner: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
