# Admin results: from native result events to plain tuples, lists and the core's own classes.
#
# cykafka.admin turns these into its public classes; the core knows nothing of them. Runs on the admin thread, with
# the event still alive. `error` is a KafkaError or None everywhere.

cdef object _borrowed_error(const rd_kafka_error_t *error):
    """Copy an error object that belongs to a result."""
    cdef KafkaError copy
    if error is NULL or rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_NO_ERROR:
        return None
    copy = make_error(rd_kafka_error_code(error), decode_text(rd_kafka_error_string(error)))
    copy._fatal = rd_kafka_error_is_fatal(error)
    copy._retriable = rd_kafka_error_is_retriable(error)
    return copy


cdef object _code_error(rd_kafka_resp_err_t err, const char *text):
    if err == RD_KAFKA_RESP_ERR_NO_ERROR:
        return None
    return make_error(err, decode_text(text))


cdef object _read_node(const rd_kafka_Node_t *node):
    """(id, host, port, rack), or None."""
    if node is NULL:
        return None
    return (rd_kafka_Node_id(node), decode_text(rd_kafka_Node_host(node)), rd_kafka_Node_port(node),
            decode_text(rd_kafka_Node_rack(node)))


cdef list _read_nodes(const rd_kafka_Node_t **nodes, size_t count):
    return [_read_node(nodes[i]) for i in range(count)]


cdef object _read_operations(const rd_kafka_AclOperation_t *operations, size_t count):
    """Operation numbers, or None if they were not asked for."""
    if operations is NULL:
        return None
    return [<int>operations[i] for i in range(count)]


cdef list _read_topic_results(const rd_kafka_topic_result_t **results, size_t count):
    """[(topic, error)]"""
    return [(decode_name(rd_kafka_topic_result_name(results[i])),
             _code_error(rd_kafka_topic_result_error(results[i]), rd_kafka_topic_result_error_string(results[i])))
            for i in range(count)]


cdef list _read_group_results(const rd_kafka_group_result_t **results, size_t count):
    """[(group, error, [TopicPartition])]"""
    return [(decode_name(rd_kafka_group_result_name(results[i])),
             _borrowed_error(rd_kafka_group_result_error(results[i])),
             read_topic_partitions(rd_kafka_group_result_partitions(results[i])))
            for i in range(count)]


cdef list _read_entries(const rd_kafka_ConfigEntry_t **entries, size_t count):
    """[(name, value, source, is_read_only, is_default, is_sensitive, is_synonym, [synonym entries])]"""
    cdef size_t synonym_count
    cdef const rd_kafka_ConfigEntry_t **synonyms
    cdef list result = []
    for i in range(count):
        synonyms = rd_kafka_ConfigEntry_synonyms(entries[i], &synonym_count)
        result.append((
            decode_text(rd_kafka_ConfigEntry_name(entries[i])), decode_text(rd_kafka_ConfigEntry_value(entries[i])),
            <int>rd_kafka_ConfigEntry_source(entries[i]), rd_kafka_ConfigEntry_is_read_only(entries[i]) == 1,
            rd_kafka_ConfigEntry_is_default(entries[i]) == 1, rd_kafka_ConfigEntry_is_sensitive(entries[i]) == 1,
            rd_kafka_ConfigEntry_is_synonym(entries[i]) == 1, _read_entries(synonyms, synonym_count)))
    return result


cdef list _read_resources(const rd_kafka_ConfigResource_t **resources, size_t count):
    """[(resource type, name, error, [entries])]"""
    cdef size_t entry_count
    cdef const rd_kafka_ConfigEntry_t **entries
    cdef list result = []
    for i in range(count):
        entries = rd_kafka_ConfigResource_configs(resources[i], &entry_count)
        result.append((
            <int>rd_kafka_ConfigResource_type(resources[i]), decode_name(rd_kafka_ConfigResource_name(resources[i])),
            _code_error(rd_kafka_ConfigResource_error(resources[i]),
                        rd_kafka_ConfigResource_error_string(resources[i])),
            _read_entries(entries, entry_count)))
    return result


cdef object _read_assignment(const rd_kafka_MemberAssignment_t *assignment):
    if assignment is NULL:
        return None
    return read_topic_partitions(rd_kafka_MemberAssignment_partitions(assignment))


cdef tuple _read_member_description(const rd_kafka_MemberDescription_t *member):
    """(member id, client id, host, instance id, [TopicPartition], target [TopicPartition] or None)"""
    return (decode_text(rd_kafka_MemberDescription_consumer_id(member)),
            decode_text(rd_kafka_MemberDescription_client_id(member)),
            decode_text(rd_kafka_MemberDescription_host(member)),
            decode_text(rd_kafka_MemberDescription_group_instance_id(member)),
            _read_assignment(rd_kafka_MemberDescription_assignment(member)),
            _read_assignment(rd_kafka_MemberDescription_target_assignment(member)))


cdef tuple _read_group_description(const rd_kafka_ConsumerGroupDescription_t *group):
    """(group, error, is_simple, assignor, state, type, coordinator, [members], operations)"""
    cdef size_t count = 0
    cdef const rd_kafka_AclOperation_t *operations
    operations = rd_kafka_ConsumerGroupDescription_authorized_operations(group, &count)
    return (decode_name(rd_kafka_ConsumerGroupDescription_group_id(group)),
            _borrowed_error(rd_kafka_ConsumerGroupDescription_error(group)),
            rd_kafka_ConsumerGroupDescription_is_simple_consumer_group(group) != 0,
            decode_text(rd_kafka_ConsumerGroupDescription_partition_assignor(group)),
            <int>rd_kafka_ConsumerGroupDescription_state(group),
            <int>rd_kafka_ConsumerGroupDescription_type(group),
            _read_node(rd_kafka_ConsumerGroupDescription_coordinator(group)),
            [_read_member_description(rd_kafka_ConsumerGroupDescription_member(group, i))
             for i in range(rd_kafka_ConsumerGroupDescription_member_count(group))],
            _read_operations(operations, count))


cdef tuple _read_topic_description(const rd_kafka_TopicDescription_t *topic):
    """(topic, error, Uuid, is_internal, [(partition, leader, replicas, isr)], operations)"""
    cdef size_t count, node_count
    cdef const rd_kafka_TopicPartitionInfo_t **infos
    cdef const rd_kafka_AclOperation_t *operations
    cdef const rd_kafka_Node_t **nodes
    cdef const rd_kafka_Uuid_t *topic_id = rd_kafka_TopicDescription_topic_id(topic)
    cdef list partitions = []
    infos = rd_kafka_TopicDescription_partitions(topic, &count)
    for i in range(count):
        nodes = rd_kafka_TopicPartitionInfo_replicas(infos[i], &node_count)
        replicas = _read_nodes(nodes, node_count)
        nodes = rd_kafka_TopicPartitionInfo_isr(infos[i], &node_count)
        partitions.append((rd_kafka_TopicPartitionInfo_partition(infos[i]),
                           _read_node(rd_kafka_TopicPartitionInfo_leader(infos[i])),
                           replicas, _read_nodes(nodes, node_count)))
    operations = rd_kafka_TopicDescription_authorized_operations(topic, &count)
    return (decode_name(rd_kafka_TopicDescription_name(topic)),
            _borrowed_error(rd_kafka_TopicDescription_error(topic)),
            None if topic_id is NULL else Uuid(rd_kafka_Uuid_most_significant_bits(topic_id),
                                               rd_kafka_Uuid_least_significant_bits(topic_id)),
            rd_kafka_TopicDescription_is_internal(topic) != 0, partitions, _read_operations(operations, count))


cdef tuple _read_cluster(const rd_kafka_DescribeCluster_result_t *result):
    """(controller, [nodes], cluster id, operations)"""
    cdef size_t count
    cdef const rd_kafka_Node_t **nodes = rd_kafka_DescribeCluster_result_nodes(result, &count)
    cdef list read = _read_nodes(nodes, count)
    cdef const rd_kafka_AclOperation_t *operations
    operations = rd_kafka_DescribeCluster_result_authorized_operations(result, &count)
    return (_read_node(rd_kafka_DescribeCluster_result_controller(result)), read,
            decode_text(rd_kafka_DescribeCluster_result_cluster_id(result)), _read_operations(operations, count))


cdef list _read_acls(const rd_kafka_AclBinding_t **acls, size_t count):
    """[(resource type, name, pattern type, principal, host, operation, permission)]"""
    return [(<int>rd_kafka_AclBinding_restype(acls[i]), decode_text(rd_kafka_AclBinding_name(acls[i])),
             <int>rd_kafka_AclBinding_resource_pattern_type(acls[i]),
             decode_text(rd_kafka_AclBinding_principal(acls[i])), decode_text(rd_kafka_AclBinding_host(acls[i])),
             <int>rd_kafka_AclBinding_operation(acls[i]), <int>rd_kafka_AclBinding_permission_type(acls[i]))
            for i in range(count)]


cdef tuple _read_listings(const rd_kafka_ListConsumerGroups_result_t *result):
    """([(group, is_simple, state, type)], [error])"""
    cdef size_t count
    cdef const rd_kafka_ConsumerGroupListing_t **listings
    cdef const rd_kafka_error_t **errors
    listings = rd_kafka_ListConsumerGroups_result_valid(result, &count)
    valid = [(decode_name(rd_kafka_ConsumerGroupListing_group_id(listings[i])),
              rd_kafka_ConsumerGroupListing_is_simple_consumer_group(listings[i]) != 0,
              <int>rd_kafka_ConsumerGroupListing_state(listings[i]),
              <int>rd_kafka_ConsumerGroupListing_type(listings[i])) for i in range(count)]
    errors = rd_kafka_ListConsumerGroups_result_errors(result, &count)
    return (valid, [_borrowed_error(errors[i]) for i in range(count)])


cdef list _read_scram_descriptions(const rd_kafka_DescribeUserScramCredentials_result_t *result):
    """[(user, error, [(mechanism, iterations)])]"""
    cdef size_t count
    cdef const rd_kafka_UserScramCredentialsDescription_t **found
    cdef const rd_kafka_ScramCredentialInfo_t *info
    cdef list read = []
    found = rd_kafka_DescribeUserScramCredentials_result_descriptions(result, &count)
    for i in range(count):
        infos = []
        for j in range(rd_kafka_UserScramCredentialsDescription_scramcredentialinfo_count(found[i])):
            info = rd_kafka_UserScramCredentialsDescription_scramcredentialinfo(found[i], j)
            infos.append((<int>rd_kafka_ScramCredentialInfo_mechanism(info),
                          rd_kafka_ScramCredentialInfo_iterations(info)))
        read.append((decode_text(rd_kafka_UserScramCredentialsDescription_user(found[i])),
                     _borrowed_error(rd_kafka_UserScramCredentialsDescription_error(found[i])), infos))
    return read


cdef object read_admin_result(rd_kafka_event_t *event):
    """Copy the result that an admin event carries; the event must be free of a request-level error."""
    cdef int kind = rd_kafka_event_type(event)
    cdef size_t count = 0
    cdef const rd_kafka_topic_result_t **topics
    cdef const rd_kafka_ConfigResource_t **resources
    cdef const rd_kafka_group_result_t **groups
    cdef const rd_kafka_TopicDescription_t **descriptions
    cdef const rd_kafka_ConsumerGroupDescription_t **group_descriptions
    cdef const rd_kafka_acl_result_t **acl_results
    cdef const rd_kafka_AclBinding_t **acls
    cdef const rd_kafka_DeleteAcls_result_response_t **responses
    cdef const rd_kafka_AlterUserScramCredentials_result_response_t **users
    cdef const rd_kafka_ListOffsetsResultInfo_t **infos
    cdef const rd_kafka_topic_partition_result_t **partitions
    cdef list read

    if kind == RD_KAFKA_EVENT_CREATETOPICS_RESULT:
        topics = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count)
        return _read_topic_results(topics, count)
    if kind == RD_KAFKA_EVENT_DELETETOPICS_RESULT:
        topics = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count)
        return _read_topic_results(topics, count)
    if kind == RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT:
        topics = rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event), &count)
        return _read_topic_results(topics, count)
    if kind == RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT:
        resources = rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event), &count)
        return _read_resources(resources, count)
    if kind == RD_KAFKA_EVENT_ALTERCONFIGS_RESULT:
        resources = rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &count)
        return _read_resources(resources, count)
    if kind == RD_KAFKA_EVENT_INCREMENTALALTERCONFIGS_RESULT:
        resources = rd_kafka_IncrementalAlterConfigs_result_resources(
            rd_kafka_event_IncrementalAlterConfigs_result(event), &count)
        return _read_resources(resources, count)
    if kind == RD_KAFKA_EVENT_DELETERECORDS_RESULT:
        return read_topic_partitions(rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event)))
    if kind == RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT:
        descriptions = rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &count)
        return [_read_topic_description(descriptions[i]) for i in range(count)]
    if kind == RD_KAFKA_EVENT_DESCRIBECLUSTER_RESULT:
        return _read_cluster(rd_kafka_event_DescribeCluster_result(event))
    if kind == RD_KAFKA_EVENT_LISTCONSUMERGROUPS_RESULT:
        return _read_listings(rd_kafka_event_ListConsumerGroups_result(event))
    if kind == RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT:
        group_descriptions = rd_kafka_DescribeConsumerGroups_result_groups(
            rd_kafka_event_DescribeConsumerGroups_result(event), &count)
        return [_read_group_description(group_descriptions[i]) for i in range(count)]
    if kind == RD_KAFKA_EVENT_DELETEGROUPS_RESULT:
        groups = rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event), &count)
        return _read_group_results(groups, count)
    if kind == RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT:
        groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
            rd_kafka_event_ListConsumerGroupOffsets_result(event), &count)
        return _read_group_results(groups, count)
    if kind == RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT:
        groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
            rd_kafka_event_AlterConsumerGroupOffsets_result(event), &count)
        return _read_group_results(groups, count)
    if kind == RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT:
        groups = rd_kafka_DeleteConsumerGroupOffsets_result_groups(
            rd_kafka_event_DeleteConsumerGroupOffsets_result(event), &count)
        return _read_group_results(groups, count)
    if kind == RD_KAFKA_EVENT_CREATEACLS_RESULT:
        acl_results = rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event), &count)
        return [_borrowed_error(rd_kafka_acl_result_error(acl_results[i])) for i in range(count)]
    if kind == RD_KAFKA_EVENT_DESCRIBEACLS_RESULT:
        acls = rd_kafka_DescribeAcls_result_acls(rd_kafka_event_DescribeAcls_result(event), &count)
        return _read_acls(acls, count)
    if kind == RD_KAFKA_EVENT_DELETEACLS_RESULT:
        responses = rd_kafka_DeleteAcls_result_responses(rd_kafka_event_DeleteAcls_result(event), &count)
        read = []
        for i in range(count):
            error = _borrowed_error(rd_kafka_DeleteAcls_result_response_error(responses[i]))
            read.append((error, responses_to_acls(responses[i])))
        return read
    if kind == RD_KAFKA_EVENT_DESCRIBEUSERSCRAMCREDENTIALS_RESULT:
        return _read_scram_descriptions(rd_kafka_event_DescribeUserScramCredentials_result(event))
    if kind == RD_KAFKA_EVENT_ALTERUSERSCRAMCREDENTIALS_RESULT:
        users = rd_kafka_AlterUserScramCredentials_result_responses(
            rd_kafka_event_AlterUserScramCredentials_result(event), &count)
        return [(decode_text(rd_kafka_AlterUserScramCredentials_result_response_user(users[i])),
                 _borrowed_error(rd_kafka_AlterUserScramCredentials_result_response_error(users[i])))
                for i in range(count)]
    if kind == RD_KAFKA_EVENT_LISTOFFSETS_RESULT:
        infos = rd_kafka_ListOffsets_result_infos(rd_kafka_event_ListOffsets_result(event), &count)
        return [(make_topic_partition(rd_kafka_ListOffsetsResultInfo_topic_partition(infos[i])),
                 rd_kafka_ListOffsetsResultInfo_timestamp(infos[i])) for i in range(count)]
    if kind == RD_KAFKA_EVENT_ELECTLEADERS_RESULT:
        partitions = rd_kafka_ElectLeaders_result_partitions(rd_kafka_event_ElectLeaders_result(event), &count)
        return [(make_topic_partition(rd_kafka_topic_partition_result_partition(partitions[i])),
                 _borrowed_error(rd_kafka_topic_partition_result_error(partitions[i]))) for i in range(count)]
    raise KafkaException(make_error(RD_KAFKA_RESP_ERR__FAIL, f"unexpected admin event {kind}"))


cdef list responses_to_acls(const rd_kafka_DeleteAcls_result_response_t *response):
    """The ACLs that one filter of delete_acls() matched."""
    cdef size_t count
    cdef const rd_kafka_AclBinding_t **acls = rd_kafka_DeleteAcls_result_response_matching_acls(response, &count)
    return _read_acls(acls, count)
