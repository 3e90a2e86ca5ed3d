"""The socket on which a process answers what came of a text."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from ..client import Json
from .processes import Process

_READ_SECONDS = 2.0
_MOST_BYTES = 1 << 20
# pid, user, group
_CREDENTIALS = struct.Struct("3i")


class Answers:
    """Receives one answer. When it is closed, the text does nothing should it still run.

    Attributes:
        address: As the process sees it: a path, or "@" and the name of an abstract socket.
    """

    def __init__(self, socket_: socket.socket, address: str, user: int) -> None:
        """Only processes of the user are heard: all users can see the names of abstract sockets."""
        self._socket = socket_
        self._user = user
        self.address = address

    def wait(self, seconds: float) -> Json | None:
        """The answer, or None if there is none within this time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                connection, _ = self._socket.accept()
            except (TimeoutError, InterruptedError):
                continue
            with connection:
                answer = _read(connection) if _user_of(connection) == self._user else None
            # The text first connects only to see whether somebody waits.
            if answer is not None:
                return answer
        return None


def _user_of(connection: socket.socket) -> int:
    """The user of the process at the other end."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[1])


def _read(connection: socket.socket) -> Json | None:
    connection.settimeout(_READ_SECONDS)
    line = b""
    with contextlib.suppress(OSError):
        while not line.endswith(b"\n") and len(line) < _MOST_BYTES:
            part = connection.recv(1 << 16)
            if not part:
                break
            line += part
    try:
        answer = json.loads(line)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) and isinstance(answer.get("state"), str) else None


@contextlib.contextmanager
def answers_of(process: Process) -> Iterator[Answers]:
    """A socket that the process can connect to: abstract, or in its /tmp if it has another network."""
    name = f"graphdbg-{os.getpid()}-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX) as server:
        if process.shares("net"):
            server.bind(f"\0{name}")
            server.listen()
            yield Answers(server, f"@{name}", process.user)
            return
        inside = Path("/tmp") / name
        outside = process.path_outside(inside)
        server.bind(str(outside))
        try:
            os.chmod(outside, 0o600)
            with contextlib.suppress(OSError):
                os.chown(outside, process.user, -1)
            server.listen()
            yield Answers(server, str(inside), process.user)
        finally:
            with contextlib.suppress(OSError):
                outside.unlink()
