"""Models that train in evaluation mode, or the other way round."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from ..user_code import Line
from .check import PATIENCE, Check, Counts, ModelCall, Report, trained


class _Called(NamedTuple):
    module: Any
    # Of the last call.
    line: Line | None
    # Any call was in training mode.
    in_training: bool


class Modes(Check):
    conditions = ("wrong_mode",)
    sees_each_evaluation = True

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        # Per model the modules that behave differently in the two modes.
        self._sensitive: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()
        # Models that were called with gradients since the last step.
        self._called: dict[int, _Called] = {}
        self._frozen = Counts()
        # Models that were called without gradients since the last step, and that step.
        self._evaluated, self._evaluated_after = Counts(), 0
        self.symptoms = [self._frozen]
        self._trained: set[int] = set()

    def model_called(self, call: ModelCall) -> None:
        module = call.module
        sensitive = self._sensitive_in(module)
        if not sensitive:
            return
        if call.trains:
            before = self._called.get(id(module))
            in_training = module.training or any(each.training for each in sensitive)
            in_training = in_training or (before is not None and before.in_training)
            self._called[id(module)] = _Called(module, call.line, in_training)
        elif any(id(parameter) in self._trained for parameter in module.parameters()):
            if call.step != self._evaluated_after:
                self._evaluated, self._evaluated_after = Counts(), call.step
            active = module.training and any(each.training for each in sensitive)
            # Between two steps a loop may look at one batch; an evaluation looks at several.
            if self._evaluated.add(module, active) >= PATIENCE:
                kind = type(next(each for each in sensitive if each.training)).__name__
                message = (
                    f"{type(module).__name__} was called {PATIENCE} times without gradients in training mode, "
                    f"with {kind} active: eval() is missing"
                )
                self.report(
                    "wrong_mode",
                    message,
                    list(module.parameters())[:1],
                    line=call.line,
                    key=(id(module), "evaluation"),
                )

    def before_step(self, optimizer: Any) -> None:
        own = {id(parameter) for parameter in trained(optimizer)}
        self._trained |= own
        called, self._called = self._called, {}
        for module, line, in_training in called.values():
            first = next((parameter for parameter in module.parameters() if id(parameter) in own), None)
            if first is not None and self._frozen.add(module, not in_training) >= PATIENCE:
                kind = type(self._sensitive_in(module)[0]).__name__
                message = (
                    f"{type(module).__name__} trains in evaluation mode, in which {kind} does not train: "
                    "train() is missing"
                )
                self.report("wrong_mode", message, [first], line=line, key=(id(module), "training"))

    def _sensitive_in(self, module: Any) -> list[Any]:
        found = self._sensitive.get(module)
        if found is None:
            found = self._sensitive[module] = [each for each in module.modules() if _is_sensitive(each)]
        return found


def _is_sensitive(module: Any) -> bool:
    from torch.nn.modules.batchnorm import _BatchNorm
    from torch.nn.modules.dropout import _DropoutNd

    if isinstance(module, _DropoutNd):
        return bool(module.p > 0)
    return isinstance(module, _BatchNorm) and module.track_running_stats
