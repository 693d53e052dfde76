"""The operations that librdkafka lacks, over `cykafka.admin.protocol`: client, cluster and replicas.

Groups and transactions are in `cykafka.admin._operator_groups`.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from cykafka._rdkafka.core import KafkaError, TopicPartition
from cykafka.admin import _arguments
from cykafka.admin import _operator_model as model
from cykafka.admin._operator_thread import Call, Operator
from cykafka.admin.protocol import Route, api
from cykafka.admin.protocol._errors import broker_error

_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
_EXACT, _DEFAULT, _ANY = 0, 1, 2
_CLIENT_METRICS = 16


def result(item: Mapping[str, Any], value: Any = None) -> Any:
    """Return an item's value, or the error that the broker reports for it."""
    return broker_error(item["error_code"], item.get("error_message")) if item["error_code"] else value


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Sort partitions by topic."""
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics


def known(value: int) -> int | None:
    """Return a number, None if it is -1, which stands for an unknown one."""
    return None if value < 0 else value


class OperatorBase:
    """What all operations share: a lazily made `Operator` over the client's configuration."""

    _operator_credentials: Mapping[str, str] = {}
    _operator: Operator | None = None
    _operator_closed = False
    _operator_lock = threading.Lock()

    def __del__(self) -> None:
        # Without the lock, which this thread may hold while garbage is collected.
        operator = self._operator
        if operator is not None:
            operator.close()

    def _operator_config(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def _close_operator(self) -> None:
        """Fail what is under way, end the threads, close the connections. Closing twice is harmless."""
        with self._operator_lock:
            self._operator_closed = True
            operator = self._operator
        if operator is not None:
            operator.close()

    def _set_operator_credentials(self, username: str, password: str) -> None:
        """Use other credentials for SASL PLAIN and SCRAM on new connections; those there are end when idle."""
        with self._operator_lock:
            self._operator_credentials = {"sasl.username": username, "sasl.password": password}
            operator = self._operator
        if operator is not None:
            operator.cluster.set_credentials(username, password)

    def _running_operator(self) -> Operator:
        with self._operator_lock:
            if self._operator_closed:
                raise RuntimeError("The client was closed")
            if self._operator is None:
                self._operator = Operator({**self._operator_config(), **self._operator_credentials})
            return self._operator

    def _operate(self, function: Callable[[Call], Any], timeout: float | None) -> "Future[Any]":
        options = _arguments.options({"request_timeout": timeout})
        return self._running_operator().run(function, options.get("request_timeout"))

    def _operate_each(
        self, keys: Iterable[Any], function: Callable[[Call], Mapping[Any, Any]], timeout: float | None
    ) -> "dict[Any, Future[Any]]":
        options = _arguments.options({"request_timeout": timeout})
        return self._running_operator().run_each(keys, function, options.get("request_timeout"))


class ClusterOperations(OperatorBase):
    """Quotas, replicas, log directories, features, quorum, delegation tokens, and any request there is.

    Every method takes ``request_timeout``, seconds until everything must be answered (default
    ``socket.timeout.ms``). Futures fail with `KafkaException`: what the broker reports, ``_TIMED_OUT``,
    ``_TRANSPORT``, ``_RESOLVE``, ``_SSL``, ``_AUTHENTICATION``, ``_BAD_MSG`` for a malformed response,
    ``_UNSUPPORTED_FEATURE`` where the broker is too old, ``_DESTROY`` when the client is closed before. Methods
    raise TypeError and ValueError for wrong arguments, RuntimeError after close and in a forked child.
    ``oauth_cb`` is called on a thread of the client for these operations. Thread-safe.
    """

    def request(
        self,
        name_or_api_key: str | int,
        body: Mapping[str, Any],
        *,
        version: int | None = None,
        broker: Route = None,
        timeout: float | None = None,
    ) -> "Future[dict[str, Any]]":
        """Send any request of the Kafka protocol; `cykafka.admin.protocol.names` lists them.

        Args:
            name_or_api_key: ``DescribeQuorum``, ``describe_quorum`` or 55.
            body: Fields by name in snake case, as in the protocol guide; structures are mappings, arrays lists,
                ids (UUID) `uuid.UUID` or Kafka's 22 characters. What is left out has its default.
            version: Version of the request; None for the newest that the broker and cykafka have.
            broker: Broker id, ``"controller"``, `Coordinator` or `Leader`; None for any broker.
            timeout: Seconds; None for ``socket.timeout.ms``.

        Returns:
            Future[dict]: Fields of the response by name, with the broker's error codes in it. It fails with
            TypeError or ValueError if a field of the body is wrong, else as the other operations do.

        Raises:
            TypeError, ValueError: If there is no such request, or an argument is wrong.
        """
        row = api(name_or_api_key)
        fields = dict(body)
        return self._operate(
            lambda call: call.cluster.request(row, fields, to=broker, version=version, deadline=call.deadline), timeout
        )

    # Client quotas: KIP-546

    def describe_client_quotas(
        self,
        components: Iterable[model.ClientQuotaFilterComponent] = (),
        *,
        strict: bool = False,
        request_timeout: float | None = None,
    ) -> "Future[dict[model.ClientQuotaEntity, dict[str, float]]]":
        """Describe quotas.

        Args:
            components: What entities must have; none for all entities.
            strict: They must have nothing else.
            request_timeout: Seconds.

        Returns:
            Future[dict[ClientQuotaEntity, dict[str, float]]]: Values by quota, by entity.
        """
        asked = _arguments.items(components, model.ClientQuotaFilterComponent, "components", empty=True)
        kinds = [_ANY if c.match is model.QuotaMatch.ANY else _DEFAULT if c.match is None else _EXACT for c in asked]
        body = {
            "components": [
                {"entity_type": c.entity_type, "match_type": kind, "match": c.match if kind == _EXACT else None}
                for c, kind in zip(asked, kinds, strict=True)
            ],
            "strict": strict,
        }

        def work(call: Call) -> dict[model.ClientQuotaEntity, dict[str, float]]:
            return {
                _entity(each["entity"]): {value["key"]: value["value"] for value in each["values"]}
                for each in call("DescribeClientQuotas", body)["entries"] or ()
            }

        return self._operate(work, request_timeout)

    def alter_client_quotas(
        self,
        alterations: Iterable[model.ClientQuotaAlteration],
        *,
        validate_only: bool = False,
        request_timeout: float | None = None,
    ) -> "dict[model.ClientQuotaEntity, Future[None]]":
        """Set quotas, or take them away.

        Args:
            alterations: Changes.
            validate_only: Check without doing.
            request_timeout: Seconds.

        Returns:
            dict[ClientQuotaEntity, Future[None]]: By entity.
        """
        changes = _arguments.items(alterations, model.ClientQuotaAlteration, "alterations")
        body = {
            "entries": [
                {
                    "entity": [{"entity_type": kind, "entity_name": name} for kind, name in c.entity.entries.items()],
                    "ops": [
                        {"key": key, "value": 0.0 if value is None else value, "remove": value is None}
                        for key, value in c.ops.items()
                    ],
                }
                for c in changes
            ],
            "validate_only": validate_only,
        }
        return self._operate_each(
            [c.entity for c in changes],
            lambda call: {_entity(e["entity"]): result(e) for e in call("AlterClientQuotas", body)["entries"]},
            request_timeout,
        )

    # Replicas: KIP-455, KIP-113

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Iterable[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        request_timeout: float | None = None,
    ) -> "dict[TopicPartition, Future[None]]":
        """Move partitions to other brokers, or stop that.

        Args:
            reassignments: Broker ids by partition, the preferred leader first; None stops what is under way.
            allow_replication_factor_change: There may be more or fewer replicas than before (Kafka 4.1).
            request_timeout: Seconds.

        Returns:
            dict[TopicPartition, Future[None]]: By partition; the move itself goes on after that.
        """
        wanted = {partition: None if brokers is None else list(brokers) for partition, brokers in reassignments.items()}
        partitions = _arguments.partitions(wanted, "reassignments")

        def work(call: Call) -> dict[TopicPartition, Any]:
            topics = [
                {
                    "name": name,
                    "partitions": [{"partition_index": p.partition, "replicas": wanted[p]} for p in each],
                }
                for name, each in by_topic(partitions).items()
            ]
            body: dict[str, Any] = {"timeout_ms": call.left_ms, "topics": topics}
            if not allow_replication_factor_change:
                body["allow_replication_factor_change"] = False
            answer = call("AlterPartitionReassignments", body, to="controller")
            return {
                TopicPartition(topic["name"], p["partition_index"]): result(p)
                for topic in answer["responses"]
                for p in topic["partitions"]
            }

        return self._operate_each(partitions, work, request_timeout)

    def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, request_timeout: float | None = None
    ) -> "Future[dict[TopicPartition, model.PartitionReassignment]]":
        """List the reassignments under way.

        Args:
            partitions: Partitions to ask for; None for all.
            request_timeout: Seconds.

        Returns:
            Future[dict[TopicPartition, PartitionReassignment]]: By partition.
        """
        asked = None if partitions is None else _arguments.partitions(partitions, "partitions")
        topics = (
            None
            if asked is None
            else [
                {"name": name, "partition_indexes": [p.partition for p in each]}
                for name, each in by_topic(asked).items()
            ]
        )

        def work(call: Call) -> dict[TopicPartition, model.PartitionReassignment]:
            body = {"timeout_ms": call.left_ms, "topics": topics}
            return {
                TopicPartition(topic["name"], p["partition_index"]): model.PartitionReassignment(
                    tuple(p["replicas"]), tuple(p["adding_replicas"]), tuple(p["removing_replicas"])
                )
                for topic in call("ListPartitionReassignments", body, to="controller")["topics"]
                for p in topic["partitions"]
            }

        return self._operate(work, request_timeout)

    def describe_log_dirs(
        self, brokers: Iterable[int], *, request_timeout: float | None = None
    ) -> "dict[int, Future[dict[str, model.LogDirDescription | KafkaError]]]":
        """Describe the log directories of brokers.

        Args:
            brokers: Broker ids.
            request_timeout: Seconds.

        Returns:
            dict[int, Future[dict[str, LogDirDescription | KafkaError]]]: By directory, by broker id; a
            directory that is offline has the error in place of a description.
        """
        futures: dict[int, Future[dict[str, model.LogDirDescription | KafkaError]]] = {}
        for broker in dict.fromkeys(_arguments.items(brokers, int, "brokers")):
            futures[broker] = self._operate(functools.partial(_log_dirs, broker=broker), request_timeout)
        return futures

    def describe_replica_log_dirs(
        self, replicas: Iterable[model.TopicPartitionReplica], *, request_timeout: float | None = None
    ) -> "dict[model.TopicPartitionReplica, Future[model.ReplicaLogDirInfo]]":
        """Say in which directory replicas are.

        Args:
            replicas: Replicas.
            request_timeout: Seconds.

        Returns:
            dict[TopicPartitionReplica, Future[ReplicaLogDirInfo]]: By replica.
        """
        futures: dict[model.TopicPartitionReplica, Future[model.ReplicaLogDirInfo]] = {}
        for broker, each in _by_broker(replicas).items():
            work = _ReplicaDirs(broker, each)
            futures.update(self._operate_each(each, work, request_timeout))
        return futures

    def alter_replica_log_dirs(
        self, replicas: Mapping[model.TopicPartitionReplica, str], *, request_timeout: float | None = None
    ) -> "dict[model.TopicPartitionReplica, Future[None]]":
        """Move replicas to other directories of their brokers.

        Args:
            replicas: Absolute path of the directory by replica.
            request_timeout: Seconds.

        Returns:
            dict[TopicPartitionReplica, Future[None]]: By replica; the move itself goes on after that.
        """
        paths = dict(replicas)
        futures: dict[model.TopicPartitionReplica, Future[None]] = {}
        for broker, each in _by_broker(paths).items():
            work = _MoveReplicas(broker, {replica: paths[replica] for replica in each})
            futures.update(self._operate_each(each, work, request_timeout))
        return futures

    # Features, quorum, brokers: KIP-584, KIP-836, KIP-853, KIP-631

    def describe_features(self, *, request_timeout: float | None = None) -> "Future[model.FeatureMetadata]":
        """Describe the features of the cluster and their levels."""

        def work(call: Call) -> model.FeatureMetadata:
            answer = call("ApiVersions", {"client_software_name": "cykafka", "client_software_version": "0"})
            return model.FeatureMetadata(
                {
                    f["name"]: model.VersionRange(f["min_version_level"], f["max_version_level"])
                    for f in answer["finalized_features"]
                },
                known(answer["finalized_features_epoch"]),
                {
                    f["name"]: model.VersionRange(f["min_version"], f["max_version"])
                    for f in answer["supported_features"]
                },
            )

        return self._operate(work, request_timeout)

    def update_features(
        self,
        updates: Mapping[str, model.FeatureUpdate],
        *,
        validate_only: bool = False,
        request_timeout: float | None = None,
    ) -> "dict[str, Future[None]]":
        """Change levels of features.

        Args:
            updates: New levels by feature.
            validate_only: Check without doing.
            request_timeout: Seconds.

        Returns:
            dict[str, Future[None]]: By feature.
        """
        names = _arguments.names(updates, "updates")
        _arguments.items(updates.values(), model.FeatureUpdate, "values of updates")

        def work(call: Call) -> dict[str, Any]:
            body: dict[str, Any] = {
                "timeout_ms": call.left_ms,
                "feature_updates": [
                    {
                        "feature": name,
                        "max_version_level": updates[name].max_version_level,
                        "upgrade_type": updates[name].upgrade_type.value,
                    }
                    for name in names
                ],
            }
            if validate_only:
                body["validate_only"] = True
            answer = call("UpdateFeatures", body, to="controller")
            # From version 2 on it is all or nothing.
            return {**dict.fromkeys(names), **{each["feature"]: result(each) for each in answer["results"]}}

        return self._operate_each(names, work, request_timeout)

    def describe_metadata_quorum(self, *, request_timeout: float | None = None) -> "Future[model.QuorumInfo]":
        """Describe the quorum of controllers."""
        body = {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}

        def work(call: Call) -> model.QuorumInfo | KafkaError:
            answer = call("DescribeQuorum", body)
            partition = answer["topics"][0]["partitions"][0]
            info = model.QuorumInfo(
                partition["leader_id"],
                partition["leader_epoch"],
                partition["high_watermark"],
                tuple(map(_quorum_replica, partition["current_voters"])),
                tuple(map(_quorum_replica, partition["observers"])),
                {
                    node["node_id"]: tuple(
                        model.RaftVoterEndpoint(e["name"], e["host"], e["port"]) for e in node["listeners"]
                    )
                    for node in answer["nodes"]
                },
            )
            return result(partition, info)  # type: ignore[no-any-return]

        return self._operate(work, request_timeout)

    def add_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: str,
        endpoints: Iterable[model.RaftVoterEndpoint],
        *,
        cluster_id: str | None = None,
        request_timeout: float | None = None,
    ) -> "Future[None]":
        """Make a controller a voter.

        Args:
            voter_id: Node id.
            voter_directory_id: Id of its metadata directory, 22 characters.
            endpoints: Its controller listeners.
            cluster_id: Id that the cluster must have; None for any.
            request_timeout: Seconds.
        """
        listeners = [
            {"name": e.name, "host": e.host, "port": e.port}
            for e in _arguments.items(endpoints, model.RaftVoterEndpoint, "endpoints")
        ]
        body = {
            "cluster_id": cluster_id,
            "voter_id": voter_id,
            "voter_directory_id": voter_directory_id,
            "listeners": listeners,
        }
        return self._operate(
            lambda call: _nothing(call("AddRaftVoter", {**body, "timeout_ms": call.left_ms}, to="controller")),
            request_timeout,
        )

    def remove_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: str,
        *,
        cluster_id: str | None = None,
        request_timeout: float | None = None,
    ) -> "Future[None]":
        """Make a controller a voter no more; arguments as of `add_raft_voter`."""
        body = {"cluster_id": cluster_id, "voter_id": voter_id, "voter_directory_id": voter_directory_id}
        return self._operate(lambda call: _nothing(call("RemoveRaftVoter", body, to="controller")), request_timeout)

    def unregister_broker(self, broker_id: int, *, request_timeout: float | None = None) -> "Future[None]":
        """Take a broker that will not come back out of the cluster's metadata."""
        body = {"broker_id": broker_id}
        return self._operate(lambda call: _nothing(call("UnregisterBroker", body, to="controller")), request_timeout)

    # Configuration resources: KIP-1142

    def list_config_resources(
        self, types: Iterable[int] = (), *, request_timeout: float | None = None
    ) -> "Future[list[model.ConfigResourceListing]]":
        """List the resources that have a configuration.

        Args:
            types: Numbers of the types to list, see `ConfigResourceListing`; none for all.
            request_timeout: Seconds.
        """
        numbers = _arguments.items(types, int, "types", empty=True)

        def work(call: Call) -> list[model.ConfigResourceListing]:
            answer = call("ListConfigResources", {"resource_types": numbers} if numbers else {})
            return [
                model.ConfigResourceListing(each["resource_name"], each["resource_type"])
                for each in answer["config_resources"]
            ]

        return self._operate(work, request_timeout)

    def list_client_metrics_resources(
        self, *, request_timeout: float | None = None
    ) -> "Future[list[model.ConfigResourceListing]]":
        """List the subscriptions to metrics of clients (KIP-714)."""
        return self.list_config_resources([_CLIENT_METRICS], request_timeout=request_timeout)

    # Delegation tokens: KIP-48

    def create_delegation_token(
        self,
        *,
        renewers: Iterable[str] = (),
        owner: str | None = None,
        max_lifetime: float | None = None,
        request_timeout: float | None = None,
    ) -> "Future[model.DelegationToken]":
        """Create a token.

        Args:
            renewers: Principals that may renew it, like ``User:alice``.
            owner: Principal whom it is for; None for the client's own.
            max_lifetime: Seconds; None for the broker's longest.
            request_timeout: Seconds.
        """
        names = _arguments.names(renewers, "renewers", empty=True)
        body: dict[str, Any] = {
            "renewers": [_principal(name) for name in names],
            "max_lifetime_ms": -1 if max_lifetime is None else int(max_lifetime * 1000),
        }
        if owner is not None:
            kind = _principal(owner)
            body |= {"owner_principal_type": kind["principal_type"], "owner_principal_name": kind["principal_name"]}

        def work(call: Call) -> model.DelegationToken:
            answer = call("CreateDelegationToken", body)
            return model.DelegationToken(
                answer["token_id"],
                answer["hmac"],
                f"{answer['principal_type']}:{answer['principal_name']}",
                tuple(names),
                answer["issue_timestamp_ms"],
                answer["expiry_timestamp_ms"],
                answer["max_timestamp_ms"],
            )

        return self._operate(work, request_timeout)

    def renew_delegation_token(
        self, hmac: bytes, *, period: float | None = None, request_timeout: float | None = None
    ) -> "Future[int]":
        """Renew a token.

        Args:
            hmac: The token's secret.
            period: Seconds from now on; None for the broker's default.
            request_timeout: Seconds.

        Returns:
            Future[int]: When it expires, in milliseconds since 1970.
        """
        body = {"hmac": hmac, "renew_period_ms": -1 if period is None else int(period * 1000)}
        return self._operate(lambda call: call("RenewDelegationToken", body)["expiry_timestamp_ms"], request_timeout)

    def expire_delegation_token(
        self, hmac: bytes, *, period: float | None = None, request_timeout: float | None = None
    ) -> "Future[int]":
        """Let a token expire; arguments and result as of `renew_delegation_token`, but None means at once."""
        body = {"hmac": hmac, "expiry_time_period_ms": -1 if period is None else int(period * 1000)}
        return self._operate(lambda call: call("ExpireDelegationToken", body)["expiry_timestamp_ms"], request_timeout)

    def describe_delegation_tokens(
        self, owners: Iterable[str] | None = None, *, request_timeout: float | None = None
    ) -> "Future[list[model.DelegationToken]]":
        """Describe tokens.

        Args:
            owners: Principals whose tokens to describe; None for all that the client may see.
            request_timeout: Seconds.
        """
        body = {"owners": None if owners is None else [_principal(o) for o in _arguments.names(owners, "owners")]}

        def work(call: Call) -> list[model.DelegationToken]:
            return [
                model.DelegationToken(
                    token["token_id"],
                    token["hmac"],
                    f"{token['principal_type']}:{token['principal_name']}",
                    tuple(f"{r['principal_type']}:{r['principal_name']}" for r in token["renewers"]),
                    token["issue_timestamp"],
                    token["expiry_timestamp"],
                    token["max_timestamp"],
                )
                for token in call("DescribeDelegationToken", body)["tokens"]
            ]

        return self._operate(work, request_timeout)


def _nothing(response: Any) -> None:
    """Drop a response that says no more than that all is well."""


def _entity(parts: Iterable[Mapping[str, Any]]) -> model.ClientQuotaEntity:
    return model.ClientQuotaEntity({part["entity_type"]: part["entity_name"] for part in parts})


def _principal(text: str) -> dict[str, str]:
    kind, colon, name = text.partition(":")
    if not colon or not kind or not name:
        raise ValueError(f"A principal must be written like User:alice, not {text!r}")
    return {"principal_type": kind, "principal_name": name}


def _quorum_replica(each: Mapping[str, Any]) -> model.QuorumReplica:
    directory = each["replica_directory_id"]
    return model.QuorumReplica(
        each["replica_id"],
        None if directory == _NO_ID else directory,
        each["log_end_offset"],
        known(each["last_fetch_timestamp"]),
        known(each["last_caught_up_timestamp"]),
    )


def _by_broker(
    replicas: Iterable[model.TopicPartitionReplica],
) -> dict[int, list[model.TopicPartitionReplica]]:
    brokers: dict[int, list[model.TopicPartitionReplica]] = {}
    for replica in _arguments.items(replicas, model.TopicPartitionReplica, "replicas"):
        brokers.setdefault(replica.broker_id, []).append(replica)
    return brokers


def _topics(replicas: Iterable[model.TopicPartitionReplica], name: str) -> list[dict[str, Any]]:
    topics = by_topic(TopicPartition(replica.topic, replica.partition) for replica in replicas)
    return [{name: topic, "partitions": [p.partition for p in each]} for topic, each in topics.items()]


def _log_dirs(call: Call, broker: int) -> dict[str, model.LogDirDescription | KafkaError]:
    answer = call("DescribeLogDirs", {"topics": None}, to=broker)
    return {
        each["log_dir"]: result(
            each,
            model.LogDirDescription(
                {
                    TopicPartition(topic["name"], p["partition_index"]): model.ReplicaInfo(
                        p["partition_size"], p["offset_lag"], p["is_future_key"]
                    )
                    for topic in each["topics"]
                    for p in topic["partitions"]
                },
                known(each["total_bytes"]),
                known(each["usable_bytes"]),
            ),
        )
        for each in answer["results"]
    }


class _ReplicaDirs:
    """Asks one broker in which directories some replicas are."""

    def __init__(self, broker: int, replicas: list[model.TopicPartitionReplica]) -> None:
        self.broker = broker
        self.replicas = replicas

    def __call__(self, call: Call) -> dict[model.TopicPartitionReplica, Any]:
        answer = call("DescribeLogDirs", {"topics": _topics(self.replicas, "topic")}, to=self.broker)
        found: dict[model.TopicPartitionReplica, dict[str, Any]] = {replica: {} for replica in self.replicas}
        for each in answer["results"]:
            for topic in each["topics"]:
                for p in topic["partitions"]:
                    replica = model.TopicPartitionReplica(topic["name"], p["partition_index"], self.broker)
                    when = "future" if p["is_future_key"] else "current"
                    place = {f"{when}_log_dir": each["log_dir"], f"{when}_offset_lag": p["offset_lag"]}
                    found.setdefault(replica, {}).update(place)
        return {replica: model.ReplicaLogDirInfo(**places) for replica, places in found.items()}


class _MoveReplicas:
    """Tells one broker to move some replicas to other directories."""

    def __init__(self, broker: int, paths: dict[model.TopicPartitionReplica, str]) -> None:
        self.broker = broker
        self.paths = paths

    def __call__(self, call: Call) -> dict[model.TopicPartitionReplica, Any]:
        dirs: dict[str, list[model.TopicPartitionReplica]] = {}
        for replica, path in self.paths.items():
            dirs.setdefault(path, []).append(replica)
        body = {"dirs": [{"path": path, "topics": _topics(each, "name")} for path, each in dirs.items()]}
        return {
            model.TopicPartitionReplica(topic["topic_name"], p["partition_index"], self.broker): result(p)
            for topic in call("AlterReplicaLogDirs", body, to=self.broker)["results"]
            for p in topic["partitions"]
        }
