"""Small helpers around cykafka's clients, for the tests on the mock cluster and on a real Kafka."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cykafka import KafkaError, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]


def wait_until(condition: Callable[[], Any], timeout: float = 30.0, pause: float = 0.02) -> Any:
    """Call a function until what it returns is true, and return that.

    Args:
        condition: Function without arguments.
        timeout: Seconds after which the test fails.
        pause: Seconds between calls.
    """
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            msg = f"{condition} was not true within {timeout} s"
            raise AssertionError(msg)
        time.sleep(pause)


@dataclass
class Reports:
    """A delivery callback that keeps what it is called with.

    Attributes:
        errors: The errors, None for delivered messages.
        messages: The messages.
    """

    errors: list[KafkaError | None] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        self.errors.append(error)
        self.messages.append(message)

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def statuses(self) -> list[str | None]:
        """Persistence status of each message."""
        return [message.status() for message in self.messages]


@dataclass
class Interruption:
    """When SIGINT was sent, and when KeyboardInterrupt came out of the call.

    Attributes:
        sent: Clock at which the signal was sent, 0 before that.
        delay: Seconds from the signal to the end of the `with` block.
    """

    sent: float = 0.0
    delay: float = 0.0


@contextmanager
def interrupted(after: float = 0.15) -> Iterator[Interruption]:
    """Send this process SIGINT a moment after entering; the block must end with KeyboardInterrupt."""
    result = Interruption()
    ended = threading.Event()

    def send() -> None:
        if not ended.wait(after):
            result.sent = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield result
    except KeyboardInterrupt:
        result.delay = time.monotonic() - result.sent
    else:
        msg = "the call ended before it could be interrupted"
        raise AssertionError(msg)
    finally:
        ended.set()
        sender.join()
        signal.signal(signal.SIGINT, previous)


def run_python(code: str, *arguments: str, timeout: float = 60.0) -> str:
    """Run code in a Python process of its own and return what it printed; it must end well.

    Args:
        code: Program text.
        arguments: Its `sys.argv[1:]`.
        timeout: Seconds after which it is killed and the test fails.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-W", "error", "-c", code, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
