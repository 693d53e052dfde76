"""Ends what a test process leaves behind, however that process ended.

Run as a script by `tests.support.process` with a pipe as standard input. Each line is `+` or `-` and the
number of a process or the absolute path of a folder. When the parent is gone, every process still listed is
killed and every folder still listed is removed. The line `end` stands for the end of the parent.

A death signal of the kernel (PR_SET_PDEATHSIG) would not do: it follows the thread that started the server,
not the process, and so ends a server that a test restarted from a short-lived thread.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import time

PARENT_CHECK_SECONDS = 1.0
KILL_WAIT_SECONDS = 5.0


def serve() -> set[str]:
    """Read the list from standard input until the parent is gone.

    Returns:
        The entries that nobody took back.
    """
    parent = os.getppid()
    entries: set[str] = set()
    pending = b""
    # A child that the tests forked holds the pipe open too, so the end of the input alone does not tell.
    while os.getppid() == parent:
        readable, _, _ = select.select([sys.stdin], [], [], PARENT_CHECK_SECONDS)
        if not readable:
            continue
        chunk = os.read(sys.stdin.fileno(), 65536)
        if not chunk:
            break
        *lines, pending = (pending + chunk).split(b"\n")
        for line in map(os.fsdecode, lines):
            if line == "end":
                return entries
            (entries.add if line[0] == "+" else entries.discard)(line[1:])
    return entries


def clean(entries: set[str]) -> None:
    """Kill the processes and remove the folders in `entries`."""
    processes = [int(entry) for entry in entries if entry.isdigit()]
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + KILL_WAIT_SECONDS
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < deadline:
                os.kill(pid, 0)
                time.sleep(0.02)
    for entry in entries:
        if not entry.isdigit():
            shutil.rmtree(entry, ignore_errors=True)


if __name__ == "__main__":
    clean(serve())
