"""Consumer offsets in the user's own database, in the same transaction as the results.

What a message leads to and the fact that it was consumed are committed together, or not at all: exactly once, without
Kafka's transactions, for results that go into a database. Works with `sqlite3` and any other DB-API connection
(PEP 249) to a database with transactions.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

from cykafka._positions import Rewinder, partition_of, positions_after, positions_before
from cykafka._rdkafka.core import (
    OFFSET_INVALID,
    OFFSET_STORED,
    Consumer,
    KafkaError,
    Message,
    TopicPartition,
    make_exception,
)

__all__ = ["OffsetBatch", "OffsetConflictError", "OffsetStore"]

_ABOUT_THE_VALUE = frozenset({KafkaError._KEY_DESERIALIZATION, KafkaError._VALUE_DESERIALIZATION})
_NO_ERROR = frozenset({KafkaError._PARTITION_EOF, KafkaError._MAX_POLL_EXCEEDED})
_COLUMNS = ("consumer_group", "topic", "partition_id", "next_offset")
_PLACEHOLDERS: dict[str, Callable[[int], str]] = {
    "qmark": lambda _: "?",
    "numeric": lambda number: f":{number}",
    "named": lambda number: f":p{number}",
    "format": lambda _: "%s",
    "pyformat": lambda number: f"%(p{number})s",
}

RebalanceCallback = Callable[[Any, list[TopicPartition]], object]


class OffsetConflictError(RuntimeError):
    """Another consumer has moved an offset on: this one no longer owns the partition, and its batch was rolled back.

    Args:
        partition: The partition, with the offset that this consumer had expected.
    """

    def __init__(self, partition: TopicPartition) -> None:
        super().__init__(
            f"the stored offset of {partition.topic} [{partition.partition}] is not {partition.offset}: another "
            "consumer has moved it on"
        )
        self.partition = partition

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.partition,))


class OffsetBatch:
    """A batch of messages and the database transaction that they are processed in; made by `OffsetStore.batch`.

    Leaving the ``with`` block stores the offsets and commits. If the block raises, everything is rolled back, and the
    messages come again.

    Attributes:
        messages: The batch, in order; empty if nothing came in time.
        cursor: A cursor of the connection, to write results with.
        committed: True after the commit.
    """

    def __init__(self, store: "OffsetStore", num_messages: int, timeout: float) -> None:
        self._store = store
        self._num_messages = num_messages
        self._timeout = timeout
        self.messages: list[Message] = []
        self.cursor: Any = None
        self.committed = False

    def __enter__(self) -> "OffsetBatch":  # noqa: PYI034  # Self is in typing from 3.11 on
        self.messages = self._store._take(self._num_messages, self._timeout)
        self.cursor = self._store.connection.cursor()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        store = self._store
        try:
            if exc is None:
                store._store(self.cursor, self.messages)
                store.connection.commit()
                self.committed = True
                store._known.update((tp, tp.offset) for tp in positions_after(self.messages))
        finally:
            try:
                if not self.committed:
                    store._roll_back(self.messages)
            finally:
                self.cursor.close()

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)


class OffsetStore:
    """Keeps the offsets of a consumer in a database table.

    Args:
        connection: DB-API connection that is not in autocommit mode. Leave no transaction of your own open on it
            outside of batches: it is rolled back.
        consumer: Consumer with ``enable.auto.commit=false``, not subscribed to anything yet.
        group: Name under which the offsets are kept; the consumer's ``group.id`` if not given.
        table: Table name, may be qualified by a schema: letters, digits, ``_`` and ``.``.
        paramstyle: The driver's ``paramstyle`` (PEP 249); found out from the connection's module if not given.
        timeout: Seconds that Kafka may take to go back to an offset.

    Each stored offset moves on only from where this consumer left it: one that the group has thrown out, but that
    does not know yet, gets an `OffsetConflictError`, and its results are rolled back. A partition without a stored
    offset begins at the group's committed offset, else where ``auto.offset.reset`` says. ::

        store = OffsetStore(sqlite3.connect("ticks.db"), consumer)
        store.create_table()
        store.subscribe(["ticks"])
        while True:
            with store.batch() as batch:
                batch.cursor.executemany("INSERT INTO ticks VALUES (?, ?)", [(m.key(), m.value()) for m in batch])

    Raises:
        ValueError: If the connection commits by itself, or the consumer does, or a name is not allowed.
    """

    def __init__(
        self,
        connection: Any,
        consumer: Consumer,
        *,
        group: str | None = None,
        table: str = "kafka_offsets",
        paramstyle: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        if str(consumer._config.get("enable.auto.commit", True)).lower() != "false":
            raise ValueError("offsets in a database need a consumer with enable.auto.commit=false")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?", table):
            raise ValueError(f"table must be a plain SQL name, not {table!r}")
        self.connection = connection
        self.consumer = consumer
        self.group = group or str(consumer._config["group.id"])
        self.table = table
        self.timeout = timeout
        self._paramstyle = paramstyle or _paramstyle_of(connection)
        if self._paramstyle not in _PLACEHOLDERS:
            raise ValueError(f"paramstyle must be one of {', '.join(_PLACEHOLDERS)}, not {self._paramstyle!r}")
        self._check_transactions()
        # The offsets that the table has, as this consumer read or wrote them last; None for no row.
        self._known: dict[TopicPartition, int | None] = {}
        self._rewinder = Rewinder(consumer)
        self._error: KafkaError | None = None
        self._callbacks: dict[str, RebalanceCallback | None] = {}

    def create_table(self) -> None:
        """Create the table unless it is there, and commit.

        Raises:
            Exception: What the driver raises.
        """
        cursor = self.connection.cursor()
        try:
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {self.table} (consumer_group VARCHAR(255) NOT NULL, topic VARCHAR(255) "
                "NOT NULL, partition_id INTEGER NOT NULL, next_offset BIGINT NOT NULL, "
                "PRIMARY KEY (consumer_group, topic, partition_id))"
            )
            self.connection.commit()
        finally:
            cursor.close()

    def subscribe(
        self,
        topics: Sequence[str],
        *,
        on_assign: RebalanceCallback | None = None,
        on_revoke: RebalanceCallback | None = None,
        on_lost: RebalanceCallback | None = None,
    ) -> None:
        """Join the group for these topics; each assigned partition begins at its stored offset.

        Args:
            topics: Topic names, as in `Consumer.subscribe`.
            on_assign: Called after the partitions have been assigned.
            on_revoke: Called before partitions are given up, when no batch is open.
            on_lost: Called instead if they are lost already.

        Raises:
            TypeError, KafkaException: As `Consumer.subscribe`.
        """
        self._callbacks = {"assign": on_assign, "revoke": on_revoke, "lost": on_lost or on_revoke}
        self.consumer.subscribe(
            list(topics),
            on_assign=self._on_assign,
            on_revoke=lambda _, partitions: self._on_gone("revoke", partitions),
            on_lost=lambda _, partitions: self._on_gone("lost", partitions),
        )

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        """Consume these partitions from their stored offsets, without a group.

        Args:
            partitions: Partitions; the offset of one that is not stored is where it begins.

        Raises:
            TypeError, KafkaException: As `Consumer.assign`.
            Exception: What the driver raises.
        """
        self._known.clear()
        self.consumer.assign(self._starting(list(partitions)))

    def batch(self, num_messages: int = 500, timeout: float = 1.0) -> OffsetBatch:
        """Return a context manager that consumes a batch and processes it in a transaction of the database.

        Rebalances are served while it waits for messages, before the transaction begins.

        Args:
            num_messages: Messages of the batch at most.
            timeout: Seconds to wait for the first message.

        Raises:
            OffsetConflictError: On leaving the block, if another consumer has moved an offset on.
            KafkaException: If consuming fails.
            Exception: What the driver raises.
        """
        return OffsetBatch(self, num_messages, timeout)

    def load(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Return partitions with their stored offsets, OFFSET_INVALID where there is none.

        Args:
            partitions: Partitions; their offsets do not matter.

        Raises:
            Exception: What the driver raises.
        """
        cursor = self.connection.cursor()
        try:
            found = [TopicPartition(tp.topic, tp.partition, self._read(cursor, tp)) for tp in partitions]
            # Reading began a transaction in most databases.
            self.connection.rollback()
        finally:
            cursor.close()
        self._known.update((tp, tp.offset if tp.offset >= 0 else None) for tp in found)
        return found

    # Rebalancing

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Should reading fail, they are assigned all the same, and must go to their offsets before they are used.
        self._rewinder.remember(TopicPartition(tp.topic, tp.partition, OFFSET_STORED) for tp in partitions)
        starting = self._starting(partitions)
        if _is_cooperative(consumer):
            consumer.incremental_assign(starting)
        else:
            consumer.assign(starting)
        self._rewinder.forget(partitions)
        callback = self._callbacks["assign"]
        if callback is not None:
            callback(consumer, starting)

    def _on_gone(self, what: str, partitions: list[TopicPartition]) -> None:
        self._rewinder.forget(partitions)
        for tp in partitions:
            self._known.pop(tp, None)
        callback = self._callbacks[what]
        if callback is not None:
            callback(self.consumer, partitions)

    def _starting(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return partitions with their stored offsets; where there is none, as they are."""
        return [
            found if found.offset >= 0 else asked
            for found, asked in zip(self.load(partitions), partitions, strict=True)
        ]

    # Batches

    def _take(self, num_messages: int, timeout: float) -> list[Message]:
        """Consume a batch; an error among the messages is kept for the next one, so that they are not lost."""
        if self._error is None:
            self._rewinder.go_back(self.load, self.timeout)
        messages = []
        for message in self.consumer.consume(num_messages, timeout, min_messages=1) if self._error is None else ():
            error = message.error()
            if error is not None and error.code() not in _ABOUT_THE_VALUE:
                if error.code() not in _NO_ERROR:
                    self._error = error
            elif not self._rewinder.waits(message):
                messages.append(message)
        if self._error is not None and not messages:
            error, self._error = self._error, None
            raise make_exception(error)
        return messages

    def _store(self, cursor: Any, messages: Sequence[Message]) -> None:
        """Move the stored offsets on, each only from where this consumer left it."""
        for tp in positions_after(messages):
            expected = self._known.get(tp)
            if expected is None:
                try:
                    self._execute(
                        cursor,
                        f"INSERT INTO {self.table} ({', '.join(_COLUMNS)}) VALUES ({{0}}, {{1}}, {{2}}, {{3}})",  # noqa: S608
                        (self.group, tp.topic, tp.partition, tp.offset),
                    )
                except Exception as error:
                    # PEP 249: the primary key is there already.
                    if any(cls.__name__ == "IntegrityError" for cls in type(error).__mro__):
                        raise OffsetConflictError(TopicPartition(tp.topic, tp.partition, OFFSET_INVALID)) from error
                    raise
                continue
            self._execute(
                cursor,
                f"UPDATE {self.table} SET next_offset = {{0}} WHERE consumer_group = {{1}} AND topic = {{2}} "  # noqa: S608
                "AND partition_id = {3} AND next_offset = {4}",
                (tp.offset, self.group, tp.topic, tp.partition, expected),
            )
            # A driver that does not count is asked what is there now.
            if cursor.rowcount == 0 or (cursor.rowcount < 0 and self._read(cursor, tp) != tp.offset):
                raise OffsetConflictError(TopicPartition(tp.topic, tp.partition, expected))

    def _roll_back(self, messages: Sequence[Message]) -> None:
        """Undo the transaction; the consumer goes back before the next one."""
        self._rewinder.remember(positions_before(messages))
        for message in messages:
            self._known.pop(partition_of(message), None)
        self.connection.rollback()

    # The database

    def _read(self, cursor: Any, partition: TopicPartition) -> int:
        self._execute(
            cursor,
            f"SELECT next_offset FROM {self.table} WHERE consumer_group = {{0}} AND topic = {{1}} "  # noqa: S608
            "AND partition_id = {2}",
            (self.group, partition.topic, partition.partition),
        )
        row = cursor.fetchone()
        return OFFSET_INVALID if row is None else int(row[0])

    def _execute(self, cursor: Any, statement: str, values: tuple[Any, ...]) -> None:
        placeholder = _PLACEHOLDERS[self._paramstyle]
        text = statement.format(*(placeholder(number) for number in range(1, len(values) + 1)))
        if self._paramstyle in {"named", "pyformat"}:
            cursor.execute(text, {f"p{number}": value for number, value in enumerate(values, 1)})
        else:
            cursor.execute(text, values)

    def _check_transactions(self) -> None:
        connection = self.connection
        commits_alone = getattr(connection, "autocommit", False) is True
        if type(connection).__module__.partition(".")[0] == "sqlite3":
            # Without an isolation level sqlite3 begins no transaction, unless autocommit (3.12) is set to False.
            commits_alone = commits_alone or (
                connection.isolation_level is None and getattr(connection, "autocommit", None) is not False
            )
        if commits_alone:
            raise ValueError(
                "the connection commits each statement by itself, not results and offsets together: switch autocommit "
                "off (sqlite3: leave isolation_level as it is)"
            )


def _paramstyle_of(connection: Any) -> str:
    """Return the paramstyle of the module, or of the package, that a connection's class comes from."""
    for cls in type(connection).__mro__:
        name = cls.__module__
        while name:
            paramstyle = getattr(sys.modules.get(name), "paramstyle", None)
            if isinstance(paramstyle, str):
                return paramstyle
            name = name.rpartition(".")[0]
    raise ValueError(f"cannot find out the paramstyle of {type(connection).__name__}: pass paramstyle=")


def _is_cooperative(consumer: Consumer) -> bool:
    """Return whether the consumer's group rebalances incrementally."""
    return (
        "cooperative" in str(consumer._config.get("partition.assignment.strategy", ""))
        or str(consumer._config.get("group.protocol", "classic")).lower() == "consumer"
    )
