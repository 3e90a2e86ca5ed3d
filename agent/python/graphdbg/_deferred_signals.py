"""Defers signals while the program waits for the user (hooks/waits.h in the compiled adapter)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class DeferredSignals:
    """Records signals that arrive while the main thread waits inside the agent.

    The agent calls `begin_wait`, `is_interrupted` and `end_wait` around a wait.
    Signals that have a Python handler are only recorded meanwhile, because an
    exception that a handler raises inside one of the agent's callbacks would be
    lost. The adapter calls `deliver` after the agent's function has returned.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}
        self.is_waiting = False
        self._recorded: list[tuple[int, FrameType | None]] = []

    def begin_wait(self) -> None:
        self.is_waiting = True
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._record)

    def _record(self, number: int, frame: FrameType | None) -> None:
        self._recorded.append((number, frame))

    def is_interrupted(self) -> bool:
        return bool(self._recorded)

    def end_wait(self) -> None:
        self.is_waiting = False
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    def deliver(self) -> None:
        """Calls the program's handlers for the recorded signals. They may raise."""
        while self._recorded:
            number, frame = self._recorded.pop(0)
            self._handlers[number](number, frame)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delivers signals that arrive in a block at its end."""
    signals = DeferredSignals()
    signals.begin_wait()
    try:
        yield
    finally:
        signals.end_wait()
        signals.deliver()
