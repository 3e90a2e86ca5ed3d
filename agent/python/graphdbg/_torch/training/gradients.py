"""Gradients that are missing, or never set to zero."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._user_code import Line, is_users_class, line_of
from .check import (
    PATIENCE,
    Check,
    Counts,
    IdentitySet,
    ModelCall,
    Report,
    and_others,
    dense_gradient,
    it_or_them,
    trained,
)
from .layer_calls import LayerCalls
from .models import Home, Models
from .readout import Readout

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
        # Parameters that have had a gradient, or may well have none.
        self._settled = IdentitySet()
        self._calls = LayerCalls()
        # Parameters of layers that `forward` may skip at random.
        self._optional = IdentitySet()
        # The last call of a model had an argument that may select a part of it, such as the name of a task.
        self._selects = False

    def look_again(self) -> None:
        self._steps.clear()

    def stop(self) -> None:
        self._calls.stop()

    def model_called(self, call: ModelCall) -> None:
        self._selects = any(isinstance(each, (str, int)) for each in call.arguments)

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
                self._settled.add(parameter)
            elif parameter not in self._settled and self._lacks_gradient(parameter):
                found.append(parameter)
        if not self._missing.is_undecided():
            self._calls.stop()
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
        if home is None or not home.is_users or self._has_no_influence(parameter, home):
            return False
        steps = self._missing.add(parameter, True)
        layer = home.layer()
        if steps == 1:
            self._calls.watch(layer)
        elif steps == PATIENCE and home.is_named and not self._calls.was_called(layer):
            if self._selects:
                # Another task, or a later stage, uses it.
                self._settled.add(parameter)
                return False
            if home.may_skip:
                self._optional.add(parameter)
        waits = home.is_choice or parameter in self._optional
        return steps == (_PATIENCE_WITH_CHOICES if waits else PATIENCE)

    def _has_no_influence(self, parameter: Any, home: Home) -> bool:
        """A loss of derivatives does not depend on the bias of a library's last layer."""
        layer = home.layer()
        by_library = layer is not None and not is_users_class(type(layer))
        return home.is_bias and by_library and any(each.grad is not None for each in self._models.beside(parameter))


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
        self.symptoms = [self._unreset]

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
