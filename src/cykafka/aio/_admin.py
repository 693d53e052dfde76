"""The asyncio admin client: the operations of `cykafka.admin.AdminClient`, with futures of asyncio."""

import asyncio
from collections.abc import Hashable, Iterable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from cykafka._model import ConsumerGroupTopicPartitions, ElectionType, TopicCollection
from cykafka._rdkafka import core
from cykafka._rdkafka.core import GroupMetadata, KafkaError, KafkaException, NewPartitions, NewTopic, TopicPartition
from cykafka.admin import (
    AclBinding,
    AclBindingFilter,
    ConfigEntry,
    ConfigResource,
    ConsumerGroupDescription,
    DeletedRecords,
    DescribeClusterResult,
    ListConsumerGroupsResult,
    ListOffsetsResultInfo,
    OffsetSpec,
    TopicDescription,
    UserScramCredentialAlteration,
)
from cykafka.admin import AdminClient as SyncAdminClient
from cykafka.admin import _operator_model as model
from cykafka.admin.protocol import Route
from cykafka.aio._client import Client

_K = TypeVar("_K", bound=Hashable)
_T = TypeVar("_T")


class AdminClient(Client):
    """Administers a cluster from asyncio: topics, configurations, groups, access control.

    The operations are those of `cykafka.admin.AdminClient`, with the same arguments, and return `asyncio.Future`: one,
    or one for each item. They are sent at once; futures that are not done when the client is closed fail with the code
    ``_DESTROY``. Results come by the loop; only operations that librdkafka lacks run on threads, at most four.

    Args:
        conf: Configuration properties of librdkafka by name, and the callbacks ``error_cb``, ``stats_cb``,
            ``throttle_cb``, ``oauth_cb`` and ``logger``. Callbacks may be coroutine functions.
        executor: Where the calls run that block (list_topics(), close()); a small one of the client's own by default.
        max_workers: Threads of that.
        **kwargs: More properties, with underscores for dots.

    The client belongs to the loop in which it is first used. What callbacks raise goes to the loop's exception handler.
    Close it before its loop ends, or use it in ``async with``.

    Raises:
        TypeError: If the configuration is not a dict, or a value has the wrong type.
        KafkaException: If librdkafka refuses a property or value.
    """

    _client: SyncAdminClient

    def __init__(
        self,
        conf: dict[str, Any] | None = None,
        *,
        executor: Executor | None = None,
        max_workers: int = 2,
        **kwargs: Any,
    ) -> None:
        merged = core.merge_config(() if conf is None else (conf,), kwargs, "AdminClient")
        super().__init__(SyncAdminClient, merged, executor, max_workers)
        # From now on the loop resolves the futures, and no thread.
        core.serve_results(self._client)

    def _ready(self) -> SyncAdminClient:
        self._open()
        return self._client

    def _one(self, future: "Future[_T]") -> "asyncio.Future[_T]":
        return asyncio.wrap_future(future, loop=self._loop)

    def _each(self, futures: "dict[_K, Future[_T]]") -> "dict[_K, asyncio.Future[_T]]":
        return {key: self._one(future) for key, future in futures.items()}

    def _any(self, result: Any) -> Any:
        return self._each(result) if isinstance(result, dict) else self._one(result)

    def _serve(self) -> None:
        if self._client.closed:
            return
        self._serve_tokens()
        try:
            core.serve_results(self._client)
            self._client.poll(0)
        except Exception as exc:  # noqa: BLE001 - whatever it is belongs to the loop's handler
            self._report("a callback", exc)
        if core.waiting(self._client) and self._loop is not None:
            self._loop.call_soon(self._serve)

    async def list_groups(self, group: str | None = None, timeout: float | None = -1) -> list[GroupMetadata]:
        """List and describe classic groups of any kind; deprecated, see list_consumer_groups()."""
        return await self._call(self._client.list_groups, group, timeout)

    async def set_sasl_credentials(self, username: str, password: str) -> None:
        """Change the credentials for connections made from now on; as `cykafka.admin.AdminClient`'s."""
        self._ready().set_sasl_credentials(username, password)

    async def _close(self) -> None:
        await self._call(self._client.close)
        await self._free()

    # Topics, configurations, groups, access control

    def create_topics(self, new_topics: list[NewTopic], **kwargs: Any) -> "dict[str, asyncio.Future[None]]":
        """Create topics; as `cykafka.admin.AdminClient.create_topics`."""
        return self._each(self._ready().create_topics(new_topics, **kwargs))

    def delete_topics(self, topics: list[str], **kwargs: Any) -> "dict[str, asyncio.Future[None]]":
        """Delete topics; as `cykafka.admin.AdminClient.delete_topics`."""
        return self._each(self._ready().delete_topics(topics, **kwargs))

    def create_partitions(
        self, new_partitions: list[NewPartitions], **kwargs: Any
    ) -> "dict[str, asyncio.Future[None]]":
        """Add partitions to topics; as `cykafka.admin.AdminClient.create_partitions`."""
        return self._each(self._ready().create_partitions(new_partitions, **kwargs))

    def describe_topics(self, topics: TopicCollection, **kwargs: Any) -> "dict[str, asyncio.Future[TopicDescription]]":
        """Describe topics; as `cykafka.admin.AdminClient.describe_topics`."""
        return self._each(self._ready().describe_topics(topics, **kwargs))

    def delete_records(
        self, topic_partition_offsets: list[TopicPartition], **kwargs: Any
    ) -> "dict[TopicPartition, asyncio.Future[DeletedRecords]]":
        """Delete the messages before an offset; as `cykafka.admin.AdminClient.delete_records`."""
        return self._each(self._ready().delete_records(topic_partition_offsets, **kwargs))

    def list_offsets(
        self, topic_partition_offsets: dict[TopicPartition, OffsetSpec], **kwargs: Any
    ) -> "dict[TopicPartition, asyncio.Future[ListOffsetsResultInfo]]":
        """Find offsets by position or time; as `cykafka.admin.AdminClient.list_offsets`."""
        return self._each(self._ready().list_offsets(topic_partition_offsets, **kwargs))

    def elect_leaders(
        self, election_type: ElectionType, partitions: list[TopicPartition] | None = None, **kwargs: Any
    ) -> "asyncio.Future[dict[TopicPartition, Any]]":
        """Elect leaders; as `cykafka.admin.AdminClient.elect_leaders`."""
        return self._one(self._ready().elect_leaders(election_type, partitions, **kwargs))

    def describe_configs(
        self, resources: list[ConfigResource], **kwargs: Any
    ) -> "dict[ConfigResource, asyncio.Future[dict[str, ConfigEntry]]]":
        """Describe the configuration of topics, brokers or groups.

        As `cykafka.admin.AdminClient.describe_configs`.
        """
        return self._each(self._ready().describe_configs(resources, **kwargs))

    def alter_configs(
        self, resources: list[ConfigResource], **kwargs: Any
    ) -> "dict[ConfigResource, asyncio.Future[None]]":
        """Replace the dynamic configuration of resources: what is not named goes back to its default.

        As `cykafka.admin.AdminClient.alter_configs`.
        """
        return self._each(self._ready().alter_configs(resources, **kwargs))

    def incremental_alter_configs(
        self, resources: list[ConfigResource], **kwargs: Any
    ) -> "dict[ConfigResource, asyncio.Future[None]]":
        """Change some of the configuration of resources (KIP-339).

        As `cykafka.admin.AdminClient.incremental_alter_configs`.
        """
        return self._each(self._ready().incremental_alter_configs(resources, **kwargs))

    def describe_cluster(self, **kwargs: Any) -> "asyncio.Future[DescribeClusterResult]":
        """Describe the cluster; as `cykafka.admin.AdminClient.describe_cluster`."""
        return self._one(self._ready().describe_cluster(**kwargs))

    def list_consumer_groups(self, **kwargs: Any) -> "asyncio.Future[ListConsumerGroupsResult]":
        """List consumer groups; as `cykafka.admin.AdminClient.list_consumer_groups`."""
        return self._one(self._ready().list_consumer_groups(**kwargs))

    def describe_consumer_groups(
        self, group_ids: list[str], **kwargs: Any
    ) -> "dict[str, asyncio.Future[ConsumerGroupDescription]]":
        """Describe consumer groups; as `cykafka.admin.AdminClient.describe_consumer_groups`."""
        return self._each(self._ready().describe_consumer_groups(group_ids, **kwargs))

    def delete_consumer_groups(self, group_ids: list[str], **kwargs: Any) -> "dict[str, asyncio.Future[None]]":
        """Delete groups that have no members; as `cykafka.admin.AdminClient.delete_consumer_groups`."""
        return self._each(self._ready().delete_consumer_groups(group_ids, **kwargs))

    def list_consumer_group_offsets(
        self, list_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions], **kwargs: Any
    ) -> "dict[str, asyncio.Future[ConsumerGroupTopicPartitions]]":
        """List the offsets that groups have committed.

        As `cykafka.admin.AdminClient.list_consumer_group_offsets`.
        """
        return self._each(self._ready().list_consumer_group_offsets(list_consumer_group_offsets_request, **kwargs))

    def alter_consumer_group_offsets(
        self, alter_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions], **kwargs: Any
    ) -> "dict[str, asyncio.Future[ConsumerGroupTopicPartitions]]":
        """Set the offsets of groups that have no members.

        As `cykafka.admin.AdminClient.alter_consumer_group_offsets`.
        """
        return self._each(self._ready().alter_consumer_group_offsets(alter_consumer_group_offsets_request, **kwargs))

    def delete_consumer_group_offsets(
        self, delete_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions], **kwargs: Any
    ) -> "dict[str, asyncio.Future[ConsumerGroupTopicPartitions]]":
        """Delete offsets committed for partitions to which no member is subscribed (KIP-496).

        As `cykafka.admin.AdminClient.delete_consumer_group_offsets`.
        """
        return self._each(self._ready().delete_consumer_group_offsets(delete_consumer_group_offsets_request, **kwargs))

    def create_acls(self, acls: list[AclBinding], **kwargs: Any) -> "dict[AclBinding, asyncio.Future[None]]":
        """Create access rules; as `cykafka.admin.AdminClient.create_acls`."""
        return self._each(self._ready().create_acls(acls, **kwargs))

    def describe_acls(self, acl_binding_filter: AclBindingFilter, **kwargs: Any) -> "asyncio.Future[list[AclBinding]]":
        """Find access rules; as `cykafka.admin.AdminClient.describe_acls`."""
        return self._one(self._ready().describe_acls(acl_binding_filter, **kwargs))

    def delete_acls(
        self, acl_binding_filters: list[AclBindingFilter], **kwargs: Any
    ) -> "dict[AclBindingFilter, asyncio.Future[list[AclBinding]]]":
        """Delete the access rules that filters match; as `cykafka.admin.AdminClient.delete_acls`."""
        return self._each(self._ready().delete_acls(acl_binding_filters, **kwargs))

    def describe_user_scram_credentials(self, users: list[str] | None = None, **kwargs: Any) -> "Any":
        """Describe the SCRAM credentials of users.

        As `cykafka.admin.AdminClient.describe_user_scram_credentials`.
        """
        return self._any(self._ready().describe_user_scram_credentials(users, **kwargs))

    def alter_user_scram_credentials(
        self, alterations: list[UserScramCredentialAlteration], **kwargs: Any
    ) -> "dict[str, asyncio.Future[None]]":
        """Set or delete SCRAM credentials of users.

        As `cykafka.admin.AdminClient.alter_user_scram_credentials`.
        """
        return self._each(self._ready().alter_user_scram_credentials(alterations, **kwargs))

    # What librdkafka has not: the cluster

    def request(
        self,
        name_or_api_key: str | int,
        body: Mapping[str, Any],
        *,
        version: int | None = None,
        broker: Route = None,
        timeout: float | None = None,
    ) -> "asyncio.Future[dict[str, Any]]":
        """Send any request of the Kafka protocol; `cykafka.admin.protocol.names` lists them.

        As `cykafka.admin.AdminClient.request`.
        """
        return self._one(self._ready().request(name_or_api_key, body, version=version, broker=broker, timeout=timeout))

    def describe_client_quotas(
        self,
        components: Iterable[model.ClientQuotaFilterComponent] = (),
        *,
        strict: bool = False,
        request_timeout: float | None = None,
    ) -> "asyncio.Future[dict[model.ClientQuotaEntity, dict[str, float]]]":
        """Describe quotas; as `cykafka.admin.AdminClient.describe_client_quotas`."""
        return self._one(
            self._ready().describe_client_quotas(components, strict=strict, request_timeout=request_timeout)
        )

    def alter_client_quotas(
        self,
        alterations: Iterable[model.ClientQuotaAlteration],
        *,
        validate_only: bool = False,
        request_timeout: float | None = None,
    ) -> "dict[model.ClientQuotaEntity, asyncio.Future[None]]":
        """Set quotas, or take them away; as `cykafka.admin.AdminClient.alter_client_quotas`."""
        return self._each(
            self._ready().alter_client_quotas(alterations, validate_only=validate_only, request_timeout=request_timeout)
        )

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Iterable[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        request_timeout: float | None = None,
    ) -> "dict[TopicPartition, asyncio.Future[None]]":
        """Move partitions to other brokers, or stop that.

        As `cykafka.admin.AdminClient.alter_partition_reassignments`.
        """
        return self._each(
            self._ready().alter_partition_reassignments(
                reassignments,
                allow_replication_factor_change=allow_replication_factor_change,
                request_timeout=request_timeout,
            )
        )

    def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, request_timeout: float | None = None
    ) -> "asyncio.Future[dict[TopicPartition, model.PartitionReassignment]]":
        """List the reassignments under way; as `cykafka.admin.AdminClient.list_partition_reassignments`."""
        return self._one(self._ready().list_partition_reassignments(partitions, request_timeout=request_timeout))

    def describe_log_dirs(
        self, brokers: Iterable[int], *, request_timeout: float | None = None
    ) -> "dict[int, asyncio.Future[dict[str, model.LogDirDescription | KafkaError]]]":
        """Describe the log directories of brokers; as `cykafka.admin.AdminClient.describe_log_dirs`."""
        return self._each(self._ready().describe_log_dirs(brokers, request_timeout=request_timeout))

    def describe_replica_log_dirs(
        self, replicas: Iterable[model.TopicPartitionReplica], *, request_timeout: float | None = None
    ) -> "dict[model.TopicPartitionReplica, asyncio.Future[model.ReplicaLogDirInfo]]":
        """Say in which directory replicas are; as `cykafka.admin.AdminClient.describe_replica_log_dirs`."""
        return self._each(self._ready().describe_replica_log_dirs(replicas, request_timeout=request_timeout))

    def alter_replica_log_dirs(
        self, replicas: Mapping[model.TopicPartitionReplica, str], *, request_timeout: float | None = None
    ) -> "dict[model.TopicPartitionReplica, asyncio.Future[None]]":
        """Move replicas to other directories of their brokers.

        As `cykafka.admin.AdminClient.alter_replica_log_dirs`.
        """
        return self._each(self._ready().alter_replica_log_dirs(replicas, request_timeout=request_timeout))

    def describe_features(self, *, request_timeout: float | None = None) -> "asyncio.Future[model.FeatureMetadata]":
        """Describe the features of the cluster and their levels.

        As `cykafka.admin.AdminClient.describe_features`.
        """
        return self._one(self._ready().describe_features(request_timeout=request_timeout))

    def update_features(
        self,
        updates: Mapping[str, model.FeatureUpdate],
        *,
        validate_only: bool = False,
        request_timeout: float | None = None,
    ) -> "dict[str, asyncio.Future[None]]":
        """Change levels of features; as `cykafka.admin.AdminClient.update_features`."""
        return self._each(
            self._ready().update_features(updates, validate_only=validate_only, request_timeout=request_timeout)
        )

    def describe_metadata_quorum(self, *, request_timeout: float | None = None) -> "asyncio.Future[model.QuorumInfo]":
        """Describe the quorum of controllers; as `cykafka.admin.AdminClient.describe_metadata_quorum`."""
        return self._one(self._ready().describe_metadata_quorum(request_timeout=request_timeout))

    def add_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: str,
        endpoints: Iterable[model.RaftVoterEndpoint],
        *,
        cluster_id: str | None = None,
        request_timeout: float | None = None,
    ) -> "asyncio.Future[None]":
        """Make a controller a voter; as `cykafka.admin.AdminClient.add_raft_voter`."""
        return self._one(
            self._ready().add_raft_voter(
                voter_id, voter_directory_id, endpoints, cluster_id=cluster_id, request_timeout=request_timeout
            )
        )

    def remove_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: str,
        *,
        cluster_id: str | None = None,
        request_timeout: float | None = None,
    ) -> "asyncio.Future[None]":
        """Make a controller a voter no more; arguments as of `add_raft_voter`.

        As `cykafka.admin.AdminClient.remove_raft_voter`.
        """
        return self._one(
            self._ready().remove_raft_voter(
                voter_id, voter_directory_id, cluster_id=cluster_id, request_timeout=request_timeout
            )
        )

    def unregister_broker(self, broker_id: int, *, request_timeout: float | None = None) -> "asyncio.Future[None]":
        """Take a broker that will not come back out of the cluster's metadata.

        As `cykafka.admin.AdminClient.unregister_broker`.
        """
        return self._one(self._ready().unregister_broker(broker_id, request_timeout=request_timeout))

    def list_config_resources(
        self, types: Iterable[int] = (), *, request_timeout: float | None = None
    ) -> "asyncio.Future[list[model.ConfigResourceListing]]":
        """List the resources that have a configuration.

        As `cykafka.admin.AdminClient.list_config_resources`.
        """
        return self._one(self._ready().list_config_resources(types, request_timeout=request_timeout))

    def list_client_metrics_resources(
        self, *, request_timeout: float | None = None
    ) -> "asyncio.Future[list[model.ConfigResourceListing]]":
        """List the subscriptions to metrics of clients (KIP-714).

        As `cykafka.admin.AdminClient.list_client_metrics_resources`.
        """
        return self._one(self._ready().list_client_metrics_resources(request_timeout=request_timeout))

    def create_delegation_token(
        self,
        *,
        renewers: Iterable[str] = (),
        owner: str | None = None,
        max_lifetime: float | None = None,
        request_timeout: float | None = None,
    ) -> "asyncio.Future[model.DelegationToken]":
        """Create a token; as `cykafka.admin.AdminClient.create_delegation_token`."""
        return self._one(
            self._ready().create_delegation_token(
                renewers=renewers, owner=owner, max_lifetime=max_lifetime, request_timeout=request_timeout
            )
        )

    def renew_delegation_token(
        self, hmac: bytes, *, period: float | None = None, request_timeout: float | None = None
    ) -> "asyncio.Future[int]":
        """Renew a token; as `cykafka.admin.AdminClient.renew_delegation_token`."""
        return self._one(self._ready().renew_delegation_token(hmac, period=period, request_timeout=request_timeout))

    def expire_delegation_token(
        self, hmac: bytes, *, period: float | None = None, request_timeout: float | None = None
    ) -> "asyncio.Future[int]":
        """Let a token expire; arguments and result as of `renew_delegation_token`, but None means at once.

        As `cykafka.admin.AdminClient.expire_delegation_token`.
        """
        return self._one(self._ready().expire_delegation_token(hmac, period=period, request_timeout=request_timeout))

    def describe_delegation_tokens(
        self, owners: Iterable[str] | None = None, *, request_timeout: float | None = None
    ) -> "asyncio.Future[list[model.DelegationToken]]":
        """Describe tokens; as `cykafka.admin.AdminClient.describe_delegation_tokens`."""
        return self._one(self._ready().describe_delegation_tokens(owners, request_timeout=request_timeout))

    # What librdkafka has not: groups, transactions, requests

    def list_all_groups(
        self, *, types: Iterable[str] = (), states: Iterable[str] = (), request_timeout: float | None = None
    ) -> "asyncio.Future[list[model.GroupListing]]":
        """List the groups of every broker: classic, consumer, share and streams groups.

        As `cykafka.admin.AdminClient.list_all_groups`.
        """
        return self._one(self._ready().list_all_groups(types=types, states=states, request_timeout=request_timeout))

    def describe_classic_groups(
        self, group_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, asyncio.Future[model.ClassicGroupDescription]]":
        """Describe groups of the classic protocol, also those that are no consumers'.

        As `cykafka.admin.AdminClient.describe_classic_groups`.
        """
        return self._each(self._ready().describe_classic_groups(group_ids, request_timeout=request_timeout))

    def remove_members_from_consumer_group(
        self,
        group_id: str,
        members: Iterable[model.MemberToRemove] | None = None,
        *,
        reason: str | None = None,
        request_timeout: float | None = None,
    ) -> "asyncio.Future[dict[model.MemberToRemove, KafkaException | None]]":
        """Remove members from a classic group (KIP-345): they rejoin if they live.

        As `cykafka.admin.AdminClient.remove_members_from_consumer_group`.
        """
        return self._one(
            self._ready().remove_members_from_consumer_group(
                group_id, members, reason=reason, request_timeout=request_timeout
            )
        )

    def describe_share_groups(
        self, group_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, asyncio.Future[model.ShareGroupDescription]]":
        """Describe share groups; as `cykafka.admin.AdminClient.describe_share_groups`."""
        return self._each(self._ready().describe_share_groups(group_ids, request_timeout=request_timeout))

    def describe_streams_groups(
        self, group_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, asyncio.Future[model.StreamsGroupDescription]]":
        """Describe streams groups; as `cykafka.admin.AdminClient.describe_streams_groups`."""
        return self._each(self._ready().describe_streams_groups(group_ids, request_timeout=request_timeout))

    def list_share_group_offsets(
        self, groups: Mapping[str, Iterable[TopicPartition] | None], *, request_timeout: float | None = None
    ) -> "dict[str, asyncio.Future[dict[TopicPartition, model.ShareGroupOffset | KafkaError]]]":
        """List where share groups begin to read; as `cykafka.admin.AdminClient.list_share_group_offsets`."""
        return self._each(self._ready().list_share_group_offsets(groups, request_timeout=request_timeout))

    def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, request_timeout: float | None = None
    ) -> "dict[TopicPartition, asyncio.Future[None]]":
        """Set where an empty share group begins to read.

        As `cykafka.admin.AdminClient.alter_share_group_offsets`.
        """
        return self._each(self._ready().alter_share_group_offsets(group_id, offsets, request_timeout=request_timeout))

    def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, asyncio.Future[None]]":
        """Delete what an empty share group has read of topics.

        As `cykafka.admin.AdminClient.delete_share_group_offsets`.
        """
        return self._each(self._ready().delete_share_group_offsets(group_id, topics, request_timeout=request_timeout))

    def delete_share_groups(
        self, group_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, asyncio.Future[None]]":
        """Delete empty share groups; as `cykafka.admin.AdminClient.delete_share_groups`."""
        return self._each(self._ready().delete_share_groups(group_ids, request_timeout=request_timeout))

    def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        longer_than: float | None = None,
        pattern: str | None = None,
        request_timeout: float | None = None,
    ) -> "asyncio.Future[list[model.TransactionListing]]":
        """List the transactions that the brokers know; as `cykafka.admin.AdminClient.list_transactions`."""
        return self._one(
            self._ready().list_transactions(
                states=states,
                producer_ids=producer_ids,
                longer_than=longer_than,
                pattern=pattern,
                request_timeout=request_timeout,
            )
        )

    def describe_transactions(
        self, transactional_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, asyncio.Future[model.TransactionDescription]]":
        """Describe transactions; as `cykafka.admin.AdminClient.describe_transactions`."""
        return self._each(self._ready().describe_transactions(transactional_ids, request_timeout=request_timeout))

    def describe_producers(
        self, partitions: Iterable[TopicPartition], *, broker: int | None = None, request_timeout: float | None = None
    ) -> "dict[TopicPartition, asyncio.Future[list[model.ProducerState]]]":
        """List the producers that are active on partitions.

        As `cykafka.admin.AdminClient.describe_producers`.
        """
        return self._each(self._ready().describe_producers(partitions, broker=broker, request_timeout=request_timeout))

    def abort_transaction(
        self, spec: model.AbortTransactionSpec, *, request_timeout: float | None = None
    ) -> "asyncio.Future[None]":
        """Abort a transaction that hangs on a partition because its coordinator has lost it.

        As `cykafka.admin.AdminClient.abort_transaction`.
        """
        return self._one(self._ready().abort_transaction(spec, request_timeout=request_timeout))

    def fence_producers(
        self, transactional_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, asyncio.Future[model.ProducerIdAndEpoch]]":
        """Fence the producers with transactional ids: their transactions are aborted, they must be made anew.

        As `cykafka.admin.AdminClient.fence_producers`.
        """
        return self._each(self._ready().fence_producers(transactional_ids, request_timeout=request_timeout))

    def force_terminate_transaction(
        self, transactional_id: str, *, request_timeout: float | None = None
    ) -> "asyncio.Future[model.ProducerIdAndEpoch]":
        """Abort the open transaction of a transactional id, by fencing its producer (KIP-939).

        As `cykafka.admin.AdminClient.force_terminate_transaction`.
        """
        return self._one(self._ready().force_terminate_transaction(transactional_id, request_timeout=request_timeout))
