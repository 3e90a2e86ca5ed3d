"""Optimizers that the program makes and whose step it never calls."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from ..._user_code import Line, line_of
from .check import PATIENCE, Check, ModelCall, Report, trained
from .elements import sample_of
from .loss_graph import leaves_of
from .models import Models
from .optimized import Optimized
from .samples import digest_of
from .step_calls import may_be_stepped, reads_gradients

# How often gradients must have been computed anew, if the program may call `step`. Programs compute some before the
# first step: the critic of a GAN trains alone at first, and gradients of each task or sample may be combined.
_TIMES = 12
# The same if the program uses the gradients itself, such as for the importance of parameters.
_TIMES_IF_READ = 100


class _Idle:
    """An optimizer that has not stepped. Its first parameter stands for all."""

    def __init__(self, probe: Any, on_suspicion: Callable[[], None]) -> None:
        self.probe = weakref.ref(probe)
        self.values = sample_of(probe.detach()).clone()
        self._on_suspicion = on_suspicion
        # How often a gradient has come after the last one had been reset.
        self.times = 0
        # How many of these times it takes.
        self.patience: float = PATIENCE
        self._last: tuple[Any, int] | None = None
        self._handle = probe.register_post_accumulate_grad_hook(self._receive)

    def _receive(self, probe: Any) -> None:
        gradient = probe.grad
        last, self._last = self._last, (weakref.ref(gradient), gradient._version)
        # Accumulation makes one more version; setting to zero in place makes another one.
        accumulates = last is not None and last[0]() is gradient and gradient._version <= last[1] + 1
        self.times += not accumulates
        if self.is_suspicious():
            self._on_suspicion()

    def is_suspicious(self) -> bool:
        return self.times >= self.patience

    def is_reset(self) -> bool:
        """Whether the last gradient that came has been reset."""
        probe = self.probe()
        if probe is None or self._last is None:
            return False
        gradient, version = self._last
        return probe.grad is None or gradient() is not probe.grad or probe.grad._version != version

    def has_moved(self) -> bool:
        """Whether something else has changed the parameter."""
        probe = self.probe()
        return probe is None or not bool(sample_of(probe.detach()).eq(self.values).all())

    def end(self) -> None:
        self._handle.remove()


class Unstepped(Check):
    """Gradients are computed and reset again and again, and no step of their optimizer uses them."""

    conditions = ("parameter_not_optimized",)

    def __init__(self, report: Report, models: Models, optimized: Optimized, on_suspicion: Callable[[], None]) -> None:
        """`on_suspicion`: the next step may decide whether there is a finding."""
        super().__init__(report)
        self._on_suspicion = on_suspicion
        self._models = models
        self._optimized = optimized
        self._idle: weakref.WeakKeyDictionary[Any, _Idle | None] = weakref.WeakKeyDictionary()
        # Some optimizer has made a step.
        self._others_step = False
        # Different batches that models were called with.
        self._batches: set[Any] = set()
        # There is a finding that no end of a step has reported.
        self._has_found = False
        self.symptoms = [self]

    def stop(self) -> None:
        for idle in self._idle.values():
            if idle is not None:
                idle.end()

    def takes_finding(self) -> bool:
        """Whether there is a new finding in a program that has no steps, which could report it."""
        found, self._has_found = self._has_found, False
        return found and not self._others_step

    def model_called(self, call: ModelCall) -> None:
        if not self._has_idle():
            return
        if len(self._batches) < PATIENCE:
            self._batches.add(digest_of(call.arguments) or id(call.arguments[0] if call.arguments else call))
        # An attack, which computes gradients of the input, and those of parameters only by the way.
        if any(_is_attacked(each) for each in call.arguments):
            for optimizer in list(self._idle):
                self._forget(optimizer)

    def backward(self, roots: Sequence[Any], line: Line | None) -> None:
        for optimizer in self._optimized.made():
            if optimizer not in self._idle:
                probe = next(trained(optimizer), None)
                # Since PyTorch 2.1.
                can_follow = probe is not None and hasattr(probe, "register_post_accumulate_grad_hook")
                self._idle[optimizer] = _Idle(probe, self._on_suspicion) if can_follow else None
        for optimizer, idle in list(self._idle.items()):
            if idle is not None and idle.is_suspicious() and idle.is_reset():
                self._look_at(optimizer, idle, sys._getframe(1))

    def _look_at(self, optimizer: Any, idle: _Idle, frame: FrameType) -> None:
        if idle.patience == PATIENCE:
            may_step = may_be_stepped(optimizer, frame)
            if may_step and self._others_step:
                # Optimizers take turns.
                self._forget(optimizer)
                return
            idle.patience = self._patience_for(may_step, frame)
        if idle.is_suspicious():
            self._decide(optimizer, idle, frame)

    def _patience_for(self, may_step: bool, frame: FrameType) -> int:
        if may_step:
            return _TIMES_IF_READ if reads_gradients(frame) else _TIMES
        # A program that only computes gradients, as to measure its time, does so with one batch.
        return PATIENCE if len(self._batches) >= PATIENCE and not reads_gradients(frame) else _TIMES

    def _decide(self, optimizer: Any, idle: _Idle, frame: FrameType) -> None:
        self._forget(optimizer)
        if not idle.has_moved():
            self._report(optimizer, idle.times, line_of(frame))

    def _has_idle(self) -> bool:
        return any(idle is not None for idle in self._idle.values())

    def is_undecided(self) -> bool:
        return any(idle is not None and idle.is_suspicious() for idle in self._idle.values())

    def before_step(self, optimizer: Any) -> None:
        self._others_step = True
        self._forget(optimizer)

    def _forget(self, optimizer: Any) -> None:
        idle = self._idle.get(optimizer)
        if idle is not None:
            idle.end()
        self._idle[optimizer] = None

    def _report(self, optimizer: Any, times: int, line: Line | None) -> None:
        parameters = list(trained(optimizer))
        message = (
            f"gradients of {self._models.name_of(parameters[0])} were computed and reset {times} times, and "
            f"{type(optimizer).__name__}, which has it, has not made a step: step() is missing"
        )
        made = self._optimized.line_of(optimizer)
        self.report("parameter_not_optimized", message, parameters, line=made or line, key=id(optimizer))
        self._has_found = True


def _is_attacked(argument: Any) -> bool:
    """Whether the program computes a gradient of this tensor, or of another one that it adds to it."""
    import torch

    if not isinstance(argument, torch.Tensor):
        return False
    return any(not isinstance(each, torch.nn.Parameter) for each in leaves_of(argument))
