"""Which batches the exactly-once sink has written: markers in a compacted topic.

Each write task puts its marker into the transaction that has its rows, so one is there exactly if the other
is. The marker's key is the task's transactional id.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cykafka.spark import worker
from cykafka.spark.content import Content
from cykafka.spark.errors import ExactlyOnceError
from cykafka.spark.options import CacheOptions
from cykafka.spark.properties import Config

if TYPE_CHECKING:
    from cykafka import Consumer, Message, TopicPartition

# A task waits for transactions that are open in its partition of the topic: with so many, rarely another
# query's.
_PARTITIONS = 64
_REPLICAS = 3
_TOPIC_CONFIG = {
    "cleanup.policy": "compact",
    # Small segments are compacted soon, so there is little to read.
    "segment.bytes": "1048576",
    "min.cleanable.dirty.ratio": "0.1",
}
_GROUP_ID = "cykafka-spark-markers"
_CACHE = CacheOptions(capacity=8, timeout=600.0)
_REQUEST_TIMEOUT = 30.0
_BATCH = 1000


@dataclass(frozen=True)
class Marker:
    """What a write task remembers of the last batch that it wrote.

    Attributes:
        batch: Number of the batch.
        partition: Number of the Spark partition.
        rows: Number of rows.
        hash: Their fingerprint.
        run: Run of the query that wrote it.
    """

    batch: int
    partition: int
    rows: int
    hash: int
    run: str

    @property
    def content(self) -> Content:
        """What was written."""
        return Content(self.rows, self.hash)

    def to_bytes(self) -> bytes:
        """Give the value of the record."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, value: bytes) -> Marker:
        """Read the value of a record.

        Raises:
            ExactlyOnceError: It is no marker.
        """
        try:
            return cls(**json.loads(value))
        except (ValueError, TypeError) as error:
            raise ExactlyOnceError(f"the marker topic holds something else than markers: {value!r}") from error


def marker_partition(scope: str, partition: int) -> int:
    """Partition of the marker topic that has the markers of a write task.

    Args:
        scope: Query and sink.
        partition: Number of the Spark partition.
    """
    return (zlib.crc32(scope.encode()) + partition) % _PARTITIONS


class _Log:
    """Markers of one partition of the topic, as far as they have been read."""

    def __init__(self) -> None:
        self.position = 0
        self.markers: dict[str, Marker] = {}


class MarkerReader:
    """Reads markers; keeps what it has read, and its connections, for later tasks of this process.

    Args:
        producer: Configuration of the sink's producers.
        topic: Name of the marker topic.
        timeout: Seconds in which other transactions must come to an end.
    """

    _logs: dict[tuple[str, str, int], _Log] = {}  # noqa: RUF012 - shared by the tasks of a process
    _pid = 0

    def __init__(self, producer: Config, topic: str, timeout: float) -> None:
        self._config = _consumer_config(producer)
        self._topic = topic
        self._timeout = timeout
        if MarkerReader._pid != os.getpid():
            MarkerReader._pid = os.getpid()
            MarkerReader._logs = {}

    def ensure_topic(self) -> None:
        """Create the marker topic if it does not exist.

        Raises:
            ExactlyOnceError: It does not exist and cannot be created.
        """
        with self._consumer("read_uncommitted") as consumer:
            if self._exists(consumer):
                return
            self._create(len(consumer.list_topics(timeout=_REQUEST_TIMEOUT).brokers))
            deadline = time.monotonic() + self._timeout
            while not self._exists(consumer):
                if time.monotonic() > deadline:
                    raise ExactlyOnceError(f"the marker topic '{self._topic}' was created and does not appear")
                time.sleep(0.1)

    def read(self, scope: str, partitions: Iterable[int]) -> dict[str, Marker]:
        """Read the latest markers, also those that were committed just before this call.

        Args:
            scope: Query and sink.
            partitions: Spark partitions; markers of others may come along.

        Returns:
            Markers by transactional id.

        Raises:
            ExactlyOnceError: A transaction of another task stays open too long.
        """
        found: dict[str, Marker] = {}
        for number in sorted({marker_partition(scope, each) for each in partitions}):
            log = self._read(number)
            found.update({key: value for key, value in log.markers.items() if key.startswith(f"{scope}-")})
        return found

    def read_all(self, scope: str) -> dict[str, Marker]:
        """Read the latest markers of all write tasks of a query and sink."""
        return self.read(scope, range(_PARTITIONS))

    def _read(self, number: int) -> _Log:
        from cykafka import TopicPartition

        key = (str(self._config.get("bootstrap.servers")), self._topic, number)
        log = MarkerReader._logs.setdefault(key, _Log())
        with self._consumer("read_uncommitted") as asking:
            low, end = self._watermarks(asking, TopicPartition(self._topic, number))
        if not low <= log.position <= end:
            log.markers.clear()
            log.position = low
        if log.position == end:
            return log
        with self._consumer("read_committed") as consumer:
            consumer.assign([TopicPartition(self._topic, number, log.position)])
            try:
                self._read_to(consumer, log, end)
            except BaseException:
                del MarkerReader._logs[key]
                raise
            finally:
                consumer.unassign()
        return log

    def _watermarks(self, consumer: Consumer, partition: TopicPartition) -> tuple[int, int]:
        """Ask for the first and the end offset, again while the topic is so new that it has no leaders."""
        from cykafka import KafkaException

        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return consumer.get_watermark_offsets(partition, timeout=_REQUEST_TIMEOUT)
            except KafkaException as error:  # noqa: PERF203
                if time.monotonic() > deadline:
                    raise ExactlyOnceError(f"the marker topic '{self._topic}' cannot be read: {error}") from error
                time.sleep(0.1)

    def _read_to(self, consumer: Consumer, log: _Log, end: int) -> None:
        """Read on, past all transactions that were open or ended before `end`."""
        from cykafka import KafkaError, KafkaException

        deadline = time.monotonic() + self._timeout
        while log.position < end:
            for message in consumer.consume(_BATCH, timeout=1.0):
                error = message.error()
                if error is None:
                    _remember(log, message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    log.position = max(log.position, message.offset() or 0)
                elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                    raise KafkaException(error)
            if log.position < end and time.monotonic() > deadline:
                raise ExactlyOnceError(
                    f"a transaction of another task has been open in the marker topic '{self._topic}' for "
                    "more than "
                    f"{self._timeout:g} s"
                )

    def _consumer(self, isolation: str) -> Any:
        return worker.consumer({**self._config, "isolation.level": isolation}, _GROUP_ID, _CACHE)

    def _exists(self, consumer: Consumer) -> bool:
        found = consumer.list_topics(self._topic, timeout=_REQUEST_TIMEOUT).topics.get(self._topic)
        return found is not None and found.error is None and len(found.partitions) > 0

    def _create(self, brokers: int) -> None:
        from cykafka import KafkaError, KafkaException
        from cykafka.admin import AdminClient, NewTopic

        allowed = {name: value for name, value in self._config.items() if name not in _CONSUMER_ONLY}
        topic = NewTopic(self._topic, _PARTITIONS, min(_REPLICAS, brokers), config=_TOPIC_CONFIG)
        try:
            AdminClient(allowed).create_topics([topic])[self._topic].result(_REQUEST_TIMEOUT)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise ExactlyOnceError(
                    f"the marker topic '{self._topic}' does not exist and cannot be created ({error}); "
                    "create it "
                    f"with {_PARTITIONS} partitions and cleanup.policy=compact, or name another one with the "
                    "option "
                    "'markerTopic'"
                ) from error


def _remember(log: _Log, message: Message) -> None:
    key, value = message.key(), message.value()
    log.position = (message.offset() or 0) + 1
    if key is not None and value is not None:
        log.markers[key.decode()] = Marker.from_bytes(value)


_CONSUMER_ONLY = frozenset(
    {"enable.auto.commit", "enable.auto.offset.store", "enable.partition.eof", "auto.offset.reset",
     "fetch.wait.max.ms"}
)  # fmt: skip
_SHARED_PREFIXES = ("sasl.", "security.", "ssl.", "socket.", "broker.", "client.", "metadata.", "reconnect.",
                    "retry.", "enable.sasl.", "enable.ssl.", "bootstrap.", "debug", "api.", "https.")  # fmt: skip


def _consumer_config(producer: Config) -> Config:
    """Make the configuration of consumers out of what a producer has in common with them."""
    common = {name: value for name, value in producer.items() if name.startswith(_SHARED_PREFIXES)}
    return {
        **common,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": 5,
    }
