"""Gradients that are missing, always zero, or never set to zero."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..user_code import Line, line_of
from .check import (
    PATIENCE,
    Check,
    Counts,
    IdentitySet,
    Report,
    and_others,
    dense_gradient,
    grouped,
    it_or_them,
    trained,
)
from .elements import is_sampled_whole, samples_of
from .models import Models
from .readout import Readout

# The smallest and the largest element.
_ALL_ZERO = [0.0, 0.0]
# A part that a model need not use in each step, such as an expert, may wait longer.
_PATIENCE_WITH_CHOICES = 30


class MissingGradients(Check):
    """A parameter that the user's own model holds has never had a gradient."""

    conditions = ("gradient_missing",)

    def __init__(self, report: Report, models: Models) -> None:
        super().__init__(report)
        self._models = models
        self._missing = Counts()
        self._steps: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        # Parameters that have had a gradient.
        self._had = IdentitySet()

    def look_again(self) -> None:
        self._steps.clear()

    def before_step(self, optimizer: Any) -> None:
        self._steps[optimizer] = self._steps.get(optimizer, 0) + 1
        if self._steps[optimizer] > _PATIENCE_WITH_CHOICES:
            return
        parameters = list(trained(optimizer))
        if all(parameter.grad is None for parameter in parameters):
            # The loss is detached, or a closure computes the gradients.
            return
        found = []
        for parameter in parameters:
            if parameter.grad is not None:
                self._had.add(parameter)
            elif parameter not in self._had and self._lacks_gradient(parameter):
                found.append(parameter)
        if found:
            names = and_others([self._models.name_of(each) for each in found])
            message = (
                f"no gradient has reached {names} since the first step of {type(optimizer).__name__}: "
                f"the loss does not depend on {it_or_them(found)}"
            )
            line = self._models.forward_of(found[0])
            self.report("gradient_missing", message, found, line=line, key=id(found[0]))

    def _lacks_gradient(self, parameter: Any) -> bool:
        home = self._models.home_of(parameter)
        if home is None or not home.is_users:
            return False
        steps = self._missing.add(parameter, True)
        return steps == (_PATIENCE_WITH_CHOICES if home.is_choice else PATIENCE)


class ZeroGradients(Check):
    """The gradient of a whole parameter is exactly zero."""

    conditions = ("gradient_always_zero",)

    def __init__(self, report: Report, readout: Readout, models: Models) -> None:
        super().__init__(report)
        self._readout = readout
        self._models = models
        self._zero = Counts()
        self.symptoms = [self._zero]
        # Parameters whose gradient had an element that is not zero in its sample.
        self._sound = IdentitySet()
        # The sizes of the last backward pass's losses.
        self._loss: list[Any] = []

    def backward(self, roots: Sequence[Any], line: Line | None) -> None:
        self._loss = [root.abs().amax() for root in roots if root.numel() > 0]

    def before_step(self, optimizer: Any) -> None:
        parameters = [each for each in trained(optimizer) if dense_gradient(each) is not None and each.numel() > 0]
        losses, self._loss = self._loss, []
        for subjects in grouped(parameters, lambda each: (each.grad.device, each.grad.dtype)):
            device = subjects[0].grad.device
            whole = [each for each in subjects if self._is_looked_through(each)]
            results = [samples_of([each.grad for each in subjects]).ne(0).any(1)]
            # One pass without a copy, and vectorized, which a norm is not.
            results += [size for each in whole for size in each.grad.aminmax()]
            results += [loss for loss in losses if loss.device == device]
            self._readout.read(results, partial(self._observe, subjects, whole))

    def _is_looked_through(self, parameter: Any) -> bool:
        """Whether to look at all elements, since the sample did not decide."""
        return parameter not in self._sound and not is_sampled_whole(parameter)

    def _observe(self, parameters: list[Any], whole: list[Any], values: list[float]) -> None:
        sampled, values = values[: len(parameters)], values[len(parameters) :]
        extremes, loss = values[: 2 * len(whole)], values[2 * len(whole) :]
        ranges = {id(each): extremes[2 * index : 2 * index + 2] for index, each in enumerate(whole)}
        # Nothing is left to learn from a loss of zero.
        if loss and max(loss) == 0:
            return
        zero: set[int] = set()
        found = []
        for parameter, is_sound in zip(parameters, sampled, strict=True):
            key = id(parameter)
            if is_sound:
                self._sound.add(parameter)
            elif key not in ranges and not is_sampled_whole(parameter):
                # The next step looks at all elements.
                self._sound.discard(parameter)
                continue
            elif ranges.get(key, _ALL_ZERO) == _ALL_ZERO:
                zero.add(key)
            if self._zero.add(parameter, key in zero) == PATIENCE:
                found.append(parameter)
        found = [parameter for parameter in found if self._is_unexpected(parameter, zero)]
        if not found:
            return
        # The last one is the nearest to the loss.
        nearest = found[-1]
        names = [self._models.name_of(each) for each in reversed(found)]
        subject = f"all {len(found)} parameters" if len(found) == len(parameters) else and_others(names)
        message = f"the gradient of {subject} is exactly zero in {PATIENCE} successive steps"
        self.report("gradient_always_zero", message, [nearest], line=self._models.forward_of(nearest), key=id(nearest))

    def _is_unexpected(self, parameter: Any, zero: set[int]) -> bool:
        """Parts of a library's module may well have no influence, such as attention to a single key."""
        home = self._models.home_of(parameter)
        composite = home.composite() if home is not None and home.composite is not None else None
        return composite is None or all(id(each) in zero for each in composite.parameters() if each.grad is not None)


@dataclass
class _Resets:
    # Its gradient stands for all of the optimizer.
    probe: Any
    # The user's line that calls `step`.
    line: Line | None
    # Largest absolute values of the gradient before each backward pass since the last step.
    before_backward: list[Any] = field(default_factory=list)
    was_none: bool = False


class UnresetGradients(Check):
    """No backward pass since the optimizer's last step has found its gradients at zero."""

    conditions = ("gradient_not_reset",)

    def __init__(self, report: Report, readout: Readout) -> None:
        super().__init__(report)
        self._readout = readout
        self._optimizers: weakref.WeakKeyDictionary[Any, _Resets] = weakref.WeakKeyDictionary()
        self._unreset = Counts()

    def look_again(self) -> None:
        # The backward passes between these and the next one were not seen.
        for resets in self._optimizers.values():
            resets.before_backward.clear()

    def backward(self, roots: Sequence[Any], line: Line | None) -> None:
        for resets in self._optimizers.values():
            gradient = dense_gradient(resets.probe)
            if gradient is None:
                resets.was_none = True
            else:
                resets.before_backward.append(gradient.abs().amax())

    def before_step(self, optimizer: Any) -> None:
        resets = self._optimizers.get(optimizer)
        if resets is None:
            return
        found, resets.before_backward = resets.before_backward, []
        if resets.was_none:
            resets.was_none = False
            self._unreset.add(optimizer, False)
        elif found:
            self._readout.read(found, lambda values: self._observe(optimizer, resets, values))

    def _observe(self, optimizer: Any, resets: _Resets, values: list[float]) -> None:
        if self._unreset.add(optimizer, min(values) > 0) >= PATIENCE:
            message = (
                f"the gradients of {type(optimizer).__name__} were not set to zero in {PATIENCE} successive steps, "
                "so that each step adds to the gradients of all before it: zero_grad() is missing"
            )
            self.report("gradient_not_reset", message, [resets.probe], line=resets.line, key=id(optimizer))

    def after_step(self, optimizer: Any) -> None:
        resets = self._optimizers.get(optimizer)
        if resets is None:
            dense = [each for each in trained(optimizer) if dense_gradient(each) is not None and each.numel() > 0]
            if not dense:
                return
            probe = min(dense, key=lambda each: int(each.numel()))
            self._optimizers[optimizer] = _Resets(probe, line_of(sys._getframe(1)))
