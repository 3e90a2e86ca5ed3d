"""Autocast that does not reach the model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._undo import UndoList
from .check import Check, ModelCall, Report


class Autocast(Check):
    conditions = ("autocast_without_effect",)

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        # Contexts that the program is inside of and that PyTorch has disabled.
        self.disabled: list[Any] = []

    def model_called(self, call: ModelCall) -> None:
        first = next(call.module.parameters(), None)
        if first is None:
            return
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

    @functools.wraps(enter)
    def watched_enter(self: Any) -> Any:
        if getattr(self, "_graphdbg_requested", False) and not self._enabled:
            check().disabled.append(self)
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
