"""Evaluations during a training that do not see the model as it will be used."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from ..._undo import UndoList
from ..._user_code import Line, line_of
from .check import PATIENCE, Check, ModelCall, Report
from .feeding import Feeding
from .modes import Sensitive, TrainedModels
from .samples import SeenBatches

# How many different inputs are remembered.
_INPUTS = 8
# Evaluations are rare if there are at least this many steps for each.
_RARE = 5
# How many calls of models in evaluation mode are examined.
_LOOKS = 8
# Functions that drop elements unless they are called with training=False.
_DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d")
_ATTENTION = "scaled_dot_product_attention"


class _Passes:
    """The calls of a model in training mode without gradients."""

    def __init__(self) -> None:
        # The number of calls after this step.
        self.step = -1
        self.calls = 0
        # After how many steps there were such calls.
        self.intervals = 0
        self.inputs = SeenBatches(_INPUTS)

    def add(self, call: ModelCall) -> bool:
        """Returns whether the calls so far are evaluations.

        Between two steps a loop may look at one batch; an evaluation looks at several, or at the
        same one each time, or takes place only now and then.
        """
        if call.step != self.step:
            self.step, self.calls, self.intervals = call.step, 0, self.intervals + 1
        self.calls += 1
        times = self.inputs.add(call.arguments)
        is_rare = self.intervals >= PATIENCE and call.step >= _RARE * self.intervals
        return self.calls >= PATIENCE or times >= PATIENCE or is_rare


class Evaluations(Check):
    """Models that are called without gradients while dropout or batch normalization is active."""

    conditions = ("wrong_mode",)
    sees_each_evaluation = True

    def __init__(self, report: Report, models: TrainedModels, sensitive: Sensitive) -> None:
        super().__init__(report)
        self._models = models
        self._sensitive = sensitive
        self._passes: weakref.WeakKeyDictionary[Any, _Passes] = weakref.WeakKeyDictionary()
        self._feeding = Feeding()
        # Calls of models that feed others, until it is known whether they do so again.
        self._undecided: weakref.WeakKeyDictionary[Any, ModelCall] = weakref.WeakKeyDictionary()

    def model_called(self, call: ModelCall) -> None:
        for model in self._feeding.models_before(call):
            before = self._undecided.pop(model, None)
            if before is not None:
                self._add(before)
        if self._feeding.feeds(call.module):
            self._undecided[call.module] = call
        else:
            self._add(call)

    def model_returned(self, call: ModelCall, output: Any) -> None:
        self._feeding.add(call, output)

    def _add(self, call: ModelCall) -> None:
        if call.trains or not call.module.training or self.report.has("wrong_mode", (id(call.module), "evaluation")):
            return
        active = self._sensitive.active_in(call.module)
        if active is None or any(map(_calibrates, self._sensitive.of(call.module))):
            return
        if not self._models.has(call.module):
            return
        if self._passes.setdefault(call.module, _Passes()).add(call):
            message = (
                f"{type(call.module).__name__} is called without gradients in training mode, {PATIENCE} times so far, "
                f"with {type(active).__name__} active: eval() is missing"
            )
            parameters = list(call.module.parameters())[:1]
            self.report("wrong_mode", message, parameters, line=call.line, key=(id(call.module), "evaluation"))


class _Dropped(NamedTuple):
    """A call that drops elements whatever the mode of the model is."""

    # The function, or the class of the module.
    name: str
    line: Line | None
    # It is in the wrong mode because it is no part of the model.
    is_unregistered: bool


class FunctionalDropout(Check):
    """Functions that drop elements while the model that calls them is in evaluation mode."""

    conditions = ("wrong_mode",)

    def __init__(self, report: Report, models: TrainedModels) -> None:
        super().__init__(report)
        self._models = models
        self._looks = 0
        # The functions of PyTorch that are replaced during a call of a model.
        self._originals: dict[str, Callable[..., Any]] = {}
        self._dropped: list[_Dropped] = []
        # The ids of the modules of the model that is being called.
        self._registered: set[int] = set()

    def needs_more_calls(self) -> bool:
        """Whether further calls in evaluation mode are examined."""
        return self._looks < _LOOKS

    def model_called(self, call: ModelCall) -> None:
        self._restore()
        if call.module.training or not self.needs_more_calls():
            return
        if self._models.has(call.module):
            self._looks += 1
            self._registered = {id(each) for each in call.module.modules()}
            self._replace()

    def model_returned(self, call: ModelCall, output: Any) -> None:
        self._restore()
        dropped, self._dropped = self._dropped, []
        if not dropped:
            return
        name, line, is_unregistered = dropped[0]
        if is_unregistered:
            cause = "the model has not registered it, so that eval() does not reach it"
        else:
            cause = f"it needs {'dropout_p=0 unless self.training' if name == _ATTENTION else 'training=self.training'}"
        model = type(call.module).__name__
        message = f"{name}() drops elements although {model} is in evaluation mode: {cause}"
        parameters = list(call.module.parameters())[:1]
        self.report("wrong_mode", message, parameters, line=line, key=(id(call.module), "function"))

    def before_step(self, optimizer: Any) -> None:
        # A model that has raised an exception has not returned.
        self._restore()

    def stop(self) -> None:
        self._restore()

    def _replace(self) -> None:
        from torch.nn import functional

        for name in (*_DROPOUTS, _ATTENTION):
            original = getattr(functional, name, None)
            if original is not None:
                self._originals[name] = original
                setattr(functional, name, self._watched(name, original))

    def _restore(self) -> None:
        if not self._originals:
            return
        from torch.nn import functional

        originals, self._originals = self._originals, {}
        for name, original in originals.items():
            setattr(functional, name, original)

    def _watched(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        probability = _attention_dropout if name == _ATTENTION else _default_dropout

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            module = _dropout_that_calls(frame)
            if probability(args, kwargs) > 0:
                self._dropped.append(_Dropped(name, line_of(frame), False))
            elif module is not None and module.training and module.p > 0 and id(module) not in self._registered:
                self._dropped.append(_Dropped(type(module).__name__, line_of(frame), True))
            return original(*args, **kwargs)

        return call


def follow_evaluations(begin: Callable[[], None], changes: UndoList) -> None:
    """Calls `begin` when a model is put into evaluation mode."""
    from torch.nn import Module

    original = Module.eval

    @functools.wraps(original)
    def watched_eval(self: Any) -> Any:
        if changes.active:
            begin()
        return original(self)

    changes.replace(Module, "eval", watched_eval)


def _default_dropout(args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    """The probability, if `training` is not given and thus True. An argument is intentional."""
    if len(args) > 2 or "training" in kwargs:
        return 0.0
    return float(args[1] if len(args) > 1 else kwargs.get("p", 0.5))


def _attention_dropout(args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    return float(args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0))


def _dropout_that_calls(frame: FrameType) -> Any | None:
    """The module of PyTorch whose `forward` is this frame."""
    from torch.nn.modules import dropout

    return frame.f_locals.get("self") if frame.f_code.co_filename == dropout.__file__ else None


def _calibrates(module: Any) -> bool:
    """Whether the statistics of a normalization are computed anew, as by torch.optim.swa_utils.update_bn."""
    return hasattr(module, "momentum") and module.momentum in (None, 1.0)
