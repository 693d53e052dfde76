"""The sink with faults: at chosen points it kills its own process, or the whole query, as `kill -9` would."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cykafka.spark.options import write_options
from cykafka.spark.source import KafkaDataSource
from cykafka.spark.writer import KafkaStreamWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Where a fault can strike, in the order in which a batch comes by: while rows are produced, when all are delivered
#: but not committed, when they are committed, when the task is done, and when the driver hears of all tasks.
POINTS = ("rows", "delivered", "committed", "written", "driver")
WORKER, QUERY = "worker", "query"


def arm(folder: Path, point: str, victim: str = WORKER) -> None:
    """Let the next process that comes by kill itself, or its query."""
    assert point in POINTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / point).write_text(victim)


def armed(folder: Path) -> list[str]:
    """Points that nobody has come by."""
    return [point for point in POINTS if (folder / point).exists()]


class FaultyDataSource(KafkaDataSource):
    """``cykafka_faulty``: the same sink, with faults that the folder of the option ``faults`` arms."""

    @classmethod
    def name(cls) -> str:
        return "cykafka_faulty"

    def streamWriter(self, schema: Any, overwrite: bool) -> FaultyStreamWriter:
        return FaultyStreamWriter(write_options(self.options, streaming=True), schema, Path(self.options["faults"]))


class FaultyStreamWriter(KafkaStreamWriter):
    def __init__(self, options: Any, schema: Any, folder: Path) -> None:
        super().__init__(options, schema)
        self._folder = folder

    def write(self, iterator: Iterator[Any]) -> Any:
        message = super().write(iterator)
        self._strike("written")
        return message

    def commit(self, messages: Any, batchId: int) -> None:
        self._strike("driver")
        super().commit(messages, batchId)

    def _produce(self, producer: Any, rows: Iterator[Any]) -> Iterator[int]:
        for count in super()._produce(producer, rows):
            # The rows are on their way, and some of them there.
            producer.flush(0.2)
            self._strike("rows")
            yield count
        self._strike("delivered")

    def _write_transaction(self, *args: Any) -> Any:
        content = super()._write_transaction(*args)
        self._strike("committed")
        return content

    def _strike(self, point: str) -> None:
        fault = self._folder / point
        try:
            victim = fault.read_text()
            fault.rename(fault.with_suffix(".struck"))
        except FileNotFoundError:
            return
        if victim == QUERY:
            jvm = _jvm()
            driver = _parent(jvm)
            for pid in (driver, jvm):
                os.kill(pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


def _parent(pid: int) -> int:
    # After the name, which is in parentheses and may hold anything.
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _jvm() -> int:
    """The JVM that this process belongs to."""
    pid = os.getppid()
    while Path(f"/proc/{pid}/comm").read_text().strip() != "java":
        pid = _parent(pid)
        assert pid > 1, "no JVM above this process"
    return pid
