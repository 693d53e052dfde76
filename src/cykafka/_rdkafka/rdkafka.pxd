# Declarations of librdkafka's public API (rdkafka.h) that the core uses; grouped as in the header.
# Every function is `noexcept nogil`: none of them can raise, and those that may block are called without the GIL.

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t
from libc.stddef cimport size_t


cdef extern from "rdkafka.h" nogil:
    # Types
    ctypedef struct rd_kafka_t:
        pass
    ctypedef struct rd_kafka_topic_t:
        pass
    ctypedef struct rd_kafka_conf_t:
        pass
    ctypedef struct rd_kafka_topic_conf_t:
        pass
    ctypedef struct rd_kafka_queue_t:
        pass
    ctypedef struct rd_kafka_event_t:
        pass
    ctypedef struct rd_kafka_headers_t:
        pass
    ctypedef struct rd_kafka_error_t:
        pass
    ctypedef struct rd_kafka_consumer_group_metadata_t:
        pass
    ctypedef struct rd_kafka_Uuid_t:
        pass
    ctypedef struct rd_kafka_share_t:
        pass
    ctypedef struct rd_kafka_messages_t:
        pass

    ctypedef enum rd_kafka_type_t:
        RD_KAFKA_PRODUCER
        RD_KAFKA_CONSUMER

    ctypedef enum rd_kafka_timestamp_type_t:
        RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        RD_KAFKA_TIMESTAMP_CREATE_TIME
        RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME

    ctypedef enum rd_kafka_msg_status_t:
        RD_KAFKA_MSG_STATUS_NOT_PERSISTED
        RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED
        RD_KAFKA_MSG_STATUS_PERSISTED

    # Version and errors
    int RD_KAFKA_VERSION
    int rd_kafka_version() noexcept
    const char *rd_kafka_version_str() noexcept

    ctypedef enum rd_kafka_resp_err_t:
        RD_KAFKA_RESP_ERR_NO_ERROR
        RD_KAFKA_RESP_ERR__FAIL
        RD_KAFKA_RESP_ERR__TIMED_OUT
        RD_KAFKA_RESP_ERR__QUEUE_FULL
        RD_KAFKA_RESP_ERR__INVALID_ARG
        RD_KAFKA_RESP_ERR__STATE
        RD_KAFKA_RESP_ERR__CONFLICT
        RD_KAFKA_RESP_ERR__FATAL
        RD_KAFKA_RESP_ERR__INTR
        RD_KAFKA_RESP_ERR__MSG_TIMED_OUT
        RD_KAFKA_RESP_ERR__NOENT
        RD_KAFKA_RESP_ERR__NO_OFFSET
        RD_KAFKA_RESP_ERR__PARTITION_EOF
        RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS
        RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS
        RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC
        RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION
        RD_KAFKA_RESP_ERR__AUTHENTICATION
        RD_KAFKA_RESP_ERR__TRANSPORT
        RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN
        RD_KAFKA_RESP_ERR__WAIT_COORD
        RD_KAFKA_RESP_ERR__WAIT_CACHE
        RD_KAFKA_RESP_ERR__DESTROY
        RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED

    cdef struct rd_kafka_err_desc:
        rd_kafka_resp_err_t code
        const char *name
        const char *desc

    void rd_kafka_get_err_descs(const rd_kafka_err_desc **errdescs, size_t *cntp) noexcept
    const char *rd_kafka_err2str(rd_kafka_resp_err_t err) noexcept
    const char *rd_kafka_err2name(rd_kafka_resp_err_t err) noexcept
    rd_kafka_resp_err_t rd_kafka_last_error() noexcept
    rd_kafka_resp_err_t rd_kafka_fatal_error(rd_kafka_t *rk, char *errstr, size_t errstr_size) noexcept
    rd_kafka_resp_err_t rd_kafka_test_fatal_error(rd_kafka_t *rk, rd_kafka_resp_err_t err,
                                                  const char *reason) noexcept
    rd_kafka_resp_err_t rd_kafka_error_code(const rd_kafka_error_t *error) noexcept
    const char *rd_kafka_error_string(const rd_kafka_error_t *error) noexcept
    int rd_kafka_error_is_fatal(const rd_kafka_error_t *error) noexcept
    int rd_kafka_error_is_retriable(const rd_kafka_error_t *error) noexcept
    int rd_kafka_error_txn_requires_abort(const rd_kafka_error_t *error) noexcept
    void rd_kafka_error_destroy(rd_kafka_error_t *error) noexcept

    # Topic partitions
    ctypedef struct rd_kafka_topic_partition_t:
        char *topic
        int32_t partition
        int64_t offset
        void *metadata
        size_t metadata_size
        void *opaque
        rd_kafka_resp_err_t err

    ctypedef struct rd_kafka_topic_partition_list_t:
        int cnt
        int size
        rd_kafka_topic_partition_t *elems

    rd_kafka_topic_partition_list_t *rd_kafka_topic_partition_list_new(int size) noexcept
    void rd_kafka_topic_partition_list_destroy(rd_kafka_topic_partition_list_t *rkparlist) noexcept
    rd_kafka_topic_partition_t *rd_kafka_topic_partition_list_add(
        rd_kafka_topic_partition_list_t *rktparlist, const char *topic, int32_t partition) noexcept
    void rd_kafka_topic_partition_set_leader_epoch(rd_kafka_topic_partition_t *rktpar,
                                                   int32_t leader_epoch) noexcept
    int32_t rd_kafka_topic_partition_get_leader_epoch(const rd_kafka_topic_partition_t *rktpar) noexcept

    # Headers
    rd_kafka_headers_t *rd_kafka_headers_new(size_t initial_count) noexcept
    void rd_kafka_headers_destroy(rd_kafka_headers_t *hdrs) noexcept
    rd_kafka_resp_err_t rd_kafka_header_add(rd_kafka_headers_t *hdrs, const char *name, Py_ssize_t name_size,
                                            const void *value, Py_ssize_t value_size) noexcept
    rd_kafka_resp_err_t rd_kafka_header_get_all(const rd_kafka_headers_t *hdrs, size_t idx, const char **namep,
                                                const void **valuep, size_t *sizep) noexcept
    size_t rd_kafka_header_cnt(const rd_kafka_headers_t *hdrs) noexcept

    # Messages
    ctypedef struct rd_kafka_message_t:
        rd_kafka_resp_err_t err
        rd_kafka_topic_t *rkt
        int32_t partition
        void *payload
        size_t len
        void *key
        size_t key_len
        int64_t offset
        void *_private

    void rd_kafka_message_destroy(rd_kafka_message_t *rkmessage) noexcept
    const char *rd_kafka_message_errstr(const rd_kafka_message_t *rkmessage) noexcept
    int64_t rd_kafka_message_timestamp(const rd_kafka_message_t *rkmessage,
                                       rd_kafka_timestamp_type_t *tstype) noexcept
    int64_t rd_kafka_message_latency(const rd_kafka_message_t *rkmessage) noexcept
    int32_t rd_kafka_message_broker_id(const rd_kafka_message_t *rkmessage) noexcept
    rd_kafka_resp_err_t rd_kafka_message_headers(const rd_kafka_message_t *rkmessage,
                                                 rd_kafka_headers_t **hdrsp) noexcept
    rd_kafka_resp_err_t rd_kafka_message_detach_headers(rd_kafka_message_t *rkmessage,
                                                        rd_kafka_headers_t **hdrsp) noexcept
    rd_kafka_msg_status_t rd_kafka_message_status(const rd_kafka_message_t *rkmessage) noexcept
    int32_t rd_kafka_message_leader_epoch(const rd_kafka_message_t *rkmessage) noexcept
    int16_t rd_kafka_message_delivery_count(const rd_kafka_message_t *rkmessage) noexcept
    const char *rd_kafka_topic_name(const rd_kafka_topic_t *rkt) noexcept

    # Configuration
    ctypedef enum rd_kafka_conf_res_t:
        RD_KAFKA_CONF_UNKNOWN
        RD_KAFKA_CONF_INVALID
        RD_KAFKA_CONF_OK

    rd_kafka_conf_t *rd_kafka_conf_new() noexcept
    void rd_kafka_conf_destroy(rd_kafka_conf_t *conf) noexcept
    rd_kafka_conf_res_t rd_kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value,
                                          char *errstr, size_t errstr_size) noexcept
    rd_kafka_conf_res_t rd_kafka_conf_get(const rd_kafka_conf_t *conf, const char *name, char *dest,
                                          size_t *dest_size) noexcept
    void rd_kafka_conf_set_events(rd_kafka_conf_t *conf, int events) noexcept
    const char **rd_kafka_conf_dump(rd_kafka_conf_t *conf, size_t *cntp) noexcept
    void rd_kafka_conf_dump_free(const char **arr, size_t cnt) noexcept

    # Handles
    rd_kafka_t *rd_kafka_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *errstr,
                             size_t errstr_size) noexcept
    void rd_kafka_destroy(rd_kafka_t *rk) noexcept
    const char *rd_kafka_name(const rd_kafka_t *rk) noexcept
    int rd_kafka_outq_len(rd_kafka_t *rk) noexcept
    rd_kafka_resp_err_t rd_kafka_set_log_queue(rd_kafka_t *rk, rd_kafka_queue_t *rkqu) noexcept
    int32_t rd_kafka_controllerid(rd_kafka_t *rk, int timeout_ms) noexcept
    rd_kafka_error_t *rd_kafka_sasl_set_credentials(rd_kafka_t *rk, const char *username,
                                                    const char *password) noexcept
    rd_kafka_resp_err_t rd_kafka_oauthbearer_set_token(
        rd_kafka_t *rk, const char *token_value, int64_t md_lifetime_ms, const char *md_principal_name,
        const char **extensions, size_t extension_size, char *errstr, size_t errstr_size) noexcept
    rd_kafka_resp_err_t rd_kafka_oauthbearer_set_token_failure(rd_kafka_t *rk, const char *errstr) noexcept
    const char *rd_kafka_event_config_string(rd_kafka_event_t *rkev) noexcept

    # Queues
    rd_kafka_queue_t *rd_kafka_queue_new(rd_kafka_t *rk) noexcept
    void rd_kafka_queue_destroy(rd_kafka_queue_t *rkqu) noexcept
    size_t rd_kafka_queue_length(rd_kafka_queue_t *rkqu) noexcept
    void rd_kafka_queue_io_event_enable(rd_kafka_queue_t *rkqu, int fd, const void *payload,
                                        size_t size) noexcept
    void rd_kafka_queue_forward(rd_kafka_queue_t *src, rd_kafka_queue_t *dst) noexcept

    # Topics and producing
    rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *rk, const char *topic, rd_kafka_topic_conf_t *conf) noexcept
    void rd_kafka_topic_destroy(rd_kafka_topic_t *rkt) noexcept
    enum:
        RD_KAFKA_MSG_F_FREE
        RD_KAFKA_MSG_F_COPY
        RD_KAFKA_MSG_F_PARTITION
        RD_KAFKA_PURGE_F_QUEUE
        RD_KAFKA_PURGE_F_INFLIGHT
        RD_KAFKA_PURGE_F_NON_BLOCKING
    int rd_kafka_produce(rd_kafka_topic_t *rkt, int32_t partition, int msgflags, void *payload, size_t len,
                         const void *key, size_t keylen, void *msg_opaque) noexcept
    rd_kafka_resp_err_t rd_kafka_purge(rd_kafka_t *rk, int purge_flags) noexcept

    # Consuming
    rd_kafka_message_t *rd_kafka_consumer_poll(rd_kafka_t *rk, int timeout_ms) noexcept
    Py_ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *rkqu, int timeout_ms,
                                            rd_kafka_message_t **rkmessages, size_t rkmessages_size) noexcept
    rd_kafka_resp_err_t rd_kafka_subscribe(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *topics) noexcept
    rd_kafka_resp_err_t rd_kafka_unsubscribe(rd_kafka_t *rk) noexcept
    rd_kafka_resp_err_t rd_kafka_subscription(rd_kafka_t *rk, rd_kafka_topic_partition_list_t **topics) noexcept
    rd_kafka_resp_err_t rd_kafka_assign(rd_kafka_t *rk,
                                        const rd_kafka_topic_partition_list_t *partitions) noexcept
    rd_kafka_error_t *rd_kafka_incremental_assign(rd_kafka_t *rk,
                                                  const rd_kafka_topic_partition_list_t *partitions) noexcept
    rd_kafka_error_t *rd_kafka_incremental_unassign(rd_kafka_t *rk,
                                                    const rd_kafka_topic_partition_list_t *partitions) noexcept
    rd_kafka_resp_err_t rd_kafka_assignment(rd_kafka_t *rk, rd_kafka_topic_partition_list_t **partitions) noexcept
    int rd_kafka_assignment_lost(rd_kafka_t *rk) noexcept
    const char *rd_kafka_rebalance_protocol(rd_kafka_t *rk) noexcept
    rd_kafka_resp_err_t rd_kafka_pause_partitions(rd_kafka_t *rk,
                                                  rd_kafka_topic_partition_list_t *partitions) noexcept
    rd_kafka_resp_err_t rd_kafka_resume_partitions(rd_kafka_t *rk,
                                                   rd_kafka_topic_partition_list_t *partitions) noexcept
    rd_kafka_resp_err_t rd_kafka_position(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *partitions) noexcept
    rd_kafka_resp_err_t rd_kafka_commit(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *offsets,
                                        int async_) noexcept
    rd_kafka_resp_err_t rd_kafka_commit_queue(
        rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *offsets, rd_kafka_queue_t *rkqu,
        void (*cb)(rd_kafka_t *, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t *, void *) noexcept nogil,
        void *opaque) noexcept
    rd_kafka_resp_err_t rd_kafka_offsets_store(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *offsets) noexcept
    rd_kafka_resp_err_t rd_kafka_get_watermark_offsets(rd_kafka_t *rk, const char *topic, int32_t partition,
                                                       int64_t *low, int64_t *high) noexcept
    char *rd_kafka_memberid(const rd_kafka_t *rk) noexcept
    rd_kafka_error_t *rd_kafka_consumer_close_queue(rd_kafka_t *rk, rd_kafka_queue_t *rkqu) noexcept
    int rd_kafka_consumer_closed(rd_kafka_t *rk) noexcept
    rd_kafka_consumer_group_metadata_t *rd_kafka_consumer_group_metadata(rd_kafka_t *rk) noexcept
    void rd_kafka_consumer_group_metadata_destroy(rd_kafka_consumer_group_metadata_t *cgmetadata) noexcept
    int32_t rd_kafka_consumer_group_metadata_generation_id(
        const rd_kafka_consumer_group_metadata_t *metadata) noexcept
    rd_kafka_error_t *rd_kafka_consumer_group_metadata_write(
        const rd_kafka_consumer_group_metadata_t *cgmd, void **bufferp, size_t *sizep) noexcept
    rd_kafka_error_t *rd_kafka_consumer_group_metadata_read(
        rd_kafka_consumer_group_metadata_t **cgmdp, const void *buffer, size_t size) noexcept

    # Share groups (the blocking ones are in blocking.c)
    ctypedef int rd_kafka_share_AcknowledgeType_t
    rd_kafka_resp_err_t rd_kafka_share_subscribe(rd_kafka_share_t *rkshare,
                                                 const rd_kafka_topic_partition_list_t *topics) noexcept
    rd_kafka_resp_err_t rd_kafka_share_unsubscribe(rd_kafka_share_t *rkshare) noexcept
    rd_kafka_resp_err_t rd_kafka_share_subscription(rd_kafka_share_t *rkshare,
                                                    rd_kafka_topic_partition_list_t **topics) noexcept
    rd_kafka_error_t *rd_kafka_share_poll(rd_kafka_share_t *rkshare, int timeout_ms,
                                          rd_kafka_messages_t **rkmessages) noexcept
    rd_kafka_resp_err_t rd_kafka_share_acknowledge_offset(rd_kafka_share_t *rkshare, const char *topic,
                                                          int32_t partition, int64_t offset,
                                                          rd_kafka_share_AcknowledgeType_t type) noexcept
    rd_kafka_error_t *rd_kafka_share_commit_async(rd_kafka_share_t *rkshare) noexcept
    size_t rd_kafka_messages_count(const rd_kafka_messages_t *messages) noexcept
    rd_kafka_message_t *rd_kafka_messages_get(const rd_kafka_messages_t *messages, size_t index) noexcept
    void rd_kafka_messages_destroy(rd_kafka_messages_t *messages) noexcept

    # Transactions (the blocking ones are in blocking.c)
    rd_kafka_error_t *rd_kafka_begin_transaction(rd_kafka_t *rk) noexcept

    # Metadata
    ctypedef struct rd_kafka_metadata_broker_t:
        int32_t id
        char *host
        int port

    ctypedef struct rd_kafka_metadata_partition_t:
        int32_t id
        rd_kafka_resp_err_t err
        int32_t leader
        int replica_cnt
        int32_t *replicas
        int isr_cnt
        int32_t *isrs

    ctypedef struct rd_kafka_metadata_topic_t:
        char *topic
        int partition_cnt
        rd_kafka_metadata_partition_t *partitions
        rd_kafka_resp_err_t err

    ctypedef struct rd_kafka_metadata_t:
        int broker_cnt
        rd_kafka_metadata_broker_t *brokers
        int topic_cnt
        rd_kafka_metadata_topic_t *topics
        int32_t orig_broker_id
        char *orig_broker_name

    cdef struct rd_kafka_group_member_info:
        char *member_id
        char *client_id
        char *client_host
        void *member_metadata
        int member_metadata_size
        void *member_assignment
        int member_assignment_size

    cdef struct rd_kafka_group_info:
        rd_kafka_metadata_broker_t broker
        char *group
        rd_kafka_resp_err_t err
        char *state
        char *protocol_type
        char *protocol
        rd_kafka_group_member_info *members
        int member_cnt

    cdef struct rd_kafka_group_list:
        rd_kafka_group_info *groups
        int group_cnt

    # Events
    enum:
        RD_KAFKA_EVENT_DR
        RD_KAFKA_EVENT_OFFSET_COMMIT
    int rd_kafka_event_type(const rd_kafka_event_t *rkev) noexcept
    void rd_kafka_event_destroy(rd_kafka_event_t *rkev) noexcept
    rd_kafka_event_t *rd_kafka_queue_poll(rd_kafka_queue_t *rkqu, int timeout_ms) noexcept
    const rd_kafka_message_t *rd_kafka_event_message_next(rd_kafka_event_t *rkev) noexcept
    size_t rd_kafka_event_message_count(rd_kafka_event_t *rkev) noexcept
    rd_kafka_resp_err_t rd_kafka_event_error(rd_kafka_event_t *rkev) noexcept
    const char *rd_kafka_event_error_string(rd_kafka_event_t *rkev) noexcept
    rd_kafka_topic_partition_list_t *rd_kafka_event_topic_partition_list(rd_kafka_event_t *rkev) noexcept

    # Uuids
    rd_kafka_Uuid_t *rd_kafka_Uuid_new(int64_t most_significant_bits, int64_t least_significant_bits) noexcept
    void rd_kafka_Uuid_destroy(rd_kafka_Uuid_t *uuid) noexcept
    const char *rd_kafka_Uuid_base64str(const rd_kafka_Uuid_t *uuid) noexcept
    int64_t rd_kafka_Uuid_most_significant_bits(const rd_kafka_Uuid_t *uuid) noexcept
    int64_t rd_kafka_Uuid_least_significant_bits(const rd_kafka_Uuid_t *uuid) noexcept

    # Partitioners (callable without a topic: they use only the key and the count)
    int32_t rd_kafka_msg_partitioner_murmur2(const rd_kafka_topic_t *rkt, const void *key, size_t keylen,
                                             int32_t partition_cnt, void *rkt_opaque, void *msg_opaque) noexcept
    int32_t rd_kafka_msg_partitioner_fnv1a(const rd_kafka_topic_t *rkt, const void *key, size_t keylen,
                                           int32_t partition_cnt, void *rkt_opaque, void *msg_opaque) noexcept
    int32_t rd_kafka_msg_partitioner_consistent(const rd_kafka_topic_t *rkt, const void *key, size_t keylen,
                                                int32_t partition_cnt, void *rkt_opaque, void *msg_opaque) noexcept

    void rd_kafka_mem_free(rd_kafka_t *rk, void *ptr) noexcept


cdef extern from "histogram.h" nogil:
    ctypedef struct cyk_histogram_t:
        int64_t lowest
        int64_t highest
        int significant_digits
        size_t length
        int64_t smallest
        int64_t largest
        int64_t *counts
    cyk_histogram_t *cyk_histogram_new(int64_t lowest, int64_t highest, int significant_digits) noexcept
    void cyk_histogram_keep(cyk_histogram_t *h) noexcept
    void cyk_histogram_release(cyk_histogram_t *h) noexcept
    void cyk_histogram_record(cyk_histogram_t *h, int64_t value, int64_t count) noexcept
    void cyk_histogram_reset(cyk_histogram_t *h) noexcept
    int64_t cyk_histogram_total(const cyk_histogram_t *h) noexcept
    int64_t cyk_histogram_percentile(const cyk_histogram_t *h, double percentile) noexcept
    void cyk_histogram_moments(const cyk_histogram_t *h, double *mean, double *deviation) noexcept
    int64_t cyk_histogram_from(const cyk_histogram_t *h, size_t index) noexcept
    int64_t cyk_histogram_to(const cyk_histogram_t *h, size_t index) noexcept


cdef extern from "native.h" nogil:
    ctypedef enum cyk_event_type_t:
        CYK_EVENT_ERROR
        CYK_EVENT_STATS
        CYK_EVENT_LOG
        CYK_EVENT_THROTTLE
        CYK_EVENT_REBALANCE
        CYK_EVENT_OFFSET_COMMIT
        CYK_EVENT_OAUTHBEARER_REFRESH
        CYK_EVENT_ACKNOWLEDGED

    ctypedef struct cyk_event_t:
        cyk_event_type_t type
        rd_kafka_resp_err_t err
        int number
        int throttle_ms
        char *text
        size_t text_len
        char *facility
        rd_kafka_topic_partition_list_t *partitions

    ctypedef struct cyk_handle_t:
        pass

    cyk_handle_t *cyk_handle_new() noexcept
    void cyk_handle_attach(cyk_handle_t *h, rd_kafka_t *rk, int is_consumer) noexcept
    void cyk_handle_keep(cyk_handle_t *h) noexcept
    void cyk_handle_release(cyk_handle_t *h) noexcept
    void cyk_handle_abandon(cyk_handle_t *h) noexcept
    rd_kafka_t *cyk_handle_rk(const cyk_handle_t *h) noexcept
    rd_kafka_queue_t *cyk_handle_queue(const cyk_handle_t *h) noexcept
    rd_kafka_queue_t *cyk_handle_sasl_queue(const cyk_handle_t *h) noexcept
    void cyk_handle_set_sasl_queue(cyk_handle_t *h) noexcept
    rd_kafka_queue_t *cyk_handle_own_queue(cyk_handle_t *h) noexcept
    int cyk_handle_refs(cyk_handle_t *h) noexcept

    int cyk_handle_pending(const cyk_handle_t *h) noexcept
    cyk_event_t *cyk_handle_pop(cyk_handle_t *h) noexcept
    void cyk_event_destroy(cyk_event_t *event) noexcept
    int cyk_handle_collect(cyk_handle_t *h, rd_kafka_event_t *rkev) noexcept
    rd_kafka_event_t *cyk_handle_take_refresh(cyk_handle_t *h) noexcept
    void cyk_handle_add_secret(cyk_handle_t *h, const char *text, int changes) noexcept
    char *cyk_handle_reason(cyk_handle_t *h) noexcept

    enum:
        CYK_COLLECT_ERROR
        CYK_COLLECT_STATS
        CYK_COLLECT_LOG
        CYK_COLLECT_THROTTLE
        CYK_COLLECT_REBALANCE
        CYK_COLLECT_OFFSET_COMMIT
        CYK_COLLECT_OAUTHBEARER
    void cyk_conf_collect(rd_kafka_conf_t *conf, cyk_handle_t *h, int mask) noexcept

    ctypedef enum cyk_thread_kind_t:
        CYK_THREAD_MAIN
        CYK_THREAD_BACKGROUND
        CYK_THREAD_BROKER
    int cyk_cpu_usable(int cpu) noexcept
    void cyk_handle_add_cpu(cyk_handle_t *h, cyk_thread_kind_t kind, int cpu) noexcept
    void cyk_handle_name_threads(cyk_handle_t *h, const char *prefix) noexcept

    ctypedef enum cyk_stage_t:
        CYK_STAGE_ENQUEUE
        CYK_STAGE_WIRE
        CYK_STAGE_ACKNOWLEDGEMENT
        CYK_STAGE_DELIVERY
    int cyk_handle_measure(cyk_handle_t *h) noexcept
    cyk_histogram_t *cyk_handle_histogram(const cyk_handle_t *h, cyk_stage_t stage) noexcept
    void cyk_handle_measure_reports(const cyk_handle_t *h, const rd_kafka_event_t *reports) noexcept
    void cyk_handle_measure_messages(const cyk_handle_t *h, rd_kafka_message_t **messages, size_t count) noexcept

    void cyk_conf_intercept(rd_kafka_conf_t *conf, cyk_handle_t *h) noexcept

    ctypedef enum cyk_wait_t:
        CYK_WAIT_TIMEOUT
        CYK_WAIT_READY
        CYK_WAIT_WOKEN
    cyk_wait_t cyk_queue_wait(rd_kafka_queue_t *rkqu, int64_t timeout_us, int64_t spin_us) noexcept
    void cyk_handle_wakeup(cyk_handle_t *h) noexcept
    int cyk_handle_take_wakeup(cyk_handle_t *h) noexcept
    int64_t cyk_clock_us() noexcept

    void cyk_flush_begin(rd_kafka_t *rk) noexcept
    void cyk_flush_end(rd_kafka_t *rk) noexcept
    void cyk_flush_again(rd_kafka_t *rk) noexcept
    void cyk_handle_notify(cyk_handle_t *h, int fd) noexcept
    size_t cyk_handle_waiting(const cyk_handle_t *h) noexcept

    rd_kafka_message_t *cyk_consumer_take(cyk_handle_t *h) noexcept

    ctypedef struct cyk_fields_t:
        int64_t timestamp
        int64_t received_ns
        int timestamp_type
        int32_t leader_epoch
    void cyk_message_fields(const rd_kafka_message_t *message, cyk_fields_t *fields) noexcept

    ctypedef struct cyk_report_fields_t:
        int64_t timestamp
        int timestamp_type
        int status
        int64_t latency_us
    void cyk_report_fields(const rd_kafka_message_t *message, int64_t now_us, cyk_report_fields_t *fields) noexcept

    void cyk_report_stamps(const rd_kafka_event_t *reports, int64_t *sent_ns, int64_t *received_ns) noexcept

    int cyk_fork_generation
    bint cyk_message_has_headers(const rd_kafka_message_t *message) noexcept
    int cyk_process_install() noexcept

    rd_kafka_resp_err_t cyk_produce(rd_kafka_t *rk, rd_kafka_topic_t *rkt, int32_t partition, int msgflags,
                                    void *payload, size_t len, const void *key, size_t key_len,
                                    int64_t timestamp, int64_t deadline_us, rd_kafka_headers_t *headers,
                                    void *opaque) noexcept

    int32_t cyk_topic_partition_count(rd_kafka_topic_t *rkt, rd_kafka_resp_err_t *err) noexcept
    int32_t cyk_topic_await_partitions(rd_kafka_topic_t *rkt, int64_t timeout_us, rd_kafka_resp_err_t *err) noexcept
    bint cyk_topic_partition_available(rd_kafka_topic_t *rkt, int32_t partition) noexcept
    void cyk_partition_progress(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *position,
                                int64_t *end) noexcept
    void cyk_consumer_alive(cyk_handle_t *h) noexcept

    ctypedef enum cyk_call_op_t:
        CYK_CALL_METADATA
        CYK_CALL_COMMITTED
        CYK_CALL_WATERMARKS
        CYK_CALL_OFFSETS_FOR_TIMES
        CYK_CALL_SEEK
        CYK_CALL_CLUSTERID
        CYK_CALL_LIST_GROUPS
        CYK_CALL_STATISTICS
        CYK_CALL_INIT_TRANSACTIONS
        CYK_CALL_SEND_OFFSETS
        CYK_CALL_COMMIT_TRANSACTION
        CYK_CALL_ABORT_TRANSACTION
        CYK_CALL_SHARE_COMMIT
        CYK_CALL_SHARE_CLOSE
        CYK_CALL_WARMUP
        CYK_CALL_DESTROY

    ctypedef struct cyk_call_t:
        cyk_call_op_t op
        int64_t timeout_us
        char *topic
        int32_t partition
        rd_kafka_topic_partition_list_t *partitions
        rd_kafka_consumer_group_metadata_t *cgmetadata
        rd_kafka_resp_err_t err
        rd_kafka_error_t *error
        const rd_kafka_metadata_t *metadata
        const rd_kafka_group_list *groups
        rd_kafka_topic_partition_list_t *brokers
        char *text
        int64_t low
        int64_t high

    rd_kafka_t *cyk_share_consumer_new(rd_kafka_conf_t *conf, char *errstr, size_t errstr_size) noexcept
    rd_kafka_share_t *cyk_handle_share(const cyk_handle_t *h) noexcept
    rd_kafka_error_t *cyk_share_collect_acknowledgements(cyk_handle_t *h, int collect) noexcept

    cyk_call_t *cyk_call_new(cyk_handle_t *h, cyk_call_op_t op, int64_t timeout_us) noexcept
    int cyk_call_start(cyk_call_t *call) noexcept
    int cyk_call_wait(cyk_call_t *call, int64_t timeout_us) noexcept
    void cyk_call_abandon(cyk_call_t *call) noexcept
    void cyk_call_release(cyk_call_t *call) noexcept
