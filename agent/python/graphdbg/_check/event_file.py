"""A file of events, one for each process."""

from __future__ import annotations

import json
import os
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
        if self._pid not in (0, os.getpid()):
            self._lines.append(_line("forked", {"pid": os.getpid(), "parent": os.getppid()}))
        line = _line(event, fields)
        self._lines.append(line)
        try:
            if self._pid != os.getpid():
                self._pid = os.getpid()
                name = os.path.join(self._directory, f"{self._pid}-{time.time_ns()}.jsonl")
                self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                line = b"".join(self._lines)
            os.write(self._file, line)
        except OSError:
            # The command has ended, or the disk is full. The program must not notice.
            self._file = -1


def _line(event: str, fields: dict[str, Any]) -> bytes:
    return json.dumps({"event": event, "time": time.time(), **fields}, default=str).encode() + b"\n"


def _is_data_worker() -> bool:
    import sys

    data = sys.modules.get("torch.utils.data")
    return data is not None and hasattr(data, "get_worker_info") and data.get_worker_info() is not None
