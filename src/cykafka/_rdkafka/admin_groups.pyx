# _AdminClientImpl: the admin requests about groups, offsets, access control and users. Rules as in admin.pyx.


cdef class _AdminClientImpl(AdminRequests):
    """The native half of `cykafka.admin.AdminClient`; use that."""

    # Groups

    def list_consumer_groups(self, future, states_int=None, types_int=None, request_timeout=-1):
        """List groups; result as _read_listings()."""
        cdef AdminOptions options
        cdef list states = list(states_int or ())
        cdef list types = list(types_int or ())
        cdef int natives[32]
        cdef cyk_handle_t *handle
        if len(states) > 32 or len(types) > 32:
            raise ValueError("too many states or types")
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS, request_timeout)
            if states:
                for i in range(len(states)):
                    natives[i] = states[i]
                check_error(rd_kafka_AdminOptions_set_match_consumer_group_states(
                    options.native, <const rd_kafka_consumer_group_state_t *>natives, len(states)))
            if types:
                for i in range(len(types)):
                    natives[i] = types[i]
                check_error(rd_kafka_AdminOptions_set_match_consumer_group_types(
                    options.native, <const rd_kafka_consumer_group_type_t *>natives, len(types)))
            self._expect(options, future)
            with nogil:
                rd_kafka_ListConsumerGroups(cyk_handle_rk(handle), options.native, self._results)
        finally:
            self._exit(handle)

    def describe_consumer_groups(self, future, group_ids, request_timeout=-1, include_authorized_operations=False):
        """Describe groups; result as _read_group_description()."""
        cdef list names = [encode_name(name, "group id") for name in group_ids]
        cdef size_t count = len(names)
        cdef AdminOptions options
        cdef const char **natives = _name_pointers(names)
        cdef cyk_handle_t *handle = NULL
        try:
            handle = self._enter()
            options = self._options(RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, request_timeout)
            if include_authorized_operations:
                check_error(rd_kafka_AdminOptions_set_include_authorized_operations(options.native, 1))
            self._expect(options, future)
            with nogil:
                rd_kafka_DescribeConsumerGroups(cyk_handle_rk(handle), natives, count, options.native, self._results)
        finally:
            free(natives)
            if handle is not NULL:
                self._exit(handle)

    def delete_consumer_groups(self, group_ids, future, request_timeout=-1):
        """Delete groups; result [(group, error, [])]."""
        cdef NativeArray array = new_array(len(group_ids), <native_destroy_t>rd_kafka_DeleteGroup_destroy)
        cdef AdminOptions options
        cdef cyk_handle_t *handle
        for group in group_ids:
            array.add(rd_kafka_DeleteGroup_new(encode_name(group, "group id")))
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_DELETEGROUPS, request_timeout)
            self._expect(options, future)
            with nogil:
                rd_kafka_DeleteGroups(cyk_handle_rk(handle), <rd_kafka_DeleteGroup_t **>array.items, array.count,
                                      options.native, self._results)
        finally:
            self._exit(handle)

    def list_groups(self, group=None, timeout=-1):
        """List and describe classic groups of any kind; deprecated, see list_consumer_groups().

        Args:
            group: Only this group; all if None.
            timeout: Seconds to wait; -1 or None for no limit.

        Returns:
            list[GroupMetadata]: The groups.

        Raises:
            KafkaException: If the cluster does not answer in time.
            RuntimeError: If the client is closed.
        """
        cdef BlockingCall call
        cdef int64_t timeout_us = as_timeout_us(timeout)
        cdef cyk_handle_t *handle = self._enter()
        try:
            call = self._new_call(handle, CYK_CALL_LIST_GROUPS, timeout_us)
            if group is not None:
                call.set_topic(group, "group")
            self._run(call)
            self._check_reached(handle, call.native.err, "Failed to list groups")
            return read_group_list(call.native.groups)
        finally:
            self._exit(handle)

    # Offsets of groups

    def list_consumer_group_offsets(self, group_id, partitions, future, require_stable=False, request_timeout=-1):
        """List committed offsets, of all partitions if None; result [(group, error, [TopicPartition])]."""
        cdef NativeArray array = new_array(1, <native_destroy_t>rd_kafka_ListConsumerGroupOffsets_destroy)
        cdef rd_kafka_topic_partition_list_t *native = NULL
        cdef AdminOptions options
        cdef bytes group = encode_name(group_id, "group id")
        cdef cyk_handle_t *handle
        if partitions is not None:
            native = make_topic_partitions(partitions)
        array.add(rd_kafka_ListConsumerGroupOffsets_new(group, native))
        if native is not NULL:
            rd_kafka_topic_partition_list_destroy(native)
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, request_timeout)
            if require_stable:
                check_error(rd_kafka_AdminOptions_set_require_stable_offsets(options.native, 1))
            self._expect(options, future)
            with nogil:
                rd_kafka_ListConsumerGroupOffsets(
                    cyk_handle_rk(handle), <rd_kafka_ListConsumerGroupOffsets_t **>array.items, array.count,
                    options.native, self._results)
        finally:
            self._exit(handle)

    def alter_consumer_group_offsets(self, group_id, partitions, future, request_timeout=-1):
        """Commit offsets for a group without members; result [(group, error, [TopicPartition])]."""
        cdef NativeArray array = new_array(1, <native_destroy_t>rd_kafka_AlterConsumerGroupOffsets_destroy)
        cdef bytes group = encode_name(group_id, "group id")
        cdef rd_kafka_topic_partition_list_t *native = make_topic_partitions(partitions)
        cdef AdminOptions options
        cdef cyk_handle_t *handle
        array.add(rd_kafka_AlterConsumerGroupOffsets_new(group, native))
        rd_kafka_topic_partition_list_destroy(native)
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, request_timeout)
            self._expect(options, future)
            with nogil:
                rd_kafka_AlterConsumerGroupOffsets(
                    cyk_handle_rk(handle), <rd_kafka_AlterConsumerGroupOffsets_t **>array.items, array.count,
                    options.native, self._results)
        finally:
            self._exit(handle)

    def delete_consumer_group_offsets(self, group_id, partitions, future, request_timeout=-1):
        """Delete committed offsets; result [(group, error, [TopicPartition])]."""
        cdef NativeArray array = new_array(1, <native_destroy_t>rd_kafka_DeleteConsumerGroupOffsets_destroy)
        cdef bytes group = encode_name(group_id, "group id")
        cdef rd_kafka_topic_partition_list_t *native = make_topic_partitions(partitions)
        cdef AdminOptions options
        cdef cyk_handle_t *handle
        array.add(rd_kafka_DeleteConsumerGroupOffsets_new(group, native))
        rd_kafka_topic_partition_list_destroy(native)
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_DELETECONSUMERGROUPOFFSETS, request_timeout)
            self._expect(options, future)
            with nogil:
                rd_kafka_DeleteConsumerGroupOffsets(
                    cyk_handle_rk(handle), <rd_kafka_DeleteConsumerGroupOffsets_t **>array.items, array.count,
                    options.native, self._results)
        finally:
            self._exit(handle)

    # Access control

    def create_acls(self, acls, future, request_timeout=-1, broker=-1):
        """Create ACLs, given as tuples like _read_acls() makes; result [error]."""
        cdef NativeArray array = new_array(len(acls), <native_destroy_t>rd_kafka_AclBinding_destroy)
        cdef AdminOptions options
        cdef cyk_handle_t *handle
        for acl in acls:
            _add_acl(array, acl, False)
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_CREATEACLS, request_timeout, -1, False, broker)
            self._expect(options, future)
            with nogil:
                rd_kafka_CreateAcls(cyk_handle_rk(handle), <rd_kafka_AclBinding_t **>array.items, array.count,
                                    options.native, self._results)
        finally:
            self._exit(handle)

    def describe_acls(self, acl_filter, future, request_timeout=-1, broker=-1):
        """Find the ACLs that a filter matches; result as _read_acls()."""
        cdef NativeArray array = new_array(1, <native_destroy_t>rd_kafka_AclBinding_destroy)
        cdef AdminOptions options
        cdef cyk_handle_t *handle
        _add_acl(array, acl_filter, True)
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_DESCRIBEACLS, request_timeout, -1, False, broker)
            self._expect(options, future)
            with nogil:
                rd_kafka_DescribeAcls(cyk_handle_rk(handle), <rd_kafka_AclBindingFilter_t *>array.items[0],
                                      options.native, self._results)
        finally:
            self._exit(handle)

    def delete_acls(self, acl_filters, future, request_timeout=-1, broker=-1):
        """Delete the ACLs that filters match; result [(error, [acl])]."""
        cdef NativeArray array = new_array(len(acl_filters), <native_destroy_t>rd_kafka_AclBinding_destroy)
        cdef AdminOptions options
        cdef cyk_handle_t *handle
        for acl_filter in acl_filters:
            _add_acl(array, acl_filter, True)
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_DELETEACLS, request_timeout, -1, False, broker)
            self._expect(options, future)
            with nogil:
                rd_kafka_DeleteAcls(cyk_handle_rk(handle), <rd_kafka_AclBindingFilter_t **>array.items, array.count,
                                    options.native, self._results)
        finally:
            self._exit(handle)

    # SCRAM users

    def describe_user_scram_credentials(self, users, future, request_timeout=-1, broker=-1):
        """Describe users, all if None; result as _read_scram_descriptions()."""
        cdef list names = [encode_name(name, "user") for name in users or ()]
        cdef size_t count = len(names)
        cdef AdminOptions options
        cdef const char **natives = _name_pointers(names)
        cdef cyk_handle_t *handle = NULL
        try:
            handle = self._enter()
            options = self._options(RD_KAFKA_ADMIN_OP_DESCRIBEUSERSCRAMCREDENTIALS, request_timeout, -1, False, broker)
            self._expect(options, future)
            with nogil:
                rd_kafka_DescribeUserScramCredentials(cyk_handle_rk(handle), natives, count, options.native,
                                                      self._results)
        finally:
            free(natives)
            if handle is not NULL:
                self._exit(handle)

    def alter_user_scram_credentials(self, alterations, future, request_timeout=-1, broker=-1):
        """Set (user, mechanism, iterations, password, salt) or delete (user, mechanism); result [(user, error)]."""
        cdef NativeArray array = new_array(
            len(alterations), <native_destroy_t>rd_kafka_UserScramCredentialAlteration_destroy)
        cdef AdminOptions options
        cdef bytes user, password, salt
        cdef cyk_handle_t *handle
        for alteration in alterations:
            user = encode_name(alteration[0], "user")
            if len(alteration) == 2:
                array.add(rd_kafka_UserScramCredentialDeletion_new(user, alteration[1]))
                continue
            password = alteration[3]
            salt = alteration[4]
            array.add(rd_kafka_UserScramCredentialUpsertion_new(
                user, alteration[1], alteration[2], <const unsigned char *><const char *>password, len(password),
                NULL if salt is None else <const unsigned char *><const char *>salt, 0 if salt is None else len(salt)))
        handle = self._enter()
        try:
            options = self._options(RD_KAFKA_ADMIN_OP_ALTERUSERSCRAMCREDENTIALS, request_timeout, -1, False, broker)
            self._expect(options, future)
            with nogil:
                rd_kafka_AlterUserScramCredentials(
                    cyk_handle_rk(handle), <rd_kafka_UserScramCredentialAlteration_t **>array.items, array.count,
                    options.native, self._results)
        finally:
            self._exit(handle)


cdef int _add_acl(NativeArray array, object acl, bint is_filter) except -1:
    """Append an ACL, or a filter in which None matches everything."""
    cdef char errstr[512]
    cdef void *native
    restype, name, pattern, principal, host, operation, permission = acl
    cdef bytes native_name = None if name is None else encode_name(name, "name")
    cdef bytes native_principal = None if principal is None else encode_name(principal, "principal")
    cdef bytes native_host = None if host is None else encode_name(host, "host")
    cdef const char *c_name = NULL if native_name is None else <const char *>native_name
    cdef const char *c_principal = NULL if native_principal is None else <const char *>native_principal
    cdef const char *c_host = NULL if native_host is None else <const char *>native_host
    if is_filter:
        native = rd_kafka_AclBindingFilter_new(restype, c_name, pattern, c_principal, c_host, operation, permission,
                                               errstr, sizeof(errstr))
    else:
        native = rd_kafka_AclBinding_new(restype, c_name, pattern, c_principal, c_host, operation, permission, errstr,
                                         sizeof(errstr))
    if native is NULL:
        raise ValueError(decode_text(errstr))
    return array.add(native)
