"""Steps of optimizers that change nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from ..._user_code import Line, line_of
from .check import PATIENCE, Check, Counts, Report, and_others, dense_gradient, grouped, trained_in
from .elements import samples_of
from .models import Models
from .readout import Readout

# At least so many elements of each parameter that has them are compared.
_ELEMENTS = 256
# Parameters that are compared in each step after the first ones.
_EACH_STEP = 4
# Gradients below this many roundings of the largest one are noise, such as those of a
# bias before a normalization.
_ROUNDINGS = 16
# The factor by which the largest gradient so far decays in each step.
_MEMORY = 0.99
# The part of the largest learning rate below which a schedule is at its end, where parameters stay as they are.
_ENDED = 0.01
# The part below which no schedule ends, but one that multiplies the learning rate in each step instead of each epoch.
_VANISHED = 1e-12
# A learning rate that falls below this part of the last one is a new one: schedules do not fall so far at once.
_FALLEN = 1e-4


class _Moving(NamedTuple):
    """A parameter that a step should change."""

    parameter: Any
    # 0 if it is not known on the host.
    rate: float
    # What weight decay alone multiplies the values with; None without weight decay.
    decay: Any


class _Before(NamedTuple):
    # Of one device and type.
    moving: list[_Moving]
    # Samples of their elements and of the gradients, [parameters, elements].
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
        # By the parameter's id: its learning rate when it was last compared, and the largest one.
        self._rates: dict[int, tuple[float, float]] = {}
        self._largest = 0.0

    def look_again(self) -> None:
        self._steps = 0

    def before_step(self, optimizer: Any) -> None:
        # GradScaler has such optimizers skip steps by themselves.
        if getattr(optimizer, "found_inf", None) is not None:
            return
        same = grouped(self._chosen(optimizer), lambda each: (each.parameter.device, each.parameter.dtype))
        self._before = [_sample(moving) for moving in same]

    def _chosen(self, optimizer: Any) -> Iterator[_Moving]:
        """All parameters in the first steps, later those under suspicion and some others."""
        moving = [each for group in optimizer.param_groups for each in _moving_in(group)]
        self._steps += 1
        if self._steps <= 2 * PATIENCE:
            yield from moving
            return
        self._next = self._next + _EACH_STEP if self._next + _EACH_STEP < len(moving) else 0
        chosen = {id(each.parameter): each for each in islice(moving, self._next, self._next + _EACH_STEP)}
        suspicious = [each.parameter for each in moving if self._lost.of(each.parameter)]
        wanted = {id(each) for parameter in suspicious for each in (parameter, *self._models.beside(parameter))}
        chosen.update((id(each.parameter), each) for each in moving if id(each.parameter) in wanted)
        yield from chosen.values()

    def after_step(self, optimizer: Any) -> None:
        before, self._before = self._before, []
        if before and self._line is None:
            self._line = line_of(sys._getframe(1))
        for same in before:
            changed = _changed(same).logical_and(same.gradients.ne(0))
            results = [same.gradients.abs().amax(1), changed.any(1)]
            self._readout.read(results, partial(self._observe, same.moving))

    def _observe(self, compared: list[_Moving], found: list[float]) -> None:
        lost = []
        gradients, changes = found[: len(compared)], found[len(compared) :]
        self._largest = max([self._largest * _MEMORY, *gradients])
        for each, gradient, changed in zip(compared, gradients, changes, strict=True):
            parameter, rate, _ = each
            # While the learning rate still rises, its updates may be too small, and also at its end.
            last, largest = self._rates.get(id(parameter), (rate, rate))
            largest = rate if rate < last * _FALLEN else max(largest, rate)
            self._rates[id(parameter)] = rate, largest
            is_full = rate <= last and (rate >= largest * _ENDED or rate < largest * _VANISHED)
            moves = gradient > self._largest * _ROUNDINGS * _rounding_of(parameter)
            if self._lost.add(parameter, moves and is_full and not changed) == PATIENCE:
                lost.append(each)
        moved = {id(each.parameter) for each, changed in zip(compared, changes, strict=True) if changed}
        lost = [each for each in lost if not self._is_noise(each.parameter, moved)]
        if lost:
            self._report_lost(lost)

    def _is_noise(self, parameter: Any, moved: set[int]) -> bool:
        """Whether only the bias of a layer keeps its values: sums of many elements that should be zero, as before a
        normalization, have larger roundings."""
        home = self._models.home_of(parameter)
        return home is not None and home.is_bias and any(id(each) in moved for each in self._models.beside(parameter))

    def _report_lost(self, lost: list[_Moving]) -> None:
        names = and_others([self._models.name_of(each.parameter) for each in lost])
        dtype = str(lost[0].parameter.dtype).removeprefix("torch.")
        beyond = "" if lost[0].decay is None else " beyond weight decay"
        _, largest = self._rates[id(lost[0].parameter)]
        fallen = f", which has fallen from {largest:g}," if lost[0].rate < largest * _VANISHED else ""
        message = (
            f"{PATIENCE} steps with a learning rate of {lost[0].rate:g}{fallen} have not changed {names} ({dtype})"
            f"{beyond}, although gradients are not zero"
        )
        parameters = [each.parameter for each in lost]
        self.report("update_without_effect", message, parameters, line=self._line, key=id(parameters[0]))


def _moving_in(group: dict[str, Any]) -> Iterator[_Moving]:
    import torch

    rate = group.get("lr")
    on_device = isinstance(rate, torch.Tensor) and rate.device.type != "cpu"
    known = 0.0 if rate is None or on_device else float(rate)
    if known == 0 and not on_device and rate is not None:
        return
    # LBFGS decides by itself whether it moves.
    if "tolerance_change" in group:
        return
    decay = group.get("weight_decay") or None
    factor = 1 - rate * decay if rate is not None and isinstance(decay, (int, float)) else None
    for parameter in trained_in(group):
        if dense_gradient(parameter) is not None and parameter.numel() > 0:
            yield _Moving(parameter, known, factor)


def _sample(moving: list[_Moving]) -> _Before:
    # The optimizer may change the gradients, too.
    values = samples_of([each.parameter for each in moving], _ELEMENTS)
    return _Before(moving, values, samples_of([each.parameter.grad for each in moving], _ELEMENTS))


def _changed(before: _Before) -> Any:
    """Which elements a step has changed, except by weight decay alone."""
    values = samples_of([each.parameter for each in before.moving], _ELEMENTS)
    changed = values.ne(before.values)
    if all(each.decay is None for each in before.moving):
        return changed
    rounding = _rounding_of(values)
    factors = _column([1.0 if each.decay is None else each.decay for each in before.moving], values)
    tolerances = _column([0.0 if each.decay is None else rounding for each in before.moving], values)
    # Optimizers round differently: `values - rate * decay * values` is the same.
    decayed = (before.values * factors).to(values.dtype)
    is_decayed = (values - decayed).abs() <= decayed.abs() * tolerances
    return changed.logical_and(is_decayed.logical_not())


def _column(numbers: list[Any], like: Any) -> Any:
    """[numbers, 1]. A factor that is hardly below 1 needs more than 16 bits."""
    import torch

    dtype = torch.promote_types(like.dtype, torch.float32)
    if any(isinstance(each, torch.Tensor) for each in numbers):
        return torch.stack([torch.as_tensor(each, dtype=dtype, device=like.device) for each in numbers]).unsqueeze(1)
    return torch.tensor(numbers, dtype=dtype, device=like.device).unsqueeze(1)


def _rounding_of(tensor: Any) -> float:
    import torch

    return float(torch.finfo(tensor.dtype).eps)
