"""Consumer, share and streams groups."""

TABLE = """
8 OffsetCommit 2-10 flexible 8+
request
  group_id string
  generation_id_or_member_epoch int32 = -1
  member_id string
  group_instance_id string? @7+ = null
  retention_time_ms int64 @2-4 = -1
  topics []
    topic_id uuid @10+
    name string @2-9
    partitions []
      partition_index int32
      committed_offset int64
      committed_leader_epoch int32 @6+ = -1
      committed_metadata string?
response
  throttle_time_ms int32 @3+
  topics []
    topic_id uuid @10+
    name string @2-9
    partitions []
      partition_index int32
      error_code int16

9 OffsetFetch 1-10 flexible 6+
request
  groups [] @8+
    group_id string
    member_id string? @9+ = null
    member_epoch int32 @9+ = -1
    topics []?
      topic_id uuid @10+
      name string @8-9
      partition_indexes []int32
  group_id string @1-7
  topics []?2-7 @1-7
    name string
    partition_indexes []int32
  require_stable bool @7+
response
  throttle_time_ms int32 @3+
  groups [] @8+
    group_id string
    topics []
      topic_id uuid @10+
      name string @8-9
      partitions []
        partition_index int32
        committed_offset int64
        committed_leader_epoch int32 = -1
        metadata string?
        error_code int16
    error_code int16
  topics [] @1-7
    name string
    partitions []
      partition_index int32
      committed_offset int64
      committed_leader_epoch int32 @5-7 = -1
      metadata string?
      error_code int16
  error_code int16 @2-7

47 OffsetDelete 0-0
request
  group_id string
  topics []
    name string
    partitions []
      partition_index int32
response
  error_code int16
  throttle_time_ms int32
  topics []
    name string
    partitions []
      partition_index int32
      error_code int16

10 FindCoordinator 0-6 flexible 3+
request
  key string @0-3
  key_type int8 @1+
  coordinator_keys []string @4+
response
  throttle_time_ms int32 @1+
  coordinators [] @4+
    key string
    node_id int32
    host string
    port int32
    error_code int16
    error_message string?
  error_code int16 @0-3
  error_message string? @1-3
  node_id int32 @0-3
  host string @0-3
  port int32 @0-3

11 JoinGroup 0-9 flexible 6+
request
  group_id string
  session_timeout_ms int32
  rebalance_timeout_ms int32 @1+ = -1
  member_id string
  group_instance_id string? @5+ = null
  protocol_type string
  protocols []
    name string
    metadata bytes
  reason string? @8+ = null
response
  throttle_time_ms int32 @2+
  error_code int16
  generation_id int32 = -1
  protocol_type string? @7+ = null
  protocol_name string?7+
  leader string
  skip_assignment bool @9+
  member_id string
  members []
    member_id string
    group_instance_id string? @5+ = null
    metadata bytes

12 Heartbeat 0-4 flexible 4+
request
  group_id string
  generation_id int32
  member_id string
  group_instance_id string? @3+ = null
response
  throttle_time_ms int32 @1+
  error_code int16

13 LeaveGroup 0-5 flexible 4+
request
  group_id string
  members [] @3+
    member_id string
    group_instance_id string? = null
    reason string? @5+ = null
  member_id string @0-2
response
  throttle_time_ms int32 @1+
  error_code int16
  members [] @3+
    member_id string
    group_instance_id string?
    error_code int16

14 SyncGroup 0-5 flexible 4+
request
  group_id string
  generation_id int32
  member_id string
  group_instance_id string? @3+ = null
  protocol_type string? @5+ = null
  protocol_name string? @5+ = null
  assignments []
    member_id string
    assignment bytes
response
  throttle_time_ms int32 @1+
  error_code int16
  protocol_type string? @5+ = null
  protocol_name string? @5+ = null
  assignment bytes

15 DescribeGroups 0-6 flexible 5+
request
  groups []string
  include_authorized_operations bool @3+
response
  throttle_time_ms int32 @1+
  groups []
    error_code int16
    error_message string? @6+ = null
    group_id string
    group_state string
    protocol_type string
    protocol_data string
    members []
      member_id string
      group_instance_id string? @4+ = null
      client_id string
      client_host string
      member_metadata bytes
      member_assignment bytes
    authorized_operations int32 @3+ = -2147483648

16 ListGroups 0-5 flexible 3+
request
  states_filter []string @4+
  types_filter []string @5+
response
  throttle_time_ms int32 @1+
  error_code int16
  groups []
    group_id string
    protocol_type string
    group_state string @4+
    group_type string @5+

42 DeleteGroups 0-2 flexible 2+
request
  groups_names []string
response
  throttle_time_ms int32
  results []
    group_id string
    error_code int16

68 ConsumerGroupHeartbeat 0-1 flexible 0+
request
  group_id string
  member_id string
  member_epoch int32
  instance_id string? = null
  rack_id string? = null
  rebalance_timeout_ms int32 = -1
  subscribed_topic_names []string? = null
  subscribed_topic_regex string? @1+ = null
  server_assignor string? = null
  topic_partitions []? = null
    topic_id uuid
    partitions []int32
response
  throttle_time_ms int32
  error_code int16
  error_message string? = null
  member_id string? = null
  member_epoch int32
  heartbeat_interval_ms int32
  assignment {}? = null
    topic_partitions []
      topic_id uuid
      partitions []int32

69 ConsumerGroupDescribe 0-1 flexible 0+
request
  group_ids []string
  include_authorized_operations bool
response
  throttle_time_ms int32
  groups []
    error_code int16
    error_message string? = null
    group_id string
    group_state string
    group_epoch int32
    assignment_epoch int32
    assignor_name string
    members []
      member_id string
      instance_id string? = null
      rack_id string? = null
      member_epoch int32
      client_id string
      client_host string
      subscribed_topic_names []string
      subscribed_topic_regex string? = null
      assignment {}
        topic_partitions []
          topic_id uuid
          topic_name string
          partitions []int32
      target_assignment {}
        topic_partitions []
          topic_id uuid
          topic_name string
          partitions []int32
      member_type int8 @1+ = -1
    authorized_operations int32 = -2147483648

88 StreamsGroupHeartbeat 0-0 flexible 0+
request
  group_id string
  member_id string
  member_epoch int32
  endpoint_information_epoch int32
  instance_id string? = null
  rack_id string? = null
  rebalance_timeout_ms int32 = -1
  topology {}? = null
    epoch int32
    subtopologies []
      subtopology_id string
      source_topics []string
      source_topic_regex []string
      state_changelog_topics []
        name string
        partitions int32
        replication_factor int16
        topic_configs []
          key string
          value string
      repartition_sink_topics []string
      repartition_source_topics []
        name string
        partitions int32
        replication_factor int16
        topic_configs []
          key string
          value string
      copartition_groups []
        source_topics []int16
        source_topic_regex []int16
        repartition_source_topics []int16
  active_tasks []? = null
    subtopology_id string
    partitions []int32
  standby_tasks []? = null
    subtopology_id string
    partitions []int32
  warmup_tasks []? = null
    subtopology_id string
    partitions []int32
  process_id string? = null
  user_endpoint {}? = null
    host string
    port uint16
  client_tags []? = null
    key string
    value string
  task_offsets []? = null
    subtopology_id string
    partition int32
    offset int64
  task_end_offsets []? = null
    subtopology_id string
    partition int32
    offset int64
  shutdown_application bool
response
  throttle_time_ms int32
  error_code int16
  error_message string? = null
  member_id string
  member_epoch int32
  heartbeat_interval_ms int32
  acceptable_recovery_lag int32
  task_offset_interval_ms int32
  status []?
    status_code int8
    status_detail string
  active_tasks []? = null
    subtopology_id string
    partitions []int32
  standby_tasks []? = null
    subtopology_id string
    partitions []int32
  warmup_tasks []? = null
    subtopology_id string
    partitions []int32
  endpoint_information_epoch int32
  partitions_by_user_endpoint []? = null
    user_endpoint {}
      host string
      port uint16
    active_partitions []
      topic string
      partitions []int32
    standby_partitions []
      topic string
      partitions []int32

89 StreamsGroupDescribe 0-0 flexible 0+
request
  group_ids []string
  include_authorized_operations bool
response
  throttle_time_ms int32
  groups []
    error_code int16
    error_message string? = null
    group_id string
    group_state string
    group_epoch int32
    assignment_epoch int32
    topology {}? = null
      epoch int32
      subtopologies []? = null
        subtopology_id string
        source_topics []string
        repartition_sink_topics []string
        state_changelog_topics []
          name string
          partitions int32
          replication_factor int16
          topic_configs []
            key string
            value string
        repartition_source_topics []
          name string
          partitions int32
          replication_factor int16
          topic_configs []
            key string
            value string
    members []
      member_id string
      member_epoch int32
      instance_id string? = null
      rack_id string? = null
      client_id string
      client_host string
      topology_epoch int32
      process_id string
      user_endpoint {}? = null
        host string
        port uint16
      client_tags []
        key string
        value string
      task_offsets []
        subtopology_id string
        partition int32
        offset int64
      task_end_offsets []
        subtopology_id string
        partition int32
        offset int64
      assignment {}
        active_tasks []
          subtopology_id string
          partitions []int32
        standby_tasks []
          subtopology_id string
          partitions []int32
        warmup_tasks []
          subtopology_id string
          partitions []int32
      target_assignment {}
        active_tasks []
          subtopology_id string
          partitions []int32
        standby_tasks []
          subtopology_id string
          partitions []int32
        warmup_tasks []
          subtopology_id string
          partitions []int32
      is_classic bool
    authorized_operations int32 = -2147483648
"""
