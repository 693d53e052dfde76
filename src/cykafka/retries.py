"""Retry topics and dead letters: a message that cannot be processed is tried again later, and set aside in the end.

A failed message is copied to a retry topic, one for each delay, and so does not hold up those behind it; after the last
attempt it goes to a dead-letter topic with the error in its headers. At least once: its offset is stored only after the
copy has been acknowledged, so that a crash at any point loses nothing (it may make a second copy).
"""

import contextlib
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from cykafka._positions import partition_of
from cykafka._rdkafka.core import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
    make_exception,
)
from cykafka.admin import AdminClient, NewTopic
from cykafka.deserializing_consumer import DeserializingConsumer
from cykafka.serializing_producer import SerializingProducer

__all__ = ["Origin", "RetryPolicy", "RetryingConsumer", "origin_of"]

ATTEMPT = "retry-attempt"
DUE = "retry-due"
TOPIC = "retry-original-topic"
PARTITION = "retry-original-partition"
OFFSET = "retry-original-offset"
TIMESTAMP = "retry-original-timestamp"
ERROR_TYPE = "retry-error-type"
ERROR_MESSAGE = "retry-error-message"
ERROR_TRACEBACK = "retry-error-traceback"
_OWN_HEADERS = frozenset(
    {ATTEMPT, DUE, TOPIC, PARTITION, OFFSET, TIMESTAMP, ERROR_TYPE, ERROR_MESSAGE, ERROR_TRACEBACK}
)

_LONGEST_TEXT = 8192
#: Properties of a client that say where the cluster is and how to get in.
_CONNECTION = (
    "bootstrap.",
    "broker.",
    "client.",
    "enable.sasl.",
    "enable.ssl.",
    "https.",
    "metadata.broker.list",
    "oauth",
    "sasl.",
    "security.",
    "socket.",
    "ssl.",
)
_NO_ERROR = frozenset({KafkaError._PARTITION_EOF, KafkaError._MAX_POLL_EXCEEDED})

RebalanceCallback = Callable[[Any, list[TopicPartition]], object]


@dataclass(frozen=True)
class RetryPolicy:
    """When a message is tried again, and where it goes.

    Attributes:
        delays: Seconds before each further attempt; as many retry topics are used. Empty: straight to the dead letters.
        retry_topic: Name of the retry topics, with ``{topic}`` (where the message came from first), ``{group}`` and
            ``{attempt}`` (1 for the first delay). Groups must not share them.
        dead_letter_topic: Name of the topic for what has failed for good, with ``{topic}`` and ``{group}``.
        retry_on: Exceptions to try again after; others are raised out of the loop.
        dead_letter_on: Exceptions after which no further attempt is made; looked at before `retry_on`.
        with_traceback: Put the traceback into a header too.
    """

    delays: Sequence[float] = (1.0, 10.0, 60.0)
    retry_topic: str = "{topic}.{group}.retry.{attempt}"
    dead_letter_topic: str = "{topic}.{group}.dead-letter"
    retry_on: tuple[type[Exception], ...] = (Exception,)
    dead_letter_on: tuple[type[Exception], ...] = ()
    with_traceback: bool = False

    def topics(self, topic: str, group: str) -> list[str]:
        """Return the retry topics for a topic, in the order of their delays."""
        return [
            self.retry_topic.format(topic=topic, group=group, attempt=number + 1) for number in range(len(self.delays))
        ]

    def dead_letters(self, topic: str, group: str) -> str:
        """Return the dead-letter topic for a topic."""
        return self.dead_letter_topic.format(topic=topic, group=group)


@dataclass(frozen=True)
class Origin:
    """Where a message of a retry or dead-letter topic came from, and what has happened to it.

    Attributes:
        topic: First topic.
        partition: Partition there.
        offset: Offset there.
        timestamp: Its timestamp there, milliseconds since the epoch.
        attempts: How often it has failed.
        error_type: Name of the last exception's class, None if it has not failed.
        error_message: Text of the last exception.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    attempts: int = 0
    error_type: str | None = None
    error_message: str | None = None


def origin_of(message: Message) -> Origin:
    """Return where a message came from; for one that has never failed that is where it is.

    Args:
        message: Message of any topic.

    Raises:
        ValueError: If its headers are not as `RetryingConsumer` writes them.
    """
    headers = _texts(message)
    if TOPIC not in headers:
        return Origin(
            str(message.topic()), message.partition() or 0, message.offset() or 0, max(message.timestamp()[1], 0)
        )
    try:
        return Origin(
            headers[TOPIC],
            int(headers[PARTITION]),
            int(headers[OFFSET]),
            int(headers[TIMESTAMP]),
            int(headers[ATTEMPT]),
            headers.get(ERROR_TYPE),
            headers.get(ERROR_MESSAGE),
        )
    except KeyError as error:
        raise ValueError(f"{message!r} has the header {TOPIC!r}, but not {error.args[0]!r}") from None


class RetryingConsumer:
    """Consumes topics and their retry topics, and passes on what fails.

    Args:
        consumer: Consumer with ``enable.auto.offset.store=false`` and automatic commits (the default); not subscribed
            to anything yet. Not a `DeserializingConsumer`: what fails must be passed on as it came.
        producer: Producer for retries and dead letters, with ``acks=all`` (the default), without transactions.
        topics: Topics to consume.
        policy: What to do with failures.
        timeout: Seconds that passing a message on may take.

    Use it as a context manager, by one thread. The clients stay the caller's to close::

        with Consumer(...) as consumer, Producer(...) as producer:
            with RetryingConsumer(consumer, producer, ["orders"]) as retrying:
                retrying.create_topics()
                retrying.run(lambda message: book(message.value()))

    Attributes:
        policy: As given.
        retry_topics: The retry topics that are consumed besides the topics.

    Raises:
        ValueError: If the configuration of a client could lose messages.
        TypeError: If a client serializes.
    """

    def __init__(
        self,
        consumer: Consumer,
        producer: Producer,
        topics: Sequence[str],
        policy: RetryPolicy | None = None,
        *,
        timeout: float = 60.0,
    ) -> None:
        if isinstance(consumer, DeserializingConsumer) or isinstance(producer, SerializingProducer):
            raise TypeError(
                "a RetryingConsumer needs a plain Consumer and Producer: what fails is passed on as it came"
            )
        if str(consumer._config.get("enable.auto.offset.store", True)).lower() != "false":
            raise ValueError("the consumer needs enable.auto.offset.store=false: offsets are stored after processing")
        if str(consumer._config.get("enable.auto.commit", True)).lower() == "false":
            raise ValueError("the consumer needs enable.auto.commit=true, which commits the stored offsets")
        if str(producer._config.get("acks", producer._config.get("request.required.acks", "all"))) not in {"all", "-1"}:
            raise ValueError("the producer needs acks=all: otherwise what is passed on may be lost")
        if isinstance(topics, str):
            raise TypeError("topics must be a list of topic names, not str")
        self.consumer = consumer
        self.producer = producer
        self.topics = list(topics)
        self.policy = policy or RetryPolicy()
        self.timeout = timeout
        self.group = str(consumer._config["group.id"])
        self.retry_topics = [name for topic in self.topics for name in self.policy.topics(topic, self.group)]
        # Consumed and not processed yet, by partition; a partition whose first message is not due yet is paused.
        self._waiting: dict[TopicPartition, deque[Message]] = {}
        self._paused: set[TopicPartition] = set()
        self._stopped = threading.Event()

    def __enter__(self) -> "RetryingConsumer":  # noqa: PYI034  # Self is in typing from 3.11 on
        self.consumer.subscribe(self.topics + self.retry_topics, on_revoke=self._on_gone, on_lost=self._on_gone)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, exc_traceback: TracebackType | None
    ) -> None:
        self._stopped.set()

    def create_topics(self, num_partitions: int = -1, replication_factor: int = -1, *, timeout: float = 60.0) -> None:
        """Create the retry and dead-letter topics that are not there yet.

        Args:
            num_partitions: Partitions of each; -1 for the broker's default.
            replication_factor: Replicas of each; -1 for the broker's default.
            timeout: Seconds to wait.

        Raises:
            KafkaException: If a topic cannot be created.
        """
        dead_letters = [self.policy.dead_letters(topic, self.group) for topic in self.topics]
        new = [
            NewTopic(name, num_partitions, replication_factor)
            for name in dict.fromkeys([*self.retry_topics, *dead_letters])
        ]
        config = {name: value for name, value in self.consumer._config.items() if name.startswith(_CONNECTION)}
        with AdminClient(config) as admin:
            for future in admin.create_topics(new, request_timeout=timeout).values():
                try:
                    future.result(timeout)
                except KafkaException as error:  # noqa: PERF203
                    if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                        raise

    def run(self, process: Callable[[Message], object], *, num_messages: int = 100, timeout: float = 1.0) -> None:
        """Process messages until `stop` is called.

        Args:
            process: Called with each message; it has failed if it raises.
            num_messages: Messages to fetch at once. All must be processed within ``max.poll.interval.ms``.
            timeout: Seconds to wait for the first message.

        Raises:
            Exception: As `step`.
        """
        while not self._stopped.is_set():
            self.step(process, num_messages=num_messages, timeout=timeout)

    def stop(self) -> None:
        """Make `run` return after the batch that it is in; may be called by any thread, also by a signal handler."""
        self._stopped.set()
        # A consumer that is closed needs no waking.
        with contextlib.suppress(RuntimeError):
            self.consumer.wakeup()

    def step(self, process: Callable[[Message], object], *, num_messages: int = 100, timeout: float = 1.0) -> int:
        """Process one batch, and what has become due.

        Args:
            process: Called with each message; it has failed if it raises.
            num_messages: Messages to fetch at once.
            timeout: Seconds to wait for the first message.

        Returns:
            int: How many messages were processed or passed on.

        Raises:
            Exception: What process raised, if the policy does not name it; the message comes first in the next step.
            KafkaException: If consuming fails, or passing on a message; nothing is lost, the next step goes on.
        """
        error = None
        for message in self.consumer.consume(num_messages, self._until_due(timeout), min_messages=1):
            if message.error() is None:
                self._waiting.setdefault(partition_of(message), deque()).append(message)
            elif not self._is_harmless(message):
                error = message.error()
        done = sum(self._work_off(partition, process) for partition in list(self._waiting))
        if error is not None:
            raise make_exception(error)
        return done

    def _is_harmless(self, message: Message) -> bool:
        """Return whether an error needs no answer: a retry topic is there once the first message has gone there."""
        error = message.error()
        return error is not None and (
            error.code() in _NO_ERROR
            or (error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and message.topic() in self.retry_topics)
        )

    def _until_due(self, timeout: float) -> float:
        """Return how long to wait for messages, in seconds: no longer than until one that waits is due."""
        now = time.time()
        return max(0.0, min([timeout, *(_due(messages[0]) - now for messages in self._waiting.values())]))

    def _work_off(self, partition: TopicPartition, process: Callable[[Message], object]) -> int:
        """Process the messages of a partition that are due, in order."""
        messages = self._waiting[partition]
        done = 0
        while messages:
            message = messages[0]
            if _due(message) > time.time():
                if partition not in self._paused:
                    self.consumer.pause([partition])
                    self._paused.add(partition)
                return done
            self._handle(message, process)
            # Only now: whatever is raised leaves it here, and its offset unstored.
            messages.popleft()
            done += 1
        del self._waiting[partition]
        if partition in self._paused:
            self._paused.discard(partition)
            self.consumer.resume([partition])
        return done

    def _handle(self, message: Message, process: Callable[[Message], object]) -> None:
        try:
            process(message)
        except self.policy.dead_letter_on as error:
            self._pass_on(message, error, len(self.policy.delays))
        except self.policy.retry_on as error:
            self._pass_on(message, error, origin_of(message).attempts)
        try:
            self.consumer.store_offsets(message=message)
        except KafkaException as error:
            # The partition was lost while this message was processed; its next owner processes it again.
            if error.args[0].code() != KafkaError._STATE:
                raise

    def _pass_on(self, message: Message, error: Exception, attempts: int) -> None:
        """Copy a failed message to its next topic, and wait until it is there.

        Args:
            message: The message.
            error: Why it failed.
            attempts: Attempts before this one; from the number of delays on it goes to the dead letters.
        """
        origin = origin_of(message)
        delays = self.policy.delays
        headers = [(name, value) for name, value in message.headers() or [] if name not in _OWN_HEADERS]
        headers += [
            (TOPIC, origin.topic),
            (PARTITION, str(origin.partition)),
            (OFFSET, str(origin.offset)),
            (TIMESTAMP, str(origin.timestamp)),
            (ATTEMPT, str(origin.attempts + 1)),
            (ERROR_TYPE, f"{type(error).__module__}.{type(error).__qualname__}"),
            (ERROR_MESSAGE, _shortened(str(error))),
        ]
        if self.policy.with_traceback:
            headers.append((ERROR_TRACEBACK, _shortened("".join(traceback.format_exception(error)))))
        if attempts < len(delays):
            topic = self.policy.topics(origin.topic, self.group)[attempts]
            headers.append((DUE, str(int((time.time() + delays[attempts]) * 1000))))
        else:
            topic = self.policy.dead_letters(origin.topic, self.group)
        self.producer.send(topic, message.value(), message.key(), headers=headers, timeout=self.timeout).result(
            self.timeout
        )

    def _on_gone(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        # Whoever gets them next begins at the stored offsets.
        for partition in partitions:
            self._waiting.pop(partition, None)
            self._paused.discard(partition)


def _texts(message: Message) -> dict[str, str]:
    """Return the headers of this module as text; of several with one name the last."""
    return {
        name: (value or b"").decode("utf-8", "replace")
        for name, value in message.headers() or []
        if name in _OWN_HEADERS
    }


def _due(message: Message) -> float:
    """Return when a message may be processed, in seconds since the epoch; 0 for at once."""
    due = _texts(message).get(DUE, "0")
    return int(due) / 1000.0 if due.isdigit() else 0.0


def _shortened(text: str) -> str:
    """Return text that fits into a header."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
