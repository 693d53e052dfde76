cdef class TopicPartition:
    cdef readonly object topic
    cdef public int partition
    cdef public int64_t offset
    cdef object _metadata
    cdef int32_t _leader_epoch
    cdef readonly object error


cdef TopicPartition make_topic_partition(const rd_kafka_topic_partition_t *native)
cdef list read_topic_partitions(const rd_kafka_topic_partition_list_t *native)
cdef rd_kafka_topic_partition_list_t *make_topic_partitions(object partitions) except NULL


cdef class Uuid:
    cdef int64_t _most
    cdef int64_t _least
