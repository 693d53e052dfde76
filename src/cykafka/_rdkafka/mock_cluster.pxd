cdef extern from "rdkafka_mock.h" nogil:
    ctypedef struct rd_kafka_mock_cluster_t:
        pass
    ctypedef struct rd_kafka_mock_request_t:
        pass

    rd_kafka_mock_cluster_t *rd_kafka_mock_cluster_new(rd_kafka_t *rk, int broker_cnt) noexcept
    void rd_kafka_mock_cluster_destroy(rd_kafka_mock_cluster_t *mcluster) noexcept
    const char *rd_kafka_mock_cluster_bootstraps(const rd_kafka_mock_cluster_t *mcluster) noexcept
    void rd_kafka_mock_clear_request_errors(rd_kafka_mock_cluster_t *mcluster, int16_t ApiKey) noexcept
    void rd_kafka_mock_push_request_errors_array(rd_kafka_mock_cluster_t *mcluster, int16_t ApiKey, size_t cnt,
                                                 const rd_kafka_resp_err_t *errors) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_broker_push_request_error_rtts(
        rd_kafka_mock_cluster_t *mcluster, int32_t broker_id, int16_t ApiKey, size_t cnt, ...) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_partition_push_request_errors(
        rd_kafka_mock_cluster_t *mcluster, const char *topic, int32_t partition, int16_t ApiKey, size_t cnt,
        ...) noexcept
    void rd_kafka_mock_sharegroup_set_session_timeout(rd_kafka_mock_cluster_t *mcluster, int timeout_ms) noexcept
    void rd_kafka_mock_sharegroup_set_heartbeat_interval(rd_kafka_mock_cluster_t *mcluster, int interval_ms) noexcept
    void rd_kafka_mock_sharegroup_set_max_delivery_attempts(rd_kafka_mock_cluster_t *mcluster, int attempts) noexcept
    void rd_kafka_mock_sharegroup_set_record_lock_duration(rd_kafka_mock_cluster_t *mcluster, int ms) noexcept
    void rd_kafka_mock_sharegroup_set_auto_offset_reset(rd_kafka_mock_cluster_t *mcluster, int reset) noexcept
    void rd_kafka_mock_group_initial_rebalance_delay_ms(rd_kafka_mock_cluster_t *mcluster,
                                                        int32_t delay_ms) noexcept
    void rd_kafka_mock_set_controller_id(rd_kafka_mock_cluster_t *mcluster, int32_t controller_id) noexcept
    void rd_kafka_mock_topic_set_error(rd_kafka_mock_cluster_t *mcluster, const char *topic,
                                       rd_kafka_resp_err_t err) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_topic_create(rd_kafka_mock_cluster_t *mcluster, const char *topic,
                                                   int partition_cnt, int replication_factor) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_topic_delete(rd_kafka_mock_cluster_t *mcluster, const char *topic) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_partition_delete_records(
        rd_kafka_mock_cluster_t *mcluster, const char *topic, int32_t partition, int64_t before_offset) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_partition_set_leader(rd_kafka_mock_cluster_t *mcluster, const char *topic,
                                                           int32_t partition, int32_t broker_id) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_partition_set_follower(rd_kafka_mock_cluster_t *mcluster, const char *topic,
                                                             int32_t partition, int32_t broker_id) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_broker_set_down(rd_kafka_mock_cluster_t *mcluster, int32_t broker_id) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_broker_set_up(rd_kafka_mock_cluster_t *mcluster, int32_t broker_id) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_broker_set_rtt(rd_kafka_mock_cluster_t *mcluster, int32_t broker_id,
                                                     int rtt_ms) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_broker_set_rack(rd_kafka_mock_cluster_t *mcluster, int32_t broker_id,
                                                      const char *rack) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_coordinator_set(rd_kafka_mock_cluster_t *mcluster, const char *key_type,
                                                      const char *key, int32_t broker_id) noexcept
    rd_kafka_resp_err_t rd_kafka_mock_set_apiversion(rd_kafka_mock_cluster_t *mcluster, int16_t ApiKey,
                                                     int16_t MinVersion, int16_t MaxVersion) noexcept
    void rd_kafka_mock_start_request_tracking(rd_kafka_mock_cluster_t *mcluster) noexcept
    void rd_kafka_mock_stop_request_tracking(rd_kafka_mock_cluster_t *mcluster) noexcept
    void rd_kafka_mock_clear_requests(rd_kafka_mock_cluster_t *mcluster) noexcept
    rd_kafka_mock_request_t **rd_kafka_mock_get_requests(rd_kafka_mock_cluster_t *mcluster, size_t *cntp) noexcept
    void rd_kafka_mock_request_destroy_array(rd_kafka_mock_request_t **mreqs, size_t mreq_cnt) noexcept
    int32_t rd_kafka_mock_request_id(rd_kafka_mock_request_t *mreq) noexcept
    int16_t rd_kafka_mock_request_api_key(rd_kafka_mock_request_t *mreq) noexcept
    int64_t rd_kafka_mock_request_timestamp(rd_kafka_mock_request_t *mreq) noexcept


cdef extern from "native.h" nogil:
    void cyk_mock_set_defaults(rd_kafka_mock_cluster_t *mcluster, int partition_cnt, int replication_factor) noexcept


cdef class MockCluster:
    cdef rd_kafka_mock_cluster_t *_native
    cdef rd_kafka_t *_rk
    cdef int _generation
    cdef readonly int num_brokers
    cdef readonly str bootstrap_servers
    cdef object __weakref__
    cdef rd_kafka_mock_cluster_t *_open(self) except NULL
    cdef int _check_broker(self, int broker_id) except -1
