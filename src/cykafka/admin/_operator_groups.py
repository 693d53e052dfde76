"""The operations that librdkafka lacks: groups of every type, producers and transactions."""

import functools
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from cykafka._rdkafka.core import KafkaError, KafkaException, TopicPartition, make_exception
from cykafka.admin import _arguments
from cykafka.admin import _operator_model as model
from cykafka.admin._operator import ClusterOperations, OperatorBase, by_topic, known, result
from cykafka.admin._operator_thread import Call
from cykafka.admin.protocol import Coordinator, Leader, api

_NO_SUCH_GROUP = 69
_FENCING_TIMEOUT_MS = 60000
_ABORT_PAUSE_MS = 100


class GroupOperations(OperatorBase):
    """Groups of every type; see `ClusterOperations` for what all methods have in common."""

    def list_all_groups(
        self,
        *,
        types: Iterable[str] = (),
        states: Iterable[str] = (),
        request_timeout: float | None = None,
    ) -> "Future[list[model.GroupListing]]":
        """List the groups of every broker: classic, consumer, share and streams groups.

        Args:
            types: ``Classic``, ``Consumer``, ``Share``, ``Streams``; none for all.
            states: ``Stable``, ``Empty``, ...; none for all.
            request_timeout: Seconds.
        """
        filters = {
            "types_filter": _arguments.names(types, "types", empty=True),
            "states_filter": _arguments.names(states, "states", empty=True),
        }

        def work(call: Call) -> list[model.GroupListing]:
            return [
                model.GroupListing(
                    group["group_id"], group["protocol_type"], group["group_state"] or None, group["group_type"] or None
                )
                for broker in call.cluster.brokers(call.deadline)
                for group in call("ListGroups", filters, to=broker)["groups"]
            ]

        return self._operate(work, request_timeout)

    def describe_classic_groups(
        self, group_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, Future[model.ClassicGroupDescription]]":
        """Describe groups of the classic protocol, also those that are no consumers'.

        Args:
            group_ids: Group ids.
            request_timeout: Seconds.

        Returns:
            dict[str, Future[ClassicGroupDescription]]: By group id; GROUP_ID_NOT_FOUND if there is none.
        """

        def work(call: Call, name: str) -> Any:
            (each,) = call("DescribeGroups", {"groups": [name]}, to=Coordinator("group", name))["groups"]
            if not each["error_code"] and each["group_state"] == "Dead":
                return KafkaError(_NO_SUCH_GROUP, f"There is no group {name}")
            return result(each, _classic_group(each))

        return self._for_each(group_ids, "group_ids", work, request_timeout)

    def remove_members_from_consumer_group(
        self,
        group_id: str,
        members: Iterable[model.MemberToRemove] | None = None,
        *,
        reason: str | None = None,
        request_timeout: float | None = None,
    ) -> "Future[dict[model.MemberToRemove, KafkaException | None]]":
        """Remove members from a classic group (KIP-345): they rejoin if they live.

        Args:
            group_id: Group id.
            members: Members; None for all there are.
            reason: For the broker's log (KIP-800).
            request_timeout: Seconds.

        Returns:
            Future[dict[MemberToRemove, KafkaException | None]]: What came of it, None for success, by member.
        """
        name = _arguments.name(group_id, "group_id")
        chosen = None if members is None else _arguments.items(members, model.MemberToRemove, "members")

        def work(call: Call) -> Any:
            to = Coordinator("group", name)
            leaving = chosen
            if leaving is None:
                (group,) = call("DescribeGroups", {"groups": [name]}, to=to)["groups"]
                if group["error_code"]:
                    return result(group)
                leaving = [
                    model.MemberToRemove(each["group_instance_id"])
                    if each["group_instance_id"]
                    else model.MemberToRemove(member_id=each["member_id"])
                    for each in group["members"]
                ]
            if not leaving:
                return {}
            said = {"reason": reason} if reason else {}
            body = {
                "group_id": name,
                "members": [
                    {"member_id": each.member_id, "group_instance_id": each.group_instance_id, **said}
                    for each in leaving
                ],
            }
            answered = call("LeaveGroup", body, to=to)["members"]
            return {
                each: make_exception(error) if (error := result(answer)) else None
                for each, answer in zip(leaving, answered, strict=False)
            }

        return self._operate(work, request_timeout)

    # Share groups: KIP-932; streams groups: KIP-1071

    def describe_share_groups(
        self, group_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, Future[model.ShareGroupDescription]]":
        """Describe share groups.

        Args:
            group_ids: Group ids.
            request_timeout: Seconds.

        Returns:
            dict[str, Future[ShareGroupDescription]]: By group id.
        """

        def work(call: Call, name: str) -> Any:
            (each,) = call("ShareGroupDescribe", {"group_ids": [name]}, to=Coordinator("group", name))["groups"]
            return result(each, _share_group(each))

        return self._for_each(group_ids, "group_ids", work, request_timeout)

    def describe_streams_groups(
        self, group_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, Future[model.StreamsGroupDescription]]":
        """Describe streams groups.

        Args:
            group_ids: Group ids.
            request_timeout: Seconds.

        Returns:
            dict[str, Future[StreamsGroupDescription]]: By group id.
        """

        def work(call: Call, name: str) -> Any:
            (each,) = call("StreamsGroupDescribe", {"group_ids": [name]}, to=Coordinator("group", name))["groups"]
            return result(each, _streams_group(each))

        return self._for_each(group_ids, "group_ids", work, request_timeout)

    def list_share_group_offsets(
        self,
        groups: Mapping[str, Iterable[TopicPartition] | None],
        *,
        request_timeout: float | None = None,
    ) -> "dict[str, Future[dict[TopicPartition, model.ShareGroupOffset | KafkaError]]]":
        """List where share groups begin to read.

        Args:
            groups: Partitions by group id; None for all that the group has.
            request_timeout: Seconds.

        Returns:
            dict[str, Future[dict[TopicPartition, ShareGroupOffset | KafkaError]]]: By partition, by group id.
        """
        asked = {
            group: None if partitions is None else _arguments.partitions(partitions, "partitions")
            for group, partitions in groups.items()
        }

        def work(call: Call, name: str) -> Any:
            partitions = asked[name]
            topics = None if partitions is None else _topic_partitions(partitions, "topic_name", "partitions")
            body = {"groups": [{"group_id": name, "topics": topics}]}
            (each,) = call("DescribeShareGroupOffsets", body, to=Coordinator("group", name))["groups"]
            offsets = {
                TopicPartition(topic["topic_name"], p["partition_index"]): result(
                    p, model.ShareGroupOffset(p["start_offset"], known(p["leader_epoch"]), known(p["lag"]))
                )
                for topic in each["topics"]
                for p in topic["partitions"]
            }
            return result(each, offsets)

        return self._for_each(asked, "groups", work, request_timeout)

    def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, request_timeout: float | None = None
    ) -> "dict[TopicPartition, Future[None]]":
        """Set where an empty share group begins to read.

        Args:
            group_id: Group id.
            offsets: Offset by partition.
            request_timeout: Seconds.

        Returns:
            dict[TopicPartition, Future[None]]: By partition.
        """
        name = _arguments.name(group_id, "group_id")
        starts = dict(offsets)
        partitions = _arguments.partitions(starts, "offsets")
        topics = [
            {
                "topic_name": topic,
                "partitions": [{"partition_index": p.partition, "start_offset": starts[p]} for p in each],
            }
            for topic, each in by_topic(partitions).items()
        ]

        def work(call: Call) -> dict[TopicPartition, Any]:
            body = {"group_id": name, "topics": topics}
            answer = call("AlterShareGroupOffsets", body, to=Coordinator("group", name))
            return {
                TopicPartition(topic["topic_name"], p["partition_index"]): result(p)
                for topic in answer["responses"]
                for p in topic["partitions"]
            }

        return self._operate_each(partitions, work, request_timeout)

    def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, Future[None]]":
        """Delete what an empty share group has read of topics.

        Args:
            group_id: Group id.
            topics: Topic names.
            request_timeout: Seconds.

        Returns:
            dict[str, Future[None]]: By topic.
        """
        name = _arguments.name(group_id, "group_id")
        names = _arguments.names(topics, "topics")

        def work(call: Call) -> dict[str, Any]:
            body = {"group_id": name, "topics": [{"topic_name": topic} for topic in names]}
            answer = call("DeleteShareGroupOffsets", body, to=Coordinator("group", name))
            return {each["topic_name"]: result(each) for each in answer["responses"]}

        return self._operate_each(names, work, request_timeout)

    def delete_share_groups(
        self, group_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, Future[None]]":
        """Delete empty share groups.

        Args:
            group_ids: Group ids.
            request_timeout: Seconds.

        Returns:
            dict[str, Future[None]]: By group id.
        """

        def work(call: Call, name: str) -> Any:
            (each,) = call("DeleteGroups", {"groups_names": [name]}, to=Coordinator("group", name))["results"]
            return result(each)

        return self._for_each(group_ids, "group_ids", work, request_timeout)

    # Transactions and producers: KIP-664

    def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        longer_than: float | None = None,
        pattern: str | None = None,
        request_timeout: float | None = None,
    ) -> "Future[list[model.TransactionListing]]":
        """List the transactions that the brokers know.

        Args:
            states: ``Ongoing``, ``Empty``, ``CompleteCommit``, ...; none for all.
            producer_ids: Producers; none for all.
            longer_than: Seconds that they must have been open (Kafka 3.8); None for any.
            pattern: Regular expression that transactional ids must match (Kafka 4.1); None for any.
            request_timeout: Seconds.
        """
        body: dict[str, Any] = {
            "state_filters": _arguments.names(states, "states", empty=True),
            "producer_id_filters": _arguments.items(producer_ids, int, "producer_ids", empty=True),
            "duration_filter": -1 if longer_than is None else int(longer_than * 1000),
            "transactional_id_pattern": pattern,
        }

        def work(call: Call) -> list[model.TransactionListing]:
            found = []
            for broker in call.cluster.brokers(call.deadline):
                answer = call("ListTransactions", body, to=broker)
                if answer["unknown_state_filters"]:
                    raise ValueError(f"The broker knows no state {', '.join(answer['unknown_state_filters'])}")
                found += [
                    model.TransactionListing(t["transactional_id"], t["producer_id"], t["transaction_state"])
                    for t in answer["transaction_states"]
                ]
            return found

        return self._operate(work, request_timeout)

    def describe_transactions(
        self, transactional_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, Future[model.TransactionDescription]]":
        """Describe transactions.

        Args:
            transactional_ids: Transactional ids.
            request_timeout: Seconds.

        Returns:
            dict[str, Future[TransactionDescription]]: By transactional id.
        """

        def work(call: Call, name: str) -> Any:
            to = Coordinator("transaction", name)
            (each,) = call("DescribeTransactions", {"transactional_ids": [name]}, to=to)["transaction_states"]
            return result(
                each,
                model.TransactionDescription(
                    each["transaction_state"],
                    each["producer_id"],
                    each["producer_epoch"],
                    each["transaction_timeout_ms"] / 1000,
                    known(each["transaction_start_time_ms"]),
                    frozenset(TopicPartition(t["topic"], p) for t in each["topics"] for p in t["partitions"]),
                ),
            )

        return self._for_each(transactional_ids, "transactional_ids", work, request_timeout)

    def describe_producers(
        self, partitions: Iterable[TopicPartition], *, broker: int | None = None, request_timeout: float | None = None
    ) -> "dict[TopicPartition, Future[list[model.ProducerState]]]":
        """List the producers that are active on partitions.

        Args:
            partitions: Partitions.
            broker: Broker id to ask; None for each partition's leader.
            request_timeout: Seconds.

        Returns:
            dict[TopicPartition, Future[list[ProducerState]]]: By partition.
        """
        asked = _arguments.partitions(partitions, "partitions")

        def work(call: Call, partition: TopicPartition) -> Any:
            body = {"topics": _topic_partitions([partition], "name", "partition_indexes")}
            to = Leader(partition.topic, partition.partition) if broker is None else broker
            each = call("DescribeProducers", body, to=to)["topics"][0]["partitions"][0]
            return result(
                each,
                [
                    model.ProducerState(
                        p["producer_id"],
                        p["producer_epoch"],
                        p["last_sequence"],
                        p["last_timestamp"],
                        known(p["coordinator_epoch"]),
                        known(p["current_txn_start_offset"]),
                    )
                    for p in each["active_producers"]
                ],
            )

        return {p: self._operate(functools.partial(work, partition=p), request_timeout) for p in asked}

    def abort_transaction(
        self, spec: model.AbortTransactionSpec, *, request_timeout: float | None = None
    ) -> "Future[None]":
        """Abort a transaction that hangs on a partition because its coordinator has lost it.

        The partition's leader writes the marker as it is told: take the values from `describe_producers`.

        Args:
            spec: Partition, producer and epochs.
            request_timeout: Seconds.
        """
        if not isinstance(spec, model.AbortTransactionSpec):
            raise TypeError(f"spec must be an AbortTransactionSpec, not {type(spec).__name__}")
        (partition,) = _arguments.partitions([spec.topic_partition], "topic_partition")
        marker = {
            "producer_id": spec.producer_id,
            "producer_epoch": spec.producer_epoch,
            "transaction_result": False,
            "topics": _topic_partitions([partition], "name", "partition_indexes"),
            "coordinator_epoch": spec.coordinator_epoch,
        }

        def work(call: Call) -> Any:
            to = Leader(partition.topic, partition.partition)
            answer = call("WriteTxnMarkers", {"markers": [marker]}, to=to)
            return result(answer["markers"][0]["topics"][0]["partitions"][0])

        return self._operate(work, request_timeout)

    def fence_producers(
        self, transactional_ids: Iterable[str], *, request_timeout: float | None = None
    ) -> "dict[str, Future[model.ProducerIdAndEpoch]]":
        """Fence the producers with transactional ids: their transactions are aborted, they must be made anew.

        Args:
            transactional_ids: Transactional ids.
            request_timeout: Seconds.

        Returns:
            dict[str, Future[ProducerIdAndEpoch]]: By transactional id.
        """

        def work(call: Call, name: str) -> Any:
            body = {"transactional_id": name, "transaction_timeout_ms": _FENCING_TIMEOUT_MS}
            while True:
                answer = call.cluster.request(
                    api("InitProducerId"), body, to=Coordinator("transaction", name), deadline=call.deadline
                )
                # The open transaction is being aborted.
                if answer["error_code"] != KafkaError.CONCURRENT_TRANSACTIONS or call.left_ms <= _ABORT_PAUSE_MS:
                    return result(answer, model.ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"]))
                time.sleep(_ABORT_PAUSE_MS / 1000)

        return self._for_each(transactional_ids, "transactional_ids", work, request_timeout)

    def force_terminate_transaction(
        self, transactional_id: str, *, request_timeout: float | None = None
    ) -> "Future[model.ProducerIdAndEpoch]":
        """Abort the open transaction of a transactional id, by fencing its producer (KIP-939)."""
        return self.fence_producers([transactional_id], request_timeout=request_timeout)[transactional_id]

    def _for_each(self, keys: Iterable[str], what: str, work: Any, timeout: float | None) -> "dict[str, Future[Any]]":
        if isinstance(keys, Mapping):
            keys = list(keys)
        return {key: self._operate(functools.partial(work, name=key), timeout) for key in _arguments.names(keys, what)}


class OperatorMixin(ClusterOperations, GroupOperations):
    """What `AdminClient` gets from `cykafka.admin.protocol`.

    The class that it is mixed into says by `_operator_config` what its configuration is, and calls `_close_operator`.
    """


def _topic_partitions(partitions: Iterable[TopicPartition], name: str, numbers: str) -> list[dict[str, Any]]:
    return [{name: topic, numbers: [p.partition for p in each]} for topic, each in by_topic(partitions).items()]


def _classic_group(group: Mapping[str, Any]) -> model.ClassicGroupDescription:
    return model.ClassicGroupDescription(
        group["group_id"],
        group["protocol_type"],
        group["protocol_data"],
        group["group_state"],
        tuple(
            model.ClassicGroupMember(
                each["member_id"],
                each["group_instance_id"],
                each["client_id"],
                each["client_host"],
                each["member_metadata"],
                each["member_assignment"],
            )
            for each in group["members"]
        ),
    )


def _share_group(group: Mapping[str, Any]) -> model.ShareGroupDescription:
    return model.ShareGroupDescription(
        group["group_id"],
        group["group_state"],
        group["group_epoch"],
        group["assignment_epoch"],
        group["assignor_name"],
        tuple(
            model.ShareGroupMember(
                each["member_id"],
                each["rack_id"],
                each["member_epoch"],
                each["client_id"],
                each["client_host"],
                tuple(each["subscribed_topic_names"]),
                frozenset(
                    TopicPartition(topic["topic_name"], number)
                    for topic in each["assignment"]["topic_partitions"]
                    for number in topic["partitions"]
                ),
            )
            for each in group["members"]
        ),
    )


def _streams_group(group: Mapping[str, Any]) -> model.StreamsGroupDescription:
    topology = group["topology"] or {}
    return model.StreamsGroupDescription(
        group["group_id"],
        group["group_state"],
        group["group_epoch"],
        group["assignment_epoch"],
        {each["subtopology_id"]: tuple(each["source_topics"]) for each in topology.get("subtopologies") or ()},
        tuple(
            model.StreamsGroupMember(
                each["member_id"],
                each["member_epoch"],
                each["instance_id"],
                each["client_id"],
                each["client_host"],
                each["process_id"],
                _tasks(each["assignment"]),
                _tasks(each["target_assignment"]),
            )
            for each in group["members"]
        ),
    )


def _tasks(assignment: Mapping[str, Any]) -> model.StreamsTasks:
    active, standby, warmup = (
        {task["subtopology_id"]: tuple(task["partitions"]) for task in assignment[f"{kind}_tasks"]}
        for kind in ("active", "standby", "warmup")
    )
    return model.StreamsTasks(active, standby, warmup)
