# NewTopic and NewPartitions, and the admin API's enumerations as integers under the peer's names. Plain values.

ACL_OPERATION_UNKNOWN = 0
ACL_OPERATION_ANY = 1
ACL_OPERATION_ALL = 2
ACL_OPERATION_READ = 3
ACL_OPERATION_WRITE = 4
ACL_OPERATION_CREATE = 5
ACL_OPERATION_DELETE = 6
ACL_OPERATION_ALTER = 7
ACL_OPERATION_DESCRIBE = 8
ACL_OPERATION_CLUSTER_ACTION = 9
ACL_OPERATION_DESCRIBE_CONFIGS = 10
ACL_OPERATION_ALTER_CONFIGS = 11
ACL_OPERATION_IDEMPOTENT_WRITE = 12
ACL_PERMISSION_TYPE_UNKNOWN = 0
ACL_PERMISSION_TYPE_ANY = 1
ACL_PERMISSION_TYPE_DENY = 2
ACL_PERMISSION_TYPE_ALLOW = 3
ALTER_CONFIG_OP_TYPE_SET = 0
ALTER_CONFIG_OP_TYPE_DELETE = 1
ALTER_CONFIG_OP_TYPE_APPEND = 2
ALTER_CONFIG_OP_TYPE_SUBTRACT = 3
CONFIG_SOURCE_UNKNOWN_CONFIG = 0
CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG = 1
CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG = 2
CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG = 3
CONFIG_SOURCE_STATIC_BROKER_CONFIG = 4
CONFIG_SOURCE_DEFAULT_CONFIG = 5
CONFIG_SOURCE_GROUP_CONFIG = 8
CONSUMER_GROUP_STATE_UNKNOWN = 0
CONSUMER_GROUP_STATE_PREPARING_REBALANCE = 1
CONSUMER_GROUP_STATE_COMPLETING_REBALANCE = 2
CONSUMER_GROUP_STATE_STABLE = 3
CONSUMER_GROUP_STATE_DEAD = 4
CONSUMER_GROUP_STATE_EMPTY = 5
CONSUMER_GROUP_TYPE_UNKNOWN = 0
CONSUMER_GROUP_TYPE_CONSUMER = 1
CONSUMER_GROUP_TYPE_CLASSIC = 2
ELECTION_TYPE_PREFERRED = 0
ELECTION_TYPE_UNCLEAN = 1
ISOLATION_LEVEL_READ_UNCOMMITTED = 0
ISOLATION_LEVEL_READ_COMMITTED = 1
OFFSET_SPEC_MAX_TIMESTAMP = -3
OFFSET_SPEC_EARLIEST = -2
OFFSET_SPEC_LATEST = -1
RESOURCE_UNKNOWN = 0
RESOURCE_ANY = 1
RESOURCE_TOPIC = 2
RESOURCE_GROUP = 3
RESOURCE_BROKER = 4
RESOURCE_TRANSACTIONAL_ID = 5
RESOURCE_PATTERN_UNKNOWN = 0
RESOURCE_PATTERN_ANY = 1
RESOURCE_PATTERN_MATCH = 2
RESOURCE_PATTERN_LITERAL = 3
RESOURCE_PATTERN_PREFIXED = 4
SCRAM_MECHANISM_UNKNOWN = 0
SCRAM_MECHANISM_SHA_256 = 1
SCRAM_MECHANISM_SHA_512 = 2
SHARE_ACKNOWLEDGE_TYPE_ACCEPT = 1
SHARE_ACKNOWLEDGE_TYPE_RELEASE = 2
SHARE_ACKNOWLEDGE_TYPE_REJECT = 3


cdef object _checked_name(name, str what):
    if not isinstance(name, str):
        raise TypeError(f"{what} must be str, not {type(name).__name__}")
    return name


cdef object _checked_config(config):
    if config is not None and not isinstance(config, dict):
        raise TypeError(f"config must be a dict of names to values, not {type(config).__name__}")
    return config


cdef list _checked_assignment(assignment):
    """Return a replica assignment as lists of broker ids, one for each partition."""
    cdef list checked = []
    if not isinstance(assignment, (list, tuple)):
        raise ValueError(f"replica_assignment must be a list of lists of broker ids, not {type(assignment).__name__}")
    for brokers in assignment:
        if not isinstance(brokers, (list, tuple)) or not all(isinstance(broker, int) for broker in brokers):
            raise ValueError(f"replica_assignment must be a list of lists of broker ids, but it contains {brokers!r}")
        checked.append(list(brokers))
    return checked


cdef bint _compare_topics(mine, theirs, int op):
    if op == Py_EQ:
        return mine == theirs
    if op == Py_NE:
        return mine != theirs
    if op == Py_LT:
        return mine < theirs
    if op == Py_LE:
        return mine <= theirs
    if op == Py_GT:
        return mine > theirs
    return mine >= theirs


cdef class NewTopic:
    """NewTopic(topic, num_partitions=-1, replication_factor=-1, replica_assignment=None, config=None)\n--\n
    A topic to be created.

    Args:
        topic: Topic name.
        num_partitions: Number of partitions; -1 for the broker's default.
        replication_factor: Number of replicas; -1 for the broker's default.
        replica_assignment: Broker ids for each partition, instead of replication_factor.
        config: Topic configuration, names to values.

    Raises:
        TypeError: If an argument has the wrong type.
    """

    cdef readonly object topic
    cdef public int num_partitions
    cdef public int replication_factor
    cdef public object replica_assignment
    cdef public object config

    def __init__(self, topic, num_partitions=-1, replication_factor=-1, replica_assignment=None, config=None):
        self.topic = _checked_name(topic, "topic")
        self.num_partitions = as_index(num_partitions, "num_partitions")
        self.replication_factor = as_index(replication_factor, "replication_factor")
        self.replica_assignment = replica_assignment
        self.config = _checked_config(config)

    def _assignment(self):
        """Return the replica assignment, checked since librdkafka takes its size on trust; empty if there is none."""
        if self.replica_assignment is None:
            return []
        assignment = _checked_assignment(self.replica_assignment)
        if self.replication_factor != -1:
            raise ValueError("replication_factor and replica_assignment are mutually exclusive")
        if not assignment or self.num_partitions not in (-1, len(assignment)):
            raise ValueError(
                f"replica_assignment must name the brokers of each partition: it has {len(assignment)} lists, "
                f"num_partitions is {self.num_partitions}")
        return assignment

    def __repr__(self):
        partitions = "" if self.num_partitions < 0 else f",num_partitions={self.num_partitions}"
        return f"NewTopic(topic={self.topic}{partitions})"

    def _key(self):
        return (self.topic, self.num_partitions)

    def __hash__(self):
        return hash(self._key())

    def __richcmp__(self, other, int op):
        if not isinstance(other, NewTopic):
            return NotImplemented
        return _compare_topics(self._key(), (<NewTopic>other)._key(), op)

    def __reduce__(self):
        return (type(self), (self.topic, self.num_partitions, self.replication_factor, self.replica_assignment,
                             self.config))


cdef class NewPartitions:
    """NewPartitions(topic, new_total_count, replica_assignment=None)\n--\n
    New partitions for a topic that exists.

    Args:
        topic: Topic name.
        new_total_count: Number of partitions that the topic shall have.
        replica_assignment: Broker ids for each new partition.

    Raises:
        TypeError: If an argument has the wrong type.
    """

    cdef readonly object topic
    cdef public int new_total_count
    cdef public object replica_assignment

    def __init__(self, topic, new_total_count, replica_assignment=None):
        self.topic = _checked_name(topic, "topic")
        self.new_total_count = as_index(new_total_count, "new_total_count")
        self.replica_assignment = replica_assignment

    def _assignment(self):
        """Return the replica assignment, checked since librdkafka takes its size on trust; empty if there is none."""
        if self.replica_assignment is None:
            return []
        assignment = _checked_assignment(self.replica_assignment)
        if len(assignment) > self.new_total_count:
            raise ValueError(
                f"replica_assignment must name the brokers of each new partition: it has {len(assignment)} lists, "
                f"new_total_count is {self.new_total_count}")
        return assignment

    def __repr__(self):
        return f"NewPartitions(topic={self.topic},new_total_count={self.new_total_count})"

    def _key(self):
        return (self.topic, self.new_total_count)

    def __hash__(self):
        return hash(self._key())

    def __richcmp__(self, other, int op):
        if not isinstance(other, NewPartitions):
            return NotImplemented
        return _compare_topics(self._key(), (<NewPartitions>other)._key(), op)

    def __reduce__(self):
        return (type(self), (self.topic, self.new_total_count, self.replica_assignment))
