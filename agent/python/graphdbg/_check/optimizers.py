"""Looks at gradients before, and at weights after the first steps of each optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._optimizer_steps import StepCounter
from .._torch import older_torch
from .._undo import UndoList
from . import tensors
from .guard import guarded
from .progress import Progress

# Messages name this many parameters.
_MOST = 8
# Weights and gradients are examined in this many steps.
_EXAMINED = 2


def install(progress: Progress) -> None:
    watcher = _Watcher(progress)
    older_torch.call_around_each_step(guarded(watcher.before), guarded(watcher.after), UndoList())


def _parameters(optimizer: Any) -> Iterator[Any]:
    for group in optimizer.param_groups:
        yield from group["params"]


class _Watcher:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._count = StepCounter(progress.step_end)
        self._checksums: list[float] | None = None
        self._changed = False

    def before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        progress = self._progress
        self._checksums = None
        # A closure computes the gradients within the step.
        if progress.step >= _EXAMINED or kwargs.get("closure") is not None or len(args) > 1:
            return
        self._examine_gradients(optimizer)
        progress.begin("optimizer")
        self._checksums = [tensors.checksum(parameter) for parameter in _parameters(optimizer)]

    def _examine_gradients(self, optimizer: Any) -> None:
        progress = self._progress
        names = _names(optimizer, progress.parameter_names)
        trainable = [(name, each) for name, each in names if each.requires_grad]
        missing = [name for name, parameter in trainable if parameter.grad is None]
        if len(missing) == len(trainable):
            backward = "" if progress.has_passed("backward") else ", and no backward pass has run"
            kind = "NoGradients" if progress.has_passed("backward") else "NoBackward"
            message = f"none of the {len(trainable)} trainable parameters of {type(optimizer).__name__} has a gradient"
            progress.found("backward", kind, message + backward)
            return
        broken = [name for name, each in trainable if each.grad is not None and not tensors.is_finite(each.grad)]
        if broken:
            listed = ", ".join(broken[:_MOST])
            progress.found("backward", "NonFiniteGradient", f"gradients contain NaN or infinity: {listed}")
        if progress.step == 0 and not progress.has_passed("optimizer"):
            progress.note(
                "backward",
                with_gradient=len(trainable) - len(missing),
                trainable=len(trainable),
                without_gradient=missing[:_MOST],
            )
            if progress.fingerprints:
                gradients = (parameter.grad for _, parameter in trainable if parameter.grad is not None)
                progress.fingerprint("gradients", tensors.digest(gradients))

    def after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        progress = self._progress
        if progress.step < _EXAMINED:
            self._examine_weights(optimizer)
        self._count(optimizer)

    def _examine_weights(self, optimizer: Any) -> None:
        progress = self._progress
        before, self._checksums = self._checksums, None
        changed = before is None or any(
            old != tensors.checksum(parameter) for old, parameter in zip(before, _parameters(optimizer), strict=False)
        )
        self._changed = self._changed or changed
        rates = sorted({float(group["lr"]) for group in optimizer.param_groups if "lr" in group})
        if progress.step == 0 and progress.fingerprints and not progress.has_passed("optimizer"):
            progress.fingerprint("updated parameters", tensors.digest(_parameters(optimizer)))
        progress.passed(
            "optimizer",
            optimizer=type(optimizer).__name__,
            tensors=sum(1 for _ in _parameters(optimizer)),
            learning_rates=rates,
            changed=changed,
        )
        if progress.step == 1 and not self._changed:
            shown = ", ".join(f"{rate:g}" for rate in rates)
            progress.found("optimizer", "UnchangedWeights", f"two steps have changed no weight (learning rate {shown})")


def _names(optimizer: Any, known: dict[int, str]) -> list[tuple[str, Any]]:
    """The optimizer's parameters by their names in the model, or else by group, position and shape."""
    found = []
    for number, group in enumerate(optimizer.param_groups):
        for index, parameter in enumerate(group["params"]):
            place = f"group {number}, parameter {index} {list(parameter.shape)}"
            found.append((known.get(id(parameter), place), parameter))
    return found
