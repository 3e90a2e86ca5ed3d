"""Counts the threads of a process."""

from __future__ import annotations

import os
import threading


def threads() -> list[str]:
    """The names of the process's threads."""
    names = []
    for number in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{number}/comm", encoding="utf-8", errors="replace") as file:
                names.append(file.read().strip())
        except OSError:
            # It has ended.
            pass
    return sorted(names)


def current_thread() -> str:
    """The name of the calling thread."""
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", encoding="utf-8", errors="replace") as file:
        return file.read().strip()
