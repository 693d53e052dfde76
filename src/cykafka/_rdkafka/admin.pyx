# AdminRequests: sends admin requests and resolves futures with their plain results (admin_results.pyx).
#
# Results arrive in a queue of the client's own. A Python thread of ours waits for them with the GIL released; it is
# started by the first request, ends when nothing is outstanding, and runs future callbacks. Nothing of Python runs on
# librdkafka's threads. `future` is anything with set_result(), set_exception() and set_running_or_notify_cancel().

# How long the thread stays after the last result, in slices: requests often come in rows.
cdef int _IDLE_SLICES = 25


cdef class NativeArray:
    """Native request objects, freed together."""

    def __dealloc__(self):
        for i in range(self.count):
            self.destroy(self.items[i])
        free(self.items)

    cdef int add(self, void *item) except -1:
        """Take ownership of an object; there is room for as many as new_array() was told."""
        self.items[self.count] = item
        self.count += 1
        return 0


cdef NativeArray new_array(Py_ssize_t capacity, native_destroy_t destroy):
    """Make an empty array."""
    cdef NativeArray array = NativeArray.__new__(NativeArray)
    array.items = <void **>malloc(max(capacity, 1) * sizeof(void *))
    if array.items is NULL:
        raise MemoryError
    array.destroy = destroy
    return array


cdef class AdminOptions:
    """Native options of one request."""

    def __dealloc__(self):
        if self.native is not NULL:
            rd_kafka_AdminOptions_destroy(self.native)


cdef class AdminRequests(Client):
    """Requests about topics, configurations and the cluster; base of `_AdminClientImpl`."""

    def __init__(self, *args, **kwargs):
        config_dict = merge_config(args, kwargs, "AdminClient")
        cdef ClientConfig config = ClientConfig(config_dict, "admin client", ())
        self._config = config_dict
        self._lock = _threading.Lock()
        self._futures = {}
        self._start(config, RD_KAFKA_PRODUCER, 0)
        # Belongs to the handle, since the admin thread may be waiting on it while the client is closed.
        self._results = cyk_handle_own_queue(self._handle)

    def _kind(self):
        return "AdminClient"

    # Requests and results

    cdef AdminOptions _options(self, int op, object request_timeout, object operation_timeout=-1,
                               object validate_only=False, object broker=-1):
        """Make the options of a request; a time-out of -1 or None leaves librdkafka's default."""
        cdef char errstr[512]
        cdef AdminOptions options = AdminOptions.__new__(AdminOptions)
        cdef int request_ms = as_timeout_ms(request_timeout)
        cdef int operation_ms = as_timeout_ms(operation_timeout)
        cdef rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR
        # Reading the time-outs may have run code that closed the client.
        self._check_open()
        options.native = rd_kafka_AdminOptions_new(cyk_handle_rk(self._handle), op)
        if request_ms >= 0:
            err = rd_kafka_AdminOptions_set_request_timeout(options.native, request_ms, errstr, sizeof(errstr))
        if err == RD_KAFKA_RESP_ERR_NO_ERROR and operation_ms >= 0:
            err = rd_kafka_AdminOptions_set_operation_timeout(options.native, operation_ms, errstr, sizeof(errstr))
        if err == RD_KAFKA_RESP_ERR_NO_ERROR and validate_only:
            err = rd_kafka_AdminOptions_set_validate_only(options.native, 1, errstr, sizeof(errstr))
        if err == RD_KAFKA_RESP_ERR_NO_ERROR and broker is not None and broker != -1:
            err = rd_kafka_AdminOptions_set_broker(options.native, broker, errstr, sizeof(errstr))
        if err != RD_KAFKA_RESP_ERR_NO_ERROR:
            raise ValueError(decode_text(errstr))
        return options

    cdef int _expect(self, AdminOptions options, object future) except -1:
        """Remember the future for the request that is about to be sent, and have a thread wait for its result."""
        cdef Py_ssize_t token
        with self._lock:
            self._check_open()
            if self._thread is None:
                thread = _threading.Thread(target=_serve_results, args=(_weakref.ref(self),), daemon=True,
                                           name=f"cykafka-admin {self._native_name}")
                thread.start()
                self._thread = thread
            self._next_token += 1
            token = self._next_token
            self._futures[token] = future
            rd_kafka_AdminOptions_set_opaque(options.native, <void *>token)
        return 0

    def _serve_slice(self):
        """Wait one slice for results and resolve their futures; returns how many requests are outstanding."""
        cdef cyk_handle_t *handle
        cdef rd_kafka_queue_t *queue = self._results
        cdef rd_kafka_event_t *event
        if self._closed:
            return 0
        handle = self._enter()
        try:
            with nogil:
                cyk_queue_wait(queue, SLICE_US, 0)
                event = rd_kafka_queue_poll(queue, 0)
            if event is not NULL:
                try:
                    self._resolve(handle, <Py_ssize_t>rd_kafka_event_opaque(event), event)
                finally:
                    rd_kafka_event_destroy(event)
            self._serve_meanwhile(handle)
        finally:
            self._exit(handle)
        return len(self._futures)

    cdef int _resolve(self, cyk_handle_t *handle, Py_ssize_t token, rd_kafka_event_t *event) except -1:
        """Give a future its result or error."""
        cdef rd_kafka_resp_err_t err = rd_kafka_event_error(event)
        with self._lock:
            future = self._futures.pop(token, None)
        if future is None or not future.set_running_or_notify_cancel():
            return 0
        try:
            if err != RD_KAFKA_RESP_ERR_NO_ERROR:
                raise KafkaException(self._explain(
                    handle, make_error(err, decode_text(rd_kafka_event_error_string(event)))))
            result = read_admin_result(event)
        except BaseException as exc:
            future.set_exception(exc)
        else:
            future.set_result(result)
        return 0

    def _thread_may_end(self):
        """Forget the thread if nothing is outstanding; a request that comes later starts another."""
        with self._lock:
            if self._futures and not self._closed:
                return False
            self._thread = None
            return True

    def __len__(self):
        return len(self._futures)

    def __bool__(self):
        return True

    def poll(self, timeout=-1):
        """Serve callbacks (errors, statistics, logs, token refreshes); futures need no polling.

        Args:
            timeout: Seconds to wait for something to serve; -1 or None for no limit.

        Returns:
            int: Number of callbacks served.

        Raises:
            Exception: What a callback raised.
            RuntimeError: If the client is closed.
        """
        cdef int64_t deadline = deadline_after(as_timeout_us(timeout))
        cdef int64_t left
        cdef int served
        cdef rd_kafka_event_t *event
        cdef cyk_handle_t *handle = self._enter()
        try:
            while True:
                while True:
                    event = rd_kafka_queue_poll(cyk_handle_queue(handle), 0)
                    if event is NULL:
                        break
                    if not cyk_handle_collect(handle, event):
                        rd_kafka_event_destroy(event)
                served = self._serve_pending(handle)
                left = time_left(deadline)
                if served or left == 0 or self._wait(handle, left) == CYK_WAIT_WOKEN:
                    return served
        finally:
            self._exit(handle)

    def close(self):
        """Free the client; futures that are not done fail with _DESTROY. Closing twice is harmless."""
        if self._closed or self._handle is NULL:
            return
        self._release()

    cdef int _let_go(self) except -1:
        with self._lock:
            futures = list(self._futures.values())
            self._futures.clear()
        for future in futures:
            if future.set_running_or_notify_cancel():
                future.set_exception(KafkaException(make_error(RD_KAFKA_RESP_ERR__DESTROY, "AdminClient was closed")))
        return 0

    def __enter__(self):
        self._check_open()
        return self

    def __exit__(self, exc_type, exc_value, exc_traceback):
        self.close()
        return None

    # Topics

    def create_topics(self, new_topics, future, validate_only=False, request_timeout=-1, operation_timeout=-1,
                      broker=-1):
        """Create topics; result [(topic, error)]."""
        cdef char errstr[512]
        cdef NewTopic topic
        cdef bytes key, text
        cdef rd_kafka_NewTopic_t *native
        cdef NativeArray array = new_array(len(new_topics), <native_destroy_t>rd_kafka_NewTopic_destroy)
        cdef cyk_handle_t *handle
        cdef AdminOptions options
        for item in new_topics:
            topic = <NewTopic?>item
            assignment = topic._assignment()
            native = rd_kafka_NewTopic_new(encode_name(topic.topic, "topic"), len(assignment) or topic.num_partitions,
                                           topic.replication_factor, errstr, sizeof(errstr))
            if native is NULL:
                raise ValueError(f"Invalid {topic}: {decode_text(errstr)}")
            array.add(native)
            for partition, brokers in enumerate(assignment):
                self._assign_replicas(native, NULL, partition, brokers)
            for name, value in (topic.config or {}).items():
                key = encode_name(name, "configuration name")
                value = _as_property_value(name, value)
                text = None if value is None else encode_name(value, "configuration value")
                if rd_kafka_NewTopic_set_config(native, key, NULL if text is None else <const char *>text):
                    raise ValueError(f"Invalid configuration property {name!r} of {topic}")
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_CREATETOPICS, request_timeout, operation_timeout, validate_only,
                                    broker)
            self._expect(options, future)
            with nogil:
                rd_kafka_CreateTopics(cyk_handle_rk(handle), <rd_kafka_NewTopic_t **>array.items, array.count,
                                      options.native, self._results)
        finally:
            self._exit(handle)

    cdef int _assign_replicas(self, rd_kafka_NewTopic_t *topic, rd_kafka_NewPartitions_t *partitions, int index,
                              object brokers) except -1:
        cdef char errstr[512]
        cdef list ids = brokers
        cdef rd_kafka_resp_err_t err
        cdef int32_t *native = <int32_t *>malloc(max(len(ids), 1) * sizeof(int32_t))
        if native is NULL:
            raise MemoryError
        try:
            for i in range(len(ids)):
                native[i] = ids[i]
            if topic is not NULL:
                err = rd_kafka_NewTopic_set_replica_assignment(topic, index, native, len(ids), errstr, sizeof(errstr))
            else:
                err = rd_kafka_NewPartitions_set_replica_assignment(partitions, index, native, len(ids), errstr,
                                                                    sizeof(errstr))
        finally:
            free(native)
        if err != RD_KAFKA_RESP_ERR_NO_ERROR:
            raise ValueError(f"Invalid replica_assignment: {decode_text(errstr)}")
        return 0

    def delete_topics(self, topics, future, request_timeout=-1, operation_timeout=-1, broker=-1):
        """Delete topics; result [(topic, error)]."""
        cdef NativeArray array = new_array(len(topics), <native_destroy_t>rd_kafka_DeleteTopic_destroy)
        cdef AdminOptions options
        cdef cyk_handle_t *handle
        for topic in topics:
            array.add(rd_kafka_DeleteTopic_new(encode_name(topic, "topic")))
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_DELETETOPICS, request_timeout, operation_timeout, False, broker)
            self._expect(options, future)
            with nogil:
                rd_kafka_DeleteTopics(cyk_handle_rk(handle), <rd_kafka_DeleteTopic_t **>array.items, array.count,
                                      options.native, self._results)
        finally:
            self._exit(handle)

    def create_partitions(self, new_partitions, future, validate_only=False, request_timeout=-1,
                          operation_timeout=-1, broker=-1):
        """Add partitions to topics; result [(topic, error)]."""
        cdef char errstr[512]
        cdef NewPartitions partitions
        cdef rd_kafka_NewPartitions_t *native
        cdef NativeArray array = new_array(len(new_partitions), <native_destroy_t>rd_kafka_NewPartitions_destroy)
        cdef AdminOptions options
        cdef cyk_handle_t *handle
        for item in new_partitions:
            partitions = <NewPartitions?>item
            native = rd_kafka_NewPartitions_new(encode_name(partitions.topic, "topic"), partitions.new_total_count,
                                                errstr, sizeof(errstr))
            if native is NULL:
                raise ValueError(f"Invalid {partitions}: {decode_text(errstr)}")
            array.add(native)
            for index, brokers in enumerate(partitions._assignment()):
                self._assign_replicas(NULL, native, index, brokers)
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, request_timeout, operation_timeout,
                                    validate_only, broker)
            self._expect(options, future)
            with nogil:
                rd_kafka_CreatePartitions(cyk_handle_rk(handle), <rd_kafka_NewPartitions_t **>array.items, array.count,
                                          options.native, self._results)
        finally:
            self._exit(handle)

    def delete_records(self, topic_partition_offsets, future, request_timeout=-1, operation_timeout=-1):
        """Delete messages before offsets; result [TopicPartition]."""
        cdef rd_kafka_topic_partition_list_t *offsets
        cdef NativeArray array = new_array(1, <native_destroy_t>rd_kafka_DeleteRecords_destroy)
        cdef AdminOptions options
        cdef cyk_handle_t *handle
        offsets = make_topic_partitions(topic_partition_offsets)
        array.add(rd_kafka_DeleteRecords_new(offsets))
        rd_kafka_topic_partition_list_destroy(offsets)
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_DELETERECORDS, request_timeout, operation_timeout)
            self._expect(options, future)
            with nogil:
                rd_kafka_DeleteRecords(cyk_handle_rk(handle), <rd_kafka_DeleteRecords_t **>array.items, array.count,
                                       options.native, self._results)
        finally:
            self._exit(handle)

    def describe_topics(self, future, topic_names, request_timeout=-1, include_authorized_operations=False,
                        broker=-1):
        """Describe topics; result as _read_topic_description()."""
        cdef rd_kafka_TopicCollection_t *topics
        cdef list names = [encode_name(name, "topic") for name in topic_names]
        cdef const char **natives = _name_pointers(names)
        cdef AdminOptions options
        cdef cyk_handle_t *handle
        try:
            topics = rd_kafka_TopicCollection_of_topic_names(natives, len(names))
        finally:
            free(natives)
        handle = NULL
        try:
            handle = self._enter()
            options = self._options(RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, request_timeout, -1, False, broker)
            if include_authorized_operations:
                check_error(rd_kafka_AdminOptions_set_include_authorized_operations(options.native, 1))
            self._expect(options, future)
            with nogil:
                rd_kafka_DescribeTopics(cyk_handle_rk(handle), topics, options.native, self._results)
        finally:
            rd_kafka_TopicCollection_destroy(topics)
            if handle is not NULL:
                self._exit(handle)

    def describe_cluster(self, future, request_timeout=-1, include_authorized_operations=False, broker=-1):
        """Describe the cluster; result as _read_cluster()."""
        cdef AdminOptions options
        cdef cyk_handle_t *handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER, request_timeout, -1, False, broker)
            if include_authorized_operations:
                check_error(rd_kafka_AdminOptions_set_include_authorized_operations(options.native, 1))
            self._expect(options, future)
            with nogil:
                rd_kafka_DescribeCluster(cyk_handle_rk(handle), options.native, self._results)
        finally:
            self._exit(handle)

    def list_offsets(self, topic_partitions, future, isolation_level_value=None, request_timeout=-1):
        """Find offsets by specification (in the offset field); result [(TopicPartition, timestamp)]."""
        cdef rd_kafka_topic_partition_list_t *native = make_topic_partitions(topic_partitions)
        cdef AdminOptions options
        cdef cyk_handle_t *handle = NULL
        try:
            handle = self._enter()
            options = self._options(RD_KAFKA_ADMIN_OP_LISTOFFSETS, request_timeout)
            if isolation_level_value is not None:
                check_error(rd_kafka_AdminOptions_set_isolation_level(options.native, isolation_level_value))
            self._expect(options, future)
            with nogil:
                rd_kafka_ListOffsets(cyk_handle_rk(handle), native, options.native, self._results)
        finally:
            rd_kafka_topic_partition_list_destroy(native)
            if handle is not NULL:
                self._exit(handle)

    def elect_leaders(self, election_type, partitions, future, request_timeout=-1, operation_timeout=-1, broker=-1):
        """Elect leaders for partitions, all if None; result [(TopicPartition, error)]."""
        cdef rd_kafka_topic_partition_list_t *native = NULL
        cdef NativeArray array = new_array(1, <native_destroy_t>rd_kafka_ElectLeaders_destroy)
        cdef AdminOptions options
        cdef cyk_handle_t *handle
        if partitions is not None:
            native = make_topic_partitions(partitions)
        array.add(rd_kafka_ElectLeaders_new(election_type, native))
        if native is not NULL:
            rd_kafka_topic_partition_list_destroy(native)
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_ELECTLEADERS, request_timeout, operation_timeout, False, broker)
            self._expect(options, future)
            with nogil:
                rd_kafka_ElectLeaders(cyk_handle_rk(handle), <rd_kafka_ElectLeaders_t *>array.items[0], options.native,
                                      self._results)
        finally:
            self._exit(handle)

    # Configuration

    def describe_configs(self, resources, future, request_timeout=-1, broker=-1):
        """Describe configurations of [(type, name)]; result as _read_resources()."""
        cdef NativeArray array = new_array(len(resources), <native_destroy_t>rd_kafka_ConfigResource_destroy)
        for restype, name in resources:
            _add_resource(array, restype, name)
        self._send_configs(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, array, future, False, request_timeout, broker)

    def alter_configs(self, resources, future, validate_only=False, request_timeout=-1, broker=-1):
        """Replace configurations of [(type, name, {name: value})]; result as _read_resources()."""
        cdef NativeArray array = new_array(len(resources), <native_destroy_t>rd_kafka_ConfigResource_destroy)
        cdef rd_kafka_ConfigResource_t *native
        cdef bytes native_key
        for restype, name, entries in resources:
            native = _add_resource(array, restype, name)
            for key, value in entries.items():
                native_key = encode_name(key, "configuration name")
                if rd_kafka_ConfigResource_set_config(
                        native, native_key, encode_name(_as_property_value(key, value), "configuration value")):
                    raise ValueError(f"Invalid configuration property {key!r} of resource {restype} {name!r}")
        self._send_configs(RD_KAFKA_ADMIN_OP_ALTERCONFIGS, array, future, validate_only, request_timeout, broker)

    def incremental_alter_configs(self, resources, future, validate_only=False, request_timeout=-1, broker=-1):
        """Change configurations of [(type, name, [(name, operation, value)])]; result as _read_resources()."""
        cdef NativeArray array = new_array(len(resources), <native_destroy_t>rd_kafka_ConfigResource_destroy)
        cdef rd_kafka_ConfigResource_t *native
        cdef bytes native_key, text
        for restype, name, entries in resources:
            native = _add_resource(array, restype, name)
            for key, operation, value in entries:
                native_key = encode_name(key, "configuration name")
                text = None if value is None else encode_name(_as_property_value(key, value), "configuration value")
                check_error(rd_kafka_ConfigResource_add_incremental_config(
                    native, native_key, operation, NULL if text is None else <const char *>text))
        self._send_configs(RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS, array, future, validate_only, request_timeout,
                           broker)

    def _send_configs(self, int op, NativeArray array, future, validate_only, request_timeout, broker):
        cdef AdminOptions options
        cdef rd_kafka_ConfigResource_t **natives = <rd_kafka_ConfigResource_t **>array.items
        cdef size_t count = array.count
        cdef rd_kafka_t *rk
        cdef cyk_handle_t *handle = self._enter()
        try:
            rk = cyk_handle_rk(handle)
            options = self._options(op, request_timeout, -1, validate_only, broker)
            self._expect(options, future)
            with nogil:
                if op == RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS:
                    rd_kafka_DescribeConfigs(rk, natives, count, options.native, self._results)
                elif op == RD_KAFKA_ADMIN_OP_ALTERCONFIGS:
                    rd_kafka_AlterConfigs(rk, natives, count, options.native, self._results)
                else:
                    rd_kafka_IncrementalAlterConfigs(rk, natives, count, options.native, self._results)
        finally:
            self._exit(handle)


cdef rd_kafka_ConfigResource_t *_add_resource(NativeArray array, object restype, object name) except NULL:
    """Append a configuration resource."""
    cdef rd_kafka_ConfigResource_t *native = rd_kafka_ConfigResource_new(restype, encode_name(name, "resource name"))
    if native is NULL:
        raise ValueError(f"Invalid resource {restype} {name!r}")
    array.add(native)
    return native


cdef const char **_name_pointers(list names) except NULL:
    """Return an array of pointers into the bytes objects of a list, to be freed by the caller."""
    cdef const char **natives = <const char **>malloc(max(len(names), 1) * sizeof(char *))
    if natives is NULL:
        raise MemoryError
    for i in range(len(names)):
        natives[i] = <const char *>(<bytes>names[i])
    return natives


def _serve_results(reference):
    """Body of the admin thread: it keeps the client alive as long as somebody waits for a result, no longer."""
    idle = 0
    client = reference()
    while client is not None and not client.closed:
        try:
            outstanding = client._serve_slice()
        except BaseException as exc:
            if client.closed:
                return
            # A token callback that raised: librdkafka has been told, and the next request will try again.
            report_unraisable(exc, client)
            outstanding = 1
        idle = 0 if outstanding else idle + 1
        if idle > _IDLE_SLICES and client._thread_may_end():
            return
        if not outstanding:
            client = None
            client = reference()
