"""Runs functions on the main thread of a program that knows nothing of it."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from . import moments

# How long to wait before the next attempt at a moment that does not suit.
_RETRY_SECONDS = 0.003


class NoMoment(Exception):
    """The main thread has not come to a point at which the function could run."""


def run_between_instructions(function: Callable[[], None], seconds: float) -> None:
    """Runs `function` on the main thread as soon as hooks can be changed there.

    Called on another thread. Raises NoMoment after so many seconds, and what the function raises.
    """
    deadline = time.monotonic() + seconds
    while True:
        attempt = _Attempt(function)
        attempt.schedule()
        if not attempt.done.wait(max(deadline - time.monotonic(), 0.0)) and attempt.give_up():
            raise NoMoment("the program's main thread has not come back to Python")
        if attempt.error is not None:
            raise attempt.error
        if not attempt.reason:
            return
        if time.monotonic() > deadline:
            raise NoMoment(attempt.reason)
        time.sleep(_RETRY_SECONDS)


class _Attempt:
    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._is_over = False
        self.done = threading.Event()
        self.error: BaseException | None = None
        # Why the function did not run; "" if it did.
        self.reason = ""

    def schedule(self) -> None:
        _pending.append(self)
        while ctypes.pythonapi.Py_AddPendingCall(_RUN_FIRST, None) != 0:
            # The queue is full.
            time.sleep(_RETRY_SECONDS)

    def give_up(self) -> bool:
        """Returns False if the function has run after all."""
        with self._lock:
            was_over, self._is_over = self._is_over, True
        return not was_over

    def run(self, frame: FrameType | None) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        try:
            self.reason = moments.why_not_change(frame)
            if not self.reason:
                self._function()
        except BaseException as error:
            self.error = error
        self.done.set()


_pending: list[_Attempt] = []


def _run_first(_: object) -> int:
    _pending.pop(0).run(sys._getframe().f_back)
    return 0


# Kept, because the interpreter calls it.
_RUN_FIRST = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_run_first)
