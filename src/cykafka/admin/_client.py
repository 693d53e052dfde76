"""AdminClient: checks arguments, sends requests through the compiled core, and makes public objects of its results.

Every operation returns `concurrent.futures.Future`: one, or one for each item. The core resolves one future of its own
for a request with plain tuples (see ``admin_results.pyx``); `_each` and `_one` hand them on. Futures are resolved on a
Python thread of the client, never on one of librdkafka's, and need no polling.
"""

# The native methods of the same names take the future to resolve; these make and return it.
# mypy: disable-error-code="override"

from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from cykafka._model import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    IsolationLevel,
    Node,
    TopicCollection,
    TopicPartitionInfo,
)
from cykafka._rdkafka.core import (
    KafkaError,
    NewPartitions,
    NewTopic,
    TopicPartition,
    _AdminClientImpl,
    make_exception,
)
from cykafka.admin._acl import AclBinding, AclBindingFilter
from cykafka.admin._cluster import DescribeClusterResult
from cykafka.admin._config import ConfigEntry, ConfigResource, ConfigSource
from cykafka.admin._group import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ListConsumerGroupsResult,
    MemberAssignment,
    MemberDescription,
)
from cykafka.admin._listoffsets import ListOffsetsResultInfo, OffsetSpec
from cykafka.admin._records import DeletedRecords
from cykafka.admin._resource import ResourceType
from cykafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from cykafka.admin._topic import TopicDescription

_K = TypeVar("_K", bound=Hashable)

_REQUEST = frozenset({"request_timeout"})
_OPERATION = _REQUEST | {"operation_timeout"}
_VALIDATED = _OPERATION | {"validate_only"}
_CONFIGS = _REQUEST | {"broker"}
_DESCRIBE = _REQUEST | {"include_authorized_operations"}


def _options(kwargs: dict[str, Any], allowed: frozenset[str]) -> dict[str, Any]:
    """Return the options given; refuse those that the operation does not have, and time-outs out of range."""
    for name, value in kwargs.items():
        if name not in allowed:
            raise TypeError(f"'{name}' is an invalid keyword argument for this function: it takes {sorted(allowed)}")
        if name.endswith("_timeout") and value is not None and not 0 <= value <= 3600:
            raise ValueError(f"{name} must be between 0 and 3600 seconds, not {value!r}")
    return kwargs


def _checked(items: Any, kind: type | tuple[type, ...], what: str, *, empty: bool = False) -> list[Any]:
    """Return a list whose items are of one kind."""
    names = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise TypeError(f"Expected {what} to be a list of {names}, not {type(items).__name__}")
    checked = list(items)
    if not checked and not empty:
        raise ValueError(f"Expected {what} to be a non-empty list of {names}")
    for item in checked:
        if not isinstance(item, kind):
            raise TypeError(f"Expected {what} to be a list of {names}, but it contains {type(item).__name__}")
        if isinstance(item, str) and not item:
            raise ValueError(f"{what} must not contain an empty name")
    return checked


def _each(
    keys: Iterable[_K], read: Callable[[Any], Iterable[tuple[_K, Any]]]
) -> "tuple[Future[Any], dict[_K, Future[Any]]]":
    """Make a future for a request and one for each of its items.

    Args:
        keys: The items.
        read: Turns the request's result into (item, value) pairs; a value that is an exception or `KafkaError` fails
            the item's future.
    """
    request: Future[Any] = Future()
    futures: dict[_K, Future[Any]] = {key: Future() for key in keys}
    for future in futures.values():
        future.set_running_or_notify_cancel()

    def hand_on(done: "Future[Any]") -> None:
        try:
            for key, value in read(done.result()):
                if key in futures and not futures[key].done():
                    _settle(futures[key], value)
            for key, future in futures.items():
                if not future.done():
                    reason = f"the response has no result for {key}"
                    _settle(future, KafkaError(KafkaError._FAIL, reason))
        except Exception as error:  # noqa: BLE001 - whatever it is belongs to those who wait
            for future in futures.values():
                if not future.done():
                    future.set_exception(error)

    request.add_done_callback(hand_on)
    return request, futures


def _one(read: Callable[[Any], Any]) -> "tuple[Future[Any], Future[Any]]":
    """Make a future for a request and the public one, which gets what `read` makes of the result."""
    request: Future[Any] = Future()
    public: Future[Any] = Future()
    public.set_running_or_notify_cancel()

    def hand_on(done: "Future[Any]") -> None:
        try:
            public.set_result(read(done.result()))
        except Exception as error:  # noqa: BLE001 - whatever it is belongs to those who wait
            public.set_exception(error)

    request.add_done_callback(hand_on)
    return request, public


def _settle(future: "Future[Any]", value: Any) -> None:
    """Give a future a value, or fail it."""
    if isinstance(value, KafkaError):
        future.set_exception(make_exception(value))
    elif isinstance(value, BaseException):
        future.set_exception(value)
    else:
        future.set_result(value)


def _node(native: Any) -> Node | None:
    return None if native is None else Node(*native)


def _nodes(natives: Any) -> list[Node]:
    return [Node(*native) for native in natives if native is not None]


def _entry(native: Any) -> ConfigEntry:
    name, value, source, read_only, default, sensitive, synonym, synonyms = native
    try:
        known_source = ConfigSource(source)
    except ValueError:
        known_source = ConfigSource.UNKNOWN_CONFIG
    return ConfigEntry(
        name,
        value,
        known_source,
        read_only,
        default,
        sensitive,
        synonym,
        {inner[0]: _entry(inner) for inner in synonyms},
    )


def _group_description(native: Any) -> ConsumerGroupDescription:
    group, _, simple, assignor, state, kind, coordinator, members, operations = native
    return ConsumerGroupDescription(
        group,
        simple,
        [
            MemberDescription(
                member,
                client,
                host,
                MemberAssignment(assignment),
                instance,
                None if target is None else MemberAssignment(target),
            )
            for member, client, host, instance, assignment, target in members
        ],
        assignor,
        state,
        _node(coordinator),
        operations,
        kind,
    )


def _topic_description(native: Any) -> TopicDescription:
    name, _, topic_id, internal, partitions, operations = native
    return TopicDescription(
        name,
        topic_id,
        internal,
        [
            TopicPartitionInfo(p, _node(leader), _nodes(replicas), _nodes(isr))
            for p, leader, replicas, isr in partitions
        ],
        operations,
    )


class AdminClient(_AdminClientImpl):
    """Administers a cluster: topics, configurations, groups, access control.

    Operations return futures (`concurrent.futures.Future`), which fail with `KafkaException`. They all take
    ``request_timeout`` in seconds: how long the whole request may last (default ``socket.timeout.ms``). Some take
    ``operation_timeout`` in seconds, how long the broker may wait until its work has spread through the cluster;
    ``validate_only``, to check without doing; ``broker``, the id of the broker to ask.

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

    # Topics

    def create_topics(self, new_topics: list[NewTopic], **kwargs: Any) -> "dict[str, Future[None]]":
        """Create topics.

        Args:
            new_topics: List of `NewTopic`.
            **kwargs: request_timeout, operation_timeout, validate_only.

        Returns:
            dict[str, Future[None]]: By topic name.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        topics = _checked(new_topics, NewTopic, "new_topics")
        options = _options(kwargs, _VALIDATED)
        request, futures = _each((topic.topic for topic in topics), lambda result: result)
        super().create_topics(topics, request, **options)
        return futures

    def delete_topics(self, topics: list[str], **kwargs: Any) -> "dict[str, Future[None]]":
        """Delete topics.

        Args:
            topics: List of topic names.
            **kwargs: request_timeout, operation_timeout.

        Returns:
            dict[str, Future[None]]: By topic name.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        names = _checked(topics, str, "topics")
        options = _options(kwargs, _OPERATION)
        request, futures = _each(names, lambda result: result)
        super().delete_topics(names, request, **options)
        return futures

    def create_partitions(self, new_partitions: list[NewPartitions], **kwargs: Any) -> "dict[str, Future[None]]":
        """Add partitions to topics.

        Args:
            new_partitions: List of `NewPartitions`.
            **kwargs: request_timeout, operation_timeout, validate_only.

        Returns:
            dict[str, Future[None]]: By topic name.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        partitions = _checked(new_partitions, NewPartitions, "new_partitions")
        options = _options(kwargs, _VALIDATED)
        request, futures = _each((item.topic for item in partitions), lambda result: result)
        super().create_partitions(partitions, request, **options)
        return futures

    def describe_topics(self, topics: TopicCollection, **kwargs: Any) -> "dict[str, Future[TopicDescription]]":
        """Describe topics.

        Args:
            topics: `TopicCollection`.
            **kwargs: request_timeout, include_authorized_operations.

        Returns:
            dict[str, Future[TopicDescription]]: By topic name.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        if not isinstance(topics, TopicCollection):
            raise TypeError("Expected input to be instance of TopicCollection")
        names = _checked(topics.topic_names, str, "topics", empty=True)
        options = _options(kwargs, _DESCRIBE)
        request, futures = _each(
            names, lambda result: ((item[0], item[1] or _topic_description(item)) for item in result)
        )
        if names:
            super().describe_topics(request, names, **options)
        return futures

    def delete_records(
        self, topic_partition_offsets: list[TopicPartition], **kwargs: Any
    ) -> "dict[TopicPartition, Future[DeletedRecords]]":
        """Delete the messages before an offset.

        Args:
            topic_partition_offsets: List of `TopicPartition` with the first offset to keep; OFFSET_END for none.
            **kwargs: request_timeout, operation_timeout.

        Returns:
            dict[TopicPartition, Future[DeletedRecords]]: By partition.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        offsets = _checked(topic_partition_offsets, TopicPartition, "topic_partition_offsets", empty=True)
        options = _options(kwargs, _OPERATION)
        request, futures = _each(offsets, lambda result: ((tp, tp.error or DeletedRecords(tp.offset)) for tp in result))
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
            raise TypeError("Expected topic_partition_offsets to be a dict of TopicPartition to OffsetSpec")
        partitions = _checked(topic_partition_offsets, TopicPartition, "topic_partition_offsets", empty=True)
        options = _options(kwargs, _REQUEST | {"isolation_level"})
        asked = []
        for partition in partitions:
            spec = topic_partition_offsets[partition]
            if not isinstance(spec, OffsetSpec):
                raise TypeError("Value must be a OffsetSpec")
            if partition.partition < 0:
                raise ValueError(f"partition must be >= 0: {partition}")
            asked.append(TopicPartition(partition.topic, partition.partition, spec._value))
        level = options.pop("isolation_level", None)
        if level is not None and not isinstance(level, IsolationLevel):
            raise TypeError("isolation_level must be an IsolationLevel")

        def read(result: Any) -> Iterable[tuple[TopicPartition, Any]]:
            return (
                (tp, tp.error or ListOffsetsResultInfo(tp.offset, timestamp, tp.leader_epoch))
                for tp, timestamp in result
            )

        request, futures = _each(partitions, read)
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
            **kwargs: request_timeout, operation_timeout.

        Returns:
            Future[dict[TopicPartition, KafkaException | None]]: What came of it, by partition.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        if not isinstance(election_type, ElectionType):
            raise TypeError("Expected 'election_type' to be of type 'ElectionType'")
        checked = None if partitions is None else _checked(partitions, TopicPartition, "partitions", empty=True)
        options = _options(kwargs, _OPERATION)
        request, public = _one(
            lambda result: {tp: None if error is None else make_exception(error) for tp, error in result}
        )
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
        checked = _checked(resources, ConfigResource, "resources")
        options = _options(kwargs, _CONFIGS)
        request, futures = self._each_resource(checked, lambda entries: {entry[0]: _entry(entry) for entry in entries})
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
        checked = _checked(resources, ConfigResource, "resources")
        options = _options(kwargs, _CONFIGS | {"validate_only"})
        request, futures = self._each_resource(checked, lambda _: None)
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
        checked = _checked(resources, ConfigResource, "resources")
        options = _options(kwargs, _CONFIGS | {"validate_only"})
        for resource in checked:
            _checked(resource.incremental_configs, ConfigEntry, f"incremental_configs of {resource}")
        request, futures = self._each_resource(checked, lambda _: None)
        super().incremental_alter_configs([(r.restype_int, r.name, r._entries()) for r in checked], request, **options)
        return futures

    def _each_resource(
        self, resources: list[ConfigResource], convert: Callable[[Any], Any]
    ) -> "tuple[Future[Any], dict[ConfigResource, Future[Any]]]":
        return _each(
            resources,
            lambda result: (
                (ConfigResource(ResourceType(restype), name), error or convert(entries))
                for restype, name, error, entries in result
            ),
        )

    # Cluster and groups

    def describe_cluster(self, **kwargs: Any) -> "Future[DescribeClusterResult]":
        """Describe the cluster.

        Args:
            **kwargs: request_timeout, include_authorized_operations.

        Returns:
            Future[DescribeClusterResult]: Controller, nodes, identifier.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        options = _options(kwargs, _DESCRIBE)
        request, public = _one(
            lambda result: DescribeClusterResult(_node(result[0]), _nodes(result[1]), result[2], result[3])
        )
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
        options = _options(kwargs, _REQUEST | {"states", "types"})
        numbers: dict[str, list[int] | None] = {}
        kinds: tuple[tuple[str, type], ...] = (("states", ConsumerGroupState), ("types", ConsumerGroupType))
        for name, kind in kinds:
            values = options.pop(name, None)
            if values is not None and not isinstance(values, (set, frozenset)):
                raise TypeError(f"'{name}' must be a set")
            checked = _checked(values or (), kind, name, empty=True)
            numbers[f"{name}_int"] = [value.value for value in checked] or None

        def read(result: Any) -> ListConsumerGroupsResult:
            valid, errors = result
            return ListConsumerGroupsResult(
                [ConsumerGroupListing(*listing) for listing in valid],
                [make_exception(error) for error in errors],
            )

        request, public = _one(read)
        super().list_consumer_groups(request, **numbers, **options)
        return public

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
        groups = list(dict.fromkeys(_checked(group_ids, str, "group_ids")))
        options = _options(kwargs, _DESCRIBE)
        request, futures = _each(
            groups, lambda result: ((item[0], item[1] or _group_description(item)) for item in result)
        )
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
        groups = _checked(group_ids, str, "group_ids")
        options = _options(kwargs, _REQUEST)
        request, futures = _each(groups, lambda result: ((name, error) for name, error, _ in result))
        super().delete_consumer_groups(groups, request, **options)
        return futures

    # Offsets of groups

    def list_consumer_group_offsets(
        self, list_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions], **kwargs: Any
    ) -> "dict[str, Future[ConsumerGroupTopicPartitions]]":
        """List the offsets that groups have committed.

        Args:
            list_consumer_group_offsets_request: List of `ConsumerGroupTopicPartitions`; without partitions, all that
                have an offset are listed.
            **kwargs: request_timeout; require_stable, to wait for offsets of open transactions.

        Returns:
            dict[str, Future[ConsumerGroupTopicPartitions]]: By group id.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        options = _options(kwargs, _REQUEST | {"require_stable"})
        send = super().list_consumer_group_offsets
        return self._each_group(list_consumer_group_offsets_request, send, options, needed=False)

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
        options = _options(kwargs, _REQUEST)
        send = super().alter_consumer_group_offsets
        return self._each_group(alter_consumer_group_offsets_request, send, options, needed=True)

    def delete_consumer_group_offsets(
        self, delete_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions], **kwargs: Any
    ) -> "dict[str, Future[ConsumerGroupTopicPartitions]]":
        """Delete offsets that groups have committed for partitions to which no member is subscribed (KIP-496).

        Args:
            delete_consumer_group_offsets_request: List of `ConsumerGroupTopicPartitions`.
            **kwargs: request_timeout.

        Returns:
            dict[str, Future[ConsumerGroupTopicPartitions]]: By group id, with an error for each partition.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        options = _options(kwargs, _REQUEST)
        send = super().delete_consumer_group_offsets
        return self._each_group(delete_consumer_group_offsets_request, send, options, needed=True)

    def _each_group(
        self, groups: Any, send: Callable[..., None], options: dict[str, Any], *, needed: bool
    ) -> "dict[str, Future[ConsumerGroupTopicPartitions]]":
        """Send a request for each group: librdkafka takes one group at a time."""
        futures: dict[str, Future[ConsumerGroupTopicPartitions]] = {}
        checked = _checked(groups, ConsumerGroupTopicPartitions, "request")
        for group in checked:
            if not isinstance(group.group_id, str) or not group.group_id:
                raise ValueError("group_id must be a non-empty str")
            if needed and not group.topic_partitions:
                raise ValueError(f"topic_partitions of group {group.group_id!r} must not be empty")
            if group.topic_partitions is not None:
                _checked(group.topic_partitions, TopicPartition, f"topic_partitions of group {group.group_id!r}")
            if group.group_id in futures:
                raise ValueError(f"group {group.group_id!r} is named twice")
            futures[group.group_id] = Future()
        for group in checked:
            request, single = _each(
                [group.group_id],
                lambda result: (
                    (name, error or ConsumerGroupTopicPartitions(name, partitions))
                    for name, error, partitions in result
                ),
            )
            futures.update(single)
            send(group.group_id, group.topic_partitions, request, **options)
        return futures

    # Access control and users

    def create_acls(self, acls: list[AclBinding], **kwargs: Any) -> "dict[AclBinding, Future[None]]":
        """Create access rules.

        Args:
            acls: List of `AclBinding`.
            **kwargs: request_timeout.

        Returns:
            dict[AclBinding, Future[None]]: By rule.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        checked = list(dict.fromkeys(_checked(acls, AclBinding, "acls")))
        options = _options(kwargs, _REQUEST)
        request, futures = _each(checked, lambda result: zip(checked, result, strict=True))
        super().create_acls([acl.to_native() for acl in checked], request, **options)
        return futures

    def describe_acls(self, acl_binding_filter: AclBindingFilter, **kwargs: Any) -> "Future[list[AclBinding]]":
        """Find access rules.

        Args:
            acl_binding_filter: `AclBindingFilter`.
            **kwargs: request_timeout.

        Returns:
            Future[list[AclBinding]]: The rules that match.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        if not isinstance(acl_binding_filter, AclBindingFilter):
            raise TypeError("Expected an AclBindingFilter object")
        options = _options(kwargs, _REQUEST)
        request, public = _one(lambda result: [AclBinding(*acl) for acl in result])
        super().describe_acls(acl_binding_filter.to_native(), request, **options)
        return public

    def delete_acls(
        self, acl_binding_filters: list[AclBindingFilter], **kwargs: Any
    ) -> "dict[AclBindingFilter, Future[list[AclBinding]]]":
        """Delete the access rules that filters match.

        Args:
            acl_binding_filters: List of `AclBindingFilter`.
            **kwargs: request_timeout.

        Returns:
            dict[AclBindingFilter, Future[list[AclBinding]]]: The rules that were deleted, by filter.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        checked = list(dict.fromkeys(_checked(acl_binding_filters, AclBindingFilter, "acl_binding_filters")))
        options = _options(kwargs, _REQUEST)
        request, futures = _each(
            checked,
            lambda result: (
                (acl_filter, error or [AclBinding(*acl) for acl in acls])
                for acl_filter, (error, acls) in zip(checked, result, strict=True)
            ),
        )
        super().delete_acls([acl_filter.to_native() for acl_filter in checked], request, **options)
        return futures

    def describe_user_scram_credentials(self, users: list[str] | None = None, **kwargs: Any) -> Any:
        """Describe the SCRAM credentials of users.

        Args:
            users: List of user names; None for all.
            **kwargs: request_timeout.

        Returns:
            dict[str, Future[UserScramCredentialsDescription]]: By user; for all users one
            Future[dict[str, UserScramCredentialsDescription]].

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        options = _options(kwargs, _REQUEST)

        def describe(user: str, infos: Any) -> UserScramCredentialsDescription:
            return UserScramCredentialsDescription(
                user,
                [ScramCredentialInfo(ScramMechanism(mechanism), iterations) for mechanism, iterations in infos],
            )

        if users is None:
            request, public = _one(lambda result: {user: describe(user, infos) for user, _, infos in result})
            super().describe_user_scram_credentials(None, request, **options)
            return public
        names = _checked(users, str, "users", empty=True)
        if len(set(names)) < len(names):
            raise ValueError("users must not be named twice")
        request, futures = _each(
            names, lambda result: ((user, error or describe(user, infos)) for user, error, infos in result)
        )
        if names:
            super().describe_user_scram_credentials(names, request, **options)
        return futures

    def alter_user_scram_credentials(
        self, alterations: list[UserScramCredentialAlteration], **kwargs: Any
    ) -> "dict[str, Future[None]]":
        """Set or delete SCRAM credentials of users.

        Args:
            alterations: List of `UserScramCredentialUpsertion` and `UserScramCredentialDeletion`.
            **kwargs: request_timeout.

        Returns:
            dict[str, Future[None]]: By user.

        Raises:
            TypeError, ValueError: If an argument is wrong.
        """
        checked = _checked(alterations, (UserScramCredentialUpsertion, UserScramCredentialDeletion), "alterations")
        options = _options(kwargs, _REQUEST)
        natives: list[tuple[Any, ...]] = []
        for alteration in checked:
            if not isinstance(alteration.user, str) or not alteration.user:
                raise ValueError("user must be a non-empty str")
            if isinstance(alteration, UserScramCredentialDeletion):
                natives.append((alteration.user, alteration.mechanism.value))
                continue
            if not isinstance(alteration.password, bytes) or not alteration.password:
                raise ValueError(f"password of user {alteration.user!r} must be non-empty bytes")
            info = alteration.scram_credential_info
            natives.append(
                (alteration.user, info.mechanism.value, info.iterations, alteration.password, alteration.salt)
            )
        request, futures = _each(dict.fromkeys(alteration.user for alteration in checked), lambda result: result)
        super().alter_user_scram_credentials(natives, request, **options)
        return futures
