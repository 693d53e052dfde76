"""Options of the source and the sink, by the names and meanings of Spark's own Kafka connector."""

from __future__ import annotations

import enum
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cykafka.spark.errors import OptionError
from cykafka.spark.offsets import EARLIEST, LATEST, Offsets, TopicPartition, parse_numbers
from cykafka.spark.patterns import compile_java_pattern
from cykafka.spark.properties import PREFIX, Config, check_bootstrap, sink_config, source_config

_LOG = logging.getLogger(__name__)

_UNITS_MS = {
    "us": 0.001, "ms": 1, "": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000,
}  # fmt: skip
# A task of a Python source costs about as much as reading tens of thousands of records.
_SMALL_RANGE = 1_000
_PRODUCERS_KEPT = 4
_OFFSETS_EXAMPLE = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'
_TIMESTAMPS_EXAMPLE = '{"topicA":{"0":1000,"1":2000}}'


class PositionKind(enum.Enum):
    """How a start or end is given."""

    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSETS = "offsets"
    TIMESTAMPS = "timestamps"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class Position:
    """Where reading begins or ends.

    Attributes:
        kind: Which of the other attributes counts.
        by_partition: Offsets (-2 earliest, -1 latest), or milliseconds since 1970.
        timestamp: Milliseconds since 1970, for all partitions.
        option: Name of the option that says so.
    """

    kind: PositionKind
    by_partition: Offsets = field(default_factory=dict)
    timestamp: int = 0
    option: str = "startingOffsets"


@dataclass(frozen=True)
class Topics:
    """Which partitions are read: exactly one attribute is set.

    Attributes:
        subscribe: Topic names.
        pattern: Java regular expression that whole topic names match.
        assign: Partitions.
    """

    subscribe: tuple[str, ...] = ()
    pattern: str | None = None
    assign: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True)
class CacheOptions:
    """How many idle clients a Python worker keeps.

    Attributes:
        capacity: Clients.
        timeout: Seconds after which an idle one is closed.
    """

    capacity: int
    timeout: float


@dataclass(frozen=True)
class ReadOptions:
    """Options of a reader.

    Attributes:
        topics: What is read.
        consumer: Configuration of consumers, without a group id.
        group_id_prefix: Start of the group ids of consumers.
        group_id: Group id that the user insists on, or None.
        starting: Where a batch read or a new query begins.
        ending: Where a batch read ends.
        on_no_match_latest: What is done with partitions that have nothing after the starting time: begin at
            the end (True), or fail.
        fail_on_data_loss: Whether lost data ends the query, or is warned of.
        poll_timeout: Seconds that a task waits for the next records.
        fetch_retries: How often asking for offsets is tried again.
        fetch_retry_interval: Seconds in between.
        max_offsets_per_trigger: Most offsets in a batch of a stream, or None.
        min_offsets_per_trigger: Offsets that a batch of a stream waits for, or None.
        max_trigger_delay: Seconds after which it waits no longer.
        min_partitions: About how many tasks at least, or None.
        max_records_per_partition: Most offsets of a task, or None.
        min_records_per_partition: Small ranges are put together for a task up to so many offsets.
        include_headers: Whether there is a column of headers.
        commit_group_id: Group that positions are committed to after each batch, for lag tools, or None.
        key_format: How keys are decoded.
        value_format: How values are decoded.
        decoding: The options of decoding, by name.
        cache: Consumers kept by Python workers.
        batch_rows: Rows in an Arrow batch.
    """

    topics: Topics
    consumer: Config
    group_id_prefix: str
    group_id: str | None
    starting: Position
    ending: Position
    on_no_match_latest: bool
    fail_on_data_loss: bool
    poll_timeout: float
    fetch_retries: int
    fetch_retry_interval: float
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay: float
    min_partitions: int | None
    max_records_per_partition: int | None
    min_records_per_partition: int
    include_headers: bool
    commit_group_id: str | None
    key_format: str
    value_format: str
    decoding: dict[str, str]
    cache: CacheOptions
    batch_rows: int


class Delivery(enum.Enum):
    """What the sink promises when tasks are repeated."""

    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


@dataclass(frozen=True)
class WriteOptions:
    """Options of a writer.

    Attributes:
        producer: Configuration of producers.
        topic: Topic of all rows, or None: the column `topic` says.
        delivery: The promise.
        txn_app_id: Names a series of batch writes.
        txn_version: Number of a batch write within its series.
        transactional_id_prefix: Start of transactional ids.
        marker_topic: Topic that remembers what was written.
        flush_timeout: Seconds in which everything must be delivered.
        cache: Producers kept by Python workers.
    """

    producer: Config
    topic: str | None
    delivery: Delivery
    txn_app_id: str | None
    txn_version: int | None
    transactional_id_prefix: str
    marker_topic: str
    flush_timeout: float
    cache: CacheOptions


def parse_duration(text: str, *, default_unit: str = "ms") -> float:
    """Read a duration as Spark writes it: ``15m``, ``30s``, ``100ms``, ``1h``, or a number of milliseconds.

    Returns:
        Seconds.

    Raises:
        ValueError: It is none.
    """
    found = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in _UNITS_MS:
        raise ValueError(f"must be a duration such as 30s, 15m or 100ms, not '{text}'")
    return int(found[1]) * _UNITS_MS[found[2] or default_unit] / 1000


class GivenOptions:
    """Takes options out of Spark's dictionary, whatever their case, with checks and errors that name them.

    Args:
        options: As Spark hands them over.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}

    def kafka(self) -> dict[str, str]:
        """The ``kafka.*`` options without that prefix."""
        return {name[len(PREFIX) :]: value for name, value in self._options.items() if name.startswith(PREFIX)}

    def text(self, name: str) -> str | None:
        """Text that is not blank, without blanks around it."""
        value = self._options.get(name.lower())
        if value is not None and not value.strip():
            raise OptionError(name, "must not be empty")
        return None if value is None else value.strip()

    def has(self, name: str) -> bool:
        """Whether it is set."""
        return name.lower() in self._options

    def boolean(self, name: str, *, default: bool) -> bool:
        """``true`` or ``false``."""
        value = self._options.get(name.lower())
        if value is None:
            return default
        if value.strip().lower() not in {"true", "false"}:
            raise OptionError(name, f"must be true or false, not '{value}'")
        return value.strip().lower() == "true"

    def integer(self, name: str, *, least: int) -> int | None:
        """A whole number of at least `least`."""
        value = self._options.get(name.lower())
        if value is None:
            return None
        if not re.fullmatch(r"\s*[+-]?\d+\s*", value) or int(value) < least:
            raise OptionError(name, f"must be a whole number of at least {least}, not '{value}'")
        return int(value)

    def duration(self, name: str, default: str) -> float:
        """A duration, in seconds."""
        try:
            return parse_duration(self._options.get(name.lower(), default))
        except ValueError as error:
            raise OptionError(name, str(error)) from None

    def numbers(self, name: str, example: str) -> Offsets:
        """JSON with a number for each partition."""
        text = self._options[name.lower()]
        try:
            numbers = parse_numbers(json.loads(text), example)
        except ValueError as error:
            problem = (
                str(error) if not isinstance(error, json.JSONDecodeError) else f"expected e.g. {example}, got {text}"
            )
            raise OptionError(name, problem) from None
        if not numbers:
            raise OptionError(name, f"names no partition; expected e.g. {example}")
        return numbers

    def prefixed(self, *names: str) -> dict[str, str]:
        """The options called so or beginning so."""
        lower = tuple(name.lower() for name in names)
        return {name: value for name, value in self._options.items() if name.startswith(lower)}


def read_options(options: Mapping[str, str], *, streaming: bool) -> ReadOptions:
    """Check and collect the options of a reader.

    Args:
        options: As Spark hands them over.
        streaming: Whether a stream is read.

    Raises:
        OptionError: An option is missing, malformed, not supported, or contradicts another one.
    """
    given = GivenOptions(options)
    kafka = given.kafka()
    group_id = kafka.pop("group.id", None)
    topics = _topics(given)
    check_bootstrap(kafka)
    if group_id is not None and given.has("groupIdPrefix"):
        _LOG.warning("option 'groupIdPrefix' has no effect, because 'kafka.group.id' is set")
    strategy = (given.text("startingOffsetsByTimestampStrategy") or "error").lower()
    if strategy not in {"error", "latest"}:
        raise OptionError("startingOffsetsByTimestampStrategy", f"must be error or latest, not '{strategy}'")
    limits = _stream_limits(given, streaming=streaming)
    return ReadOptions(
        topics=topics,
        consumer=source_config(kafka),
        group_id_prefix=given.text("groupIdPrefix") or ("spark-kafka-source" if streaming else "spark-kafka-relation"),
        group_id=group_id,
        starting=_starting(given, streaming=streaming),
        ending=_ending(given, streaming=streaming),
        on_no_match_latest=strategy == "latest",
        fail_on_data_loss=given.boolean("failOnDataLoss", default=True),
        poll_timeout=(given.integer("kafkaConsumer.pollTimeoutMs", least=1) or 120_000) / 1000,
        fetch_retries=_or(given.integer("fetchOffset.numRetries", least=0), 3),
        fetch_retry_interval=_or(given.integer("fetchOffset.retryIntervalMs", least=0), 10) / 1000,
        max_offsets_per_trigger=limits[0],
        min_offsets_per_trigger=limits[1],
        max_trigger_delay=given.duration("maxTriggerDelay", "15m"),
        min_partitions=given.integer("minPartitions", least=1),
        max_records_per_partition=given.integer("maxRecordsPerPartition", least=1),
        min_records_per_partition=_min_records(given, streaming=streaming),
        include_headers=given.boolean("includeHeaders", default=False),
        commit_group_id=given.text("commitGroupId"),
        key_format=(given.text("keyFormat") or "raw"),
        value_format=(given.text("valueFormat") or "raw"),
        decoding=given.prefixed("key", "value", "mode", "columnNameOfCorruptRecord", "schema.registry."),
        cache=CacheOptions(
            _or(given.integer("spark.kafka.consumer.cache.capacity", least=0), 64),
            given.duration("spark.kafka.consumer.cache.timeout", "5m"),
        ),
        batch_rows=_or(given.integer("batchRows", least=1), 10_000),
    )


def write_options(options: Mapping[str, str], *, streaming: bool) -> WriteOptions:
    """Check and collect the options of a writer.

    Args:
        options: As Spark hands them over.
        streaming: Whether it is the sink of a stream.

    Raises:
        OptionError: An option is missing, malformed, not supported, or contradicts another one.
    """
    given = GivenOptions(options)
    kafka = given.kafka()
    check_bootstrap(kafka)
    named = (given.text("delivery") or Delivery.AT_LEAST_ONCE.value).lower()
    if named not in {each.value for each in Delivery}:
        raise OptionError("delivery", f"must be at_least_once or exactly_once, not '{named}'")
    delivery = Delivery(named)
    app_id, version = given.text("txnAppId"), given.integer("txnVersion", least=0)
    if (app_id is None) != (version is None):
        raise OptionError(
            "txnVersion" if version is None else "txnAppId",
            "'txnAppId' and 'txnVersion' must be set together",
        )
    if app_id is not None and delivery is Delivery.AT_LEAST_ONCE:
        raise OptionError("txnAppId", "has no effect without 'delivery' exactly_once; set that, or leave it out")
    if app_id is not None and streaming:
        raise OptionError("txnAppId", "is for batch writes; a streaming query has an id and batch numbers itself")
    if delivery is Delivery.EXACTLY_ONCE and not streaming and app_id is None:
        raise OptionError(
            "txnAppId",
            "a batch write with 'delivery' exactly_once needs 'txnAppId' (a name for the series of writes) "
            "and "
            "'txnVersion' (a number that grows with each write of the series), to know a repeated write "
            "again",
        )
    return WriteOptions(
        producer=sink_config(kafka),
        topic=given.text("topic"),
        delivery=delivery,
        txn_app_id=app_id,
        txn_version=version,
        transactional_id_prefix=given.text("transactionalIdPrefix") or "cykafka-spark",
        marker_topic=given.text("markerTopic") or "cykafka-spark-markers",
        flush_timeout=given.duration("flushTimeout", "120s"),
        cache=CacheOptions(_PRODUCERS_KEPT, given.duration("spark.kafka.producer.cache.timeout", "10m")),
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _topics(given: GivenOptions) -> Topics:
    names = [name for name in ("subscribe", "subscribePattern", "assign") if given.has(name)]
    if not names:
        raise OptionError("subscribe", "one of 'subscribe', 'subscribePattern' and 'assign' must say what to read")
    if len(names) > 1:
        raise OptionError(names[0], f"contradicts '{names[1]}'; only one of them can say what to read")
    if names[0] == "subscribe":
        topics = tuple(dict.fromkeys(name.strip() for name in (given.text("subscribe") or "").split(",")))
        topics = tuple(name for name in topics if name)
        if not topics:
            raise OptionError("subscribe", "names no topic")
        return Topics(subscribe=topics)
    if names[0] == "subscribePattern":
        pattern = given.text("subscribePattern") or ""
        try:
            compile_java_pattern(pattern)
        except ValueError as error:
            raise OptionError("subscribePattern", str(error)) from None
        return Topics(pattern=pattern)
    return Topics(assign=_assigned(given.text("assign") or ""))


def _assigned(text: str) -> tuple[TopicPartition, ...]:
    problem = OptionError("assign", f'expected e.g. {{"topicA":[0,1],"topicB":[0]}}, got {text}')
    try:
        decoded = json.loads(text)
    except json.JSONDecodeError:
        raise problem from None
    if not isinstance(decoded, dict):
        raise problem
    result = []
    for topic, partitions in decoded.items():
        if not isinstance(partitions, list):
            raise problem
        for partition in partitions:
            if not isinstance(partition, int) or isinstance(partition, bool) or partition < 0:
                raise problem
            result.append(TopicPartition(topic, partition))
    if not result:
        raise problem
    return tuple(sorted(set(result)))


def _position(given: GivenOptions, start: str, default: PositionKind) -> Position:
    single, by_time, offsets = f"{start}Timestamp", f"{start}OffsetsByTimestamp", f"{start}Offsets"
    if given.has(single):
        timestamp = given.integer(single, least=0)
        return Position(PositionKind.TIMESTAMP, timestamp=_or(timestamp, 0), option=single)
    if given.has(by_time):
        timestamps = given.numbers(by_time, _TIMESTAMPS_EXAMPLE)
        if min(timestamps.values()) < 0:
            raise OptionError(by_time, "timestamps are milliseconds since 1970 and cannot be negative")
        return Position(PositionKind.TIMESTAMPS, timestamps, option=by_time)
    if given.has(offsets):
        word = (given.text(offsets) or "").lower()
        if word in {"earliest", "latest"}:
            return Position(PositionKind(word), option=offsets)
        numbers = given.numbers(offsets, _OFFSETS_EXAMPLE)
        if min(numbers.values()) < EARLIEST:
            raise OptionError(offsets, "offsets are not negative, but for -2 (earliest) and -1 (latest)")
        return Position(PositionKind.OFFSETS, numbers, option=offsets)
    return Position(default, option=offsets)


def _starting(given: GivenOptions, *, streaming: bool) -> Position:
    starting = _position(given, "starting", PositionKind.LATEST if streaming else PositionKind.EARLIEST)
    if not streaming:
        if starting.kind is PositionKind.LATEST:
            raise OptionError("startingOffsets", "'latest' would read nothing in a batch; use earliest or offsets")
        if starting.kind is PositionKind.OFFSETS and LATEST in starting.by_partition.values():
            raise OptionError("startingOffsets", "-1 (latest) would read nothing in a batch; use offsets or -2")
    return starting


def _ending(given: GivenOptions, *, streaming: bool) -> Position:
    if streaming:
        for name in ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets"):
            if given.has(name):
                raise OptionError(name, "a stream has no end; it works in batch reads only")
    ending = _position(given, "ending", PositionKind.LATEST)
    if ending.kind is PositionKind.EARLIEST:
        raise OptionError("endingOffsets", "'earliest' would read nothing; use latest or offsets")
    if ending.kind is PositionKind.OFFSETS and EARLIEST in ending.by_partition.values():
        raise OptionError("endingOffsets", "-2 (earliest) would read nothing; use offsets or -1 (latest)")
    return ending


def _min_records(given: GivenOptions, *, streaming: bool) -> int:
    """Small ranges share a task in streams, unless the user asks for many tasks."""
    least = given.integer("minRecordsPerPartition", least=0)
    if least is not None and given.has("minPartitions"):
        raise OptionError("minRecordsPerPartition", "contradicts 'minPartitions'; set one of them")
    if least is not None:
        return least
    return _SMALL_RANGE if streaming and not given.has("minPartitions") else 0


def _stream_limits(given: GivenOptions, *, streaming: bool) -> tuple[int | None, int | None]:
    most = given.integer("maxOffsetsPerTrigger", least=1)
    least = given.integer("minOffsetsPerTrigger", least=1)
    if most is not None and least is not None and least > most:
        raise OptionError(
            "minOffsetsPerTrigger",
            f"{least} is more than the {most} of 'maxOffsetsPerTrigger'; make it smaller",
        )
    if not streaming:
        for name in ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"):
            if given.has(name):
                _LOG.warning("option '%s' has no effect in a batch read", name)
    return most, least
