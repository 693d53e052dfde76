"""Exactly-once sessions: consume, transform, produce, and commit all of it or nothing (KIP-98, KIP-447).

A session owns the loop that is easy to get wrong: which errors are to be tried again, which abort the transaction,
where the consumer has to go back to then, and which group generation the offsets belong to.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

from cykafka._positions import Rewinder, positions_after, positions_before
from cykafka._rdkafka.core import (
    AbortableException,
    Consumer,
    FatalException,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    RetriableException,
    TopicPartition,
    group_metadata_generation,
    make_exception,
)

__all__ = ["ExactlyOnceSession", "Transaction"]

#: Errors on a message that has an offset all the same: the application decides what to do with it.
_ABOUT_THE_VALUE = frozenset({KafkaError._KEY_DESERIALIZATION, KafkaError._VALUE_DESERIALIZATION})
#: Events that need no answer: the next consume() goes on.
_NO_ERROR = frozenset({KafkaError._PARTITION_EOF, KafkaError._MAX_POLL_EXCEEDED})

_RETRY_PAUSE = 0.1
_LONGEST_PAUSE = 2.0

RebalanceCallback = Callable[[Any, list[TopicPartition]], object]
_R = TypeVar("_R")


class Transaction:
    """A batch of messages and the transaction that they are processed in; made by `ExactlyOnceSession.transaction`.

    Leaving the ``with`` block commits: what was produced and the offsets of the batch become visible together. If the
    block raises, the transaction is aborted, the consumer goes back, and the exception goes on.

    Attributes:
        messages: The batch, in order; empty if nothing came in time.
        committed: True after the commit. False before, and after an abort: the messages come again then.
    """

    def __init__(self, session: "ExactlyOnceSession", num_messages: int, timeout: float) -> None:
        self._session = session
        self._num_messages = num_messages
        self._timeout = timeout
        self._group_metadata = b""
        self._aborted = False
        self.messages: list[Message] = []
        self.committed = False

    def __enter__(self) -> "Transaction":  # noqa: PYI034  # Self is in typing from 3.11 on
        self.messages, self._group_metadata = self._session._begin(self._num_messages, self._timeout)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if exc is None and not self._aborted:
            self.committed = self._session._commit(self)
            return False
        if not self._aborted:
            self.abort()
        # The producer refuses messages once the transaction has failed: what has failed it decides.
        return self._session._is_abortable(exc)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def offsets(self) -> list[TopicPartition]:
        """Where each partition of the batch goes on, as it will be committed."""
        return positions_after(self.messages)

    @property
    def starts(self) -> list[TopicPartition]:
        """Where each partition of the batch begins."""
        return positions_before(self.messages)

    def produce(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        *,
        timestamp: int = 0,
        headers: Any = None,
        on_delivery: Callable[[KafkaError | None, Message], object] | None = None,
    ) -> None:
        """Produce a message within the transaction; waits for room in the local queue.

        Args:
            topic: Topic name.
            value: Value; of a `SerializingProducer` an object to serialize.
            key: Key, as the value.
            partition: Partition number, -1 to let the partitioner choose.
            timestamp: Milliseconds since the epoch UTC; 0 for now.
            headers: Headers, as in `Producer.produce`.
            on_delivery: Delivery callback; a failed delivery aborts the transaction by itself.

        Raises:
            RuntimeError: If the batch is empty, so that no transaction has begun, or it has been aborted.
            BufferError, KafkaException, TypeError: As `Producer.produce`.
        """
        if self._aborted or not self.messages:
            raise RuntimeError(
                "the transaction has been aborted" if self._aborted else "no transaction has begun: the batch is empty"
            )
        self._session.producer.produce(
            topic,
            value=value,
            key=key,
            partition=partition,
            timestamp=timestamp,
            headers=headers,
            on_delivery=on_delivery,
            timeout=self._session.timeout,
        )

    def abort(self) -> None:
        """Abort now: nothing of the transaction becomes visible, and its messages come again.

        Raises:
            FatalException: If the producer cannot be used any more.
        """
        if not self._aborted:
            self._aborted = True
            self._session._abort(self)


class ExactlyOnceSession:
    """Consumes, transforms and produces exactly once.

    Args:
        consumer: Consumer with ``enable.auto.commit=false``; not subscribed to anything yet.
        producer: Producer with a ``transactional.id`` that no other process uses at the same time.
        topics: Topics to consume.
        timeout: Seconds that starting, and each commit or abort with all their retries, may take.
        max_aborts: Raise the error when so many transactions in a row had to be aborted because of Kafka.
        on_assign: As in `Consumer.subscribe`, and so the other two.
        on_revoke: Called while no transaction is open.
        on_lost: Called while no transaction is open.

    Use it as a context manager, by one thread. The clients stay the caller's to close::

        with Consumer(...) as consumer, Producer(...) as producer:
            with ExactlyOnceSession(consumer, producer, ["orders"]) as session:
                while True:
                    with session.transaction() as transaction:
                        for message in transaction:
                            transaction.produce("bills", bill(message.value()), key=message.key())

    Errors: retriable ones are tried again until `timeout`. Abortable ones (a rebalance that took the partitions, a
    message that could not be delivered) abort, rewind the consumer to the committed offsets and end the ``with`` block
    normally with ``transaction.committed`` False; the messages come again. Fatal ones (another process uses the
    transactional id) are raised: end the process, or make new clients.

    Raises:
        ValueError: If the configuration of a client does not allow it.
    """

    def __init__(
        self,
        consumer: Consumer,
        producer: Producer,
        topics: Sequence[str],
        *,
        timeout: float = 60.0,
        max_aborts: int = 10,
        on_assign: RebalanceCallback | None = None,
        on_revoke: RebalanceCallback | None = None,
        on_lost: RebalanceCallback | None = None,
    ) -> None:
        if str(consumer._config.get("enable.auto.commit", True)).lower() != "false":
            raise ValueError("the consumer of an exactly-once session needs enable.auto.commit=false")
        if consumer._config.get("isolation.level", "read_committed") != "read_committed":
            raise ValueError("the consumer of an exactly-once session needs isolation.level=read_committed")
        if not producer._config.get("transactional.id"):
            raise ValueError("the producer of an exactly-once session needs a transactional.id")
        self.consumer = consumer
        self.producer = producer
        self.topics = list(topics)
        self.timeout = timeout
        self.max_aborts = max_aborts
        self._callbacks = {"assign": on_assign, "revoke": on_revoke, "lost": on_lost}
        self._aborts = 0
        # What a call could not end in time: it is ended before the next transaction.
        self._unfinished: Callable[[float], None] | None = None
        # Without a committed offset the group has begun where this consumer did.
        self._rewinder = Rewinder(consumer)
        self._error: KafkaError | None = None
        self._stopped = threading.Event()

    def __enter__(self) -> "ExactlyOnceSession":  # noqa: PYI034
        self._retried(self.producer.init_transactions)
        self.consumer.subscribe(
            self.topics,
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stopped.set()

    def transaction(self, num_messages: int = 500, timeout: float = 1.0) -> Transaction:
        """Return a context manager that consumes a batch and processes it in a transaction.

        Rebalances are served while it waits for messages, when no transaction is open.

        Args:
            num_messages: Messages of the batch at most.
            timeout: Seconds to wait for the first message.

        Raises:
            KafkaException: On entering and leaving the block, as the class says.
        """
        return Transaction(self, num_messages, timeout)

    def run(self, process: Callable[[Transaction], object], *, num_messages: int = 500, timeout: float = 1.0) -> None:
        """Process batch after batch until `stop` is called.

        Args:
            process: Called with each `Transaction` that has messages.
            num_messages: Messages of a batch at most.
            timeout: Seconds to wait for the first message of a batch.

        Raises:
            Exception: What process raised; the transaction has been aborted.
            KafkaException: As the class says.
        """
        while not self._stopped.is_set():
            try:
                with self.transaction(num_messages, timeout) as transaction:
                    if transaction.messages:
                        process(transaction)
            except KafkaException as error:  # noqa: PERF203
                if not (self._stopped.is_set() and _code(error) == KafkaError._INTR):
                    raise

    def stop(self) -> None:
        """Make `run` return after the batch that it is in; may be called by any thread, also by a signal handler."""
        self._stopped.set()
        # A consumer that is closed needs no waking.
        with contextlib.suppress(RuntimeError):
            self.consumer.wakeup()

    # Rebalancing: callbacks run inside consume(), and so between transactions.

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._call("assign", consumer, partitions)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._rewinder.forget(partitions)
        self._call("revoke", consumer, partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._rewinder.forget(partitions)
        callback = "revoke" if self._callbacks["lost"] is None else "lost"
        self._call(callback, consumer, partitions)

    def _call(self, name: str, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        callback = self._callbacks[name]
        if callback is not None:
            callback(consumer, partitions)

    # Transactions

    def _begin(self, num_messages: int, timeout: float) -> tuple[list[Message], bytes]:
        """End what is unfinished, consume a batch, begin a transaction for it."""
        if self._unfinished is not None:
            self._finish(self._unfinished)
        if self._error is not None:
            error, self._error = self._error, None
            raise make_exception(error)
        self._rewinder.go_back(self._committed, self.timeout)
        messages = self._take(num_messages, timeout)
        if not messages:
            return [], b""
        # Now, not at the commit: should the group throw this consumer out meanwhile, the broker must see that these
        # messages were consumed by a member that has gone.
        group_metadata = self.consumer.consumer_group_metadata()
        if group_metadata_generation(group_metadata) < 0:
            self._rewinder.remember(positions_before(messages))
            return [], b""
        try:
            self.producer.begin_transaction()
        except BaseException:
            self._rewinder.remember(positions_before(messages))
            raise
        return messages, group_metadata

    def _take(self, num_messages: int, timeout: float) -> list[Message]:
        """Consume; an error among the messages is kept for the next call, so that they are not lost."""
        messages = []
        for message in self.consumer.consume(num_messages, timeout, min_messages=1):
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

    def _commit(self, transaction: Transaction) -> bool:
        """Commit a transaction; returns whether it has been."""
        if not transaction.messages:
            return False
        offsets, group_metadata = transaction.offsets, transaction._group_metadata

        def send_offsets(timeout: float) -> None:
            self.producer.send_offsets_to_transaction(offsets, group_metadata, timeout)

        try:
            self._retried(send_offsets)
            self._finish(self._end)
        except FatalException:
            raise
        except AbortableException as error:
            self._abort(transaction)
            self._count_abort(error)
            return False
        except BaseException:
            # Before the commit, nothing is decided yet; after its beginning only the broker knows, and it goes on.
            if self._unfinished is None:
                self._abort(transaction)
            else:
                self._rewinder.remember(transaction.starts)
            raise
        self._aborts = 0
        return True

    def _end(self, timeout: float) -> None:
        """Commit, or learn that an interrupted call has done so."""
        resumed = self._unfinished == self._end
        self._unfinished = self._end
        try:
            self.producer.commit_transaction(timeout)
        except KafkaException as error:
            if not (resumed and _code(error) == KafkaError._STATE):
                raise

    def _abort(self, transaction: Transaction) -> None:
        """Abort a transaction; the consumer goes back before the next one."""
        if not transaction.messages:
            return
        self._rewinder.remember(transaction.starts)
        self._finish(self._drop)

    def _drop(self, timeout: float) -> None:
        resumed = self._unfinished == self._drop
        self._unfinished = self._drop
        try:
            self.producer.abort_transaction(timeout)
        except KafkaException as error:
            if not (resumed and _code(error) == KafkaError._STATE):
                raise

    def _finish(self, end: Callable[[float], None]) -> None:
        """End a transaction; one that cannot be ended in time stays unfinished."""
        try:
            self._retried(end)
        except (AbortableException, FatalException):
            self._unfinished = None
            raise
        self._unfinished = None

    def _is_abortable(self, exc: BaseException | None) -> bool:
        """Count an exception out of a ``with`` block that came of the transaction's own failure."""
        if isinstance(exc, AbortableException) or (
            isinstance(exc, KafkaException) and not isinstance(exc, FatalException) and _code(exc) == KafkaError._STATE
        ):
            self._count_abort(exc)
            return True
        return False

    def _count_abort(self, error: BaseException) -> None:
        self._aborts += 1
        if self._aborts >= self.max_aborts:
            self._aborts = 0
            raise error
        time.sleep(min(_RETRY_PAUSE * 2.0 ** (self._aborts - 1), _LONGEST_PAUSE))

    def _retried(self, call: Callable[[float], _R]) -> _R:
        """Call with the seconds that are left, again while it fails with what may be tried again."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                return call(max(deadline - time.monotonic(), 0.001))
            except RetriableException:  # noqa: PERF203
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_RETRY_PAUSE)

    def _committed(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the committed offsets of partitions."""
        found = self.consumer.committed(partitions, self.timeout)
        for committed in found:
            if committed.error is not None:
                raise make_exception(committed.error)
        return found


def _code(error: BaseException) -> int | None:
    """Return the Kafka error code of an exception."""
    kafka_error = error.args[0] if error.args else None
    return kafka_error.code() if isinstance(kafka_error, KafkaError) else None
