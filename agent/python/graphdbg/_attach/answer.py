"""Answers the debugger outside of the process."""

from __future__ import annotations

import json
import socket
import traceback
from typing import Any

_TIMEOUT_SECONDS = 1.0


class Answer:
    """Sends one answer. Does nothing if there is nobody who waits for it."""

    def __init__(self, name: str) -> None:
        """`name` is a path, or the name of an abstract socket, which may begin with "@" or a null character."""
        self._address = name if name.startswith("/") else "\0" + name.lstrip("@\0")
        self._is_wanted = bool(name)

    def send(self, state: str, message: str, **fields: Any) -> None:
        if not self._is_wanted:
            return
        self._is_wanted = False
        line = json.dumps({"state": state, "message": message, **fields}) + "\n"
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(_TIMEOUT_SECONDS)
                connection.connect(self._address)
                connection.sendall(line.encode())
        except OSError:
            # The debugger has given up.
            pass

    def fail(self, error: BaseException) -> None:
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.send("failed", str(error) or type(error).__name__, traceback=trace)
