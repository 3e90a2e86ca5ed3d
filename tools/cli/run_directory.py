"""Temporary data directories of servers that `graphdbg run` starts.

A process that is killed cannot remove its directory, which contains tokens and values.
Such leftovers are removed by the server, which notices the end of its parent, and by the
next `graphdbg run` or `graphdbg start`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "graphdbg-"
# The creator of a directory holds a lock on this file, which the kernel releases when the
# creator ends in whatever way.
_LOCK = "run.lock"


@contextlib.contextmanager
def run_directory() -> Iterator[Path]:
    """A new directory that is removed at the end."""
    remove_leftovers()
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    # The file gets its name when it is locked, so no other process ever sees it unlocked.
    descriptor, name = tempfile.mkstemp(dir=directory)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.rename(name, directory / _LOCK)
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(descriptor)


def run_directories() -> list[Path]:
    """The directories of this user, also of processes that have been killed."""
    return [path for path in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")) if _is_ours(path)]


def remove_leftovers() -> None:
    """Removes the directories whose creators have ended."""
    for directory in run_directories():
        with contextlib.suppress(OSError):
            if _is_abandoned(directory / _LOCK) and _is_abandoned(directory / "lock"):
                shutil.rmtree(directory, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    """Whether the path is a directory of this user, and no link, with the mark of `run_directory`."""
    try:
        info, lock = path.lstat(), (path / _LOCK).lstat()
    except OSError:
        return False
    is_private = stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid() and not info.st_mode & 0o077
    return is_private and stat.S_ISREG(lock.st_mode)


def _is_abandoned(lock: Path) -> bool:
    """Whether no process holds the lock. The server of the directory holds one too."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
