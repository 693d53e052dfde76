# MockCluster: librdkafka's mock brokers. Owns the mock cluster and the client instance that it lives in.
# Its methods may be called by any thread; the brokers run on a thread of librdkafka.

import collections as _collections

MockRequest = _collections.namedtuple("MockRequest", ["broker_id", "api_key", "timestamp_us"])
MockRequest.__doc__ = "A request that a mock broker received: broker id, Kafka API key, microseconds of its clock."

cdef object _open_mock_clusters = _weakref.WeakSet()


@_atexit.register
def _destroy_mock_clusters():
    for cluster in list(_open_mock_clusters):
        cluster.close()


cdef class MockCluster:
    """MockCluster(num_brokers=1, *, default_partitions=4, default_replication_factor=None)\n--\n
    An embedded Kafka cluster for tests and trials: mock brokers that listen on loopback ports of this process.

    Supports producing (idempotent and transactional too), consuming, classic, KIP-848 and share groups. Messages are
    kept in memory, the newest only. Other processes may connect while this one lives.

    Args:
        num_brokers: Number of brokers; their ids are 1 to num_brokers.
        default_partitions: Partitions of topics that are created by being used.
        default_replication_factor: Their replication factor; as many as there are brokers, at most 3, by default.

    Attributes:
        bootstrap_servers: Value for ``bootstrap.servers``.
        num_brokers: Number of brokers.

    Raises:
        ValueError: If there would be no broker.
        KafkaException: If it cannot be started.
    """

    def __init__(self, int num_brokers=1, *, int default_partitions=4, default_replication_factor=None):
        cdef char errstr[512]
        cdef ClientConfig config
        cdef rd_kafka_conf_t *native
        cdef rd_kafka_t *rk
        if num_brokers < 1:
            raise ValueError(f"num_brokers must be at least 1, not {num_brokers}")
        if self._native is not NULL:
            raise RuntimeError("MockCluster is already initialised")
        config = ClientConfig({"client.id": "mock-cluster", "log_level": 3})
        native = config.native
        with nogil:
            rk = rd_kafka_new(RD_KAFKA_PRODUCER, native, errstr, sizeof(errstr))
        if rk is NULL:
            raise KafkaException(make_error(rd_kafka_last_error(), decode_text(errstr)))
        config.native = NULL
        with nogil:
            self._native = rd_kafka_mock_cluster_new(rk, num_brokers)
        if self._native is NULL:
            with nogil:
                rd_kafka_destroy(rk)
            raise KafkaException(make_error(RD_KAFKA_RESP_ERR__FAIL, "Failed to start the mock cluster"))
        self._rk = rk
        self._generation = cyk_fork_generation
        self.num_brokers = num_brokers
        self.bootstrap_servers = decode_text(rd_kafka_mock_cluster_bootstraps(self._native))
        cyk_mock_set_defaults(self._native, default_partitions,
                              min(num_brokers, 3) if default_replication_factor is None
                              else default_replication_factor)
        # Without a controller, clients wait in vain for one to send admin requests to.
        rd_kafka_mock_set_controller_id(self._native, 1)
        _open_mock_clusters.add(self)

    def __dealloc__(self):
        if self._native is not NULL and self._generation == cyk_fork_generation:
            with nogil:
                rd_kafka_mock_cluster_destroy(self._native)
                rd_kafka_destroy(self._rk)

    cdef rd_kafka_mock_cluster_t *_open(self) except NULL:
        if self._native is NULL:
            raise RuntimeError("MockCluster has been closed")
        if self._generation != cyk_fork_generation:
            raise RuntimeError("MockCluster belongs to the process that made it, not to this forked child")
        return self._native

    def close(self):
        """Stop the brokers. Closing twice is harmless."""
        cdef rd_kafka_mock_cluster_t *native = self._native
        cdef rd_kafka_t *rk = self._rk
        if native is NULL or self._generation != cyk_fork_generation:
            return
        self._native = NULL
        self._rk = NULL
        with nogil:
            rd_kafka_mock_cluster_destroy(native)
            rd_kafka_destroy(rk)

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, exc_type, exc_value, exc_traceback):
        self.close()

    def __repr__(self):
        return f"<MockCluster {self.bootstrap_servers}{' closed' if self._native is NULL else ''}>"

    # Topics

    def create_topic(self, topic, int num_partitions=1, int replication_factor=1):
        """Create a topic.

        Args:
            topic: Topic name.
            num_partitions: Number of partitions.
            replication_factor: Number of replicas, at most the number of brokers.

        Raises:
            KafkaException: If it exists already or cannot be created.
        """
        check_err(rd_kafka_mock_topic_create(self._open(), encode_name(topic, "topic"), num_partitions,
                                             replication_factor), f"Failed to create topic {topic!r}")

    def delete_topic(self, topic):
        """Delete a topic.

        Raises:
            KafkaException: If there is no such topic.
        """
        check_err(rd_kafka_mock_topic_delete(self._open(), encode_name(topic, "topic")),
                  f"Failed to delete topic {topic!r}")

    def set_topic_error(self, topic, error):
        """Make metadata requests answer with an error for a topic.

        Args:
            topic: Topic name.
            error: Error code, 0 to end it.
        """
        rd_kafka_mock_topic_set_error(self._open(), encode_name(topic, "topic"), <rd_kafka_resp_err_t>(<int>error))

    def delete_records(self, topic, int partition, int64_t before_offset):
        """Delete a partition's messages before an offset.

        Raises:
            KafkaException: If there is no such partition, or the offset is out of range.
        """
        check_err(rd_kafka_mock_partition_delete_records(self._open(), encode_name(topic, "topic"), partition,
                                                         before_offset), "Failed to delete records")

    def set_leader(self, topic, int partition, int broker_id):
        """Move the leadership of a partition to a broker; -1 leaves it without a leader.

        Raises:
            KafkaException: If there is no such partition.
        """
        check_err(rd_kafka_mock_partition_set_leader(self._open(), encode_name(topic, "topic"), partition, broker_id),
                  "Failed to set the leader")

    def set_follower(self, topic, int partition, int broker_id):
        """Make a broker the preferred follower that consumers are sent to (KIP-392).

        Raises:
            KafkaException: If there is no such partition.
        """
        check_err(rd_kafka_mock_partition_set_follower(self._open(), encode_name(topic, "topic"), partition,
                                                       broker_id), "Failed to set the follower")

    # Brokers

    cdef int _check_broker(self, int broker_id) except -1:
        # librdkafka takes any id and does nothing.
        if not 1 <= broker_id <= self.num_brokers:
            raise ValueError(f"there is no broker {broker_id}: ids are 1 to {self.num_brokers}")
        return 0

    def set_broker_down(self, int broker_id):
        """Close a broker's connections and its listener.

        Raises:
            ValueError: If there is no such broker.
        """
        self._check_broker(broker_id)
        check_err(rd_kafka_mock_broker_set_down(self._open(), broker_id), f"Failed to take broker {broker_id} down")

    def set_broker_up(self, int broker_id):
        """Let a broker listen again on its port.

        Raises:
            ValueError: If there is no such broker.
        """
        self._check_broker(broker_id)
        check_err(rd_kafka_mock_broker_set_up(self._open(), broker_id), f"Failed to bring broker {broker_id} up")

    def set_broker_rtt(self, int broker_id, double rtt):
        """Delay a broker's responses.

        Args:
            broker_id: Broker id, -1 for all.
            rtt: Round-trip time in seconds, with millisecond resolution.

        Raises:
            ValueError: If there is no such broker.
        """
        check_err(rd_kafka_mock_broker_set_rtt(self._open(), broker_id, <int>(rtt * 1000)),
                  f"Failed to set the round-trip time of broker {broker_id}")

    def set_broker_rack(self, int broker_id, rack):
        """Set a broker's rack (KIP-392).

        Raises:
            ValueError: If there is no such broker.
        """
        self._check_broker(broker_id)
        check_err(rd_kafka_mock_broker_set_rack(self._open(), broker_id, encode_name(rack, "rack")),
                  f"Failed to set the rack of broker {broker_id}")

    def set_controller(self, int broker_id):
        """Make a broker the controller.

        Raises:
            ValueError: If there is no such broker.
        """
        self._check_broker(broker_id)
        rd_kafka_mock_set_controller_id(self._open(), broker_id)

    def set_coordinator(self, key_type, key, int broker_id):
        """Make a broker the coordinator of a group or transactional id.

        Args:
            key_type: ``"group"`` or ``"transaction"``.
            key: Group id or transactional id.
            broker_id: Broker id.

        Raises:
            KafkaException: If an argument is not valid.
        """
        self._check_broker(broker_id)
        check_err(rd_kafka_mock_coordinator_set(self._open(), encode_name(key_type, "key_type"),
                                                encode_name(key, "key"), broker_id), "Failed to set the coordinator")

    def set_group_initial_rebalance_delay(self, double delay):
        """Set how long, in seconds, a new classic group waits for members (default 3)."""
        rd_kafka_mock_group_initial_rebalance_delay_ms(self._open(), <int>(delay * 1000))

    def set_share_groups(self, *, auto_offset_reset=None, record_lock_duration=None, max_delivery_attempts=None,
                         session_timeout=None, heartbeat_interval=None):
        """Set how share groups (KIP-932) work; what is None stays as it is.

        Args:
            auto_offset_reset: Where a new group begins, ``"latest"`` (default) or ``"earliest"``.
            record_lock_duration: How many seconds a message stays acquired; as long as a session by default.
            max_delivery_attempts: How often a message is delivered at most (default 5), 0 for no limit.
            session_timeout: After how many seconds without a heartbeat a member is gone.
            heartbeat_interval: How many seconds a member waits between heartbeats.

        Raises:
            ValueError: If auto_offset_reset is something else.
        """
        cdef rd_kafka_mock_cluster_t *native = self._open()
        if auto_offset_reset not in (None, "latest", "earliest"):
            raise ValueError(f'auto_offset_reset must be "latest" or "earliest", not {auto_offset_reset!r}')
        if auto_offset_reset is not None:
            rd_kafka_mock_sharegroup_set_auto_offset_reset(native, auto_offset_reset == "earliest")
        if record_lock_duration is not None:
            rd_kafka_mock_sharegroup_set_record_lock_duration(native, <int>(record_lock_duration * 1000))
        if max_delivery_attempts is not None:
            rd_kafka_mock_sharegroup_set_max_delivery_attempts(native, max_delivery_attempts)
        if session_timeout is not None:
            rd_kafka_mock_sharegroup_set_session_timeout(native, <int>(session_timeout * 1000))
        if heartbeat_interval is not None:
            rd_kafka_mock_sharegroup_set_heartbeat_interval(native, <int>(heartbeat_interval * 1000))

    # Requests

    def push_request_errors(self, int api_key, errors):
        """Let the next requests of a kind fail, one for each error, on any broker.

        Args:
            api_key: Kafka API key, see `cykafka.testing.ApiKey`.
            errors: List of error codes; ``KafkaError._TRANSPORT`` closes the connection instead.
        """
        cdef rd_kafka_mock_cluster_t *native = self._open()
        cdef list codes = [int(error.code() if isinstance(error, KafkaError) else error) for error in errors]
        cdef rd_kafka_resp_err_t *array = <rd_kafka_resp_err_t *>malloc(max(len(codes), 1) * sizeof(rd_kafka_resp_err_t))
        if array is NULL:
            raise MemoryError
        for i in range(len(codes)):
            array[i] = <rd_kafka_resp_err_t>(<int>codes[i])
        rd_kafka_mock_push_request_errors_array(native, api_key, len(codes), array)
        free(array)

    def push_broker_request_errors(self, int broker_id, int api_key, errors):
        """Let the next requests of a kind on one broker fail or be late.

        Args:
            broker_id: Broker id.
            api_key: Kafka API key, see `cykafka.testing.ApiKey`.
            errors: List of (error code, round-trip time in seconds); code 0 answers late but well.

        Raises:
            ValueError: If there is no such broker.
        """
        for error, rtt in errors:
            check_err(rd_kafka_mock_broker_push_request_error_rtts(
                self._open(), broker_id, <int>api_key, <size_t>1, <int>error, <int>(rtt * 1000)),
                f"Failed to push errors to broker {broker_id}")

    def push_partition_request_errors(self, topic, int partition, int api_key, errors):
        """Let the next requests of a kind fail for one partition.

        Args:
            topic: Topic name.
            partition: Partition number.
            api_key: Kafka API key (Produce and Fetch are supported).
            errors: List of error codes.

        Raises:
            KafkaException: If there is no such partition, or the kind is not supported.
        """
        cdef bytes native_topic = encode_name(topic, "topic")
        for error in errors:
            check_err(rd_kafka_mock_partition_push_request_errors(
                self._open(), <const char *>native_topic, partition, <int>api_key, <size_t>1, <int>error), f"Failed to push errors to {topic} [{partition}]")

    def clear_request_errors(self, int api_key):
        """Forget the errors pushed for a kind of request."""
        rd_kafka_mock_clear_request_errors(self._open(), api_key)

    def set_api_versions(self, int api_key, int min_version, int max_version):
        """Limit the versions of a request that the brokers support; -1, -1 takes the request away.

        Raises:
            KafkaException: If the request is not known.
        """
        check_err(rd_kafka_mock_set_apiversion(self._open(), api_key, min_version, max_version),
                  f"Failed to set the versions of API {api_key}")

    def start_request_tracking(self):
        """Remember the requests that arrive from now on; see `requests`."""
        rd_kafka_mock_start_request_tracking(self._open())

    def stop_request_tracking(self):
        """Stop remembering requests and forget those remembered."""
        rd_kafka_mock_stop_request_tracking(self._open())

    def clear_requests(self):
        """Forget the requests remembered so far."""
        rd_kafka_mock_clear_requests(self._open())

    def requests(self):
        """Return the requests received since tracking was started, as a list of `MockRequest`."""
        cdef size_t count = 0
        cdef rd_kafka_mock_request_t **native = rd_kafka_mock_get_requests(self._open(), &count)
        try:
            return [MockRequest(rd_kafka_mock_request_id(native[i]), rd_kafka_mock_request_api_key(native[i]),
                                rd_kafka_mock_request_timestamp(native[i])) for i in range(count)]
        finally:
            rd_kafka_mock_request_destroy_array(native, count)
