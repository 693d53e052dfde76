"""Records, offsets and topic metadata."""

TABLE = """
0 Produce 3-13 flexible 9+
request
  transactional_id string? = null
  acks int16
  timeout_ms int32
  topic_data []
    topic_id uuid @13+
    name string @3-12
    partition_data []
      index int32
      records records? = null
response
  responses []
    topic_id uuid @13+
    name string @3-12
    partition_responses []
      index int32
      error_code int16
      base_offset int64
      log_append_time_ms int64 = -1
      log_start_offset int64 @5+ = -1
      record_errors [] @8+
        batch_index int32
        batch_index_error_message string? = null
      error_message string? @8+ = null
      current_leader {} @10+ #0
        leader_id int32 = -1
        leader_epoch int32 = -1
  throttle_time_ms int32
  node_endpoints [] @10+ #0
    node_id int32
    host string
    port int32
    rack string? = null

1 Fetch 4-18 flexible 12+
request
  replica_id int32 @4-14 = -1
  max_wait_ms int32
  min_bytes int32
  max_bytes int32 = 2147483647
  isolation_level int8
  session_id int32 @7+
  session_epoch int32 @7+ = -1
  topics []
    topic_id uuid @13+
    topic string @4-12
    partitions []
      partition int32
      current_leader_epoch int32 @9+ = -1
      fetch_offset int64
      last_fetched_epoch int32 @12+ = -1
      log_start_offset int64 @5+ = -1
      partition_max_bytes int32
      replica_directory_id uuid @17+ #0
      high_watermark int64 @18+ #1 = 9223372036854775807
  forgotten_topics_data [] @7+
    topic_id uuid @13+
    topic string @7-12
    partitions []int32
  rack_id string @11+
  cluster_id string? @12+ #0 = null
  replica_state {} @15+ #1
    replica_id int32 = -1
    replica_epoch int64 = -1
response
  throttle_time_ms int32
  error_code int16 @7+
  session_id int32 @7+
  responses []
    topic_id uuid @13+
    topic string @4-12
    partitions []
      partition_index int32
      error_code int16
      high_watermark int64
      last_stable_offset int64 = -1
      log_start_offset int64 @5+ = -1
      aborted_transactions []?
        producer_id int64
        first_offset int64
      preferred_read_replica int32 @11+ = -1
      records records? = null
      diverging_epoch {} @12+ #0
        epoch int32 = -1
        end_offset int64 = -1
      current_leader {} @12+ #1
        leader_id int32 = -1
        leader_epoch int32 = -1
      snapshot_id {} @12+ #2
        end_offset int64 = -1
        epoch int32 = -1
  node_endpoints [] @16+ #0
    node_id int32
    host string
    port int32
    rack string? = null

2 ListOffsets 1-11 flexible 6+
request
  replica_id int32
  isolation_level int8 @2+
  topics []
    name string
    partitions []
      partition_index int32
      current_leader_epoch int32 @4+ = -1
      timestamp int64
  timeout_ms int32 @10+
response
  throttle_time_ms int32 @2+
  topics []
    name string
    partitions []
      partition_index int32
      error_code int16
      timestamp int64 = -1
      offset int64 = -1
      leader_epoch int32 @4+ = -1

3 Metadata 0-13 flexible 9+
request
  topics []?1+
    topic_id uuid @10+
    name string?10+
  allow_auto_topic_creation bool @4+ = true
  include_cluster_authorized_operations bool @8-10
  include_topic_authorized_operations bool @8+
response
  throttle_time_ms int32 @3+
  brokers []
    node_id int32
    host string
    port int32
    rack string? @1+ = null
  cluster_id string? @2+ = null
  controller_id int32 @1+ = -1
  topics []
    error_code int16
    name string?12+
    topic_id uuid @10+
    is_internal bool @1+
    partitions []
      error_code int16
      partition_index int32
      leader_id int32
      leader_epoch int32 @7+ = -1
      replica_nodes []int32
      isr_nodes []int32
      offline_replicas []int32 @5+
    topic_authorized_operations int32 @8+ = -2147483648
  error_code int16 @13+
  cluster_authorized_operations int32 @8-10 = -2147483648

23 OffsetForLeaderEpoch 2-4 flexible 4+
request
  replica_id int32 @3+ = -2
  topics []
    topic string
    partitions []
      partition int32
      current_leader_epoch int32 = -1
      leader_epoch int32
response
  throttle_time_ms int32
  topics []
    topic string
    partitions []
      error_code int16
      partition int32
      leader_epoch int32 = -1
      end_offset int64 = -1

21 DeleteRecords 0-2 flexible 2+
request
  topics []
    name string
    partitions []
      partition_index int32
      offset int64
  timeout_ms int32
response
  throttle_time_ms int32
  topics []
    name string
    partitions []
      partition_index int32
      low_watermark int64
      error_code int16

75 DescribeTopicPartitions 0-0 flexible 0+
request
  topics []
    name string
  response_partition_limit int32 = 2000
  cursor {}? = null
    topic_name string
    partition_index int32
response
  throttle_time_ms int32
  topics []
    error_code int16
    name string?
    topic_id uuid
    is_internal bool
    partitions []
      error_code int16
      partition_index int32
      leader_id int32
      leader_epoch int32 = -1
      replica_nodes []int32
      isr_nodes []int32
      eligible_leader_replicas []int32? = null
      last_known_elr []int32? = null
      offline_replicas []int32
    topic_authorized_operations int32 = -2147483648
  next_cursor {}? = null
    topic_name string
    partition_index int32

74 ListConfigResources 0-1 flexible 0+
request
  resource_types []int8 @1+
response
  throttle_time_ms int32
  error_code int16
  config_resources []
    resource_name string
    resource_type int8 @1+ = 16

32 DescribeConfigs 1-4 flexible 4+
request
  resources []
    resource_type int8
    resource_name string
    configuration_keys []string?
  include_synonyms bool
  include_documentation bool @3+
response
  throttle_time_ms int32
  results []
    error_code int16
    error_message string?
    resource_type int8
    resource_name string
    configs []
      name string
      value string?
      read_only bool
      config_source int8 = -1
      is_sensitive bool
      synonyms []
        name string
        value string?
        source int8
      config_type int8 @3+
      documentation string? @3+

33 AlterConfigs 0-2 flexible 2+
request
  resources []
    resource_type int8
    resource_name string
    configs []
      name string
      value string?
  validate_only bool
response
  throttle_time_ms int32
  responses []
    error_code int16
    error_message string?
    resource_type int8
    resource_name string

44 IncrementalAlterConfigs 0-1 flexible 1+
request
  resources []
    resource_type int8
    resource_name string
    configs []
      name string
      config_operation int8
      value string?
  validate_only bool
response
  throttle_time_ms int32
  responses []
    error_code int16
    error_message string?
    resource_type int8
    resource_name string

19 CreateTopics 2-7 flexible 5+
request
  topics []
    name string
    num_partitions int32
    replication_factor int16
    assignments []
      partition_index int32
      broker_ids []int32
    configs []
      name string
      value string?
  timeout_ms int32 = 60000
  validate_only bool
response
  throttle_time_ms int32
  topics []
    name string
    topic_id uuid @7+
    error_code int16
    error_message string?
    num_partitions int32 @5+ = -1
    replication_factor int16 @5+ = -1
    configs []? @5+
      name string
      value string?
      read_only bool
      config_source int8 = -1
      is_sensitive bool
    topic_config_error_code int16 @5+ #0

20 DeleteTopics 1-6 flexible 4+
request
  topics [] @6+
    name string? = null
    topic_id uuid
  topic_names []string @1-5
  timeout_ms int32
response
  throttle_time_ms int32
  responses []
    name string?6+
    topic_id uuid @6+
    error_code int16
    error_message string? @5+ = null

37 CreatePartitions 0-3 flexible 2+
request
  topics []
    name string
    count int32
    assignments []?
      broker_ids []int32
  timeout_ms int32
  validate_only bool
response
  throttle_time_ms int32
  results []
    name string
    error_code int16
    error_message string? = null
"""
