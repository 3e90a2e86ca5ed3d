"""Calls the tests of conditions of training at the points of a step, while they are watched."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Protocol

from ..._log import log
from ..user_code import Line, line_of
from . import autocast, batches
from .check import Check, Hooks, ModelCall, Report
from .gradients import MissingGradients, UnresetGradients, ZeroGradients
from .loss import Loss
from .models import Models
from .modes import Modes
from .optimized import Optimized
from .outputs import Outputs
from .readout import Readout
from .updates import LearningRates, LostUpdates


class TrainingHooks(Hooks, Protocol):
    """The functions of _hooks that tests of conditions of training need."""

    def enter_ignored(self) -> int: ...
    def leave_ignored(self, depth: int, /) -> None: ...
    def observe_models(self, on_output: Callable[[object, object], None] | None, /) -> None: ...


# Most faults are there from the start.
_FIRST_STEPS = 10
# The share of the time that tests may take after the first steps.
_SHARE = 0.03
# Seconds that may be saved up.
_MAX_CREDIT = 0.05


class TrainingObserver:
    """All tests. Does nothing until one of their conditions is watched.

    The first steps are all observed. Later ones are as far as the tests take little of
    the program's time, and while the next step decides whether there is a finding.
    """

    def __init__(self, hooks: TrainingHooks) -> None:
        self._hooks = hooks
        # Data loaders and autocast, which cannot be left alone again.
        self._follows = False
        self._inside = False
        self.reset()

    def reset(self) -> None:
        """Forgets the job."""
        self._thread: int | None = None
        report = Report(self._hooks)
        self._models, self._readout = Models(), Readout()
        self._optimized = Optimized(report, self._models)
        self._batches = batches.Batches(report)
        self._autocast = autocast.Autocast(report)
        self._all: list[Check] = [
            MissingGradients(report, self._models),
            ZeroGradients(report, self._readout, self._models),
            UnresetGradients(report, self._readout),
            LearningRates(report),
            LostUpdates(report, self._readout, self._models),
            self._optimized,
            Loss(report),
            Modes(report),
            self._autocast,
            Outputs(report, self._readout),
            self._batches,
        ]
        # Those whose conditions are watched, and the same or none if this step is not observed.
        self._watched: list[Check] = []
        self._active: list[Check] = []
        self._steps = 0
        # Seconds that tests have taken in this step, and may take.
        self._spent = 0.0
        self._credit = 0.0
        self._step_began = 0.0
        # The call of a model that has not returned.
        self._call: ModelCall | None = None

    def optimizer_made(self, optimizer: Any) -> None:
        self._optimized.add_optimizer(optimizer, line_of(sys._getframe(1)))

    def model_called(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._models.add(module)
        call = self._call = self._call_of(module, [*args, *kwargs.values()]) if self._active else None
        if call is not None:
            self._run(lambda check: check.model_called(call))

    def _call_of(self, module: Any, arguments: Sequence[Any]) -> ModelCall:
        import torch

        trains = torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        return ModelCall(module, arguments, trains, line_of(sys._getframe(1)))

    def _model_returned(self, module: Any, output: Any) -> None:
        call, self._call = self._call, None
        if call is not None and call.module is module:
            self._run(lambda check: check.model_returned(call, output))

    def before_backward(self, roots: Sequence[Any]) -> None:
        """Gradients of these tensors are about to be accumulated."""
        self._update()
        if self._active:
            line: Line | None = line_of(sys._getframe(1))
            self._run(lambda check: check.backward(roots, line))

    def before_step(self, optimizer: Any) -> None:
        self._update()
        self._run(lambda check: check.before_step(optimizer))

    def after_step(self, optimizer: Any) -> None:
        if not self._watched:
            return
        self._run(lambda check: check.after_step(optimizer))
        self._readout.poll()
        # A model that has raised an exception has not returned.
        self._call = None
        now = perf_counter()
        self._credit = min(_MAX_CREDIT, self._credit + _SHARE * (now - self._step_began) - self._spent)
        self._step_began, self._spent = now, 0.0
        self._steps += 1
        self._observe(self._steps < _FIRST_STEPS or self._credit > (-_MAX_CREDIT if self._is_undecided() else 0))

    def _is_undecided(self) -> bool:
        return any(symptom.is_undecided() for check in self._watched for symptom in check.symptoms)

    def _update(self) -> None:
        """Finds out which tests are watched."""
        watched = self._hooks.watches(None)
        is_same = watched == bool(self._watched)
        if self._inside or (is_same and (not watched or self._steps % _FIRST_STEPS)):
            return
        is_first = not self._watched
        self._watched = [check for check in self._all if any(map(self._hooks.watches, check.conditions))]
        if not watched:
            self._observe(False)
        elif is_first:
            self._steps, self._credit, self._spent, self._step_began = 0, 0.0, 0.0, perf_counter()
            self._observe(True)
        if watched and not self._follows:
            self._follows = True
            batches.follow_loaders(self._deliver)
            autocast.follow_contexts(lambda: self._autocast)

    def _observe(self, on: bool) -> None:
        """Decides whether the tests run from now on."""
        if on != bool(self._active):
            self._hooks.observe_models(self._model_returned if on else None)
        self._active = self._watched if on else []

    def _deliver(self, iterator: Any, batch: Any) -> None:
        if self._batches in self._active:
            self._run(lambda check: self._batches.deliver(iterator, batch), [self._batches])

    def _run(self, call: Callable[[Check], None], checks: list[Check] | None = None) -> None:
        if not self._active or self._inside or not self._is_training_thread():
            return
        import torch

        began = perf_counter()
        with self._apart(torch):
            for check in list(checks or self._active):
                try:
                    call(check)
                except Exception as error:
                    self._all.remove(check)
                    self._watched.remove(check)
                    log(f"{', '.join(check.conditions)}: no longer tested ({type(error).__name__}: {error})")
        self._spent += perf_counter() - began

    def _is_training_thread(self) -> bool:
        ident = threading.get_ident()
        if self._thread is None:
            self._thread = ident
        return self._thread == ident

    @contextmanager
    def _apart(self, torch: Any) -> Iterator[None]:
        """Runs ops that are no part of the program: neither traced nor recorded by autograd."""
        self._inside = True
        depth = self._hooks.enter_ignored()
        try:
            with torch.no_grad():
                yield
        finally:
            self._hooks.leave_ignored(depth)
            self._inside = False
