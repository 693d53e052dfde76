"""What the driver asks Kafka for: partitions, and the offsets that a read starts and ends at."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from cykafka.spark.errors import DataLossError, FetchError, OptionError
from cykafka.spark.offsets import EARLIEST, LATEST, Offsets, TopicPartition, describe
from cykafka.spark.options import Position, PositionKind, ReadOptions
from cykafka.spark.patterns import compile_java_pattern
from cykafka.spark.properties import PREFIX, Config

if TYPE_CHECKING:
    from cykafka import Consumer

_LOG = logging.getLogger(__name__)
_REQUEST_TIMEOUT = 30.0
# Asking for more topics than this one by one costs more than asking for all.
_TOPICS_ASKED_SINGLY = 5

# What librdkafka calls properties of Java's names in its messages.
_FULL_NAMES = {
    "acks": "request.required.acks",
    "bootstrap.servers": "metadata.broker.list",
    "compression.type": "compression.codec",
    "delivery.timeout.ms": "message.timeout.ms",
    "linger.ms": "queue.buffering.max.ms",
    "max.in.flight.requests.per.connection": "max.in.flight",
    "max.partition.fetch.bytes": "fetch.message.max.bytes",
    "retries": "message.send.max.retries",
    "sasl.mechanism": "sasl.mechanisms",
}

T = TypeVar("T")


def open_consumer(config: Config, group_id: str) -> Consumer:
    """Make a consumer; what librdkafka says of a bad property comes out under the option's name.

    Args:
        config: Configuration without a group id.
        group_id: Group id.

    Raises:
        OptionError: librdkafka refuses the configuration.
    """
    from cykafka import Consumer, KafkaException

    try:
        return Consumer({**config, "group.id": group_id})
    except KafkaException as error:
        raise config_error(error, config) from None


def config_error(error: Exception, config: Mapping[str, object]) -> OptionError:
    """Turn librdkafka's refusal of a configuration into an error that names the option."""
    text = str(error.args[0].str() if error.args and hasattr(error.args[0], "str") else error).strip()
    words = set(re.findall(r"[a-z0-9_]+(?:\.[a-z0-9_]+)+", text))
    named = [name for name in config if name in words or _FULL_NAMES.get(name) in words]
    return OptionError(f"{PREFIX}{named[0]}" if named else f"{PREFIX}*", text)


class KafkaMetadata:
    """Asks Kafka for partitions and offsets, again if need be. Opened on first use; for one thread.

    Args:
        options: Options of the reader.
        group_id: Group id of its consumer.
    """

    def __init__(self, options: ReadOptions, group_id: str) -> None:
        self._options = options
        self._group_id = group_id
        self._consumer: Consumer | None = None
        self._pattern = None if options.topics.pattern is None else compile_java_pattern(options.topics.pattern)

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def partitions(self) -> set[TopicPartition]:
        """Partitions that the options choose and that exist now.

        Raises:
            FetchError: Kafka did not answer.
        """
        return self._with_retries("list partitions", self._partitions)

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """First offsets; partitions that do not exist (any more) are left out.

        Raises:
            FetchError: Kafka did not answer.
        """
        return self._ask_existing(set(partitions), EARLIEST)

    def latest(self, known: Mapping[TopicPartition, int] | None = None) -> Offsets:
        """End offsets of all partitions that exist now; with read_committed those of what is committed.

        Args:
            known: Offsets that have been seen. An end before those comes from a broker that is behind, or a
                topic that was made anew; it is asked for again and then taken.

        Raises:
            FetchError: Kafka did not answer.
        """
        result: Offsets = {}
        for attempt in range(self._options.fetch_retries + 1):
            if attempt:
                time.sleep(self._options.fetch_retry_interval)
            result = self._ask_existing(self.partitions(), LATEST)
            behind = {each: result[each] for each in result if result[each] < (known or {}).get(each, 0)}
            if not behind:
                break
            _LOG.warning(
                "the ends %s are before offsets that were seen already: %s",
                describe(behind),
                describe({each: (known or {})[each] for each in behind}),
            )
        return result

    def resolve(self, position: Position, partitions: set[TopicPartition], *, is_start: bool) -> Offsets:
        """Find the offsets of a start or an end.

        Args:
            position: Start or end as the options give it.
            partitions: Partitions to find it for.
            is_start: Whether it is a start.

        Raises:
            OptionError: The option names other partitions, or no record is late enough for a starting time.
            FetchError: Kafka did not answer.
        """
        if position.kind in {PositionKind.OFFSETS, PositionKind.TIMESTAMPS}:
            _check_same_partitions(position, partitions)
        if position.kind is PositionKind.EARLIEST:
            return self._ask(dict.fromkeys(partitions, EARLIEST))
        if position.kind is PositionKind.LATEST:
            return self._ask(dict.fromkeys(partitions, LATEST))
        if position.kind is PositionKind.OFFSETS:
            given = position.by_partition
            asked = self._ask({each: offset for each, offset in given.items() if offset < 0})
            return {**given, **asked}
        times = (
            dict.fromkeys(partitions, position.timestamp)
            if position.kind is PositionKind.TIMESTAMP
            else position.by_partition
        )
        return self._offsets_for_times(position, times, is_start=is_start)

    def since(self, timestamp_ms: int, partitions: Iterable[TopicPartition]) -> Offsets:
        """First offsets whose records are not older; the end where there is none.

        Args:
            timestamp_ms: Milliseconds since 1970.
            partitions: Partitions to ask for.
        """
        found = self._ask(dict.fromkeys(partitions, timestamp_ms))
        return {**found, **self._ask({each: LATEST for each, offset in found.items() if offset < 0})}

    def commit(self, group_id: str, positions: Offsets) -> None:
        """Store positions in a group, for tools that watch groups; never raises.

        Args:
            group_id: Group without members.
            positions: Positions of the next records.
        """
        from cykafka import KafkaException
        from cykafka import TopicPartition as NativePartition

        if not positions:
            return
        wanted = [NativePartition(each.topic, each.partition, offset) for each, offset in positions.items()]
        try:
            self._open().commit(offsets=wanted, asynchronous=False)
        except KafkaException as error:
            _LOG.warning("could not commit positions to the group '%s': %s", group_id, error)

    def _open(self) -> Consumer:
        if self._consumer is None:
            self._consumer = open_consumer(self._options.consumer, self._group_id)
        return self._consumer

    def _with_retries(self, doing: str, ask: Callable[[], T]) -> T:
        from cykafka import KafkaException

        attempts = self._options.fetch_retries + 1
        for attempt in range(attempts):
            try:
                return ask()
            except KafkaException as error:  # noqa: PERF203
                self.close()
                if attempt + 1 == attempts:
                    raise FetchError(
                        f"could not {doing} in {attempts} attempts ('fetchOffset.numRetries'): {error}"
                    ) from error
                _LOG.warning("could not %s, trying again: %s", doing, error)
                time.sleep(self._options.fetch_retry_interval)
        raise AssertionError("unreachable")

    def _partitions(self) -> set[TopicPartition]:
        topics = self._options.topics
        if topics.assign:
            existing = self._partitions_of({each.topic for each in topics.assign})
            return existing & set(topics.assign)
        if self._pattern is not None:
            every = self._open().list_topics(timeout=_REQUEST_TIMEOUT).topics
            chosen = {name for name in every if self._pattern.fullmatch(name)}
            return {TopicPartition(name, number) for name in chosen for number in every[name].partitions}
        return self._partitions_of(set(topics.subscribe))

    def _partitions_of(self, names: set[str]) -> set[TopicPartition]:
        from cykafka import KafkaError, KafkaException

        consumer = self._open()
        if len(names) > _TOPICS_ASKED_SINGLY:
            found = consumer.list_topics(timeout=_REQUEST_TIMEOUT).topics
        else:
            found = {}
            for name in names:
                found.update(consumer.list_topics(name, timeout=_REQUEST_TIMEOUT).topics)
        result = set()
        for name in names & found.keys():
            error = found[name].error
            if error is not None and error.code() not in {
                KafkaError.UNKNOWN_TOPIC_OR_PART,
                KafkaError._UNKNOWN_TOPIC,
            }:
                raise KafkaException(error)
            result |= {TopicPartition(name, number) for number in found[name].partitions}
        return result

    def _ask_existing(self, partitions: set[TopicPartition], offset: int) -> Offsets:
        try:
            return self._ask(dict.fromkeys(partitions, offset))
        except FetchError:
            existing = partitions & self.partitions()
            if existing == partitions:
                raise
            return self._ask(dict.fromkeys(existing, offset))

    def _ask(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """Ask for offsets by time; the times -2 and -1 stand for earliest and latest."""
        from cykafka import KafkaException
        from cykafka import TopicPartition as NativePartition

        if not wanted:
            return {}
        native = [NativePartition(each.topic, each.partition, number) for each, number in wanted.items()]

        def ask() -> Offsets:
            found = self._open().offsets_for_times(native, timeout=_REQUEST_TIMEOUT)
            for each in found:
                if each.error is not None:
                    raise KafkaException(each.error)
            return {TopicPartition(each.topic, each.partition): each.offset for each in found}

        return self._with_retries("get offsets", ask)

    def _offsets_for_times(self, position: Position, times: Mapping[TopicPartition, int], *, is_start: bool) -> Offsets:
        found = self._ask(times)
        nothing = {each for each, offset in found.items() if offset < 0}
        if nothing and is_start and not self._options.on_no_match_latest:
            raise OptionError(
                position.option,
                f"no record is as late as that in {', '.join(map(str, sorted(nothing)))}; to begin at the "
                "end of "
                "such partitions, set 'startingOffsetsByTimestampStrategy' to latest",
            )
        return {**found, **self._ask(dict.fromkeys(nothing, LATEST))}


def report_data_loss(options: ReadOptions, condition: str, problem: str) -> None:
    """Raise, or warn if the query is to go on when data is lost.

    Args:
        options: Options of the reader.
        condition: Sub-class of the error.
        problem: What was found.

    Raises:
        DataLossError: ``failOnDataLoss`` is true.
    """
    if options.fail_on_data_loss:
        raise DataLossError(condition, problem)
    _LOG.warning("%s Some data may have been missed.", problem)


def _check_same_partitions(position: Position, partitions: set[TopicPartition]) -> None:
    given = set(position.by_partition)
    if given != partitions:
        missing = ", ".join(map(str, sorted(partitions - given))) or "none"
        unknown = ", ".join(map(str, sorted(given - partitions))) or "none"
        advice = " (-1 stands for latest, -2 for earliest)" if position.kind is PositionKind.OFFSETS else ""
        raise OptionError(
            position.option,
            f"must name exactly the partitions that are read{advice}; not named: {missing}; not read: {unknown}",
        )
