"""Brokers, controllers, replicas, features and telemetry."""

TABLE = """
18 ApiVersions 0-4 flexible 3+
request
  client_software_name string @3+
  client_software_version string @3+
response
  error_code int16
  api_keys []
    api_key int16
    min_version int16
    max_version int16
  throttle_time_ms int32 @1+
  supported_features [] @3+ #0
    name string
    min_version int16
    max_version int16
  finalized_features_epoch int64 @3+ #1 = -1
  finalized_features [] @3+ #2
    name string
    max_version_level int16
    min_version_level int16
  zk_migration_ready bool @3+ #3

60 DescribeCluster 0-2 flexible 0+
request
  include_cluster_authorized_operations bool
  endpoint_type int8 @1+ = 1
  include_fenced_brokers bool @2+
response
  throttle_time_ms int32
  error_code int16
  error_message string? = null
  endpoint_type int8 @1+ = 1
  cluster_id string
  controller_id int32 = -1
  brokers []
    broker_id int32
    host string
    port int32
    rack string? = null
    is_fenced bool @2+
  cluster_authorized_operations int32 = -2147483648

55 DescribeQuorum 0-2 flexible 0+
request
  topics []
    topic_name string
    partitions []
      partition_index int32
response
  error_code int16
  error_message string? @2+
  topics []
    topic_name string
    partitions []
      partition_index int32
      error_code int16
      error_message string? @2+
      leader_id int32
      leader_epoch int32
      high_watermark int64
      current_voters []
        replica_id int32
        replica_directory_id uuid @2+
        log_end_offset int64
        last_fetch_timestamp int64 @1+ = -1
        last_caught_up_timestamp int64 @1+ = -1
      observers []
        replica_id int32
        replica_directory_id uuid @2+
        log_end_offset int64
        last_fetch_timestamp int64 @1+ = -1
        last_caught_up_timestamp int64 @1+ = -1
  nodes [] @2+
    node_id int32
    listeners []
      name string
      host string
      port uint16

80 AddRaftVoter 0-1 flexible 0+
request
  cluster_id string?
  timeout_ms int32
  voter_id int32
  voter_directory_id uuid
  listeners []
    name string
    host string
    port uint16
  ack_when_committed bool @1+ = true
response
  throttle_time_ms int32
  error_code int16
  error_message string?

81 RemoveRaftVoter 0-0 flexible 0+
request
  cluster_id string?
  voter_id int32
  voter_directory_id uuid
response
  throttle_time_ms int32
  error_code int16
  error_message string?

64 UnregisterBroker 0-0 flexible 0+
request
  broker_id int32
response
  throttle_time_ms int32
  error_code int16
  error_message string?

57 UpdateFeatures 0-2 flexible 0+
request
  timeout_ms int32 = 60000
  feature_updates []
    feature string
    max_version_level int16
    upgrade_type int8 @1+ = 1
    allow_downgrade bool @0
  validate_only bool @1+
response
  throttle_time_ms int32
  error_code int16
  error_message string?
  results [] @0-1
    feature string
    error_code int16
    error_message string?

43 ElectLeaders 0-2 flexible 2+
request
  election_type int8 @1+
  topic_partitions []?
    topic string
    partitions []int32
  timeout_ms int32 = 60000
response
  throttle_time_ms int32
  error_code int16 @1+
  replica_election_results []
    topic string
    partition_result []
      partition_id int32
      error_code int16
      error_message string?

45 AlterPartitionReassignments 0-1 flexible 0+
request
  timeout_ms int32 = 60000
  allow_replication_factor_change bool @1+ = true
  topics []
    name string
    partitions []
      partition_index int32
      replicas []int32? = null
response
  throttle_time_ms int32
  allow_replication_factor_change bool @1+ = true
  error_code int16
  error_message string?
  responses []
    name string
    partitions []
      partition_index int32
      error_code int16
      error_message string?

46 ListPartitionReassignments 0-0 flexible 0+
request
  timeout_ms int32 = 60000
  topics []? = null
    name string
    partition_indexes []int32
response
  throttle_time_ms int32
  error_code int16
  error_message string?
  topics []
    name string
    partitions []
      partition_index int32
      replicas []int32
      adding_replicas []int32
      removing_replicas []int32

34 AlterReplicaLogDirs 1-2 flexible 2+
request
  dirs []
    path string
    topics []
      name string
      partitions []int32
response
  throttle_time_ms int32
  results []
    topic_name string
    partitions []
      partition_index int32
      error_code int16

35 DescribeLogDirs 1-5 flexible 2+
request
  topics []?
    topic string
    partitions []int32
response
  throttle_time_ms int32
  error_code int16 @3+
  results []
    error_code int16
    log_dir string
    topics []
      name string
      partitions []
        partition_index int32
        partition_size int64
        offset_lag int64
        is_future_key bool
    total_bytes int64 @4+ = -1
    usable_bytes int64 @4+ = -1
    is_cordoned bool @5+

71 GetTelemetrySubscriptions 0-0 flexible 0+
request
  client_instance_id uuid
response
  throttle_time_ms int32
  error_code int16
  client_instance_id uuid
  subscription_id int32
  accepted_compression_types []int8
  push_interval_ms int32
  telemetry_max_bytes int32
  delta_temporality bool
  requested_metrics []string

72 PushTelemetry 0-0 flexible 0+
request
  client_instance_id uuid
  subscription_id int32
  terminating bool
  compression_type int8
  metrics bytes
response
  throttle_time_ms int32
  error_code int16
"""
