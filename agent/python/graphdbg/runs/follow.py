"""Waiting for a run to grow: by inotify where the system has it, else by looking twice a second."""

from __future__ import annotations

import ctypes
import os
import select
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graphdbg.client.errors import WaitTimeoutError

from .errors import NotRecorded
from .steps import Step

if TYPE_CHECKING:
    from .run import Run

POLL_SECONDS = 0.5
_IN_MODIFY, _IN_MOVED_TO, _IN_CREATE = 0x2, 0x80, 0x100
_IN_NONBLOCK, _IN_CLOEXEC = 0o4000, 0o2000000
_READ_BYTES = 1 << 16


class Watch:
    """Wakes when something changes in directories.

    What a process appends to its ring does not count: that is why a wait ends after POLL_SECONDS.
    """

    def __init__(self, directories: Iterable[Path]) -> None:
        self._descriptor = -1
        try:
            library = ctypes.CDLL(None, use_errno=True)
            self._descriptor = library.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC)
        except (OSError, AttributeError):
            return
        for directory in directories if self._descriptor >= 0 else ():
            library.inotify_add_watch(self._descriptor, os.fsencode(directory), _IN_MODIFY | _IN_MOVED_TO | _IN_CREATE)

    def wait(self, seconds: float) -> None:
        """Returns at a change, or after a time of at most POLL_SECONDS."""
        readable = [self._descriptor] if self._descriptor >= 0 else []
        if select.select(readable, [], [], min(seconds, POLL_SECONDS))[0]:
            os.read(self._descriptor, _READ_BYTES)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


def wait_for(run: Run, step: int, timeout: float | None) -> None:
    """Implements Run.wait_for."""
    deadline = None if timeout is None else time.monotonic() + timeout
    with Watch(run.directories()) as watch:
        while True:
            ended = run.ended
            last = max(run.steps(), default=0)
            if last >= step:
                return
            if ended is not None:
                raise NotRecorded(f"the run ended ({ended}) after step {last}, before step {step}")
            left = POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(f"step {step} was not complete after {timeout} s; the last one is {last}")
            watch.wait(left)
            run.refresh()


def follow(run: Run) -> Iterator[Step]:
    """Implements Run.follow."""
    done = 0
    with Watch(run.directories()) as watch:
        while True:
            ended = run.ended
            for step in [each for each in run.steps() if each > done]:
                done = step
                yield run.step(step)
            if ended is not None:
                return
            watch.wait(POLL_SECONDS)
            run.refresh()
