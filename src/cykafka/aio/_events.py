"""The descriptor by which librdkafka's queues wake an event loop.

One end of a socket pair is written to by librdkafka, one byte when a queue stops being empty; the loop reads the
other. Where the loop cannot watch descriptors (`asyncio.ProactorEventLoop`), one thread for each client does.
"""

import asyncio
import contextlib
import os
import socket
import threading
import weakref
from collections.abc import Callable

from cykafka._rdkafka import core


class QueueEvents:
    """Calls a method on the loop's thread whenever there is something to serve.

    Args:
        client: The native client.
        loop: The event loop, whose thread this is.
        serve: Bound method; its object is not kept alive. Called soon, too, for what is there already.

    Raises:
        RuntimeError: If the client is closed.
    """

    def __init__(self, client: core.Client, loop: asyncio.AbstractEventLoop, serve: Callable[[], None]) -> None:
        self._client = client
        self._loop = loop
        self._serve = weakref.WeakMethod(serve)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._closed = False
        #: Whatever must live as long as the loop watches.
        self.keep: object = None
        self._watched_by_loop = True
        self._reader, writer = socket.socketpair()
        writer.setblocking(False)
        # A number, which no garbage collection closes while librdkafka still has it.
        self._writer = writer.detach()
        try:
            core.watch(client, self._writer)
        except BaseException:
            self._closed = True
            socket.close(self._writer)
            self._reader.close()
            raise
        try:
            self._reader.setblocking(False)
            loop.add_reader(self._reader, self._on_readable)
        except NotImplementedError:
            self._watched_by_loop = False
            self._reader.setblocking(True)
            arguments = (self._reader, loop, self._on_bytes)
            name = f"cykafka-events {client.name}"
            threading.Thread(target=_watch, args=arguments, name=name, daemon=True).start()
        loop.call_soon(self._on_bytes)

    def _on_readable(self) -> None:
        # Before serving: what comes from now on is told by another byte.
        with contextlib.suppress(BlockingIOError):
            self._reader.recv(4096)
        self._on_bytes()

    def _on_bytes(self) -> None:
        serve = self._serve()
        if serve is not None and not self._closed:
            serve()

    def close(self) -> None:
        """Stop watching; harmless if done before. Any thread may call it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.keep = None
        core.watch(self._client, -1)
        socket.close(self._writer)
        if self._pid != os.getpid():
            # A forked child: the loop, and what it watches, are the parent's.
            self._reader.close()
            return
        if not self._watched_by_loop:
            # The other end is gone, so the thread ends and closes this one.
            return
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop or self._loop.is_closed():
            self._end()
            return
        try:
            self._loop.call_soon_threadsafe(self._end)
        except RuntimeError:
            # Closed meanwhile.
            self._end()

    def _end(self) -> None:
        if not self._loop.is_closed():
            self._loop.remove_reader(self._reader)
        self._reader.close()

    def __del__(self) -> None:
        self.close()


def _watch(reader: socket.socket, loop: asyncio.AbstractEventLoop, serve: Callable[[], None]) -> None:
    """Body of the thread: wait for bytes, and tell the loop of each lot."""
    # Ends with RuntimeError when the loop has been closed.
    with reader, contextlib.suppress(RuntimeError):
        while reader.recv(4096):
            loop.call_soon_threadsafe(serve)
