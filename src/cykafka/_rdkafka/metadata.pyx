# Cluster metadata and legacy group lists as plain Python objects. Immutable by habit; any thread.


class BrokerMetadata:
    """A broker: ``id`` (int), ``host`` (str), ``port`` (int)."""

    def __init__(self):
        self.id = -1
        self.host = None
        self.port = -1

    def __repr__(self):
        return f"BrokerMetadata({self.id}, {self.host}:{self.port})"

    def __str__(self):
        return f"{self.host}:{self.port}/{self.id}"


class PartitionMetadata:
    """A partition: ``id``, ``leader`` (broker id, -1 for none), ``replicas``, ``isrs`` (broker ids), ``error``."""

    def __init__(self):
        self.id = -1
        self.leader = -1
        self.replicas = []
        self.isrs = []
        self.error = None

    def __repr__(self):
        if self.error is not None:
            return f"PartitionMetadata({self.id}, {self.error})"
        return f"PartitionMetadata({self.id})"

    def __str__(self):
        return str(self.id)


class TopicMetadata:
    """A topic: ``topic`` (name), ``partitions`` (number to `PartitionMetadata`), ``error`` (`KafkaError` or None)."""

    def __init__(self):
        self.topic = None
        self.partitions = {}
        self.error = None

    def __repr__(self):
        if self.error is not None:
            return f"TopicMetadata({self.topic}, {len(self.partitions)} partitions, {self.error})"
        return f"TopicMetadata({self.topic}, {len(self.partitions)} partitions)"

    def __str__(self):
        return str(self.topic)


class ClusterMetadata:
    """What list_topics() returns.

    Attributes:
        cluster_id: Identifier of the cluster, or None.
        controller_id: Broker id of the controller, -1 if unknown.
        brokers: Broker ids to `BrokerMetadata`.
        topics: Topic names to `TopicMetadata`.
        orig_broker_id: Broker that answered.
        orig_broker_name: Its name.
    """

    def __init__(self):
        self.cluster_id = None
        self.controller_id = -1
        self.brokers = {}
        self.topics = {}
        self.orig_broker_id = -1
        self.orig_broker_name = None

    def __repr__(self):
        return f"ClusterMetadata({self.cluster_id})"

    def __str__(self):
        return str(self.cluster_id)


class GroupMember:
    """A member of a group: ``id``, ``client_id``, ``client_host``, ``metadata`` and ``assignment`` (bytes)."""

    def __init__(self):
        self.id = None
        self.client_id = None
        self.client_host = None
        self.metadata = None
        self.assignment = None


class GroupMetadata:
    """A group of any type: ``broker``, ``id``, ``error``, ``state``, ``protocol_type``, ``protocol``, ``members``."""

    def __init__(self):
        self.broker = None
        self.id = None
        self.error = None
        self.state = None
        self.protocol_type = None
        self.protocol = None
        self.members = []

    def __repr__(self):
        if self.error is not None:
            return f"GroupMetadata({self.id}, {self.error})"
        return f"GroupMetadata({self.id})"

    def __str__(self):
        return str(self.id)


cdef object _read_broker(const rd_kafka_metadata_broker_t *native):
    broker = BrokerMetadata()
    broker.id = native.id
    broker.host = decode_text(native.host)
    broker.port = native.port
    return broker


cdef object _read_topic(const rd_kafka_metadata_topic_t *native):
    cdef const rd_kafka_metadata_partition_t *source
    topic = TopicMetadata()
    topic.topic = decode_name(native.topic)
    if native.err != RD_KAFKA_RESP_ERR_NO_ERROR:
        topic.error = make_error(native.err)
    for i in range(native.partition_cnt):
        source = &native.partitions[i]
        partition = PartitionMetadata()
        partition.id = source.id
        partition.leader = source.leader
        partition.replicas = [source.replicas[j] for j in range(source.replica_cnt)]
        partition.isrs = [source.isrs[j] for j in range(source.isr_cnt)]
        if source.err != RD_KAFKA_RESP_ERR_NO_ERROR:
            partition.error = make_error(source.err)
        topic.partitions[partition.id] = partition
    return topic


cdef object read_cluster_metadata(const rd_kafka_metadata_t *native):
    """Copy what rd_kafka_metadata() returned."""
    cluster = ClusterMetadata()
    for i in range(native.broker_cnt):
        broker = _read_broker(&native.brokers[i])
        cluster.brokers[broker.id] = broker
    for i in range(native.topic_cnt):
        topic = _read_topic(&native.topics[i])
        cluster.topics[topic.topic] = topic
    cluster.orig_broker_id = native.orig_broker_id
    cluster.orig_broker_name = decode_text(native.orig_broker_name)
    return cluster


cdef object _read_member(const rd_kafka_group_member_info *native):
    member = GroupMember()
    member.id = decode_text(native.member_id)
    member.client_id = decode_text(native.client_id)
    member.client_host = decode_text(native.client_host)
    if native.member_metadata is not NULL:
        member.metadata = PyBytes_FromStringAndSize(<const char *>native.member_metadata, native.member_metadata_size)
    if native.member_assignment is not NULL:
        member.assignment = PyBytes_FromStringAndSize(<const char *>native.member_assignment,
                                                      native.member_assignment_size)
    return member


cdef list read_group_list(const rd_kafka_group_list *native):
    """Copy what rd_kafka_list_groups() returned."""
    cdef const rd_kafka_group_info *source
    result = []
    for i in range(native.group_cnt):
        source = &native.groups[i]
        group = GroupMetadata()
        group.broker = _read_broker(&source.broker)
        group.id = decode_name(source.group)
        if source.err != RD_KAFKA_RESP_ERR_NO_ERROR:
            group.error = make_error(source.err)
        group.state = decode_text(source.state)
        group.protocol_type = decode_text(source.protocol_type)
        group.protocol = decode_text(source.protocol)
        group.members = [_read_member(&source.members[j]) for j in range(source.member_cnt)]
        result.append(group)
    return result
