"""Notices at each step, within microseconds, that something has changed on which findings depend."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .models import Models

# A learning rate that has changed by less than this factor is that of a schedule.
_FACTOR = 4.0


@dataclass
class _Seen:
    """What an optimizer's last steps looked like."""

    # The number of its parameters, and how many of them had no gradient. None before the
    # first step.
    parameters: tuple[int, int] | None = None
    # By the model's id, whether it was in training mode.
    modes: dict[int, bool] = field(default_factory=dict)
    # The largest learning rate, or a negative one, when it last changed by much.
    rate: float | None = None
    # A parameter whose gradient stands for all.
    probe: weakref.ref[Any] | None = None
    # The version of this gradient after the last step; None once a backward pass has begun.
    version: int | None = None
    # The last backward pass after a step has found the same version.
    keeps_gradients: bool = True


@dataclass
class Signs:
    """Compares a step with the one before.

    Each method returns whether something has changed. It need not be a fault.
    """

    models: Models
    _optimizers: weakref.WeakKeyDictionary[Any, _Seen] = field(default_factory=weakref.WeakKeyDictionary)
    # The last backward pass began at a tensor without history.
    _detached: bool = False
    # By dataset: how many successive batches were the first ones of their iterators.
    _first_batches: dict[int, int] = field(default_factory=dict)

    def delivered(self, iterator: Any) -> bool:
        """A data loader's iterator has returned a batch."""
        dataset = id(iterator._dataset)
        count = self._first_batches.get(dataset, 0) + 1 if iterator._num_yielded == 1 else 0
        self._first_batches[dataset] = count
        return count == 2

    def backward(self, roots: Sequence[Any]) -> bool:
        detached = any([getattr(root, "grad_fn", root) is None for root in roots])
        changed = detached and not self._detached
        self._detached = detached
        for seen in self._optimizers.values():
            if seen.version is not None:
                gradient = _gradient_of(seen.probe)
                # Setting it to zero in place makes a new version.
                keeps = gradient is not None and gradient._version == seen.version
                changed = changed or (keeps and not seen.keeps_gradients)
                seen.keeps_gradients, seen.version = keeps, None
        return changed

    def before_step(self, optimizer: Any) -> bool:
        seen = self._optimizers.get(optimizer)
        if seen is None:
            seen = self._optimizers[optimizer] = _Seen()
        count = missing = 0
        rates = []
        for group in optimizer.param_groups:
            count += len(group["params"])
            missing += sum([parameter.grad is None for parameter in group["params"]])
            rate = group.get("lr")
            if isinstance(rate, (float, int)):
                rates.append(rate)
        before, seen.parameters = seen.parameters, (count, missing)
        modes_before, seen.modes = seen.modes, self.models.modes()
        changed = before is not None and before != seen.parameters
        changed = changed or any([modes_before.get(model, mode) != mode for model, mode in seen.modes.items()])
        return bool(rates and _has_new_rate(seen, rates)) or changed

    def after_step(self, optimizer: Any) -> bool:
        seen = self._optimizers.get(optimizer)
        gradient = _gradient_of(seen.probe) if seen is not None else None
        if seen is not None and gradient is None:
            probe = _first_with_gradient(optimizer)
            if probe is not None:
                seen.probe, gradient = weakref.ref(probe), probe.grad
        if seen is not None and gradient is not None:
            seen.version = gradient._version
        return False


def _has_new_rate(seen: _Seen, rates: Sequence[float]) -> bool:
    lowest, highest = min(rates), max(rates)
    rate, before = lowest if lowest < 0 else highest, seen.rate
    if before is not None and (rate == before or (rate > 0 and before / _FACTOR < rate < before * _FACTOR)):
        return False
    seen.rate = rate
    return before is not None


def _gradient_of(parameter: weakref.ref[Any] | None) -> Any | None:
    referent = parameter() if parameter is not None else None
    return referent.grad if referent is not None else None


def _first_with_gradient(optimizer: Any) -> Any | None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                return parameter
    return None
