"""Positions of messages, and taking a consumer back to them: what exactly-once, databases and retries share."""

from collections.abc import Callable, Iterable, Sequence

from cykafka._rdkafka.core import Consumer, FatalException, KafkaException, Message, TopicPartition


def partition_of(message: Message) -> TopicPartition:
    """Return the partition of a message, without an offset."""
    return TopicPartition(str(message.topic()), message.partition() or 0)


def position(message: Message, after: int = 0) -> TopicPartition:
    """Return the position of a message, or so many offsets after it."""
    offset = message.offset()
    assert offset is not None
    return TopicPartition(
        str(message.topic()), message.partition() or 0, offset + after, leader_epoch=message.leader_epoch()
    )


def positions_after(messages: Sequence[Message]) -> list[TopicPartition]:
    """Return where each partition of a batch goes on."""
    last = {(message.topic(), message.partition()): message for message in messages}
    return [position(message, 1) for message in last.values()]


def positions_before(messages: Sequence[Message]) -> list[TopicPartition]:
    """Return where each partition of a batch begins."""
    first = {(message.topic(), message.partition()): message for message in reversed(messages)}
    return [position(message) for message in first.values()]


class Rewinder:
    """Remembers which partitions of a consumer have to go back, until they have.

    Until then their messages are to be dropped (`waits`): they come again. A partition that is taken away is
    forgotten: whoever gets it next begins where the commits say.

    Args:
        consumer: The consumer.
    """

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._pending: dict[TopicPartition, int] = {}

    def remember(self, positions: Iterable[TopicPartition]) -> None:
        """Remember that partitions have to go back to these positions, or to earlier ones remembered before."""
        for tp in positions:
            self._pending[tp] = min(self._pending.get(tp, tp.offset), tp.offset)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions."""
        for tp in partitions:
            self._pending.pop(tp, None)

    def waits(self, message: Message) -> bool:
        """Return whether a message is of a partition that has not gone back yet."""
        return bool(self._pending) and partition_of(message) in self._pending

    def go_back(self, lookup: Callable[[list[TopicPartition]], Iterable[TopicPartition]], timeout: float) -> None:
        """Seek each partition to where the lookup says, or where it was remembered to begin if that knows nothing.

        Args:
            lookup: Returns partitions with the offsets that have been committed; negative where there are none.
            timeout: Seconds that a seek may take.

        Raises:
            KafkaException: If the lookup fails, or the consumer has failed for good.
        """
        if not self._pending:
            return
        assigned = set(self._consumer.assignment())
        self.forget([tp for tp in self._pending if tp not in assigned])
        if not self._pending:
            return
        for committed in lookup(list(self._pending)):
            offset = committed.offset if committed.offset >= 0 else self._pending[committed]
            try:
                self._consumer.seek(TopicPartition(committed.topic, committed.partition, offset), timeout)
            except FatalException:
                raise
            except KafkaException:
                # Not fetched from yet, or about to be taken away: the next time.
                continue
            self.forget([committed])
