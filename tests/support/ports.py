"""Free loopback ports."""

from __future__ import annotations

import random
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 15000
_USUAL_EPHEMERAL_START = 32768


def free_ports(count: int) -> list[int]:
    """Find loopback ports that nobody uses.

    They lie below the range the system takes the ports of outgoing connections from. Inside that range a
    client that keeps trying to reach a stopped server may be given the server's own port: it then talks to
    itself, and the server cannot come back.

    Args:
        count: How many.

    Returns:
        Distinct port numbers, free at the time of the call.
    """
    end = _USUAL_EPHEMERAL_START
    if _EPHEMERAL_RANGE.exists():
        end = int(_EPHEMERAL_RANGE.read_text().split()[0])
    candidates = range(_LOWEST, end) if end > _LOWEST + 1000 else range(_LOWEST, 65536)
    found: list[int] = []
    for port in random.sample(candidates, len(candidates)):
        with socket.socket() as probe:
            # As servers do: a port whose last connections are still closing is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"fewer than {count} free ports on {LOOPBACK}")
