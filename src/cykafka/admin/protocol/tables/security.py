"""Authentication, access control, users, delegation tokens and quotas."""

TABLE = """
17 SaslHandshake 0-1
request
  mechanism string
response
  error_code int16
  mechanisms []string

36 SaslAuthenticate 0-2 flexible 2+
request
  auth_bytes bytes
response
  error_code int16
  error_message string?
  auth_bytes bytes
  session_lifetime_ms int64 @1+

29 DescribeAcls 1-3 flexible 2+
request
  resource_type_filter int8
  resource_name_filter string?
  pattern_type_filter int8 = 3
  principal_filter string?
  host_filter string?
  operation int8
  permission_type int8
response
  throttle_time_ms int32
  error_code int16
  error_message string?
  resources []
    resource_type int8
    resource_name string
    pattern_type int8 = 3
    acls []
      principal string
      host string
      operation int8
      permission_type int8

30 CreateAcls 1-3 flexible 2+
request
  creations []
    resource_type int8
    resource_name string
    resource_pattern_type int8 = 3
    principal string
    host string
    operation int8
    permission_type int8
response
  throttle_time_ms int32
  results []
    error_code int16
    error_message string?

31 DeleteAcls 1-3 flexible 2+
request
  filters []
    resource_type_filter int8
    resource_name_filter string?
    pattern_type_filter int8 = 3
    principal_filter string?
    host_filter string?
    operation int8
    permission_type int8
response
  throttle_time_ms int32
  filter_results []
    error_code int16
    error_message string?
    matching_acls []
      error_code int16
      error_message string?
      resource_type int8
      resource_name string
      pattern_type int8 = 3
      principal string
      host string
      operation int8
      permission_type int8

50 DescribeUserScramCredentials 0-0 flexible 0+
request
  users []?
    name string
response
  throttle_time_ms int32
  error_code int16
  error_message string?
  results []
    user string
    error_code int16
    error_message string?
    credential_infos []
      mechanism int8
      iterations int32

51 AlterUserScramCredentials 0-0 flexible 0+
request
  deletions []
    name string
    mechanism int8
  upsertions []
    name string
    mechanism int8
    iterations int32
    salt bytes
    salted_password bytes
response
  throttle_time_ms int32
  results []
    user string
    error_code int16
    error_message string?

38 CreateDelegationToken 1-3 flexible 2+
request
  owner_principal_type string? @3+
  owner_principal_name string? @3+
  renewers []
    principal_type string
    principal_name string
  max_lifetime_ms int64
response
  error_code int16
  principal_type string
  principal_name string
  token_requester_principal_type string @3+
  token_requester_principal_name string @3+
  issue_timestamp_ms int64
  expiry_timestamp_ms int64
  max_timestamp_ms int64
  token_id string
  hmac bytes
  throttle_time_ms int32

39 RenewDelegationToken 1-2 flexible 2+
request
  hmac bytes
  renew_period_ms int64
response
  error_code int16
  expiry_timestamp_ms int64
  throttle_time_ms int32

40 ExpireDelegationToken 1-2 flexible 2+
request
  hmac bytes
  expiry_time_period_ms int64
response
  error_code int16
  expiry_timestamp_ms int64
  throttle_time_ms int32

41 DescribeDelegationToken 1-3 flexible 2+
request
  owners []?
    principal_type string
    principal_name string
response
  error_code int16
  tokens []
    principal_type string
    principal_name string
    token_requester_principal_type string @3+
    token_requester_principal_name string @3+
    issue_timestamp int64
    expiry_timestamp int64
    max_timestamp int64
    token_id string
    hmac bytes
    renewers []
      principal_type string
      principal_name string
  throttle_time_ms int32

48 DescribeClientQuotas 0-1 flexible 1+
request
  components []
    entity_type string
    match_type int8
    match string?
  strict bool
response
  throttle_time_ms int32
  error_code int16
  error_message string?
  entries []?
    entity []
      entity_type string
      entity_name string?
    values []
      key string
      value float64

49 AlterClientQuotas 0-1 flexible 1+
request
  entries []
    entity []
      entity_type string
      entity_name string?
    ops []
      key string
      value float64
      remove bool
  validate_only bool
response
  throttle_time_ms int32
  entries []
    error_code int16
    error_message string?
    entity []
      entity_type string
      entity_name string?
"""
