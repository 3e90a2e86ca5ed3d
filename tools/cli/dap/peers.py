"""Who has connected to a port of this machine."""

from __future__ import annotations

import contextlib
import socket
import struct
from pathlib import Path

# How /proc/net/tcp6 has the beginning of an IPv4 address.
_MAPPED = "0000000000000000FFFF0000"
_TABLES = {"/proc/net/tcp": "", "/proc/net/tcp6": _MAPPED}


def peer_uid(connection: socket.socket) -> int | None:
    """The user whose process is at the other end of a connection to 127.0.0.1; None if the system does not tell."""
    ours, theirs = _address(connection.getsockname()), _address(connection.getpeername())
    for table, prefix in _TABLES.items():
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                # Number, local address, remote address, ..., user.
                fields = line.split()
                if fields[1:3] == [prefix + theirs, prefix + ours]:
                    return int(fields[7])
    return None


def _address(name: tuple[str, int]) -> str:
    host, port = name[:2]
    # The kernel prints the address as a number of this machine.
    (number,) = struct.unpack("=I", socket.inet_aton(host))
    return f"{number:08X}:{port:04X}"
