"""The processes that a process has started, also in other sessions."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Makes this process the parent of its descendants whose parents end, so that it finds them."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def kill_descendants() -> None:
    """Kills everything that this process has started and that still runs."""
    for process in _descendants(os.getpid()):
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)


def _descendants(process: int) -> list[int]:
    parents = dict(filter(None, map(_with_parent, Path("/proc").iterdir())))
    found = [process]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def _with_parent(entry: Path) -> tuple[int, int] | None:
    if not entry.name.isdigit():
        return None
    try:
        # The name of the program, in parentheses, may contain anything.
        return int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None
