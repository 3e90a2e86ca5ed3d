"""Calls the tests of conditions of training at the points of a step, while they are watched."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from time import perf_counter
from typing import Any, Protocol

from ..._log import log
from ..._undo import UndoList
from ..._user_code import Line, line_of
from . import autocast, batches
from .cadence import Cadence
from .casts import Casts
from .check import POINTS, Check, Hooks, ModelCall, Report, overrides
from .evaluations import Evaluations, FunctionalDropout, follow_evaluations
from .gradients import MissingGradients, UnresetGradients
from .loss import Loss
from .models import Models
from .modes import Modes, Sensitive, TrainedModels
from .optimized import Optimized
from .outputs import Outputs
from .rates import LearningRates
from .readout import Readout
from .restored import RestoredWeights, follow_loading
from .signs import SignHooks, Signs
from .unstepped import Unstepped
from .unused_results import UnusedResults
from .updates import LostUpdates
from .zero_gradients import ZeroGradients


class TrainingHooks(Hooks, SignHooks, Protocol):
    """The functions of _hooks that tests of conditions of training need."""

    def enter_ignored(self) -> int: ...
    def leave_ignored(self, depth: int, /) -> None: ...
    def current_scope(self) -> tuple[int, bool]: ...
    def observe_models(self, on_output: Callable[[object, object], None] | None, suspicious_only: bool, /) -> None: ...
    def passed_steps(self) -> int: ...
    def pass_steps_of(self, optimizer: object | None, /) -> None: ...


# How many models are remembered that were called before anything was watched.
_CALLS_BEFORE = 16
# The steps after which the set of watched conditions is read again.
_PERIOD = 10
# Seconds after which that is done at the latest, if steps are passed (see pass_steps_of in _hooks.pyi).
_LONGEST_PASS = 0.1


class TrainingObserver:
    """All tests. Does nothing until one of their conditions is watched.

    Tests run in observed steps, which Cadence chooses. In the others, Signs looks for changes.

    Attributes:
        watched: The tests whose conditions are watched.
    """

    def __init__(
        self,
        hooks: TrainingHooks,
        changes: UndoList,
        cadence: Cadence | None = None,
        end_step: Callable[[], object] = lambda: None,
    ) -> None:
        """`end_step`: ends a step of a program that makes none itself, so that it stops there."""
        self._hooks = hooks
        self._end_step = end_step
        self._changes = changes
        self._cadence = cadence or Cadence()
        # Whether data loaders, autocast and eval() are wrapped.
        self._follows = False
        self._inside = False
        self._thread: int | None = None
        report = Report(hooks)
        self._models, self._readout = Models(), Readout()
        self._signs = Signs(hooks, self._models)
        self._notices = True
        self._has_new_parameters = False
        self._optimized = Optimized(report, self._models)
        self._batches = batches.Batches(report)
        self._autocast = autocast.Autocast(report)
        trained, sensitive = TrainedModels(report), Sensitive()
        self._functional = FunctionalDropout(report, trained)
        self._restored = RestoredWeights(report, self._readout, self._models, self._optimized)
        self._unstepped = Unstepped(report, self._models, self._optimized, self._cadence.look_again)
        self._all: list[Check] = [
            MissingGradients(report, self._models),
            ZeroGradients(report, self._readout, self._models),
            UnresetGradients(report, self._readout),
            LearningRates(report, self._readout, self._models, self._optimized),
            LostUpdates(report, self._readout, self._models),
            self._restored,
            self._optimized,
            self._unstepped,
            Loss(report, self._models, self._optimized),
            trained,
            Modes(report, sensitive),
            Evaluations(report, trained, sensitive),
            self._functional,
            UnusedResults(report, trained, sensitive),
            self._autocast,
            Outputs(report, self._readout),
            self._batches,
            Casts(report),
        ]
        self.watched: list[Check] = []
        # By the name of a method, those of them that override it.
        self._at: dict[str, list[Check]] = {}
        # Whether this step is observed.
        self._active = False
        self._steps = 0
        # When the set of watched conditions is read again.
        self._update_at = 0
        # The steps that had been passed when the last one ended that was not.
        self._passed = 0
        # The models that were called before anything was watched, each with the user's line.
        self._called_before: weakref.WeakKeyDictionary[Any, Line | None] = weakref.WeakKeyDictionary()
        self._called_last: Callable[[], Any] = lambda: None
        # The call of a model that has not returned.
        self._call: ModelCall | None = None

    def optimizer_made(self, optimizer: Any) -> None:
        self._optimized.add_optimizer(optimizer, line_of(sys._getframe(1)))

    def parameter_registered(self) -> None:
        """A module gets a parameter."""
        # A model that is made has many.
        self._has_new_parameters = bool(self.watched)
        if self._has_new_parameters:
            self._hooks.pass_steps_of(None)

    def module_found(self, module: Any) -> None:
        """A module is called for the first time that no module called before it contains."""
        if not self._hooks.current_scope()[1] or next(module.parameters(), None) is None:
            return
        if self._models.add_unregistered(module) and self._active and self._is_followed():
            self._optimized.add_fresh(module, line_of(sys._getframe(1)))

    def _evaluation_begins(self) -> None:
        """A model is put into evaluation mode. The next evaluation may be a long time away."""
        if self._functional in self.watched and self._functional.needs_more_calls() and self._is_followed():
            self._observe(True)

    def model_called(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not self.watched and self._called_last() is not module:
            self._note_call_before(module)
        if not self._is_followed():
            return
        trains = _records_gradients()
        if (self._active or not trains) and not _is_transformed():
            arguments = [*args, *kwargs.values()]
            self._run("model_called", lambda: (self._begin_call(module, arguments, trains),), self._checks_of_calls())

    def _note_call_before(self, module: Any) -> None:
        """A job receives its watchpoints after the first call of a model has begun."""
        if len(self._called_before) < _CALLS_BEFORE and _records_gradients():
            self._called_before[module] = line_of(sys._getframe(2))
            self._called_last = weakref.ref(module)

    def _checks_of_calls(self) -> list[Check] | None:
        """Those that see a call of a model; None: all."""
        return None if self._active else [check for check in self.watched if check.sees_each_evaluation]

    def _begin_call(self, module: Any, arguments: Sequence[Any], trains: bool) -> ModelCall:
        line = line_of(sys._getframe(1))
        self._models.add(module, line)
        ended = self._steps + self._hooks.passed_steps() - self._passed
        self._call = ModelCall(module, arguments, trains, line, ended)
        return self._call

    def _model_returned(self, module: Any, output: Any) -> None:
        if not self._is_followed():
            return
        call, self._call = self._call, None
        if call is not None and call.module is module:
            self._run("model_returned", lambda: (call, output), self._checks_of_calls())

    def before_backward(self, roots: Sequence[Any]) -> None:
        """Gradients of these tensors are about to be accumulated."""
        # Most jobs watch none of these conditions, and short steps feel each call.
        if not self.watched and not self._hooks.watches(None):
            return
        if not self.watched:
            self._update()
        if not self._is_followed():
            return
        self._notice(self._signs.backward, roots)
        if self._has_new_parameters:
            self._has_new_parameters = False
            self._look_again()
        if self._active:
            self._run("backward", lambda: (_tensors_in(roots), line_of(sys._getframe(1))))
            if self._unstepped.takes_finding():
                self._end_step()

    def before_step(self, optimizer: Any) -> None:
        """Must be called once conditions are watched: a program may forget the backward pass."""
        if not self.watched:
            self._update()
        if not self._is_followed():
            return
        self._notice(self._signs.before_step, optimizer)
        if self._active:
            self._run("before_step", lambda: (optimizer,))

    def after_step(self, optimizer: Any) -> None:
        if not self._is_followed():
            return
        if self._active:
            self._run("after_step", lambda: (optimizer,))
        if self._readout.poll():
            self._cadence.look_again()
        # A model that has raised an exception has not returned.
        self._call = None
        total = self._hooks.passed_steps()
        passed, self._passed = total - self._passed, total
        self._steps += 1 + passed
        self._observe(self._cadence.end_step(self._is_undecided, passed))
        self._update()

    @property
    def quiet_until(self) -> float:
        """The time of perf_counter() at which something is to be done in steps again, unless there is a sign. 0: in
        the next one."""
        is_quiet = self._notices and not self._active and not self._has_new_parameters and self._readout.is_empty()
        return min(self._cadence.until, perf_counter() + _LONGEST_PASS) if is_quiet else 0

    def _is_followed(self) -> bool:
        """Whether conditions are watched, and this is the thread that trains."""
        if not self.watched or self._inside:
            return False
        ident = get_ident()
        if self._thread is None:
            self._thread = ident
        return self._thread == ident

    def _is_undecided(self) -> bool:
        return any(symptom.is_undecided() for check in self.watched for symptom in check.symptoms)

    def _notice(self, sign: Callable[[Any], bool], subject: Any) -> None:
        """Looks for a sign that something has changed."""
        if not self._notices:
            return
        try:
            changed = sign(subject)
        except Exception as error:
            self._notices = False
            log(f"changes of the training are no longer noticed at once ({type(error).__name__}: {error})")
            return
        if changed:
            self._look_again()

    def _look_again(self) -> None:
        """Something has changed, so that this step and the next ones decide whether it is a fault."""
        self._models.look_again()
        for check in self.watched:
            check.look_again()
        self._observe(self._cadence.changed())

    def _update(self) -> None:
        """Finds out which tests are watched."""
        watched = self._hooks.watches(None)
        was_watched = bool(self.watched)
        if watched == was_watched and (not watched or self._steps < self._update_at):
            return
        self._update_at = self._steps + _PERIOD
        checks = [check for check in self._all if any(map(self._hooks.watches, check.conditions))]
        if checks != self.watched:
            self._watch(checks)
        if not self.watched:
            self._observe(False)
            self._hooks.observe_models(None, False)
        elif not was_watched:
            self._steps, self._update_at = 0, _PERIOD
            self._passed = self._hooks.passed_steps()
            self._cadence.start()
            self._active = False
            self._observe(True)
            self._follow()
            for model, line in self._called_before.items():
                self._models.add(model, line)

    def _watch(self, checks: list[Check]) -> None:
        self.watched = checks
        self._at = {point: [each for each in checks if overrides(each, point)] for point in POINTS}

    def _observe(self, on: bool) -> None:
        """Decides whether the tests run from now on."""
        if on != self._active:
            self._active = on
            self._hooks.pass_steps_of(None)
            self._hooks.observe_models(self._model_returned, not on)

    def _follow(self) -> None:
        if not self._follows:
            self._follows = True
            batches.follow_loaders(self._deliver, self._changes)
            autocast.follow_contexts(lambda: self._autocast, self._changes)
            follow_evaluations(self._evaluation_begins, self._changes)
            follow_loading(self._restored.loads, self._changes)
            self._changes.enter(self._stop)

    def _stop(self) -> None:
        for check in self._all:
            check.stop()

    def _deliver(self, iterator: Any, batch: Any) -> None:
        if self._batches not in self.watched or not self._is_followed():
            return
        self._notice(self._signs.delivered, iterator)
        if self._active:
            self._run("deliver", lambda: (iterator, batch), [self._batches])

    def _run(self, point: str, arguments: Callable[[], tuple[Any, ...]], checks: list[Check] | None = None) -> None:
        """Calls this method of the checks."""
        with self._cadence.spending():
            self._call_all(point, arguments(), self._at.get(point, []) if checks is None else checks)

    def _call_all(self, point: str, arguments: tuple[Any, ...], checks: list[Check]) -> None:
        with self._apart():
            for check in checks:
                try:
                    getattr(check, point)(*arguments)
                except Exception as error:
                    self._all.remove(check)
                    self._watch([each for each in self.watched if each is not check])
                    log(f"{', '.join(check.conditions)}: no longer tested ({type(error).__name__}: {error})")

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """Runs ops that are not part of the program: neither traced nor recorded by autograd."""
        import torch

        self._inside = True
        depth = self._hooks.enter_ignored()
        try:
            with torch.no_grad():
                yield
        finally:
            self._hooks.leave_ignored(depth)
            self._inside = False


def _records_gradients() -> bool:
    import torch

    return torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def _is_transformed() -> bool:
    """Whether torch.func runs the program, whose tensors have no storage and no hooks."""
    import torch

    functorch = getattr(torch._C, "_functorch", None)
    peek = getattr(functorch, "peek_interpreter_stack", None)
    return peek is not None and peek() is not None


def _tensors_in(roots: Sequence[Any]) -> list[Any]:
    """Without edges of autograd's graph."""
    import torch

    return [root for root in roots if isinstance(root, torch.Tensor)]
