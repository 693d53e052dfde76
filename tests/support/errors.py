"""What can go wrong while a test server is fetched, started or stopped."""

from __future__ import annotations


class ServerError(RuntimeError):
    """A test server could not be fetched, started or stopped; the message names the log file."""


class MissingToolError(ServerError):
    """A command that test servers need is not installed; the message names the cure."""
