"""A file of events, one for each process."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


class EventFile:
    """Appends events as lines. A child process that was forked gets a file of its own, with the events so far.

    Lines are written at once, so that nothing is lost when the process is killed.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._pid = 0
        self._file = -1
        self._lines: list[bytes] = []

    def write(self, event: str, **fields: Any) -> None:
        if _is_data_worker():
            return
        line = _line(event, fields)
        try:
            if self._pid != os.getpid():
                self._open()
            os.write(self._file, line)
        except OSError:
            # The command has ended, or the disk is full. The program must not notice.
            self._file = -1
        # Only the last step matters, and the child of a fork starts with none of its own.
        if event != "step":
            self._lines.append(line)

    def _open(self) -> None:
        """Opens a file for this process. The child of a fork begins with the events of its parent."""
        is_forked, self._pid = self._pid != 0, os.getpid()
        if is_forked:
            self._lines.append(_line("forked", {"pid": self._pid, "parent": os.getppid()}))
        name = os.path.join(self._directory, f"{self._pid}-{time.time_ns()}.jsonl")
        self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.write(self._file, b"".join(self._lines))


def _line(event: str, fields: dict[str, Any]) -> bytes:
    return json.dumps({"event": event, "time": time.time(), **fields}, default=str).encode() + b"\n"


def _is_data_worker() -> bool:
    data = sys.modules.get("torch.utils.data")
    return data is not None and hasattr(data, "get_worker_info") and data.get_worker_info() is not None
