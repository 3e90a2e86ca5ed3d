"""Parameters that get gradients and that no optimizer changes."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from ..._user_code import Line
from .check import PATIENCE, Check, Counts, IdentitySet, ModelCall, Report, and_others, it_or_them
from .elements import sample_of
from .loss_graph import leaves_of
from .models import Models
from .samples import tensors_in

# The number of steps after which the models' parameters are listed again.
_PERIOD = 50


class Optimized(Check):
    conditions = ("parameter_not_optimized",)

    def __init__(self, report: Report, models: Models) -> None:
        super().__init__(report)
        self._models = models
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._made: weakref.WeakKeyDictionary[Any, Line | None] = weakref.WeakKeyDictionary()
        self._leader: weakref.ref[Any] | None = None
        self._steps = 0
        # The number of steps when each optimizer was last used: others belong to another training in this process.
        self._used_at: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._unchanged = Counts()
        # Parameters for which an optimizer has others, which no model uses.
        self._replaced = Counts()
        self.symptoms = [self._unchanged, self._replaced]
        # By the layer's id and the parameter's name: the parameter that was there last, and how many others were there
        # before it, one in each step.
        self._renewed: dict[tuple[int, str], tuple[weakref.ref[Any], int]] = {}
        # Samples of the values at the last look, by the parameter's id.
        self._values: dict[int, Any] = {}
        # Tensors that are given to models, of which a program may want the gradients, as for differential equations.
        self._inputs = IdentitySet()
        # Layers that were made in a call of a model since the last step.
        self._fresh: dict[Line, Any] = {}
        # By the line that calls them: in how many successive steps there were such layers.
        self._remade: dict[Line, int] = {}

    def add_optimizer(self, optimizer: Any, line: Line | None) -> None:
        """An optimizer is made, in this line of the user's code."""
        self._optimizers.add(optimizer)
        self._made[optimizer] = line

    def made(self) -> list[Any]:
        """The optimizers whose making was seen, if they still exist."""
        return list(self._made)

    def others_with(self, parameter: Any, optimizer: Any) -> list[Any]:
        """The optimizers besides this one that have a parameter."""
        others = [each for each in self.made() if each is not optimizer]
        return [each for each in others if any(p is parameter for group in each.param_groups for p in group["params"])]

    def line_of(self, optimizer: Any) -> Line | None:
        """The user's line that made an optimizer."""
        return self._made.get(optimizer)

    def add_fresh(self, module: Any, line: Line | None) -> None:
        """This line of a model's code calls a module that no model has registered, for the first time."""
        if line is not None and any(parameter.requires_grad for parameter in module.parameters()):
            self._fresh[line] = module

    def model_called(self, call: ModelCall) -> None:
        if not self._models.has_loose:
            return
        for argument in tensors_in(call.arguments):
            for leaf in leaves_of(argument):
                if not _is_parameter(leaf):
                    self._inputs.add(leaf)

    def before_step(self, optimizer: Any) -> None:
        self._optimizers.add(optimizer)
        self._used_at[optimizer] = self._steps
        leader = self._leader() if self._leader is not None else None
        if leader is None:
            self._leader = weakref.ref(optimizer)
        elif leader is not optimizer:
            return
        self._steps += 1
        if self._steps % _PERIOD == 0:
            self._models.look_again()
        self._look_at_fresh()
        self._look()

    def _look_at_fresh(self) -> None:
        fresh, self._fresh = self._fresh, {}
        self._remade = {line: self._remade.get(line, 0) + 1 for line in fresh}
        for line, module in fresh.items():
            if self._remade[line] >= PATIENCE:
                message = (
                    f"a new {type(module).__name__} is made and called in each of {PATIENCE} successive steps, so that "
                    "its parameters are never trained: make it once, in __init__"
                )
                tensors = [*module.parameters(), *self._models.parameters()]
                self.report("parameter_not_optimized", message, tensors, line=line, key=line)

    def _look(self) -> None:
        known, self._values = self._values, {}
        found = []
        without = [] if self._trains_inputs() else list(self._without_optimizer())
        stale = self._stale_for(without) if without else None
        for parameter in without:
            self._look_at_renewed(parameter)
            is_replaced = self._replaced.add(parameter, stale is not None) == PATIENCE
            values = self._values[id(parameter)] = sample_of(_local(parameter.detach())).clone()
            before = known.get(id(parameter))
            # Values that change without an optimizer of PyTorch are trained in another way.
            same = before is not None and before.shape == values.shape and bool(before.eq(values).all())
            if self._unchanged.add(parameter, same) == PATIENCE or is_replaced:
                found.append(parameter)
        if found:
            self._report_unchanged(found, stale)

    def _look_at_renewed(self, parameter: Any) -> None:
        """Looks for a parameter of a module that each call of the model replaces by a new one."""
        home = self._models.home_of(parameter)
        layer = home.layer() if home is not None else None
        if home is None or layer is None:
            return
        # Models may have parameters of the same name.
        last, count = self._renewed.get((id(layer), home.name), (weakref.ref(parameter), 0))
        count = 0 if last() is parameter else count + 1
        self._renewed[id(layer), home.name] = weakref.ref(parameter), count
        if count == PATIENCE - 1:
            message = (
                f"{home.name} is a new parameter in each of {PATIENCE} successive steps, so that it is never trained: "
                "an assignment in forward() replaces it"
            )
            tensors = [parameter, *self._models.parameters()]
            self.report("parameter_not_optimized", message, tensors, line=home.forward, key=home.name)

    def _trains_inputs(self) -> bool:
        """Whether optimizers change what is given to models rather than the models, as for an image's style."""
        own = [parameter for o in self._used_at for group in o.param_groups for parameter in group["params"]]
        if not own or any(_is_parameter(each) or each.grad is None for each in own):
            return False
        used = {id(parameter) for parameter in self._models.parameters()}
        return all(id(each) not in used for each in own)

    def _without_optimizer(self) -> Iterator[Any]:
        owned = {id(p) for o in self._optimizers for group in o.param_groups for p in group["params"]}
        for parameter in self._models.parameters():
            if id(parameter) in owned or not parameter.requires_grad or parameter.grad is None:
                continue
            if not _is_parameter(parameter) and parameter in self._inputs:
                continue
            gradient = _local(parameter.grad)
            if _is_dense(gradient) and _is_dense(_local(parameter)) and bool(gradient.ne(0).any()):
                yield parameter

    def _report_unchanged(self, found: list[Any], stale: Any | None) -> None:
        names = and_others([self._models.name_of(each) for each in found])
        home = self._models.home_of(found[0])
        if home is not None and home.is_unregistered:
            cause = (
                "the module that calls their layer has not registered it, so that parameters() lacks them. "
                "Keep layers in nn.ModuleList or nn.ModuleDict, not in a list or a dict"
            )
        elif home is not None and home.is_loose and _is_parameter(found[0]):
            cause = (
                "parameters() does not look into plain lists and dicts. Keep parameters in nn.ParameterList or "
                "nn.ParameterDict"
            )
        elif not _is_parameter(found[0]):
            cause = "plain tensors are not among the parameters() of a module. Make each an nn.Parameter"
        elif stale is None:
            cause = "none has been given " + it_or_them(found)
        else:
            sharded = " sharded," if any(_local(each) is not each for each in found) else ""
            cause = (
                f"{type(stale).__name__} has older ones, which no model uses. "
                f"Create the optimizer after the model is{sharded} moved or replaced"
            )
        message = f"gradients reach {names}, but no optimizer changes {it_or_them(found)}: {cause}"
        line = self._made.get(stale if stale is not None else self._leader and self._leader())
        # A sharded parameter is one tensor to the program and another one to its ops.
        tensors = [*found, *map(_local, found), *self._models.parameters()]
        if home is not None and home.is_loose:
            # It has no node of its own.
            tensors = [each for each in tensors if not self._models.is_loose(each)]
        self.report("parameter_not_optimized", message, tensors, line=line, key=id(found[0]))

    def _stale_for(self, found: list[Any]) -> Any | None:
        """The optimizer that has what was there before these parameters: others, which no model uses and which have
        no gradient. Either its other parameters are used, or they have the same shapes, or they are all that it has
        and these ones are flattened."""
        used = {id(parameter) for parameter in self._models.parameters()}
        shapes = {tuple(parameter.shape) for parameter in found}
        for optimizer, step in self._used_at.items():
            if self._steps - step > PATIENCE:
                continue
            own = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            stale = [each for each in own if id(each) not in used and each.requires_grad and each.grad is None]
            same = any(tuple(each.shape) in shapes for each in stale)
            if stale and (same or any(id(each) in used for each in own) or _are_flat(found)):
                return optimizer
        return None


def _are_flat(parameters: list[Any]) -> bool:
    """Whether they hold the elements of many others, as those of FullyShardedDataParallel do."""
    return any(type(parameter).__name__ == "FlatParameter" for parameter in parameters)


def _local(tensor: Any) -> Any:
    """This process's part of a sharded tensor (DTensor); other tensors as they are."""
    return getattr(tensor, "_local_tensor", tensor)


def _is_parameter(tensor: Any) -> bool:
    import torch

    return isinstance(tensor, torch.nn.Parameter)


def _is_dense(tensor: Any) -> bool:
    import torch

    return (type(tensor) is torch.Tensor or _is_parameter(tensor)) and tensor.layout is torch.strided
