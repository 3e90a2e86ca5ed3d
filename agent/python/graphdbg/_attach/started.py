"""Leaves a program that was started under graphdbg, which can then be joined as any other."""

from __future__ import annotations

import sys
from typing import Any

from .. import _exit_report
from .answer import Answer
from .session import Session
from .settings import Settings


class StartedSession(Session):
    """The stay in a program that has had the agent from its start.

    What the process was like without graphdbg is not known, so that threads and descriptors are not compared.
    """

    def __init__(self, observers: Any) -> None:
        super().__init__(Settings(), Answer(""))
        self._observers = observers
        self._adapter = observers.adapter
        self._begins = self._follows = True
        self._joined.set()
        self._settled.set()
        # Otherwise, leaving does not wait for the end of a step.
        self._steps = 1
        observers.on_step = self._after_step

    def _leave(self) -> list[str]:
        try:
            return super()._leave()
        finally:
            _exit_report.set_agent(None)

    def _left_behind(self) -> list[str]:
        return []

    def _summary(self, stays: list[str]) -> str:
        return super()._summary(stays) if stays else "detached; it can be attached to again"


def session_of_start() -> StartedSession | None:
    """The stay that began with the program; None if there is none of PyTorch."""
    follow: Any = sys.modules.get("graphdbg._torch.follow")
    observers = follow.current_observers() if follow is not None else None
    return StartedSession(observers) if observers is not None and _exit_report.has_agent() else None
