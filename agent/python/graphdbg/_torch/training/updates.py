"""Steps of optimizers that change nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from ..user_code import Line, line_of
from .check import PATIENCE, Check, Counts, Report, and_others, dense_gradient, trained
from .elements import sample_of
from .models import Models
from .readout import Readout, by_device

# Elements of a parameter that are compared.
_ELEMENTS = 256
# Parameters that are compared in each step after the first ones.
_EACH_STEP = 4
# Gradients below this many roundings of the largest one are noise, such as those of a
# bias before a normalization.
_ROUNDINGS = 16
# What is left in each step of the largest gradient so far.
_MEMORY = 0.99


def _rate_of(group: dict[str, Any]) -> float | None:
    """The learning rate, if the group has one on the host."""
    rate = group.get("lr")
    if isinstance(rate, (int, float)):
        return float(rate)
    device = getattr(rate, "device", None)
    return float(rate) if rate is not None and device is not None and device.type == "cpu" else None


class LearningRates(Check):
    conditions = ("learning_rate_not_positive",)

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self._zero = Counts()
        self.symptoms = [self._zero]

    def before_step(self, optimizer: Any) -> None:
        rates = [_rate_of(group) for group in optimizer.param_groups]
        first = next(trained(optimizer), None)
        if first is None or not rates:
            return
        lowest = min(rate if rate is not None else 0.0 for rate in rates)
        name, line = type(optimizer).__name__, line_of(sys._getframe(1))
        if lowest < 0:
            message = f"the learning rate of {name} is {lowest:g}: negative, so that the loss grows"
            self.report("learning_rate_not_positive", message, [first], line=line, key=id(optimizer))
        elif self._zero.add(optimizer, all(rate == 0 for rate in rates)) >= PATIENCE:
            message = f"the learning rate of {name} is zero in {PATIENCE} successive steps"
            self.report("learning_rate_not_positive", message, [first], line=line, key=id(optimizer))


class _Before(NamedTuple):
    parameter: Any
    rate: float
    # Samples of its elements and of their gradients.
    values: Any
    gradients: Any


class LostUpdates(Check):
    """Elements that have a gradient keep their values."""

    conditions = ("update_without_effect",)

    def __init__(self, report: Report, readout: Readout, models: Models) -> None:
        super().__init__(report)
        self._readout = readout
        self._models = models
        self._lost = Counts()
        self.symptoms = [self._lost]
        self._steps = 0
        self._next = 0
        self._before: list[_Before] = []
        # The user's line that calls `step`.
        self._line: Line | None = None
        # By the parameter's id: the learning rate when it was last compared.
        self._rates: dict[int, float] = {}
        self._largest = 0.0

    def look_again(self) -> None:
        self._steps = 0

    def before_step(self, optimizer: Any) -> None:
        # GradScaler has such optimizers skip steps by themselves.
        if getattr(optimizer, "found_inf", None) is not None:
            return
        self._before = [_sample(parameter, rate) for parameter, rate in self._chosen(optimizer)]

    def _chosen(self, optimizer: Any) -> Iterator[tuple[Any, float]]:
        """All parameters in the first steps, later those under suspicion and some others."""
        rates = {id(p): _rate_of(group) for group in optimizer.param_groups for p in group["params"]}
        moving = [
            (parameter, rates[id(parameter)] or 0.0)
            for parameter in trained(optimizer)
            if rates[id(parameter)] != 0 and dense_gradient(parameter) is not None and parameter.numel() > 0
        ]
        self._steps += 1
        if self._steps <= 2 * PATIENCE:
            yield from moving
            return
        self._next = self._next + _EACH_STEP if self._next + _EACH_STEP < len(moving) else 0
        chosen = {
            id(parameter): (parameter, rate) for parameter, rate in islice(moving, self._next, self._next + _EACH_STEP)
        }
        chosen.update((id(p), (p, rate)) for p, rate in moving if self._lost.of(p))
        yield from chosen.values()

    def after_step(self, optimizer: Any) -> None:
        before, self._before = self._before, []
        if before and self._line is None:
            self._line = line_of(sys._getframe(1))
        for values in by_device([each.values for each in before]):
            here = [each for each in before if each.values.device == values[0].device]
            results = []
            for each in here:
                changed = _elements(each.parameter).ne(each.values).logical_and(each.gradients.ne(0))
                results += [each.gradients.abs().amax(), changed.any()]
            self._readout.read(results, lambda found, of=here: self._observe(of, found))  # type: ignore[misc]

    def _observe(self, compared: list[_Before], found: list[float]) -> None:
        lost = []
        self._largest = max([self._largest * _MEMORY, *found[::2]])
        for each, gradient, changed in zip(compared, found[::2], found[1::2], strict=True):
            # While the learning rate still rises, its updates may be too small.
            key = id(each.parameter)
            rises = each.rate > self._rates.get(key, each.rate)
            self._rates[key] = each.rate
            moves = gradient > self._largest * _ROUNDINGS * _rounding_of(each.parameter)
            if self._lost.add(each.parameter, moves and not rises and not changed) == PATIENCE:
                lost.append(each)
        if lost:
            self._report_lost(lost)

    def _report_lost(self, lost: list[_Before]) -> None:
        names = and_others([self._models.name_of(each.parameter) for each in lost])
        dtype = str(lost[0].parameter.dtype).removeprefix("torch.")
        message = (
            f"{PATIENCE} steps with a learning rate of {lost[0].rate:g} have not changed {names} ({dtype}), "
            "although gradients are not zero"
        )
        parameters = [each.parameter for each in lost]
        self.report("update_without_effect", message, parameters, line=self._line, key=id(parameters[0]))


def _elements(tensor: Any) -> Any:
    """At most _ELEMENTS of a tensor, evenly spread."""
    return sample_of(tensor, _ELEMENTS)


def _sample(parameter: Any, rate: float) -> _Before:
    # The optimizer may change the gradient, too.
    return _Before(parameter, rate, _elements(parameter).clone(), _elements(parameter.grad).clone())


def _rounding_of(parameter: Any) -> float:
    import torch

    return float(torch.finfo(parameter.dtype).eps)
