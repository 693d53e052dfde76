"""AdminClient: checks arguments, sends requests through the compiled core, makes public objects of results.

Every operation returns `concurrent.futures.Future`: one, or one for each item. The compiled base class takes
plain values and a future for the whole request, which it resolves with plain values (``admin_results.pyx``)
on a Python thread of the client, never on one of librdkafka's; no polling is needed. `cykafka.admin._results`
turns those into public objects, `cykafka.admin._futures` hands them on to the futures that users hold.

================================  =======================================  ==================================
Operation of the base class       What it is given, in this order          What its future becomes
================================  =======================================  ==================================
create_topics, create_partitions  [NewTopic or NewPartitions], future      [(topic, error)]
delete_topics                     [topic], future                          [(topic, error)]
describe_topics                   future, [topic]                          [``_read_topic_description``]
delete_records                    [TopicPartition], future                 [TopicPartition] with error
list_offsets                      [TopicPartition], future, level          [(TopicPartition, timestamp)]
elect_leaders                     kind, [TopicPartition] or None, future   [(TopicPartition, error)]
describe_configs                  [(type, name)], future                   ``_read_resources``
alter_configs                     [(type, name, {name: value})], future    ``_read_resources``
incremental_alter_configs         [(type, name, [change])], future         ``_read_resources``
describe_cluster                  future                                   ``_read_cluster``
list_consumer_groups              future, states, types                    ``_read_listings``
describe_consumer_groups          future, [group]                          [``_read_group_description``]
delete_consumer_groups            [group], future                          [(group, error, [])]
offsets: list, alter, delete      group, [TopicPartition] or None, future  [(group, error, [TopicPartition])]
create_acls                       [rule], future                           [error]
describe_acls                     rule, future                             [rule]
delete_acls                       [rule], future                           [(error, [rule])]
describe_user_scram_credentials   [user] or None, future                   ``_read_scram_descriptions``
alter_user_scram_credentials      [(user, mechanism, ...)], future         [(user, error)]
================================  =======================================  ==================================

A change is (name, operation, value), a rule a tuple of the seven arguments of `AclBinding`, an error a
`KafkaError` or None.
"""

# The native methods of the same names take the future to resolve; these make and return it.
# mypy: disable-error-code="override"

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, overload

from cykafka._model import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    TopicCollection,
)
from cykafka._rdkafka.core import OFFSET_INVALID, NewPartitions, NewTopic, TopicPartition, _AdminClientImpl
from cykafka.admin import _arguments, _results
from cykafka.admin._acl import AclBinding, AclBindingFilter
from cykafka.admin._cluster import DescribeClusterResult
from cykafka.admin._config import ConfigEntry, ConfigResource
from cykafka.admin._futures import each, one
from cykafka.admin._group import ConsumerGroupDescription, ListConsumerGroupsResult
from cykafka.admin._listoffsets import ListOffsetsResultInfo, OffsetSpec
from cykafka.admin._operator_groups import OperatorMixin
from cykafka.admin._records import DeletedRecords
from cykafka.admin._scram import (
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from cykafka.admin._topic import TopicDescription


class AdminClient(OperatorMixin, _AdminClientImpl):
    """Administers a cluster: topics, configurations, groups, access control.

    Operations return futures (`concurrent.futures.Future`), which fail with `KafkaException`; those that are
    not done when the client is closed fail with the code ``_DESTROY``. Callbacks of futures run on a thread
    of the client and hold up other results. In asyncio, `asyncio.wrap_future` makes them awaitable.

    All operations take the option ``request_timeout``: how many seconds, at most 3600, the whole request may
    last (default ``socket.timeout.ms``). Some take ``operation_timeout``, how many seconds the broker may
    wait until its work has spread through the cluster; ``validate_only``, to check without doing; ``broker``,
    the id of the broker to ask instead of the controller. None stands for an option's default.

    Args:
        conf: Configuration properties of librdkafka by name, and the callbacks ``error_cb``, ``stats_cb``,
            ``throttle_cb``, ``oauth_cb`` and ``logger``, which `poll` serves.
        **kwargs: More of them, with underscores for dots.

    Thread-safe. Close it, or use it in a with statement; dropping it will do.

    Raises:
        TypeError: If the configuration is not a dict, or a value has the wrong type.
        KafkaException: If librdkafka refuses a property or value.
    """

    def __init__(self, conf: dict[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(*(() if conf is None else (conf,)), **kwargs)

    def _operator_config(self) -> dict[str, Any]:
        return self._config

    def close(self) -> None:
        """Free the client; futures that are not done fail with ``_DESTROY``. Closing twice is harmless."""
        self._close_operator()
        super().close()

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Change the credentials for SASL PLAIN and SCRAM; connections made from now on use them.

        Args:
            username: User name.
            password: Password.

        Raises:
            TypeError: If one of them is not str.
        """
        super().set_sasl_credentials(username, password)
        self._set_operator_credentials(username, password)

    # Topics

    def create_topics(self, new_topics: list[NewTopic], **kwargs: Any) -> "dict[str, Future[None]]":
        """Create topics.

        Args:
            new_topics: List of `NewTopic`.
            **kwargs: request_timeout, operation_timeout, validate_only, broker.

        Returns:
            dict[str, Future[None]]: By topic name.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        topics = _arguments.items(new_topics, NewTopic, "new_topics")
        options = _arguments.options(kwargs, "operation_timeout", "validate_only", "broker")
        request, futures = each((_arguments.name(topic.topic, "topic") for topic in topics), list)
        super().create_topics(topics, request, **options)
        return futures

    def delete_topics(self, topics: list[str], **kwargs: Any) -> "dict[str, Future[None]]":
        """Delete topics.

        Args:
            topics: List of topic names.
            **kwargs: request_timeout, operation_timeout, broker.

        Returns:
            dict[str, Future[None]]: By topic name.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        names = _arguments.names(topics, "topics")
        options = _arguments.options(kwargs, "operation_timeout", "broker")
        request, futures = each(names, list)
        super().delete_topics(names, request, **options)
        return futures

    def create_partitions(self, new_partitions: list[NewPartitions], **kwargs: Any) -> "dict[str, Future[None]]":
        """Add partitions to topics.

        Args:
            new_partitions: List of `NewPartitions`.
            **kwargs: request_timeout, operation_timeout, validate_only, broker.

        Returns:
            dict[str, Future[None]]: By topic name.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        partitions = _arguments.items(new_partitions, NewPartitions, "new_partitions")
        options = _arguments.options(kwargs, "operation_timeout", "validate_only", "broker")
        request, futures = each((_arguments.name(item.topic, "topic") for item in partitions), list)
        super().create_partitions(partitions, request, **options)
        return futures

    def describe_topics(self, topics: TopicCollection, **kwargs: Any) -> "dict[str, Future[TopicDescription]]":
        """Describe topics.

        Args:
            topics: `TopicCollection`.
            **kwargs: request_timeout, include_authorized_operations, broker.

        Returns:
            dict[str, Future[TopicDescription]]: By topic name.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        if not isinstance(topics, TopicCollection):
            raise TypeError(f"Expected topics to be a TopicCollection, not {type(topics).__name__}")
        names = _arguments.names(topics.topic_names, "topics", empty=True)
        options = _arguments.options(kwargs, "include_authorized_operations", "broker")
        request, futures = each(names, _results.topics)
        if names:
            super().describe_topics(request, names, **options)
        return futures

    def delete_records(
        self, topic_partition_offsets: list[TopicPartition], **kwargs: Any
    ) -> "dict[TopicPartition, Future[DeletedRecords]]":
        """Delete the messages before an offset.

        Args:
            topic_partition_offsets: List of `TopicPartition` with the first offset to keep, OFFSET_END to
                keep none.
            **kwargs: request_timeout, operation_timeout.

        Returns:
            dict[TopicPartition, Future[DeletedRecords]]: By partition.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        offsets = _arguments.partitions(topic_partition_offsets, "topic_partition_offsets", empty=True)
        options = _arguments.options(kwargs, "operation_timeout")
        request, futures = each(offsets, _results.deleted_records)
        if offsets:
            super().delete_records(offsets, request, **options)
        return futures

    def list_offsets(
        self, topic_partition_offsets: dict[TopicPartition, OffsetSpec], **kwargs: Any
    ) -> "dict[TopicPartition, Future[ListOffsetsResultInfo]]":
        """Find offsets by position or time.

        Args:
            topic_partition_offsets: `OffsetSpec` by `TopicPartition`.
            **kwargs: request_timeout, isolation_level (`IsolationLevel`).

        Returns:
            dict[TopicPartition, Future[ListOffsetsResultInfo]]: By partition.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        if not isinstance(topic_partition_offsets, dict):
            raise TypeError(
                "Expected topic_partition_offsets to be a dict of TopicPartition to OffsetSpec, not "
                f"{type(topic_partition_offsets).__name__}"
            )
        partitions = _arguments.partitions(topic_partition_offsets, "topic_partition_offsets", empty=True)
        specs = _arguments.items(
            topic_partition_offsets.values(), OffsetSpec, "values of topic_partition_offsets", empty=True
        )
        options = _arguments.options(kwargs, "isolation_level")
        level = options.pop("isolation_level", None)
        asked = [TopicPartition(p.topic, p.partition, spec._value) for p, spec in zip(partitions, specs, strict=True)]
        request, futures = each(partitions, _results.offsets)
        if asked:
            super().list_offsets(asked, request, None if level is None else level.value, **options)
        return futures

    def elect_leaders(
        self, election_type: ElectionType, partitions: list[TopicPartition] | None = None, **kwargs: Any
    ) -> "Future[dict[TopicPartition, Any]]":
        """Elect leaders.

        Args:
            election_type: `ElectionType`.
            partitions: List of `TopicPartition`; None for all that need it.
            **kwargs: request_timeout, operation_timeout, broker.

        Returns:
            Future[dict[TopicPartition, KafkaException | None]]: What came of it, by partition.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        if not isinstance(election_type, ElectionType):
            raise TypeError(f"Expected election_type to be an ElectionType, not {type(election_type).__name__}")
        checked = None if partitions is None else _arguments.partitions(partitions, "partitions", empty=True)
        options = _arguments.options(kwargs, "operation_timeout", "broker")
        request, public = one(_results.elected)
        super().elect_leaders(election_type.value, checked, request, **options)
        return public

    # Configuration

    def describe_configs(
        self, resources: list[ConfigResource], **kwargs: Any
    ) -> "dict[ConfigResource, Future[dict[str, ConfigEntry]]]":
        """Describe the configuration of topics, brokers or groups.

        Args:
            resources: List of `ConfigResource`; at most one broker.
            **kwargs: request_timeout, broker.

        Returns:
            dict[ConfigResource, Future[dict[str, ConfigEntry]]]: Entries by name, by resource.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        checked = _arguments.items(resources, ConfigResource, "resources")
        options = _arguments.options(kwargs, "broker")
        request, futures = each(checked, _results.described_configs)
        super().describe_configs([(r.restype_int, r.name) for r in checked], request, **options)
        return futures

    def alter_configs(self, resources: list[ConfigResource], **kwargs: Any) -> "dict[ConfigResource, Future[None]]":
        """Replace the dynamic configuration of resources: what is not named goes back to its default.

        Brokers call this deprecated; see `incremental_alter_configs`.

        Args:
            resources: List of `ConfigResource` with set_config() values.
            **kwargs: request_timeout, broker, validate_only.

        Returns:
            dict[ConfigResource, Future[None]]: By resource.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        checked = _arguments.items(resources, ConfigResource, "resources")
        options = _arguments.options(kwargs, "validate_only", "broker")
        request, futures = each(checked, _results.altered_configs)
        super().alter_configs([(r.restype_int, r.name, r.set_config_dict) for r in checked], request, **options)
        return futures

    def incremental_alter_configs(
        self, resources: list[ConfigResource], **kwargs: Any
    ) -> "dict[ConfigResource, Future[None]]":
        """Change some of the configuration of resources (KIP-339).

        Args:
            resources: List of `ConfigResource` with incremental_configs.
            **kwargs: request_timeout, broker, validate_only.

        Returns:
            dict[ConfigResource, Future[None]]: By resource.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        checked = _arguments.items(resources, ConfigResource, "resources")
        options = _arguments.options(kwargs, "validate_only", "broker")
        natives = []
        for resource in checked:
            _arguments.items(resource.incremental_configs, ConfigEntry, f"incremental_configs of {resource}")
            natives.append(
                (resource.restype_int, resource.name, [e._to_change() for e in resource.incremental_configs])
            )
        request, futures = each(checked, _results.altered_configs)
        super().incremental_alter_configs(natives, request, **options)
        return futures

    # Cluster and groups

    def describe_cluster(self, **kwargs: Any) -> "Future[DescribeClusterResult]":
        """Describe the cluster.

        Args:
            **kwargs: request_timeout, include_authorized_operations, broker.

        Returns:
            Future[DescribeClusterResult]: Controller, nodes, identifier.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        options = _arguments.options(kwargs, "include_authorized_operations", "broker")
        request, public = one(_results.cluster)
        super().describe_cluster(request, **options)
        return public

    def list_consumer_groups(self, **kwargs: Any) -> "Future[ListConsumerGroupsResult]":
        """List consumer groups.

        Args:
            **kwargs: request_timeout; states, a set of `ConsumerGroupState`, and types, a set of
                `ConsumerGroupType`, to list only those.

        Returns:
            Future[ListConsumerGroupsResult]: Groups found, and errors of brokers that did not answer.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        options = _arguments.options(kwargs, "states", "types")
        states = self._filter(options.pop("states", None), ConsumerGroupState, "states")
        types = self._filter(options.pop("types", None), ConsumerGroupType, "types")
        if types and ConsumerGroupType.UNKNOWN.value in types:
            raise ValueError("types must not contain UNKNOWN")
        request, public = one(_results.groups)
        super().list_consumer_groups(request, states, types, **options)
        return public

    @staticmethod
    def _filter(given: Any, kind: type, what: str) -> list[int] | None:
        """Return the numbers of the members in a set, None for no set."""
        if given is not None and not isinstance(given, (set, frozenset)):
            raise TypeError(f"{what} must be a set of {kind.__name__}, not {type(given).__name__}")
        return [member.value for member in _arguments.items(given or (), kind, what, empty=True)] or None

    def describe_consumer_groups(
        self, group_ids: list[str], **kwargs: Any
    ) -> "dict[str, Future[ConsumerGroupDescription]]":
        """Describe consumer groups.

        Args:
            group_ids: List of group ids.
            **kwargs: request_timeout, include_authorized_operations.

        Returns:
            dict[str, Future[ConsumerGroupDescription]]: By group id.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        groups = _arguments.names(group_ids, "group_ids")
        options = _arguments.options(kwargs, "include_authorized_operations")
        request, futures = each(groups, _results.group_descriptions)
        super().describe_consumer_groups(request, groups, **options)
        return futures

    def delete_consumer_groups(self, group_ids: list[str], **kwargs: Any) -> "dict[str, Future[None]]":
        """Delete groups that have no members.

        Args:
            group_ids: List of group ids.
            **kwargs: request_timeout.

        Returns:
            dict[str, Future[None]]: By group id.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        groups = _arguments.names(group_ids, "group_ids")
        options = _arguments.options(kwargs)
        request, futures = each(groups, lambda result: ((group, error) for group, error, _ in result))
        super().delete_consumer_groups(groups, request, **options)
        return futures

    # Offsets of groups

    def list_consumer_group_offsets(
        self, list_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions], **kwargs: Any
    ) -> "dict[str, Future[ConsumerGroupTopicPartitions]]":
        """List the offsets that groups have committed.

        Args:
            list_consumer_group_offsets_request: List of `ConsumerGroupTopicPartitions`; without partitions,
                all that have an offset are listed.
            **kwargs: request_timeout; require_stable, to wait for offsets of open transactions.

        Returns:
            dict[str, Future[ConsumerGroupTopicPartitions]]: By group id.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        options = _arguments.options(kwargs, "require_stable")
        groups = self._groups(list_consumer_group_offsets_request, needed=False)
        return self._each_group(groups, super().list_consumer_group_offsets, options)

    def alter_consumer_group_offsets(
        self, alter_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions], **kwargs: Any
    ) -> "dict[str, Future[ConsumerGroupTopicPartitions]]":
        """Set the offsets of groups that have no members.

        Args:
            alter_consumer_group_offsets_request: List of `ConsumerGroupTopicPartitions` with the new offsets.
            **kwargs: request_timeout.

        Returns:
            dict[str, Future[ConsumerGroupTopicPartitions]]: By group id, with an error for each partition.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        options = _arguments.options(kwargs)
        groups = self._groups(alter_consumer_group_offsets_request, needed=True)
        for group in groups:
            for partition in group.topic_partitions or ():
                if partition.offset < 0:
                    raise ValueError(f"topic_partitions of group {group.group_id!r} need offsets >= 0: {partition}")
        return self._each_group(groups, super().alter_consumer_group_offsets, options)

    def delete_consumer_group_offsets(
        self, delete_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions], **kwargs: Any
    ) -> "dict[str, Future[ConsumerGroupTopicPartitions]]":
        """Delete offsets committed for partitions to which no member is subscribed (KIP-496).

        Args:
            delete_consumer_group_offsets_request: List of `ConsumerGroupTopicPartitions`.
            **kwargs: request_timeout.

        Returns:
            dict[str, Future[ConsumerGroupTopicPartitions]]: By group id, with an error for each partition.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        options = _arguments.options(kwargs)
        groups = self._groups(delete_consumer_group_offsets_request, needed=True)
        return self._each_group(groups, super().delete_consumer_group_offsets, options)

    @staticmethod
    def _groups(given: Any, *, needed: bool) -> list[ConsumerGroupTopicPartitions]:
        """Check a request about offsets of groups; `needed` says that partitions must be named."""
        groups: dict[str, ConsumerGroupTopicPartitions] = {}
        for group in _arguments.items(given, ConsumerGroupTopicPartitions, "request"):
            _arguments.name(group.group_id, "group_id")
            if needed or group.topic_partitions is not None:
                what = f"topic_partitions of group {group.group_id!r}"
                if needed and group.topic_partitions is None:
                    raise ValueError(f"{what} must not be None")
                partitions = _arguments.partitions(group.topic_partitions, what)
                if not needed and any(partition.offset != OFFSET_INVALID for partition in partitions):
                    raise ValueError(f"{what} must not have an offset: the committed ones are what is asked for")
            if group.group_id in groups:
                raise ValueError(f"group {group.group_id!r} is named twice")
            groups[group.group_id] = group
        return list(groups.values())

    @staticmethod
    def _each_group(
        groups: list[ConsumerGroupTopicPartitions], send: Callable[..., None], options: dict[str, Any]
    ) -> "dict[str, Future[ConsumerGroupTopicPartitions]]":
        """Send a request for each group: librdkafka takes one group at a time."""
        futures: dict[str, Future[ConsumerGroupTopicPartitions]] = {}
        for group in groups:
            request, single = each([group.group_id], _results.group_offsets)
            futures.update(single)
            send(group.group_id, group.topic_partitions, request, **options)
        return futures

    # Access control and users

    def create_acls(self, acls: list[AclBinding], **kwargs: Any) -> "dict[AclBinding, Future[None]]":
        """Create access rules.

        Args:
            acls: List of `AclBinding`.
            **kwargs: request_timeout, broker.

        Returns:
            dict[AclBinding, Future[None]]: By rule.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        checked = _arguments.items(acls, AclBinding, "acls")
        if len(set(checked)) < len(checked):
            raise ValueError("acls must not contain a rule twice")
        options = _arguments.options(kwargs, "broker")
        request, futures = each(checked, lambda result: zip(checked, result, strict=True))
        super().create_acls([acl._to_native() for acl in checked], request, **options)
        return futures

    def describe_acls(self, acl_binding_filter: AclBindingFilter, **kwargs: Any) -> "Future[list[AclBinding]]":
        """Find access rules.

        Args:
            acl_binding_filter: `AclBindingFilter`.
            **kwargs: request_timeout, broker.

        Returns:
            Future[list[AclBinding]]: The rules that match.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        if not isinstance(acl_binding_filter, AclBindingFilter):
            raise TypeError(f"Expected an AclBindingFilter, not {type(acl_binding_filter).__name__}")
        options = _arguments.options(kwargs, "broker")
        request, public = one(_results.acls)
        super().describe_acls(acl_binding_filter._to_native(), request, **options)
        return public

    def delete_acls(
        self, acl_binding_filters: list[AclBindingFilter], **kwargs: Any
    ) -> "dict[AclBindingFilter, Future[list[AclBinding]]]":
        """Delete the access rules that filters match.

        Args:
            acl_binding_filters: List of `AclBindingFilter`.
            **kwargs: request_timeout, broker.

        Returns:
            dict[AclBindingFilter, Future[list[AclBinding]]]: The rules that were deleted, by filter.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        checked = _arguments.items(acl_binding_filters, AclBindingFilter, "acl_binding_filters")
        if len(set(checked)) < len(checked):
            raise ValueError("acl_binding_filters must not contain a filter twice")
        options = _arguments.options(kwargs, "broker")
        request, futures = each(
            checked,
            lambda result: (
                (acl_filter, error or _results.acls(acls))
                for acl_filter, (error, acls) in zip(checked, result, strict=True)
            ),
        )
        super().delete_acls([acl_filter._to_native() for acl_filter in checked], request, **options)
        return futures

    @overload
    def describe_user_scram_credentials(
        self, users: None = None, **kwargs: Any
    ) -> "Future[dict[str, UserScramCredentialsDescription]]": ...
    @overload
    def describe_user_scram_credentials(
        self, users: list[str], **kwargs: Any
    ) -> "dict[str, Future[UserScramCredentialsDescription]]": ...
    def describe_user_scram_credentials(self, users: list[str] | None = None, **kwargs: Any) -> Any:
        """Describe the SCRAM credentials of users.

        Args:
            users: List of user names; None for all.
            **kwargs: request_timeout, broker.

        Returns:
            dict[str, Future[UserScramCredentialsDescription]]: By user; for all users one
            Future[dict[str, UserScramCredentialsDescription]].

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        options = _arguments.options(kwargs, "broker")
        if users is None:
            request, public = one(lambda result: dict(_results.scram_descriptions(result)))
            super().describe_user_scram_credentials(None, request, **options)
            return public
        names = _arguments.names(users, "users", empty=True)
        request, futures = each(names, _results.scram_descriptions)
        if names:
            super().describe_user_scram_credentials(names, request, **options)
        return futures

    def alter_user_scram_credentials(
        self, alterations: list[UserScramCredentialAlteration], **kwargs: Any
    ) -> "dict[str, Future[None]]":
        """Set or delete SCRAM credentials of users.

        Args:
            alterations: List of `UserScramCredentialUpsertion` and `UserScramCredentialDeletion`.
            **kwargs: request_timeout, broker.

        Returns:
            dict[str, Future[None]]: By user.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        kinds = (UserScramCredentialUpsertion, UserScramCredentialDeletion)
        checked = _arguments.items(alterations, kinds, "alterations")
        options = _arguments.options(kwargs, "broker")
        natives = [alteration._to_native() for alteration in checked]
        request, futures = each((native[0] for native in natives), list)
        super().alter_user_scram_credentials(natives, request, **options)
        return futures
