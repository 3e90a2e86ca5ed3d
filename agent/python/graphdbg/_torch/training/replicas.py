"""Parameters of data parallel models that are not the same on all ranks."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from time import perf_counter
from types import FrameType
from typing import Any, Protocol

from ... import _c_api
from ..._log import log
from ..._undo import UndoList
from . import digests
from .averaged_gradients import AveragedGradients
from .check import grouped, trained
from .readout import Readout
from .replica_group import ReplicaGroup
from .unsynchronized import Unsynchronized

_CONDITION = "replicas_differ"
# All of them are compared, later ones every so often.
_FIRST_STEPS = 10
# The share of the time that digests may take.
_SHARE = 0.01
# Steps from one comparison to the next.
_MAX_PERIOD = 1024
# PyTorch's hooks for the communication of DistributedDataParallel after which all ranks
# have the same gradients.
_EQUALIZING_HOOKS = {"default_hooks", "powerSGD_hook", "quantization_hooks", "mixed_precision_hooks"}


class Hooks(Protocol):
    """The functions of _hooks that comparing replicas needs."""

    def watches(self, condition: str | None, /) -> bool: ...
    def node_of(self, tensor: object, /) -> int: ...
    def enter_ignored(self) -> int: ...
    def leave_ignored(self, depth: int, /) -> None: ...
    def pass_steps_of(self, optimizer: object | None, /) -> None: ...


class _Cadence:
    """Decides in which steps of an optimizer its parameters are compared.

    Ranks are compared in the steps that they have in common. Each chooses how often by
    its own time, but always by a power of two.
    """

    def __init__(self) -> None:
        self._steps = 0
        # Since the condition is watched.
        self._compared = 0
        self._period = 1
        self._since = perf_counter()

    def count_step(self) -> None:
        self._steps += 1

    def is_due(self) -> bool:
        return self._compared < _FIRST_STEPS or self._steps % self._period == 0

    def forget(self) -> None:
        """The condition is not watched."""
        self._compared = 0

    def spent(self, seconds: float) -> None:
        """This step's comparison took so long."""
        now = perf_counter()
        # While all steps are compared, those since the last comparison are one.
        steps = self._period if self._compared >= _FIRST_STEPS else 1
        step_seconds = (now - self._since) / steps
        self._since = now
        self._compared += 1
        needed = seconds / (_SHARE * step_seconds) if step_seconds > 0 else 1.0
        self._period = 1
        while self._period < min(needed, _MAX_PERIOD):
            self._period *= 2


class Replicas:
    """Sends the server digests of the parameters of data parallel models after steps of optimizers.

    The server compares them with those of the other ranks. The ranks themselves do not
    communicate for it.

    Attributes:
        is_idle: Whether before_step and after_step have nothing to do.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self.is_idle = False
        self._library: Any = None
        self._models: weakref.WeakSet[Any] = weakref.WeakSet()
        # Whether there ever was one: asked in each step, for which the set is too slow.
        self._has_models = False
        self._has_failed = False
        self._readout = Readout()
        self._groups: weakref.WeakKeyDictionary[Any, ReplicaGroup] = weakref.WeakKeyDictionary()
        self._cadences: weakref.WeakKeyDictionary[Any, _Cadence] = weakref.WeakKeyDictionary()
        # Models that have stepped without synchronization, as local SGD does.
        self._apart: weakref.WeakSet[Any] = weakref.WeakSet()
        self._unsynchronized = Unsynchronized(self._digests_of)
        self._averaged = AveragedGradients(self._reduced)
        # Of optimizers whose gradients the program averages itself: those that began with the same parameters.
        self._equals: weakref.WeakKeyDictionary[Any, ReplicaGroup] = weakref.WeakKeyDictionary()
        # The optimizer that steps with such gradients.
        self._averages: weakref.ref[Any] | None = None

    def follow(self, changes: UndoList) -> None:
        """Has all data parallel models compared that are made from now on, and those whose gradients the program
        averages itself."""
        from torch.nn.parallel import DistributedDataParallel

        self._averaged.follow(changes)
        self._unsynchronized.follow(changes)
        base = DistributedDataParallel.__init__

        @functools.wraps(base)
        def watched_init(model: Any, *args: Any, **kwargs: Any) -> None:
            base(model, *args, **kwargs)
            self.adopt(model)

        changes.replace(DistributedDataParallel, "__init__", watched_init)

    def adopt(self, model: Any) -> None:
        """Has a data parallel model compared."""
        self._models.add(model)
        self._has_models = True
        self._begin()

    def _reduced(self, tensor: Any, frame: FrameType | None) -> None:
        """The program calls all_reduce."""
        self._begin()
        self._unsynchronized.add_reduced(tensor, frame)

    def _begin(self) -> None:
        if self.is_idle:
            self.is_idle = False
            self._hooks.pass_steps_of(None)

    def before_step(self, optimizer: Any) -> None:
        self._averages = None
        if self._averaged.has_any():
            self._run(self._before_step, optimizer)
        if self._unsynchronized.may_begin(optimizer) and self._hooks.watches(_CONDITION):
            self._run(self._begin_unsynchronized, optimizer)

    def after_step(self, optimizer: Any) -> None:
        if self._has_models:
            self._run(self._after_step, optimizer)
        if self._averages is not None and self._averages() is optimizer:
            self._run(self._after_averaged_step, optimizer)
        if self._unsynchronized.is_followed(optimizer):
            self._run(self._after_unsynchronized_step, optimizer)
        self.is_idle = not self._has_models and self._unsynchronized.has_given_up() and not self._averaged.has_any()

    def _run(self, point: Callable[[Any], None], optimizer: Any) -> None:
        if self._has_failed:
            return
        try:
            point(optimizer)
        except Exception as error:
            self._has_failed = True
            log(f"{_CONDITION}: no longer tested ({type(error).__name__}: {error})")

    def _before_step(self, optimizer: Any) -> None:
        process_group = self._averaged.take_group(optimizer)
        if process_group is None or not self._hooks.watches(_CONDITION):
            return
        if optimizer not in self._equals:
            # Only ranks whose parameters are equal now are compared: others have parts of a model, or models of
            # their own.
            self._equals[optimizer] = ReplicaGroup(process_group, f" {self._digests_of(list(trained(optimizer)))}")
        self._averages = weakref.ref(optimizer)

    def _begin_unsynchronized(self, optimizer: Any) -> None:
        own = {id(each) for model in self._models for each in model.parameters()}
        self._unsynchronized.begin(optimizer, own)

    def _after_unsynchronized_step(self, optimizer: Any) -> None:
        self._readout.poll()
        group = self._unsynchronized.count_step(optimizer, sys._getframe(1))
        if group is not None and self._hooks.watches(_CONDITION):
            self._compare([each for each in trained(optimizer) if each.numel() > 0], group)

    def _after_averaged_step(self, optimizer: Any) -> None:
        group = self._equals[optimizer]
        group.count_step()
        cadence = self._cadences.setdefault(optimizer, _Cadence())
        cadence.count_step()
        self._readout.poll()
        if group.size > 1 and cadence.is_due():
            began = perf_counter()
            self._compare([each for each in trained(optimizer) if each.numel() > 0], group)
            cadence.spent(perf_counter() - began)

    def _after_step(self, optimizer: Any) -> None:
        models = [(model, self._group_of(model)) for model in self._models]
        for group in {id(group): group for _, group in models}.values():
            group.count_step()
        models = [(model, group) for model, group in models if group.size > 1 and self._is_kept_equal(model)]
        cadence = self._cadences.setdefault(optimizer, _Cadence())
        cadence.count_step()
        if not self._hooks.watches(_CONDITION):
            return cadence.forget()
        self._readout.poll()
        if not cadence.is_due():
            return
        began = perf_counter()
        for model, group in models:
            self._compare(_parameters(model, optimizer), group)
        cadence.spent(perf_counter() - began)

    def _group_of(self, model: Any) -> ReplicaGroup:
        group = self._groups.get(model)
        if group is None:
            others = (other for other in self._groups if other.process_group is model.process_group)
            other = next(others, None)
            group = self._groups[other] if other is not None else ReplicaGroup(model.process_group)
            self._groups[model] = group
        return group

    def _is_kept_equal(self, model: Any) -> bool:
        """Whether the program keeps the model the same on all ranks."""
        hooks = {str(getattr(hook, "__module__", "")) for hook, _ in getattr(model, "_comm_hooks", [])}
        if {name.rpartition(".")[2] for name in hooks} - _EQUALIZING_HOOKS:
            return False
        # False after a call within no_sync().
        if not model.require_forward_param_sync:
            self._apart.add(model)
        return model not in self._apart

    def _compare(self, parameters: list[Any], group: ReplicaGroup) -> None:
        moment = group.moment
        for tensors in grouped(parameters, lambda each: each.device):
            nodes = [self._hooks.node_of(tensor) for tensor in tensors]
            send = functools.partial(self._send, group, moment, nodes)
            if tensors[0].device.type == "cpu":
                library = self._agent_library()
                send([digests.of_host(library, tensor) for tensor in tensors])
            else:
                self._read_from_device(tensors, send)

    def _digests_of(self, parameters: list[Any]) -> list[int]:
        """Waits for the parameters' device."""
        library = self._agent_library()
        depth = self._hooks.enter_ignored()
        try:
            return [
                digests.of_host(library, each) if each.device.type == "cpu" else int(digests.on_device(each))
                for each in parameters
                if each.numel() > 0
            ]
        finally:
            self._hooks.leave_ignored(depth)

    def _read_from_device(self, tensors: list[Any], send: Callable[[list[Any]], None]) -> None:
        import torch

        depth = self._hooks.enter_ignored()
        try:
            with torch.no_grad():
                results = [digests.on_device(tensor) for tensor in tensors]
                self._readout.read(results, send)
        finally:
            self._hooks.leave_ignored(depth)

    def _send(self, group: ReplicaGroup, moment: int, nodes: list[int], found: list[int]) -> None:
        replicas = [(node, digest) for node, digest in zip(nodes, found, strict=True) if node != 0]
        library = self._agent_library()
        agent = library.graphdbg_current()
        if replicas and agent is not None:
            _c_api.compare_replicas(library, agent, group.name, group.size, moment, replicas)

    def _agent_library(self) -> Any:
        if self._library is None:
            self._library = _c_api.load()
        return self._library


def _parameters(model: Any, optimizer: Any) -> list[Any]:
    """The parameters of the model that the optimizer trains."""
    ignored = model.parameters_to_ignore
    trains = {id(parameter) for parameter in trained(optimizer)}
    return [
        parameter
        for name, parameter in model.module.named_parameters()
        if id(parameter) in trains and name not in ignored and parameter.numel() > 0
    ]
