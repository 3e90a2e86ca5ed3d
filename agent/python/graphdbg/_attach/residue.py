"""Counts what a process has."""

from __future__ import annotations

import contextlib
import os
import threading


def threads() -> list[str]:
    """The names of the process's threads."""
    names = []
    for number in os.listdir("/proc/self/task"):
        # It may have ended.
        with (
            contextlib.suppress(OSError),
            open(f"/proc/self/task/{number}/comm", encoding="utf-8", errors="replace") as file,
        ):
            names.append(file.read().strip())
    return sorted(names)


def descriptors() -> list[str]:
    """The kinds of the descriptors that refer to no file and no socket, such as those that threads wait for."""
    kinds = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            kind, _, name = os.readlink(f"/proc/self/fd/{number}").partition(":")
            if kind == "anon_inode":
                kinds.append(name.strip("[]"))
    return kinds


def current_thread() -> str:
    """The name of the calling thread."""
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", encoding="utf-8", errors="replace") as file:
        return file.read().strip()
