"""Evaluations in training mode that even record gradients."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..._user_code import Line
from .check import PATIENCE, Check, ModelCall, Report
from .modes import Sensitive, TrainedModels
from .samples import tensors_in

# Calls between two backward passes that are followed.
_CALLS = 64


class _Result:
    """The result of a call, and whether a backward pass has come to it."""

    def __init__(self, module: Any, kind: str, line: Line | None) -> None:
        self.module = weakref.ref(module)
        self.kind = kind
        self.line = line
        self.used = False

    def use(self, gradient: Any) -> None:
        self.used = True


class UnusedResults(Check):
    """Models that are called several times in training mode, with results that no backward pass uses.

    Only calls without a backward pass between them count: a program with several models may well
    detach what one of them computes for another.
    """

    conditions = ("wrong_mode",)

    def __init__(self, report: Report, models: TrainedModels, sensitive: Sensitive) -> None:
        super().__init__(report)
        self._models = models
        self._sensitive = sensitive
        # The results since the last step, by the number of backward passes until then.
        self._results: list[list[_Result]] = [[]]

    def model_returned(self, call: ModelCall, output: Any) -> None:
        module = call.module
        if not call.trains or not module.training or len(self._results[-1]) >= _CALLS:
            return
        active = self._sensitive.active_in(module)
        if active is None or not self._models.has(module):
            return
        tensors = [each for each in tensors_in(output) if each.requires_grad and each.grad_fn is not None]
        if tensors:
            result = _Result(module, type(active).__name__, call.line)
            self._results[-1].append(result)
            for tensor in tensors:
                tensor.register_hook(result.use)

    def backward(self, roots: Sequence[Any], line: Line | None) -> None:
        self._results.append([])

    def before_step(self, optimizer: Any) -> None:
        groups, self._results = self._results, [[]]
        # Otherwise the loss depends on the model in another way.
        used = {id(result.module()) for results in groups for result in results if result.used}
        for results in groups:
            unused = [result for result in results if not result.used and id(result.module()) in used]
            for module in {id(result.module()): result.module() for result in unused}.values():
                own = [result for result in unused if result.module() is module]
                if module is not None and len(own) >= PATIENCE:
                    self._report(module, own)

    def _report(self, module: Any, unused: list[_Result]) -> None:
        message = (
            f"{type(module).__name__} is called {len(unused)} times in training mode, with {unused[0].kind} active, "
            "and no backward pass uses the results: eval() and torch.no_grad() are missing"
        )
        parameters = list(module.parameters())[:1]
        # The key of evaluations without gradients: it is the same mistake, which is reported once.
        self.report("wrong_mode", message, parameters, line=unused[0].line, key=(id(module), "evaluation"))
