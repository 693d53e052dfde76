# TopicPartition, its native lists, and Uuid. Plain values; may be used by any thread.

OFFSET_BEGINNING = -2
OFFSET_END = -1
OFFSET_STORED = -1000
OFFSET_INVALID = -1001


cdef class TopicPartition:
    """TopicPartition(topic, partition=-1, offset=-1001, metadata=None, leader_epoch=None)\n--\n
    A partition of a topic, with an offset and what else a call needs to say about it.

    Equality, ordering and hash use topic and partition only.

    Args:
        topic: Topic name.
        partition: Partition number; -1 for none.
        offset: Offset, or one of `OFFSET_BEGINNING`, `OFFSET_END`, `OFFSET_STORED`, `OFFSET_INVALID`.
        metadata: Text to be committed with the offset.
        leader_epoch: Leader epoch of the offset, None if unknown (KIP-320).

    Attributes:
        error: `KafkaError` of this partition in a result, else None.

    Raises:
        TypeError: If an argument has the wrong type.
    """

    def __init__(self, topic, partition=-1, offset=-1001, metadata=None, leader_epoch=None):
        if not isinstance(topic, str):
            raise TypeError(f"topic must be str, not {type(topic).__name__}")
        self.topic = topic
        self.partition = as_index(partition, "partition")
        self.offset = as_index(offset, "offset")
        self.metadata = metadata
        self.leader_epoch = leader_epoch

    @property
    def metadata(self):
        """Text that is or will be committed with the offset, or None."""
        return self._metadata

    @metadata.setter
    def metadata(self, value):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"metadata must be str or None, not {type(value).__name__}")
        self._metadata = value

    @property
    def leader_epoch(self):
        """Leader epoch of the offset, or None."""
        return None if self._leader_epoch < 0 else self._leader_epoch

    @leader_epoch.setter
    def leader_epoch(self, value):
        self._leader_epoch = -1 if value is None else as_index(value, "leader_epoch")

    def __repr__(self):
        return (f"TopicPartition{{topic={self.topic},partition={self.partition},offset={self.offset},"
                f"leader_epoch={self.leader_epoch},error={self.error}}}")

    def __str__(self):
        return self.__repr__()

    def __hash__(self):
        return hash((self.topic, self.partition))

    def __richcmp__(self, other, int op):
        if not isinstance(other, TopicPartition):
            return NotImplemented
        mine = (self.topic, self.partition)
        theirs = ((<TopicPartition>other).topic, (<TopicPartition>other).partition)
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

    def __reduce__(self):
        return (type(self), (self.topic, self.partition, self.offset, self._metadata, self.leader_epoch), self.error)

    def __setstate__(self, error):
        if error is not None and not isinstance(error, KafkaError):
            raise TypeError(f"error must be KafkaError or None, not {type(error).__name__}")
        self.error = error


cdef TopicPartition make_topic_partition(const rd_kafka_topic_partition_t *native):
    """Copy one native element."""
    cdef TopicPartition result = TopicPartition.__new__(TopicPartition)
    result.topic = decode_name(native.topic)
    result.partition = native.partition
    result.offset = native.offset
    result._leader_epoch = rd_kafka_topic_partition_get_leader_epoch(native)
    if native.metadata is not NULL and native.metadata_size:
        result._metadata = PyUnicode_DecodeUTF8(<const char *>native.metadata, native.metadata_size,
                                                "surrogateescape")
    if native.err != RD_KAFKA_RESP_ERR_NO_ERROR:
        result.error = make_error(native.err)
    return result


cdef list read_topic_partitions(const rd_kafka_topic_partition_list_t *native):
    """Copy a native list; an empty list for NULL."""
    if native is NULL:
        return []
    return [make_topic_partition(&native.elems[i]) for i in range(native.cnt)]


cdef rd_kafka_topic_partition_list_t *make_topic_partitions(object partitions) except NULL:
    """Build a native list, owned by the caller, from an iterable of TopicPartition."""
    cdef rd_kafka_topic_partition_list_t *native
    cdef rd_kafka_topic_partition_t *element
    cdef TopicPartition tp
    if isinstance(partitions, (str, bytes, TopicPartition)) or not hasattr(partitions, "__iter__"):
        raise TypeError(f"expected a list of TopicPartition, not {type(partitions).__name__}")
    items = list(partitions)
    native = rd_kafka_topic_partition_list_new(<int>len(items))
    try:
        for item in items:
            if not isinstance(item, TopicPartition):
                raise TypeError(f"expected a list of TopicPartition, but it contains {type(item).__name__}")
            tp = <TopicPartition>item
            element = rd_kafka_topic_partition_list_add(native, encode_name(tp.topic, "topic"), tp.partition)
            element.offset = tp.offset
            rd_kafka_topic_partition_set_leader_epoch(element, tp._leader_epoch)
            if tp._metadata is not None:
                encoded = (<str>tp._metadata).encode("utf-8", "surrogateescape")
                # Freed by librdkafka with the list.
                element.metadata = malloc(len(encoded) + 1)
                if element.metadata is NULL:
                    raise MemoryError
                memcpy(element.metadata, <const char *>encoded, len(encoded) + 1)
                element.metadata_size = len(encoded)
    except BaseException:
        rd_kafka_topic_partition_list_destroy(native)
        raise
    return native


cdef class Uuid:
    """Uuid(most_significant_bits, least_significant_bits)\n--\n
    A 128-bit identifier as Kafka uses it for topics; its text form is base64.

    Args:
        most_significant_bits: Upper 64 bits as a signed integer.
        least_significant_bits: Lower 64 bits as a signed integer.
    """

    def __init__(self, most_significant_bits, least_significant_bits):
        self._most = as_index(most_significant_bits, "most_significant_bits")
        self._least = as_index(least_significant_bits, "least_significant_bits")

    def get_most_significant_bits(self):
        """Return the upper 64 bits as a signed integer."""
        return self._most

    def get_least_significant_bits(self):
        """Return the lower 64 bits as a signed integer."""
        return self._least

    def __repr__(self):
        cdef rd_kafka_Uuid_t *native = rd_kafka_Uuid_new(self._most, self._least)
        try:
            return decode_text(rd_kafka_Uuid_base64str(native))
        finally:
            rd_kafka_Uuid_destroy(native)

    def __str__(self):
        return self.__repr__()

    def __int__(self):
        return ((self._most & 0xFFFFFFFFFFFFFFFF) << 64) | (self._least & 0xFFFFFFFFFFFFFFFF)

    def __hash__(self):
        return hash((self._most, self._least))

    def __eq__(self, other):
        if not isinstance(other, Uuid):
            return NotImplemented
        return self._most == (<Uuid>other)._most and self._least == (<Uuid>other)._least

    def __reduce__(self):
        return (type(self), (self._most, self._least))
