"""Models that train in evaluation mode, or the other way round."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..._user_code import Line
from .check import PATIENCE, Check, Counts, ModelCall, Report, dense_gradient, trained


class _Called(NamedTuple):
    module: Any
    # Of the last call.
    line: Line | None
    # Any call was in training mode.
    in_training: bool


class Modes(Check):
    """The modes in which models train, as a whole and in parts."""

    conditions = ("wrong_mode",)

    def __init__(self, report: Report, sensitive: Sensitive) -> None:
        super().__init__(report)
        self._sensitive = sensitive
        # Models that were called with gradients since the last step.
        self._called: dict[int, _Called] = {}
        self._frozen = Counts()
        self._part = Counts()
        self.symptoms = [self._frozen, self._part]

    def model_called(self, call: ModelCall) -> None:
        module = call.module
        sensitive = self._sensitive.of(module)
        if not sensitive or not call.trains:
            return
        before = self._called.get(id(module))
        in_training = module.training or any(each.training for each in sensitive)
        in_training = in_training or (before is not None and before.in_training)
        self._called[id(module)] = _Called(module, call.line, in_training)

    def before_step(self, optimizer: Any) -> None:
        own = {id(parameter): parameter for parameter in trained(optimizer)}
        called, self._called = self._called, {}
        for module, line, in_training in called.values():
            first = next((parameter for parameter in module.parameters() if id(parameter) in own), None)
            if first is None:
                continue
            if self._frozen.add(module, not in_training) >= PATIENCE:
                kind = type(self._sensitive.of(module)[0]).__name__
                message = (
                    f"{type(module).__name__} trains in evaluation mode, in which {kind} does not train: "
                    "train() is missing"
                )
                self.report("wrong_mode", message, [first], line=line, key=(id(module), "training"))
            elif module.training:
                self._look_at_parts(module, own, line)

    def _look_at_parts(self, module: Any, own: dict[int, Any], line: Line | None) -> None:
        """Looks for parts that train without their dropout, such as pretrained models, which are loaded in
        evaluation mode. Single normalizations are set to it on purpose."""
        for name, part in _frozen_parts(module):
            inactive = next((each for each in self._sensitive.of(part) if is_dropout(each)), None)
            moving = [each for each in part.parameters() if id(each) in own and dense_gradient(each) is not None]
            if self._part.add(part, inactive is not None and bool(moving)) >= PATIENCE:
                message = (
                    f"{name} ({type(part).__name__}) is in evaluation mode while it trains, so that "
                    f"{type(inactive).__name__} is inactive: the model's train() is missing"
                )
                self.report("wrong_mode", message, moving[:1], line=line, key=(id(part), "part"))


class Sensitive:
    """The modules that behave differently in the two modes, by the model that contains them."""

    def __init__(self) -> None:
        self._found: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()

    def of(self, module: Any) -> list[Any]:
        found = self._found.get(module)
        if found is None:
            found = self._found[module] = [each for each in module.modules() if _is_sensitive(each)]
        return found

    def active_in(self, module: Any) -> Any | None:
        """The first of them that is in training mode."""
        return next((each for each in self.of(module) if each.training), None)


class TrainedModels(Check):
    """Remembers which models optimizers have trained, for the other checks of modes."""

    conditions = ("wrong_mode",)

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        # The ids of parameters.
        self._trained: set[int] = set()

    def before_step(self, optimizer: Any) -> None:
        self._trained.update(id(parameter) for parameter in trained(optimizer))

    def has(self, model: Any) -> bool:
        return any(id(parameter) in self._trained for parameter in model.parameters())


def _frozen_parts(module: Any) -> Iterator[tuple[str, Any]]:
    """The outermost parts of a model in training mode that are in evaluation mode, with their paths."""
    for name, part in module.named_children():
        if part.training:
            yield from ((f"{name}.{inner}", each) for inner, each in _frozen_parts(part))
        elif next(part.children(), None) is not None:
            yield name, part


def is_dropout(module: Any) -> bool:
    """Whether a module drops elements, in training mode."""
    from torch import nn
    from torch.nn.modules.dropout import _DropoutNd

    if isinstance(module, _DropoutNd):
        return bool(module.p > 0)
    if isinstance(module, nn.RNNBase):
        return bool(module.dropout > 0 and module.num_layers > 1)
    return isinstance(module, nn.MultiheadAttention) and bool(module.dropout > 0)


def _is_sensitive(module: Any) -> bool:
    from torch.nn.modules.batchnorm import _BatchNorm

    return is_dropout(module) or (isinstance(module, _BatchNorm) and module.track_running_stats)
