# Declarations of the admin API of rdkafka.h; rules as in rdkafka.pxd.

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint16_t

from cykafka._rdkafka.rdkafka cimport (
    rd_kafka_error_t,
    rd_kafka_event_t,
    rd_kafka_queue_t,
    rd_kafka_resp_err_t,
    rd_kafka_t,
    rd_kafka_topic_partition_list_t,
    rd_kafka_topic_partition_t,
    rd_kafka_Uuid_t,
)


cdef extern from "rdkafka.h" nogil:
    # Enumerations whose values pass through as numbers
    ctypedef int rd_kafka_AclOperation_t
    ctypedef int rd_kafka_AclPermissionType_t
    ctypedef int rd_kafka_AlterConfigOpType_t
    ctypedef int rd_kafka_ConfigSource_t
    ctypedef int rd_kafka_ElectionType_t
    ctypedef int rd_kafka_IsolationLevel_t
    ctypedef int rd_kafka_ResourcePatternType_t
    ctypedef int rd_kafka_ResourceType_t
    ctypedef int rd_kafka_ScramMechanism_t
    ctypedef int rd_kafka_admin_op_t
    ctypedef int rd_kafka_consumer_group_state_t
    ctypedef int rd_kafka_consumer_group_type_t

    enum:
        RD_KAFKA_ADMIN_OP_CREATETOPICS
        RD_KAFKA_ADMIN_OP_DELETETOPICS
        RD_KAFKA_ADMIN_OP_CREATEPARTITIONS
        RD_KAFKA_ADMIN_OP_ALTERCONFIGS
        RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS
        RD_KAFKA_ADMIN_OP_DELETERECORDS
        RD_KAFKA_ADMIN_OP_DELETEGROUPS
        RD_KAFKA_ADMIN_OP_DELETECONSUMERGROUPOFFSETS
        RD_KAFKA_ADMIN_OP_CREATEACLS
        RD_KAFKA_ADMIN_OP_DESCRIBEACLS
        RD_KAFKA_ADMIN_OP_DELETEACLS
        RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS
        RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS
        RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS
        RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS
        RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS
        RD_KAFKA_ADMIN_OP_DESCRIBEUSERSCRAMCREDENTIALS
        RD_KAFKA_ADMIN_OP_ALTERUSERSCRAMCREDENTIALS
        RD_KAFKA_ADMIN_OP_DESCRIBETOPICS
        RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER
        RD_KAFKA_ADMIN_OP_LISTOFFSETS
        RD_KAFKA_ADMIN_OP_ELECTLEADERS

    enum:
        RD_KAFKA_EVENT_CREATETOPICS_RESULT
        RD_KAFKA_EVENT_DELETETOPICS_RESULT
        RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT
        RD_KAFKA_EVENT_ALTERCONFIGS_RESULT
        RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT
        RD_KAFKA_EVENT_DELETERECORDS_RESULT
        RD_KAFKA_EVENT_DELETEGROUPS_RESULT
        RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT
        RD_KAFKA_EVENT_CREATEACLS_RESULT
        RD_KAFKA_EVENT_DESCRIBEACLS_RESULT
        RD_KAFKA_EVENT_DELETEACLS_RESULT
        RD_KAFKA_EVENT_LISTCONSUMERGROUPS_RESULT
        RD_KAFKA_EVENT_DESCRIBECONSUMERGROUPS_RESULT
        RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT
        RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT
        RD_KAFKA_EVENT_INCREMENTALALTERCONFIGS_RESULT
        RD_KAFKA_EVENT_DESCRIBEUSERSCRAMCREDENTIALS_RESULT
        RD_KAFKA_EVENT_ALTERUSERSCRAMCREDENTIALS_RESULT
        RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT
        RD_KAFKA_EVENT_DESCRIBECLUSTER_RESULT
        RD_KAFKA_EVENT_LISTOFFSETS_RESULT
        RD_KAFKA_EVENT_ELECTLEADERS_RESULT

    ctypedef struct rd_kafka_AclBindingFilter_t:
        pass
    ctypedef struct rd_kafka_AclBinding_t:
        pass
    ctypedef struct rd_kafka_AdminOptions_t:
        pass
    ctypedef struct rd_kafka_AlterConfigs_result_t:
        pass
    ctypedef struct rd_kafka_AlterConsumerGroupOffsets_result_t:
        pass
    ctypedef struct rd_kafka_AlterConsumerGroupOffsets_t:
        pass
    ctypedef struct rd_kafka_AlterUserScramCredentials_result_response_t:
        pass
    ctypedef struct rd_kafka_AlterUserScramCredentials_result_t:
        pass
    ctypedef struct rd_kafka_ConfigEntry_t:
        pass
    ctypedef struct rd_kafka_ConfigResource_t:
        pass
    ctypedef struct rd_kafka_ConsumerGroupDescription_t:
        pass
    ctypedef struct rd_kafka_ConsumerGroupListing_t:
        pass
    ctypedef struct rd_kafka_CreateAcls_result_t:
        pass
    ctypedef struct rd_kafka_CreatePartitions_result_t:
        pass
    ctypedef struct rd_kafka_CreateTopics_result_t:
        pass
    ctypedef struct rd_kafka_DeleteAcls_result_response_t:
        pass
    ctypedef struct rd_kafka_DeleteAcls_result_t:
        pass
    ctypedef struct rd_kafka_DeleteConsumerGroupOffsets_result_t:
        pass
    ctypedef struct rd_kafka_DeleteConsumerGroupOffsets_t:
        pass
    ctypedef struct rd_kafka_DeleteGroup_t:
        pass
    ctypedef struct rd_kafka_DeleteGroups_result_t:
        pass
    ctypedef struct rd_kafka_DeleteRecords_result_t:
        pass
    ctypedef struct rd_kafka_DeleteRecords_t:
        pass
    ctypedef struct rd_kafka_DeleteTopic_t:
        pass
    ctypedef struct rd_kafka_DeleteTopics_result_t:
        pass
    ctypedef struct rd_kafka_DescribeAcls_result_t:
        pass
    ctypedef struct rd_kafka_DescribeCluster_result_t:
        pass
    ctypedef struct rd_kafka_DescribeConfigs_result_t:
        pass
    ctypedef struct rd_kafka_DescribeConsumerGroups_result_t:
        pass
    ctypedef struct rd_kafka_DescribeTopics_result_t:
        pass
    ctypedef struct rd_kafka_DescribeUserScramCredentials_result_t:
        pass
    ctypedef struct rd_kafka_ElectLeaders_result_t:
        pass
    ctypedef struct rd_kafka_ElectLeaders_t:
        pass
    ctypedef struct rd_kafka_IncrementalAlterConfigs_result_t:
        pass
    ctypedef struct rd_kafka_ListConsumerGroupOffsets_result_t:
        pass
    ctypedef struct rd_kafka_ListConsumerGroupOffsets_t:
        pass
    ctypedef struct rd_kafka_ListConsumerGroups_result_t:
        pass
    ctypedef struct rd_kafka_ListOffsetsResultInfo_t:
        pass
    ctypedef struct rd_kafka_ListOffsets_result_t:
        pass
    ctypedef struct rd_kafka_MemberAssignment_t:
        pass
    ctypedef struct rd_kafka_MemberDescription_t:
        pass
    ctypedef struct rd_kafka_NewPartitions_t:
        pass
    ctypedef struct rd_kafka_NewTopic_t:
        pass
    ctypedef struct rd_kafka_Node_t:
        pass
    ctypedef struct rd_kafka_ScramCredentialInfo_t:
        pass
    ctypedef struct rd_kafka_TopicCollection_t:
        pass
    ctypedef struct rd_kafka_TopicDescription_t:
        pass
    ctypedef struct rd_kafka_TopicPartitionInfo_t:
        pass
    ctypedef struct rd_kafka_UserScramCredentialAlteration_t:
        pass
    ctypedef struct rd_kafka_UserScramCredentialsDescription_t:
        pass
    ctypedef struct rd_kafka_acl_result_t:
        pass
    ctypedef struct rd_kafka_group_result_t:
        pass
    ctypedef struct rd_kafka_topic_partition_result_t:
        pass
    ctypedef struct rd_kafka_topic_result_t:
        pass

    rd_kafka_resp_err_t rd_kafka_topic_result_error(const rd_kafka_topic_result_t *topicres) noexcept
    const char *rd_kafka_topic_result_error_string(const rd_kafka_topic_result_t *topicres) noexcept
    const char *rd_kafka_topic_result_name(const rd_kafka_topic_result_t *topicres) noexcept
    const rd_kafka_error_t *rd_kafka_group_result_error(const rd_kafka_group_result_t *groupres) noexcept
    const char *rd_kafka_group_result_name(const rd_kafka_group_result_t *groupres) noexcept
    const rd_kafka_topic_partition_list_t *rd_kafka_group_result_partitions(
        const rd_kafka_group_result_t *groupres) noexcept
    const rd_kafka_topic_partition_t *rd_kafka_topic_partition_result_partition(
        const rd_kafka_topic_partition_result_t *partition_result) noexcept
    const rd_kafka_error_t *rd_kafka_topic_partition_result_error(
        const rd_kafka_topic_partition_result_t *partition_result) noexcept
    rd_kafka_AdminOptions_t *rd_kafka_AdminOptions_new(rd_kafka_t *rk, rd_kafka_admin_op_t for_api) noexcept
    void rd_kafka_AdminOptions_destroy(rd_kafka_AdminOptions_t *options) noexcept
    rd_kafka_resp_err_t rd_kafka_AdminOptions_set_request_timeout(
        rd_kafka_AdminOptions_t *options, int timeout_ms, char *errstr, size_t errstr_size) noexcept
    rd_kafka_resp_err_t rd_kafka_AdminOptions_set_operation_timeout(
        rd_kafka_AdminOptions_t *options, int timeout_ms, char *errstr, size_t errstr_size) noexcept
    rd_kafka_resp_err_t rd_kafka_AdminOptions_set_validate_only(
        rd_kafka_AdminOptions_t *options, int true_or_false, char *errstr, size_t errstr_size) noexcept
    rd_kafka_resp_err_t rd_kafka_AdminOptions_set_broker(
        rd_kafka_AdminOptions_t *options, int32_t broker_id, char *errstr, size_t errstr_size) noexcept
    rd_kafka_error_t *rd_kafka_AdminOptions_set_require_stable_offsets(
        rd_kafka_AdminOptions_t *options, int true_or_false) noexcept
    rd_kafka_error_t *rd_kafka_AdminOptions_set_include_authorized_operations(
        rd_kafka_AdminOptions_t *options, int true_or_false) noexcept
    rd_kafka_error_t *rd_kafka_AdminOptions_set_match_consumer_group_states(
        rd_kafka_AdminOptions_t *options, const rd_kafka_consumer_group_state_t *consumer_group_states,
        size_t consumer_group_states_cnt) noexcept
    rd_kafka_error_t *rd_kafka_AdminOptions_set_match_consumer_group_types(
        rd_kafka_AdminOptions_t *options, const rd_kafka_consumer_group_type_t *consumer_group_types,
        size_t consumer_group_types_cnt) noexcept
    rd_kafka_error_t *rd_kafka_AdminOptions_set_isolation_level(
        rd_kafka_AdminOptions_t *options, rd_kafka_IsolationLevel_t value) noexcept
    void rd_kafka_AdminOptions_set_opaque(rd_kafka_AdminOptions_t *options, void *ev_opaque) noexcept
    rd_kafka_NewTopic_t *rd_kafka_NewTopic_new(
        const char *topic, int num_partitions, int replication_factor, char *errstr, size_t errstr_size) noexcept
    void rd_kafka_NewTopic_destroy(rd_kafka_NewTopic_t *new_topic) noexcept
    rd_kafka_resp_err_t rd_kafka_NewTopic_set_replica_assignment(
        rd_kafka_NewTopic_t *new_topic, int32_t partition, int32_t *broker_ids, size_t broker_id_cnt,
        char *errstr, size_t errstr_size) noexcept
    rd_kafka_resp_err_t rd_kafka_NewTopic_set_config(
        rd_kafka_NewTopic_t *new_topic, const char *name, const char *value) noexcept
    void rd_kafka_CreateTopics(
        rd_kafka_t *rk, rd_kafka_NewTopic_t **new_topics, size_t new_topic_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_topic_result_t **rd_kafka_CreateTopics_result_topics(
        const rd_kafka_CreateTopics_result_t *result, size_t *cntp) noexcept
    rd_kafka_DeleteTopic_t *rd_kafka_DeleteTopic_new(const char *topic) noexcept
    void rd_kafka_DeleteTopic_destroy(rd_kafka_DeleteTopic_t *del_topic) noexcept
    void rd_kafka_DeleteTopics(
        rd_kafka_t *rk, rd_kafka_DeleteTopic_t **del_topics, size_t del_topic_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_topic_result_t **rd_kafka_DeleteTopics_result_topics(
        const rd_kafka_DeleteTopics_result_t *result, size_t *cntp) noexcept
    rd_kafka_NewPartitions_t *rd_kafka_NewPartitions_new(
        const char *topic, size_t new_total_cnt, char *errstr, size_t errstr_size) noexcept
    void rd_kafka_NewPartitions_destroy(rd_kafka_NewPartitions_t *new_parts) noexcept
    rd_kafka_resp_err_t rd_kafka_NewPartitions_set_replica_assignment(
        rd_kafka_NewPartitions_t *new_parts, int32_t new_partition_idx, int32_t *broker_ids,
        size_t broker_id_cnt, char *errstr, size_t errstr_size) noexcept
    void rd_kafka_CreatePartitions(
        rd_kafka_t *rk, rd_kafka_NewPartitions_t **new_parts, size_t new_parts_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_topic_result_t **rd_kafka_CreatePartitions_result_topics(
        const rd_kafka_CreatePartitions_result_t *result, size_t *cntp) noexcept
    const char *rd_kafka_ConfigEntry_name(const rd_kafka_ConfigEntry_t *entry) noexcept
    const char *rd_kafka_ConfigEntry_value(const rd_kafka_ConfigEntry_t *entry) noexcept
    rd_kafka_ConfigSource_t rd_kafka_ConfigEntry_source(const rd_kafka_ConfigEntry_t *entry) noexcept
    int rd_kafka_ConfigEntry_is_read_only(const rd_kafka_ConfigEntry_t *entry) noexcept
    int rd_kafka_ConfigEntry_is_default(const rd_kafka_ConfigEntry_t *entry) noexcept
    int rd_kafka_ConfigEntry_is_sensitive(const rd_kafka_ConfigEntry_t *entry) noexcept
    int rd_kafka_ConfigEntry_is_synonym(const rd_kafka_ConfigEntry_t *entry) noexcept
    const rd_kafka_ConfigEntry_t **rd_kafka_ConfigEntry_synonyms(
        const rd_kafka_ConfigEntry_t *entry, size_t *cntp) noexcept
    rd_kafka_ConfigResource_t *rd_kafka_ConfigResource_new(
        rd_kafka_ResourceType_t restype, const char *resname) noexcept
    void rd_kafka_ConfigResource_destroy(rd_kafka_ConfigResource_t *config) noexcept
    rd_kafka_resp_err_t rd_kafka_ConfigResource_set_config(
        rd_kafka_ConfigResource_t *config, const char *name, const char *value) noexcept
    rd_kafka_error_t *rd_kafka_ConfigResource_add_incremental_config(
        rd_kafka_ConfigResource_t *config, const char *name, rd_kafka_AlterConfigOpType_t op_type,
        const char *value) noexcept
    const rd_kafka_ConfigEntry_t **rd_kafka_ConfigResource_configs(
        const rd_kafka_ConfigResource_t *config, size_t *cntp) noexcept
    rd_kafka_ResourceType_t rd_kafka_ConfigResource_type(const rd_kafka_ConfigResource_t *config) noexcept
    const char *rd_kafka_ConfigResource_name(const rd_kafka_ConfigResource_t *config) noexcept
    rd_kafka_resp_err_t rd_kafka_ConfigResource_error(const rd_kafka_ConfigResource_t *config) noexcept
    const char *rd_kafka_ConfigResource_error_string(const rd_kafka_ConfigResource_t *config) noexcept
    void rd_kafka_AlterConfigs(
        rd_kafka_t *rk, rd_kafka_ConfigResource_t **configs, size_t config_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_ConfigResource_t **rd_kafka_AlterConfigs_result_resources(
        const rd_kafka_AlterConfigs_result_t *result, size_t *cntp) noexcept
    void rd_kafka_IncrementalAlterConfigs(
        rd_kafka_t *rk, rd_kafka_ConfigResource_t **configs, size_t config_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_ConfigResource_t **rd_kafka_IncrementalAlterConfigs_result_resources(
        const rd_kafka_IncrementalAlterConfigs_result_t *result, size_t *cntp) noexcept
    void rd_kafka_DescribeConfigs(
        rd_kafka_t *rk, rd_kafka_ConfigResource_t **configs, size_t config_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_ConfigResource_t **rd_kafka_DescribeConfigs_result_resources(
        const rd_kafka_DescribeConfigs_result_t *result, size_t *cntp) noexcept
    rd_kafka_DeleteRecords_t *rd_kafka_DeleteRecords_new(
        const rd_kafka_topic_partition_list_t *before_offsets) noexcept
    void rd_kafka_DeleteRecords_destroy(rd_kafka_DeleteRecords_t *del_records) noexcept
    void rd_kafka_DeleteRecords(
        rd_kafka_t *rk, rd_kafka_DeleteRecords_t **del_records, size_t del_record_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_topic_partition_list_t *rd_kafka_DeleteRecords_result_offsets(
        const rd_kafka_DeleteRecords_result_t *result) noexcept
    rd_kafka_TopicCollection_t *rd_kafka_TopicCollection_of_topic_names(
        const char **topics, size_t topics_cnt) noexcept
    void rd_kafka_TopicCollection_destroy(rd_kafka_TopicCollection_t *topics) noexcept
    void rd_kafka_DescribeTopics(
        rd_kafka_t *rk, const rd_kafka_TopicCollection_t *topics, const rd_kafka_AdminOptions_t *options,
        rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_TopicDescription_t **rd_kafka_DescribeTopics_result_topics(
        const rd_kafka_DescribeTopics_result_t *result, size_t *cntp) noexcept
    const rd_kafka_TopicPartitionInfo_t **rd_kafka_TopicDescription_partitions(
        const rd_kafka_TopicDescription_t *topicdesc, size_t *cntp) noexcept
    int rd_kafka_TopicPartitionInfo_partition(const rd_kafka_TopicPartitionInfo_t *partition) noexcept
    const rd_kafka_Node_t *rd_kafka_TopicPartitionInfo_leader(const rd_kafka_TopicPartitionInfo_t *partition) noexcept
    const rd_kafka_Node_t **rd_kafka_TopicPartitionInfo_isr(
        const rd_kafka_TopicPartitionInfo_t *partition, size_t *cntp) noexcept
    const rd_kafka_Node_t **rd_kafka_TopicPartitionInfo_replicas(
        const rd_kafka_TopicPartitionInfo_t *partition, size_t *cntp) noexcept
    const rd_kafka_AclOperation_t *rd_kafka_TopicDescription_authorized_operations(
        const rd_kafka_TopicDescription_t *topicdesc, size_t *cntp) noexcept
    const char *rd_kafka_TopicDescription_name(const rd_kafka_TopicDescription_t *topicdesc) noexcept
    const rd_kafka_Uuid_t *rd_kafka_TopicDescription_topic_id(const rd_kafka_TopicDescription_t *topicdesc) noexcept
    int rd_kafka_TopicDescription_is_internal(const rd_kafka_TopicDescription_t *topicdesc) noexcept
    const rd_kafka_error_t *rd_kafka_TopicDescription_error(const rd_kafka_TopicDescription_t *topicdesc) noexcept
    void rd_kafka_DescribeCluster(
        rd_kafka_t *rk, const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_Node_t **rd_kafka_DescribeCluster_result_nodes(
        const rd_kafka_DescribeCluster_result_t *result, size_t *cntp) noexcept
    const rd_kafka_AclOperation_t *rd_kafka_DescribeCluster_result_authorized_operations(
        const rd_kafka_DescribeCluster_result_t *result, size_t *cntp) noexcept
    const rd_kafka_Node_t *rd_kafka_DescribeCluster_result_controller(
        const rd_kafka_DescribeCluster_result_t *result) noexcept
    const char *rd_kafka_DescribeCluster_result_cluster_id(const rd_kafka_DescribeCluster_result_t *result) noexcept
    void rd_kafka_ListConsumerGroups(
        rd_kafka_t *rk, const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const char *rd_kafka_ConsumerGroupListing_group_id(const rd_kafka_ConsumerGroupListing_t *grplist) noexcept
    int rd_kafka_ConsumerGroupListing_is_simple_consumer_group(
        const rd_kafka_ConsumerGroupListing_t *grplist) noexcept
    rd_kafka_consumer_group_state_t rd_kafka_ConsumerGroupListing_state(
        const rd_kafka_ConsumerGroupListing_t *grplist) noexcept
    rd_kafka_consumer_group_type_t rd_kafka_ConsumerGroupListing_type(
        const rd_kafka_ConsumerGroupListing_t *grplist) noexcept
    const rd_kafka_ConsumerGroupListing_t **rd_kafka_ListConsumerGroups_result_valid(
        const rd_kafka_ListConsumerGroups_result_t *result, size_t *cntp) noexcept
    const rd_kafka_error_t **rd_kafka_ListConsumerGroups_result_errors(
        const rd_kafka_ListConsumerGroups_result_t *result, size_t *cntp) noexcept
    void rd_kafka_DescribeConsumerGroups(
        rd_kafka_t *rk, const char **groups, size_t groups_cnt, const rd_kafka_AdminOptions_t *options,
        rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_ConsumerGroupDescription_t **rd_kafka_DescribeConsumerGroups_result_groups(
        const rd_kafka_DescribeConsumerGroups_result_t *result, size_t *cntp) noexcept
    const char *rd_kafka_ConsumerGroupDescription_group_id(
        const rd_kafka_ConsumerGroupDescription_t *grpdesc) noexcept
    const rd_kafka_error_t *rd_kafka_ConsumerGroupDescription_error(
        const rd_kafka_ConsumerGroupDescription_t *grpdesc) noexcept
    int rd_kafka_ConsumerGroupDescription_is_simple_consumer_group(
        const rd_kafka_ConsumerGroupDescription_t *grpdesc) noexcept
    const char *rd_kafka_ConsumerGroupDescription_partition_assignor(
        const rd_kafka_ConsumerGroupDescription_t *grpdesc) noexcept
    const rd_kafka_AclOperation_t *rd_kafka_ConsumerGroupDescription_authorized_operations(
        const rd_kafka_ConsumerGroupDescription_t *grpdesc, size_t *cntp) noexcept
    rd_kafka_consumer_group_state_t rd_kafka_ConsumerGroupDescription_state(
        const rd_kafka_ConsumerGroupDescription_t *grpdesc) noexcept
    const rd_kafka_Node_t *rd_kafka_ConsumerGroupDescription_coordinator(
        const rd_kafka_ConsumerGroupDescription_t *grpdesc) noexcept
    rd_kafka_consumer_group_type_t rd_kafka_ConsumerGroupDescription_type(
        const rd_kafka_ConsumerGroupDescription_t *grpdesc) noexcept
    size_t rd_kafka_ConsumerGroupDescription_member_count(const rd_kafka_ConsumerGroupDescription_t *grpdesc) noexcept
    const rd_kafka_MemberDescription_t *rd_kafka_ConsumerGroupDescription_member(
        const rd_kafka_ConsumerGroupDescription_t *grpdesc, size_t idx) noexcept
    const char *rd_kafka_MemberDescription_client_id(const rd_kafka_MemberDescription_t *member) noexcept
    const char *rd_kafka_MemberDescription_group_instance_id(const rd_kafka_MemberDescription_t *member) noexcept
    const char *rd_kafka_MemberDescription_consumer_id(const rd_kafka_MemberDescription_t *member) noexcept
    const char *rd_kafka_MemberDescription_host(const rd_kafka_MemberDescription_t *member) noexcept
    const rd_kafka_MemberAssignment_t *rd_kafka_MemberDescription_assignment(
        const rd_kafka_MemberDescription_t *member) noexcept
    const rd_kafka_topic_partition_list_t *rd_kafka_MemberAssignment_partitions(
        const rd_kafka_MemberAssignment_t *assignment) noexcept
    const rd_kafka_MemberAssignment_t *rd_kafka_MemberDescription_target_assignment(
        const rd_kafka_MemberDescription_t *member) noexcept
    rd_kafka_DeleteGroup_t *rd_kafka_DeleteGroup_new(const char *group) noexcept
    void rd_kafka_DeleteGroup_destroy(rd_kafka_DeleteGroup_t *del_group) noexcept
    void rd_kafka_DeleteGroups(
        rd_kafka_t *rk, rd_kafka_DeleteGroup_t **del_groups, size_t del_group_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_group_result_t **rd_kafka_DeleteGroups_result_groups(
        const rd_kafka_DeleteGroups_result_t *result, size_t *cntp) noexcept
    rd_kafka_ListConsumerGroupOffsets_t *rd_kafka_ListConsumerGroupOffsets_new(
        const char *group_id, const rd_kafka_topic_partition_list_t *partitions) noexcept
    void rd_kafka_ListConsumerGroupOffsets_destroy(rd_kafka_ListConsumerGroupOffsets_t *list_grpoffsets) noexcept
    void rd_kafka_ListConsumerGroupOffsets(
        rd_kafka_t *rk, rd_kafka_ListConsumerGroupOffsets_t **list_grpoffsets, size_t list_grpoffsets_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_group_result_t **rd_kafka_ListConsumerGroupOffsets_result_groups(
        const rd_kafka_ListConsumerGroupOffsets_result_t *result, size_t *cntp) noexcept
    rd_kafka_AlterConsumerGroupOffsets_t *rd_kafka_AlterConsumerGroupOffsets_new(
        const char *group_id, const rd_kafka_topic_partition_list_t *partitions) noexcept
    void rd_kafka_AlterConsumerGroupOffsets_destroy(rd_kafka_AlterConsumerGroupOffsets_t *alter_grpoffsets) noexcept
    void rd_kafka_AlterConsumerGroupOffsets(
        rd_kafka_t *rk, rd_kafka_AlterConsumerGroupOffsets_t **alter_grpoffsets, size_t alter_grpoffsets_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_group_result_t **rd_kafka_AlterConsumerGroupOffsets_result_groups(
        const rd_kafka_AlterConsumerGroupOffsets_result_t *result, size_t *cntp) noexcept
    rd_kafka_DeleteConsumerGroupOffsets_t *rd_kafka_DeleteConsumerGroupOffsets_new(
        const char *group, const rd_kafka_topic_partition_list_t *partitions) noexcept
    void rd_kafka_DeleteConsumerGroupOffsets_destroy(rd_kafka_DeleteConsumerGroupOffsets_t *del_grpoffsets) noexcept
    void rd_kafka_DeleteConsumerGroupOffsets(
        rd_kafka_t *rk, rd_kafka_DeleteConsumerGroupOffsets_t **del_grpoffsets, size_t del_grpoffsets_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_group_result_t **rd_kafka_DeleteConsumerGroupOffsets_result_groups(
        const rd_kafka_DeleteConsumerGroupOffsets_result_t *result, size_t *cntp) noexcept
    const rd_kafka_topic_partition_t *rd_kafka_ListOffsetsResultInfo_topic_partition(
        const rd_kafka_ListOffsetsResultInfo_t *result_info) noexcept
    int64_t rd_kafka_ListOffsetsResultInfo_timestamp(const rd_kafka_ListOffsetsResultInfo_t *result_info) noexcept
    const rd_kafka_ListOffsetsResultInfo_t **rd_kafka_ListOffsets_result_infos(
        const rd_kafka_ListOffsets_result_t *result, size_t *cntp) noexcept
    void rd_kafka_ListOffsets(
        rd_kafka_t *rk, rd_kafka_topic_partition_list_t *topic_partitions,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    rd_kafka_ScramMechanism_t rd_kafka_ScramCredentialInfo_mechanism(
        const rd_kafka_ScramCredentialInfo_t *scram_credential_info) noexcept
    int32_t rd_kafka_ScramCredentialInfo_iterations(
        const rd_kafka_ScramCredentialInfo_t *scram_credential_info) noexcept
    const char *rd_kafka_UserScramCredentialsDescription_user(
        const rd_kafka_UserScramCredentialsDescription_t *description) noexcept
    const rd_kafka_error_t *rd_kafka_UserScramCredentialsDescription_error(
        const rd_kafka_UserScramCredentialsDescription_t *description) noexcept
    size_t rd_kafka_UserScramCredentialsDescription_scramcredentialinfo_count(
        const rd_kafka_UserScramCredentialsDescription_t *description) noexcept
    const rd_kafka_ScramCredentialInfo_t *rd_kafka_UserScramCredentialsDescription_scramcredentialinfo(
        const rd_kafka_UserScramCredentialsDescription_t *description, size_t idx) noexcept
    const rd_kafka_UserScramCredentialsDescription_t **rd_kafka_DescribeUserScramCredentials_result_descriptions(
        const rd_kafka_DescribeUserScramCredentials_result_t *result, size_t *cntp) noexcept
    void rd_kafka_DescribeUserScramCredentials(
        rd_kafka_t *rk, const char **users, size_t user_cnt, const rd_kafka_AdminOptions_t *options,
        rd_kafka_queue_t *rkqu) noexcept
    rd_kafka_UserScramCredentialAlteration_t *rd_kafka_UserScramCredentialUpsertion_new(
        const char *username, rd_kafka_ScramMechanism_t mechanism, int32_t iterations,
        const unsigned char *password, size_t password_size, const unsigned char *salt, size_t salt_size) noexcept
    rd_kafka_UserScramCredentialAlteration_t *rd_kafka_UserScramCredentialDeletion_new(
        const char *username, rd_kafka_ScramMechanism_t mechanism) noexcept
    void rd_kafka_UserScramCredentialAlteration_destroy(rd_kafka_UserScramCredentialAlteration_t *alteration) noexcept
    const char *rd_kafka_AlterUserScramCredentials_result_response_user(
        const rd_kafka_AlterUserScramCredentials_result_response_t *response) noexcept
    const rd_kafka_error_t *rd_kafka_AlterUserScramCredentials_result_response_error(
        const rd_kafka_AlterUserScramCredentials_result_response_t *response) noexcept
    const rd_kafka_AlterUserScramCredentials_result_response_t **rd_kafka_AlterUserScramCredentials_result_responses(
        const rd_kafka_AlterUserScramCredentials_result_t *result, size_t *cntp) noexcept
    void rd_kafka_AlterUserScramCredentials(
        rd_kafka_t *rk, rd_kafka_UserScramCredentialAlteration_t **alterations, size_t alteration_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_error_t *rd_kafka_acl_result_error(const rd_kafka_acl_result_t *aclres) noexcept
    rd_kafka_AclBinding_t *rd_kafka_AclBinding_new(
        rd_kafka_ResourceType_t restype, const char *name, rd_kafka_ResourcePatternType_t resource_pattern_type,
        const char *principal, const char *host, rd_kafka_AclOperation_t operation,
        rd_kafka_AclPermissionType_t permission_type, char *errstr, size_t errstr_size) noexcept
    rd_kafka_AclBindingFilter_t *rd_kafka_AclBindingFilter_new(
        rd_kafka_ResourceType_t restype, const char *name, rd_kafka_ResourcePatternType_t resource_pattern_type,
        const char *principal, const char *host, rd_kafka_AclOperation_t operation,
        rd_kafka_AclPermissionType_t permission_type, char *errstr, size_t errstr_size) noexcept
    rd_kafka_ResourceType_t rd_kafka_AclBinding_restype(const rd_kafka_AclBinding_t *acl) noexcept
    const char *rd_kafka_AclBinding_name(const rd_kafka_AclBinding_t *acl) noexcept
    const char *rd_kafka_AclBinding_principal(const rd_kafka_AclBinding_t *acl) noexcept
    const char *rd_kafka_AclBinding_host(const rd_kafka_AclBinding_t *acl) noexcept
    rd_kafka_AclOperation_t rd_kafka_AclBinding_operation(const rd_kafka_AclBinding_t *acl) noexcept
    rd_kafka_AclPermissionType_t rd_kafka_AclBinding_permission_type(const rd_kafka_AclBinding_t *acl) noexcept
    rd_kafka_ResourcePatternType_t rd_kafka_AclBinding_resource_pattern_type(
        const rd_kafka_AclBinding_t *acl) noexcept
    void rd_kafka_AclBinding_destroy(rd_kafka_AclBinding_t *acl_binding) noexcept
    const rd_kafka_acl_result_t **rd_kafka_CreateAcls_result_acls(
        const rd_kafka_CreateAcls_result_t *result, size_t *cntp) noexcept
    void rd_kafka_CreateAcls(
        rd_kafka_t *rk, rd_kafka_AclBinding_t **new_acls, size_t new_acls_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_AclBinding_t **rd_kafka_DescribeAcls_result_acls(
        const rd_kafka_DescribeAcls_result_t *result, size_t *cntp) noexcept
    void rd_kafka_DescribeAcls(
        rd_kafka_t *rk, rd_kafka_AclBindingFilter_t *acl_filter, const rd_kafka_AdminOptions_t *options,
        rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_DeleteAcls_result_response_t **rd_kafka_DeleteAcls_result_responses(
        const rd_kafka_DeleteAcls_result_t *result, size_t *cntp) noexcept
    const rd_kafka_error_t *rd_kafka_DeleteAcls_result_response_error(
        const rd_kafka_DeleteAcls_result_response_t *result_response) noexcept
    const rd_kafka_AclBinding_t **rd_kafka_DeleteAcls_result_response_matching_acls(
        const rd_kafka_DeleteAcls_result_response_t *result_response, size_t *matching_acls_cntp) noexcept
    void rd_kafka_DeleteAcls(
        rd_kafka_t *rk, rd_kafka_AclBindingFilter_t **del_acls, size_t del_acls_cnt,
        const rd_kafka_AdminOptions_t *options, rd_kafka_queue_t *rkqu) noexcept
    rd_kafka_ElectLeaders_t *rd_kafka_ElectLeaders_new(
        rd_kafka_ElectionType_t election_type, rd_kafka_topic_partition_list_t *partitions) noexcept
    void rd_kafka_ElectLeaders_destroy(rd_kafka_ElectLeaders_t *elect_leaders) noexcept
    void rd_kafka_ElectLeaders(
        rd_kafka_t *rk, rd_kafka_ElectLeaders_t *elect_leaders, const rd_kafka_AdminOptions_t *options,
        rd_kafka_queue_t *rkqu) noexcept
    const rd_kafka_topic_partition_result_t **rd_kafka_ElectLeaders_result_partitions(
        const rd_kafka_ElectLeaders_result_t *result, size_t *cntp) noexcept
    int rd_kafka_Node_id(const rd_kafka_Node_t *node) noexcept
    const char *rd_kafka_Node_host(const rd_kafka_Node_t *node) noexcept
    uint16_t rd_kafka_Node_port(const rd_kafka_Node_t *node) noexcept
    const char *rd_kafka_Node_rack(const rd_kafka_Node_t *node) noexcept
    void *rd_kafka_event_opaque(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_AlterConfigs_result_t *rd_kafka_event_AlterConfigs_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_AlterConsumerGroupOffsets_result_t *rd_kafka_event_AlterConsumerGroupOffsets_result(
        rd_kafka_event_t *rkev) noexcept
    const rd_kafka_AlterUserScramCredentials_result_t *rd_kafka_event_AlterUserScramCredentials_result(
        rd_kafka_event_t *rkev) noexcept
    const rd_kafka_CreateAcls_result_t *rd_kafka_event_CreateAcls_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_CreatePartitions_result_t *rd_kafka_event_CreatePartitions_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_CreateTopics_result_t *rd_kafka_event_CreateTopics_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_DeleteAcls_result_t *rd_kafka_event_DeleteAcls_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_DeleteConsumerGroupOffsets_result_t *rd_kafka_event_DeleteConsumerGroupOffsets_result(
        rd_kafka_event_t *rkev) noexcept
    const rd_kafka_DeleteGroups_result_t *rd_kafka_event_DeleteGroups_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_DeleteRecords_result_t *rd_kafka_event_DeleteRecords_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_DeleteTopics_result_t *rd_kafka_event_DeleteTopics_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_DescribeAcls_result_t *rd_kafka_event_DescribeAcls_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_DescribeCluster_result_t *rd_kafka_event_DescribeCluster_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_DescribeConfigs_result_t *rd_kafka_event_DescribeConfigs_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_DescribeConsumerGroups_result_t *rd_kafka_event_DescribeConsumerGroups_result(
        rd_kafka_event_t *rkev) noexcept
    const rd_kafka_DescribeTopics_result_t *rd_kafka_event_DescribeTopics_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_DescribeUserScramCredentials_result_t *rd_kafka_event_DescribeUserScramCredentials_result(
        rd_kafka_event_t *rkev) noexcept
    const rd_kafka_ElectLeaders_result_t *rd_kafka_event_ElectLeaders_result(rd_kafka_event_t *rkev) noexcept
    const rd_kafka_IncrementalAlterConfigs_result_t *rd_kafka_event_IncrementalAlterConfigs_result(
        rd_kafka_event_t *rkev) noexcept
    const rd_kafka_ListConsumerGroupOffsets_result_t *rd_kafka_event_ListConsumerGroupOffsets_result(
        rd_kafka_event_t *rkev) noexcept
    const rd_kafka_ListConsumerGroups_result_t *rd_kafka_event_ListConsumerGroups_result(
        rd_kafka_event_t *rkev) noexcept
    const rd_kafka_ListOffsets_result_t *rd_kafka_event_ListOffsets_result(rd_kafka_event_t *rkev) noexcept
