"""Signals while the program waits for the user (hooks/waits.h)."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Waits:
    """What begin_wait, interrupted and end_wait do, and what is left to do after a wait.

    While the main thread waits, signals that Python handles are noted only:
    what a handler raises inside one of the agent's callbacks would be lost.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}
        self._noted: list[tuple[int, FrameType | None]] = []

    def begin(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted.append((number, frame))

    def interrupted(self) -> bool:
        return bool(self._noted)

    def end(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    def raise_noted(self) -> None:
        """Calls the program's handlers for what came meanwhile; they may raise."""
        while self._noted:
            number, frame = self._noted.pop(0)
            self._handlers[number](number, frame)
