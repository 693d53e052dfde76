"""Event loops of every kind, for the tests of the asyncio clients."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class LoopWithoutReaders(asyncio.SelectorEventLoop):
    """A loop that cannot watch descriptors, as `asyncio.ProactorEventLoop` on Windows."""

    def add_reader(self, *args: Any) -> None:  # type: ignore[override]
        """Refuse, except for the loop's own descriptor."""
        raise NotImplementedError

    def remove_reader(self, *args: Any) -> bool:
        """Refuse as well."""
        raise NotImplementedError


def new_loop(kind: str) -> asyncio.AbstractEventLoop:
    """Make a loop.

    Args:
        kind: ``asyncio``, ``uvloop`` or ``no readers``.
    """
    if kind == "uvloop":
        uvloop = pytest.importorskip("uvloop", reason="needs uvloop")
        loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        return loop
    return LoopWithoutReaders() if kind == "no readers" else asyncio.new_event_loop()


async def _cancel_all() -> None:
    """End what is left over, as `asyncio.run` does."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


KINDS = ("asyncio", "uvloop", "no readers")


@dataclass
class Runner:
    """Runs coroutines, each in a loop of its own.

    Attributes:
        kind: The loops' kind.
        reported: What the loops' exception handlers were called with.
    """

    kind: str = "asyncio"
    reported: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, main: Callable[[], Coroutine[Any, Any, T]], timeout: float = 60.0) -> T:
        """Run a coroutine function to its end, in at most so many seconds."""
        loop = new_loop(self.kind)
        loop.set_exception_handler(lambda _, context: self.reported.append(context))
        try:
            return loop.run_until_complete(asyncio.wait_for(main(), timeout))
        finally:
            loop.run_until_complete(_cancel_all())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    @property
    def exceptions(self) -> list[BaseException | None]:
        """The exceptions in `reported`."""
        return [context.get("exception") for context in self.reported]
