"""Waits for a call of a model in a program that has no optimizer."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from .._undo import UndoList
from . import moments


class WaitingCalls:
    """Calls `begin` before the next call of a module from outside of all others."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin
        self._changes = UndoList()

    def install(self) -> None:
        from torch.nn import Module

        original: Any = Module.__call__

        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._changes.active or not moments.is_outside(sys._getframe(1)):
                return original(module, *args, **kwargs)
            self.remove()
            self._begin()
            return Module.__call__(module, *args, **kwargs)

        self._changes.replace(Module, "__call__", call)

    def remove(self) -> None:
        self._changes.run()
