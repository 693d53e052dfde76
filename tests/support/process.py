"""Server processes that a test run starts, controls and always ends."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Sequence

_POLL_SECONDS = 0.02
_LOG_TAIL_LINES = 25


class _Watchdog:
    """The helper process that cleans up when this process is killed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def add(self, entry: int | Path) -> None:
        self._write("+", entry)

    def discard(self, entry: int | Path) -> None:
        self._write("-", entry)

    def _write(self, sign: str, entry: int | Path) -> None:
        with self._lock:
            if self._process is None or self._owner != os.getpid():
                script = Path(__file__).with_name("watchdog.py")
                # A session of its own, so that Ctrl-C and signals to the process group do not end it first.
                self._process = subprocess.Popen(
                    [sys.executable, "-E", "-S", str(script)], stdin=subprocess.PIPE, start_new_session=True
                )
                self._owner = os.getpid()
            assert self._process.stdin is not None
            self._process.stdin.write(os.fsencode(f"{sign}{entry}\n"))
            self._process.stdin.flush()

    def finish(self) -> None:
        if self._process is not None and self._owner == os.getpid():
            assert self._process.stdin is not None
            # Closing the pipe says nothing while a child that the tests forked has it open.
            self._process.stdin.write(b"end\n")
            self._process.stdin.close()
            self._process.wait()


_watchdog = _Watchdog()
_running: weakref.WeakSet[ServerProcess] = weakref.WeakSet()


def _kill_all() -> None:
    for process in list(_running):
        process.kill()
    _watchdog.finish()


atexit.register(_kill_all)


class WorkFolder:
    """A temporary folder that is removed on `close`, at exit, or by the watchdog when this process is killed.

    Args:
        prefix: Start of the folder's name.
    """

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        _watchdog.add(self.path)

    def close(self) -> None:
        """Remove the folder. Safe to call twice."""
        shutil.rmtree(self.path, ignore_errors=True)
        _watchdog.discard(self.path)


class ServerProcess:
    """One server process, its log file, and the signals that tests send it.

    Any thread may start and stop it, but two threads may not do so at the same time.

    Args:
        name: How error messages call it.
        command: Program and arguments.
        log: File that takes its output; appended to on each start.
        ready: Text in the log that says that it serves.
        folder: Its working folder.
    """

    def __init__(self, name: str, command: Sequence[str], *, log: Path, ready: str, folder: Path) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self._ready = ready.encode()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._log_start = 0
        self.paused = False

    @property
    def pid(self) -> int | None:
        """Process id, or None when it does not run."""
        return self._process.pid if self._process is not None and self.is_running else None

    @property
    def is_running(self) -> bool:
        """Whether the process exists (a paused one does)."""
        return self._process is not None and self._owner == os.getpid() and self._process.poll() is None

    def start(self) -> None:
        """Start the process without waiting for it to be ready; see `wait_ready`.

        Raises:
            ServerError: It runs already.
        """
        if self.is_running:
            raise ServerError(f"{self.name} runs already (process {self.pid})")
        self._reap()
        self._owner = os.getpid()
        with self.log.open("ab") as output:
            self._log_start = output.tell()
            # A session of its own: Ctrl-C in the terminal must reach the tests, not the servers under them.
            self._process = subprocess.Popen(
                self.command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        _watchdog.add(self._process.pid)
        _running.add(self)
        self.paused = False

    def wait_ready(self, timeout: float = 120.0) -> None:
        """Wait until the log says that the server serves.

        Args:
            timeout: Seconds.

        Raises:
            ServerError: It ended, or was not ready in time; it is stopped then.
        """
        deadline = time.monotonic() + timeout
        while self._ready not in self.output():
            if not self.is_running:
                code = self._process.returncode if self._process is not None else None
                self._reap()
                raise self._failure(f"ended with code {code} before it was ready")
            if time.monotonic() > deadline:
                self.kill()
                raise self._failure(f"was not ready after {timeout:g} s")
            time.sleep(_POLL_SECONDS)

    def wait_done(self, timeout: float = 120.0) -> None:
        """Wait until the process has ended by itself, for commands that do one thing.

        Args:
            timeout: Seconds.

        Raises:
            ServerError: It failed or was not done in time; it is stopped then.
        """
        assert self._process is not None
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._failure(f"was not done after {timeout:g} s") from None
        self._reap()
        if code != 0:
            raise self._failure(f"ended with code {code}")

    def output(self) -> bytes:
        """What it has written since its last start."""
        with self.log.open("rb") as file:
            file.seek(self._log_start)
            return file.read()

    def signal_stop(self) -> None:
        """Ask it to end in an orderly way (SIGTERM), without waiting."""
        if self.is_running:
            self._signal(signal.SIGTERM)
            self.resume()

    def stop(self, timeout: float = 30.0) -> None:
        """End it in an orderly way (SIGTERM), or with SIGKILL when it takes longer than `timeout` seconds."""
        if self.is_running:
            assert self._process is not None
            self.signal_stop()
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._reap()

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        if self.is_running:
            assert self._process is not None
            self._process.kill()
        self._reap()

    def pause(self) -> None:
        """Freeze it (SIGSTOP): connections stay open and nothing is answered."""
        self._signal(signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        """Let a frozen process go on (SIGCONT)."""
        self._signal(signal.SIGCONT)
        self.paused = False

    def _signal(self, number: signal.Signals) -> None:
        if not self.is_running:
            raise ServerError(f"{self.name} does not run; log: {self.log}")
        assert self._process is not None
        self._process.send_signal(number)

    def _reap(self) -> None:
        if self._process is not None and self._owner == os.getpid():
            self._process.wait()
            _watchdog.discard(self._process.pid)
            _running.discard(self)
            self.paused = False
        self._process = None

    def _failure(self, what: str) -> ServerError:
        tail = self.output().decode(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
        return ServerError("\n".join([f"{self.name} {what}; log: {self.log}; its last lines:", *tail]))
