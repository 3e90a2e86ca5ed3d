"""Parameters of data parallel models that are not the same on all ranks."""

from __future__ import annotations

import functools
import hashlib
import weakref
from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

from ... import _c_api
from ..._log import log
from ..._undo import UndoList
from . import digests
from .averaged_gradients import AveragedGradients
from .check import grouped, trained
from .readout import Readout

_CONDITION = "replicas_differ"
# All of them are compared, later ones every so often.
_FIRST_STEPS = 10
# The share of the time that digests may take.
_SHARE = 0.01
# Steps from one comparison to the next.
_MAX_PERIOD = 1024
# A moment is the number of collectives of the group and, in these lowest bits, the number
# of steps of optimizers since the last one.
_STEP_BITS = 16
# PyTorch's hooks for the communication of DistributedDataParallel after which all ranks
# have the same gradients.
_EQUALIZING_HOOKS = {"default_hooks", "powerSGD_hook", "quantization_hooks", "mixed_precision_hooks"}


class Hooks(Protocol):
    """The functions of _hooks that comparing replicas needs."""

    def watches(self, condition: str | None, /) -> bool: ...
    def node_of(self, tensor: object, /) -> int: ...
    def enter_ignored(self) -> int: ...
    def leave_ignored(self, depth: int, /) -> None: ...


class _Group:
    """The ranks that have copies of a model."""

    def __init__(self, process_group: Any, of: str = "") -> None:
        """`of`: what the copies have in common besides."""
        ranks = _ranks_of(process_group)
        self.size = len(ranks)
        # Several groups may have the same name, or the same ranks.
        text = f"{getattr(process_group, 'group_name', '')} {ranks}{of}"
        self.name = hashlib.sha256(text.encode()).hexdigest()
        self._process_group = process_group
        self._collectives = 0
        self._steps = 0

    def count_step(self) -> None:
        """An optimizer has stepped."""
        collectives = self._count_collectives()
        self._steps = self._steps + 1 if collectives == self._collectives else 0
        self._collectives = collectives

    @property
    def moment(self) -> int:
        """Equal on all ranks that have computed the same; ascends."""
        return self._collectives << _STEP_BITS | min(self._steps, (1 << _STEP_BITS) - 1)

    def _count_collectives(self) -> int:
        try:
            return int(self._process_group._get_sequence_number_for_group())
        except RuntimeError:
            # The backend does not count them.
            return 0


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
    """

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._library: Any = None
        self._models: weakref.WeakSet[Any] = weakref.WeakSet()
        # Whether there ever was one: asked in each step, for which the set is too slow.
        self._has_models = False
        self._has_failed = False
        self._readout = Readout()
        self._groups: weakref.WeakKeyDictionary[Any, _Group] = weakref.WeakKeyDictionary()
        self._cadences: weakref.WeakKeyDictionary[Any, _Cadence] = weakref.WeakKeyDictionary()
        # Models that have stepped without synchronization, as local SGD does.
        self._apart: weakref.WeakSet[Any] = weakref.WeakSet()
        self._averaged = AveragedGradients()
        # Of optimizers whose gradients the program averages itself: those that began with the same parameters.
        self._equals: weakref.WeakKeyDictionary[Any, _Group] = weakref.WeakKeyDictionary()
        # The optimizer that steps with such gradients.
        self._averages: weakref.ref[Any] | None = None

    def follow(self, changes: UndoList) -> None:
        """Has all data parallel models compared that are made from now on, and those whose gradients the program
        averages itself."""
        from torch.nn.parallel import DistributedDataParallel

        self._averaged.follow(changes)
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

    def before_step(self, optimizer: Any) -> None:
        self._averages = None
        if self._averaged.has_any():
            self._run(self._before_step, optimizer)

    def after_step(self, optimizer: Any) -> None:
        if self._has_models:
            self._run(self._after_step, optimizer)
        if self._averages is not None and self._averages() is optimizer:
            self._run(self._after_averaged_step, optimizer)

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
            self._equals[optimizer] = _Group(process_group, f" {self._digests_of(list(trained(optimizer)))}")
        self._averages = weakref.ref(optimizer)

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

    def _group_of(self, model: Any) -> _Group:
        group = self._groups.get(model)
        if group is None:
            others = (other for other in self._groups if other.process_group is model.process_group)
            other = next(others, None)
            group = self._groups[other] if other is not None else _Group(model.process_group)
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

    def _compare(self, parameters: list[Any], group: _Group) -> None:
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

    def _send(self, group: _Group, moment: int, nodes: list[int], found: list[int]) -> None:
        replicas = [(node, digest) for node, digest in zip(nodes, found, strict=True) if node != 0]
        library = self._agent_library()
        agent = library.graphdbg_current()
        if replicas and agent is not None:
            _c_api.compare_replicas(library, agent, group.name, group.size, moment, replicas)

    def _agent_library(self) -> Any:
        if self._library is None:
            self._library = _c_api.load()
        return self._library


def _ranks_of(process_group: Any) -> list[int]:
    from torch.distributed import distributed_c10d

    if hasattr(distributed_c10d, "get_process_group_ranks"):
        return list(distributed_c10d.get_process_group_ranks(process_group))
    # PyTorch 1.
    return list(distributed_c10d._pg_group_ranks[process_group])


def _parameters(model: Any, optimizer: Any) -> list[Any]:
    """The parameters of the model that the optimizer trains."""
    ignored = model.parameters_to_ignore
    trains = {id(parameter) for parameter in trained(optimizer)}
    return [
        parameter
        for name, parameter in model.module.named_parameters()
        if id(parameter) in trains and name not in ignored and parameter.numel() > 0
    ]
