"""Weights that are the same before each step, although each step changes them."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any

from ..._undo import UndoList
from ..._user_code import Line, line_of
from .check import PATIENCE, Check, Counts, Report, dense_gradient, trained
from .elements import sample_of
from .models import Models
from .optimized import Optimized
from .readout import Readout


class _Seen:
    """A parameter that stands for all of its optimizer, as it was around the last step that was observed."""

    def __init__(self, probe: Any, rate: Any) -> None:
        self.probe = weakref.ref(probe)
        self.rate = rate
        self.before = sample_of(probe.detach()).clone()
        self.after: Any = None


class RestoredWeights(Check):
    """Something sets the weights back after each step, as a checkpoint does that is loaded in the loop."""

    conditions = ("update_without_effect",)

    def __init__(self, report: Report, readout: Readout, models: Models, optimized: Optimized) -> None:
        super().__init__(report)
        self._readout = readout
        self._models = models
        self._optimized = optimized
        self._seen: weakref.WeakKeyDictionary[Any, _Seen] = weakref.WeakKeyDictionary()
        self._restored = Counts()
        self.symptoms = [self._restored]
        # The user's line that called `load_state_dict` last, since the last step.
        self._loaded: Line | None = None

    def loads(self) -> None:
        """A module is given the values of a checkpoint."""
        self._loaded = line_of(sys._getframe(1))

    def before_step(self, optimizer: Any) -> None:
        loaded, self._loaded = self._loaded, None
        probe = _probe_of(optimizer)
        if probe is None:
            self._seen.pop(optimizer, None)
            return
        last, rate = self._seen.get(optimizer), _rate_of(optimizer)
        seen = self._seen[optimizer] = _Seen(probe, rate)
        # A search for a learning rate begins each try with the same weights.
        if last is None or last.after is None or last.probe() is not probe or last.rate != rate:
            self._restored.add(optimizer, False)
            return
        results = [seen.before.eq(last.before).all(), seen.before.eq(last.after).all()]
        line = loaded or line_of(sys._getframe(1))
        self._readout.read(results, lambda values: self._observe(optimizer, line, *values))

    def after_step(self, optimizer: Any) -> None:
        seen = self._seen.get(optimizer)
        probe = seen.probe() if seen is not None else None
        if seen is not None and probe is not None:
            seen.after = sample_of(probe.detach()).clone()

    def _observe(self, optimizer: Any, line: Line | None, is_as_before: float, is_as_after: float) -> None:
        if self._restored.add(optimizer, bool(is_as_before) and not is_as_after) < PATIENCE:
            return
        seen = self._seen.get(optimizer)
        probe = seen.probe() if seen is not None else None
        # An inner step of meta-learning, whose result another optimizer uses.
        if probe is None or self._optimized.others_with(probe, optimizer):
            return
        message = (
            f"each of {PATIENCE} steps of {type(optimizer).__name__} has changed {self._models.name_of(probe)}, and "
            "before the next one it was as before: something restores the weights in the loop, such as "
            "load_state_dict() or copy_()"
        )
        self.report("update_without_effect", message, [probe], line=line, key=("restored", id(optimizer)))


def follow_loading(load: Callable[[], None], changes: UndoList) -> None:
    """Calls `load` when a module is given the values of a checkpoint."""
    from torch.nn import Module

    original = Module.load_state_dict

    @functools.wraps(original)
    def watched_load(self: Any, *args: Any, **kwargs: Any) -> Any:
        if changes.active:
            load()
        return original(self, *args, **kwargs)

    changes.replace(Module, "load_state_dict", watched_load)


def _probe_of(optimizer: Any) -> Any | None:
    """The first parameter that has a gradient; None if there is none."""
    moving = (each for each in trained(optimizer) if dense_gradient(each) is not None and each.numel() > 0)
    return next(moving, None)


def _rate_of(optimizer: Any) -> float | None:
    """The learning rate of its first group; None if it is on a device, where it cannot be read at once."""
    rate = optimizer.param_groups[0].get("lr")
    return float(rate) if isinstance(rate, (int, float)) else None
