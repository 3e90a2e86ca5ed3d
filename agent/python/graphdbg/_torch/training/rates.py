"""Learning rates that are zero or negative."""

from __future__ import annotations

import sys
from typing import Any

from ..._user_code import Line, is_called_by_library, line_of
from .check import PATIENCE, Check, Counts, Report, trained, trained_in
from .models import Models
from .optimized import Optimized
from .readout import Readout


class LearningRates(Check):
    conditions = ("learning_rate_not_positive",)

    def __init__(self, report: Report, readout: Readout, models: Models, optimized: Optimized) -> None:
        super().__init__(report)
        self._readout = readout
        self._models = models
        self._optimized = optimized
        self._zero = Counts()
        # By the first parameter of a group.
        self._zero_group = Counts()
        self.symptoms = [self._zero, self._zero_group]

    def before_step(self, optimizer: Any) -> None:
        import torch

        # Optimizers that find their own rate have None.
        groups = [group for group in optimizer.param_groups if group.get("lr") is not None]
        if not groups or next(trained(optimizer), None) is None:
            return
        line = line_of(sys._getframe(1))
        if is_called_by_library(sys._getframe(1)):
            line = self._optimized.line_of(optimizer) or line
        rates = [group["lr"] for group in groups]
        on_device = next((rate for rate in rates if isinstance(rate, torch.Tensor)), None)
        if on_device is None:
            self._observe(optimizer, groups, [float(rate) for rate in rates], line)
            return
        values = [torch.as_tensor(rate, device=on_device.device) for rate in rates]
        self._readout.read(values, lambda found: self._observe(optimizer, groups, found, line))

    def _observe(self, optimizer: Any, groups: list[Any], rates: list[float], line: Line | None) -> None:
        name = type(optimizer).__name__
        lowest = min(rates)
        if lowest < 0:
            group = groups[rates.index(lowest)]
            message = f"the learning rate of {name} is {lowest:g}: negative, so that the loss grows"
            self._report(optimizer, group, message, line)
        elif self._zero.add(optimizer, all(rate == 0 for rate in rates)) >= PATIENCE:
            message = f"the learning rate of {name} is zero in {PATIENCE} successive steps"
            self._report(optimizer, groups[0], message, line)
        elif max(rates) > 0:
            for group, rate in zip(groups, rates, strict=True):
                self._observe_group(optimizer, group, rate, line)

    def _observe_group(self, optimizer: Any, group: Any, rate: float, line: Line | None) -> None:
        """A scheduler may set the rate of a group to zero for a while, to train another one first."""
        moving = [parameter for parameter in trained_in(group) if parameter.grad is not None]
        if not moving:
            return
        is_given = rate == 0 and float(group.get("initial_lr", rate)) == 0
        if self._zero_group.add(moving[0], is_given) >= PATIENCE:
            message = (
                f"one of the parameter groups of {type(optimizer).__name__}, with {self._models.name_of(moving[0])}, "
                f"was given a learning rate of zero, which it has in {PATIENCE} successive steps, while others are "
                "trained"
            )
            self._report(optimizer, group, message, line)

    def _report(self, optimizer: Any, group: Any, message: str, line: Line | None) -> None:
        tensors = [*trained_in(group), *trained(optimizer)][:1]
        self.report("learning_rate_not_positive", message, tensors, line=line, key=id(optimizer))
