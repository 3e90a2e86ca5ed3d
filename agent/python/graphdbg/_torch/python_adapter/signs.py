"""Signs that something has changed in the training (hooks/signs.h in the compiled adapter)."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

# Changes of a learning rate by less than this factor are those of a schedule.
_FACTOR = 4.0


class _Seen:
    """The state of an optimizer in its last step."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = weakref.ref(optimizer)
        # The number of its parameters, and how many of them had no gradient.
        self.size = self.missing = 0
        # Which list of models was followed, and whether each was in training mode.
        self.models = -1
        self.modes: list[tuple[weakref.ref[Any], bool]] = []
        # How many learning rates were negative and how many zero; the others were between these.
        self.not_positive = (0, 0)
        self.lowest = self.highest = 0.0
        # A parameter whose gradient stands for all, and the version of this gradient; None once
        # a backward pass has begun.
        self.probe: weakref.ref[Any] | None = None
        self.version: int | None = None
        # The first backward pass after a step has found the same version.
        self.keeps_gradients = True


class Signs:
    """Implements the functions of _hooks.pyi for signs."""

    def __init__(self) -> None:
        self.forget_signs()

    def forget_signs(self) -> None:
        # By the optimizer's id.
        self._optimizers: dict[int, _Seen] = {}
        # The last backward pass began at a tensor without history.
        self._detached = False
        # The models whose modes are followed, and how often they have been replaced.
        self._models: list[weakref.ref[Any]] = []
        self._revision = 0

    def follow_modes(self, models: list[Any]) -> None:
        self._models = [weakref.ref(model) for model in models]
        self._revision += 1

    def sign_before_backward(self, roots: Sequence[Any]) -> bool:
        changed = detached = False
        for root in roots:
            # An edge of autograd's graph, which may be a root, has a history.
            if getattr(root, "grad_fn", root) is None:
                detached, changed = True, not self._detached
        self._detached = detached
        for seen in self._optimizers.values():
            if seen.version is not None:
                gradient = _gradient_of(seen.probe)
                # Setting it to zero in place makes a new version.
                keeps = gradient is not None and gradient._version == seen.version
                changed = changed or (keeps and not seen.keeps_gradients)
                seen.keeps_gradients, seen.version = keeps, None
        return changed

    def sign_before_step(self, optimizer: Any) -> bool:
        seen = self._optimizers.get(id(optimizer))
        is_new = seen is None or seen.optimizer() is not optimizer
        if seen is None or is_new:
            seen = self._optimizers[id(optimizer)] = _Seen(optimizer)
        groups = optimizer.param_groups
        absent = [parameter.grad is None for group in groups for parameter in group["params"]]
        size, missing = len(absent), absent.count(True)
        changed = size != seen.size or missing != seen.missing
        seen.size, seen.missing = size, missing
        for model, mode in seen.modes:
            referent = model()
            changed = changed or (referent is not None and bool(referent.training) is not mode)
        changed = _has_new_rate(seen, groups) or changed
        if changed or seen.models != self._revision:
            found = [each for reference in self._models if (each := reference()) is not None]
            seen.models, seen.modes = self._revision, [(weakref.ref(each), bool(each.training)) for each in found]
        gradient = _gradient_of(seen.probe)
        if gradient is None:
            gradient = _choose_probe(seen, groups)
        seen.version = gradient._version if gradient is not None else None
        return changed and not is_new


def _has_new_rate(seen: _Seen, groups: Sequence[dict[str, Any]]) -> bool:
    rates = [rate for group in groups if isinstance(rate := group.get("lr"), (float, int))]
    not_positive = sum(rate < 0 for rate in rates), sum(rate == 0 for rate in rates)
    positive = [rate for rate in rates if rate > 0]
    inside = all(seen.lowest < rate < seen.highest for rate in positive)
    if inside and not_positive == seen.not_positive:
        return False
    seen.not_positive = not_positive
    if positive:
        seen.lowest, seen.highest = min(positive) / _FACTOR, max(positive) * _FACTOR
    return True


def _choose_probe(seen: _Seen, groups: Sequence[dict[str, Any]]) -> Any | None:
    """Returns the gradient of the probe; None if no parameter has one."""
    for group in groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                seen.probe = weakref.ref(parameter)
                return parameter.grad
    return None


def _gradient_of(parameter: weakref.ref[Any] | None) -> Any | None:
    referent = parameter() if parameter is not None else None
    return referent.grad if referent is not None else None
