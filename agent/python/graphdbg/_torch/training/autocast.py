"""Autocast that does not reach the model."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ..._undo import UndoList
from ..._user_code import Line, is_called_by_library, line_of
from .check import PATIENCE, Check, ModelCall, Report


class Autocast(Check):
    conditions = ("autocast_without_effect",)

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        # Contexts that the program is inside of and that PyTorch has disabled.
        self.disabled: list[Any] = []
        # How many contexts each line of the program has made, if none of them was entered.
        self._idle: dict[Line, int] = {}
        self._entered: set[Line] = set()

    def make(self, line: Line | None) -> None:
        """The user's line makes a context."""
        if line is not None and line not in self._entered:
            self._idle[line] = self._idle.get(line, 0) + 1

    def enter(self, line: Line) -> None:
        """A context is entered that this line has made."""
        self._entered.add(line)
        self._idle.pop(line, None)

    def model_called(self, call: ModelCall) -> None:
        first = next(call.module.parameters(), None)
        if first is None:
            return
        for line in [line for line, times in self._idle.items() if times >= PATIENCE]:
            message = (
                "torch.autocast() only makes a context, which changes nothing until it is entered: `with` is missing"
            )
            self.report("autocast_without_effect", message, [first], line=line, key=line)
        enabled = _enabled_devices()
        device = first.device.type
        if self.disabled:
            kind = self.disabled[-1].device
            message = (
                f"autocast for {kind} is requested and PyTorch has disabled it, because {kind} or the dtype is not "
                "available: nothing is computed in lower precision"
            )
        elif enabled and device not in (*enabled, "meta"):
            message = (
                f"autocast is enabled for {' and '.join(enabled)}, but the model is on {device}: "
                "nothing is computed in lower precision"
            )
        else:
            return
        self.report("autocast_without_effect", message, [first], line=call.line, key=id(call.module))


def follow_contexts(check: Callable[[], Autocast], changes: UndoList) -> None:
    """Keeps the list of contexts that were requested and disabled, in the check of the present job."""
    import torch

    autocast = torch.autocast
    make, enter, leave = autocast.__init__, autocast.__enter__, autocast.__exit__

    @functools.wraps(make)
    def watched_init(
        self: Any, device_type: Any, dtype: Any = None, enabled: bool = True, *args: Any, **kwargs: Any
    ) -> None:
        make(self, device_type, dtype, enabled, *args, **kwargs)
        if changes.active:
            self._graphdbg_requested = enabled
            # A library may make contexts that it does not enter.
            caller = sys._getframe(1)
            if enabled and not is_called_by_library(caller):
                self._graphdbg_line = line_of(caller)
                check().make(self._graphdbg_line)

    @functools.wraps(enter)
    def watched_enter(self: Any) -> Any:
        if getattr(self, "_graphdbg_requested", False) and not self._enabled:
            check().disabled.append(self)
        line = getattr(self, "_graphdbg_line", None)
        if line is not None:
            check().enter(line)
        return enter(self)

    @functools.wraps(leave)
    def watched_exit(self: Any, *details: Any) -> Any:
        if self in check().disabled:
            check().disabled.remove(self)
        return leave(self, *details)

    for name, method in {"__init__": watched_init, "__enter__": watched_enter, "__exit__": watched_exit}.items():
        changes.replace(autocast, name, method)


def _enabled_devices() -> list[str]:
    """The types of devices for which autocast is enabled."""
    import torch

    try:
        return [kind for kind in ("cuda", "cpu", "xpu", "mps") if torch.is_autocast_enabled(kind)]
    except TypeError:
        # PyTorch before 2.4.
        kinds = {"cuda": torch.is_autocast_enabled, "cpu": torch.is_autocast_cpu_enabled}
        return [kind for kind, enabled in kinds.items() if enabled()]
