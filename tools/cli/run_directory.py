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
import tempfile
from collections.abc import Iterator
from pathlib import Path

from graphdbg._deferred_signals import uninterrupted
from graphdbg.client.servers import RUN_LOCK, RUN_PREFIX, run_directories

# The creator of a directory holds a lock on the file RUN_LOCK, which the kernel releases
# when the creator ends in whatever way.


@contextlib.contextmanager
def run_directory() -> Iterator[Path]:
    """A new directory that is removed at the end, also after Ctrl-C at any moment."""
    remove_leftovers()
    directory, descriptor = None, None
    try:
        with uninterrupted():
            directory, descriptor = _locked_directory()
        yield directory
    finally:
        if directory is not None and descriptor is not None:
            with uninterrupted():
                shutil.rmtree(directory, ignore_errors=True)
                os.close(descriptor)


def _locked_directory() -> tuple[Path, int]:
    """A new directory, and the descriptor that holds its lock."""
    directory = Path(tempfile.mkdtemp(prefix=RUN_PREFIX))
    # The file gets its name when it is locked, so no other process ever sees it unlocked.
    descriptor, name = tempfile.mkstemp(dir=directory)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.rename(name, directory / RUN_LOCK)
    return directory, descriptor


def remove_leftovers() -> None:
    """Removes the directories whose creators have ended."""
    for directory in run_directories():
        with contextlib.suppress(OSError):
            if _is_abandoned(directory / RUN_LOCK) and _is_abandoned(directory / "lock"):
                shutil.rmtree(directory, ignore_errors=True)


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
