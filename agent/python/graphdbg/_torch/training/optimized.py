"""Parameters that get gradients and that no optimizer changes."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from ..user_code import Line
from .check import PATIENCE, Check, Counts, Report, and_others, dense_gradient, it_or_them, trained
from .models import Models

# The number of steps after which the models' parameters are listed again.
_PERIOD = 50
_ELEMENTS = 64


class Optimized(Check):
    conditions = ("parameter_not_optimized",)

    def __init__(self, report: Report, models: Models) -> None:
        super().__init__(report)
        self._models = models
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._made: weakref.WeakKeyDictionary[Any, Line | None] = weakref.WeakKeyDictionary()
        self._leader: weakref.ref[Any] | None = None
        self._steps = 0
        self._unchanged = Counts()
        self.symptoms = [self._unchanged]
        # Samples of the values at the last look, by the parameter's id.
        self._values: dict[int, Any] = {}

    def add_optimizer(self, optimizer: Any, line: Line | None) -> None:
        """An optimizer is made, in this line of the user's code."""
        self._optimizers.add(optimizer)
        self._made[optimizer] = line

    def before_step(self, optimizer: Any) -> None:
        self._optimizers.add(optimizer)
        leader = self._leader() if self._leader is not None else None
        if leader is None:
            self._leader = weakref.ref(optimizer)
        elif leader is not optimizer:
            return
        self._steps += 1
        if self._steps % _PERIOD == 0:
            self._models.look_again()
        self._look()

    def _look(self) -> None:
        known, self._values = self._values, {}
        found = []
        for parameter in self._without_optimizer():
            values = self._values[id(parameter)] = _elements(parameter).clone()
            before = known.get(id(parameter))
            # Values that change without an optimizer of PyTorch are trained in another way.
            same = before is not None and before.shape == values.shape and bool(before.eq(values).all())
            if self._unchanged.add(parameter, same) == PATIENCE:
                found.append(parameter)
        if found:
            self._report_unchanged(found)

    def _without_optimizer(self) -> Iterator[Any]:
        owned = {id(p) for o in self._optimizers for group in o.param_groups for p in group["params"]}
        for parameter in self._models.parameters():
            if id(parameter) in owned or not parameter.requires_grad:
                continue
            gradient = dense_gradient(parameter)
            if gradient is not None and bool(gradient.ne(0).any()):
                yield parameter

    def _report_unchanged(self, found: list[Any]) -> None:
        names = and_others([self._models.name_of(each) for each in found])
        stale = self._stale_copy_of(found[0])
        if stale is None:
            cause = "none has been given " + it_or_them(found)
        else:
            cause = (
                f"{type(stale).__name__} has an older copy, which no model uses. "
                "Create the optimizer after the model is moved or replaced"
            )
        message = f"gradients reach {names}, but no optimizer changes {it_or_them(found)}: {cause}"
        line = self._made.get(stale if stale is not None else self._leader and self._leader())
        self.report("parameter_not_optimized", message, found, line=line, key=id(found[0]))

    def _stale_copy_of(self, parameter: Any) -> Any | None:
        """The optimizer that has a tensor of the same shape which is in no model and has no gradient."""
        for optimizer in self._optimizers:
            for other in trained(optimizer):
                if other.shape == parameter.shape and other.grad is None and self._models.home_of(other) is None:
                    return optimizer
        return None


def _elements(tensor: Any) -> Any:
    flat = tensor.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // _ELEMENTS)]
