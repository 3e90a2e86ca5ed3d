"""Trainings on several ranks that nothing keeps equal: DistributedDataParallel was forgotten."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..._undo import UndoList
from ..._user_code import is_users_class
from .check import PATIENCE, trained
from .collectives import Collectives
from .replica_group import ReplicaGroup

# Programs that have made so many steps without a process group will not have one.
_STEPS_WITHOUT_GROUP = 8
# Whether nothing synchronizes is asked after the third step, and then less and less often.
_LAST_CHECK = 1024


class _Followed:
    def __init__(self, group: ReplicaGroup) -> None:
        self.group = group
        self.steps = 0

    def is_due(self) -> bool:
        is_power = self.steps & (self.steps - 1) == 0
        return self.steps == PATIENCE or (PATIENCE < self.steps <= _LAST_CHECK and is_power)


class Unsynchronized:
    """Optimizers of plain parameters that begin equal on all ranks, or whose data a DistributedSampler divides among
    the ranks, as long as nothing can average their gradients or parameters."""

    def __init__(self, digests_of: Callable[[list[Any]], list[int]]) -> None:
        self._digests_of = digests_of
        self._changes: UndoList | None = None
        self._collectives: Collectives | None = None
        self._steps = 0
        # None: not followed.
        self._optimizers: weakref.WeakKeyDictionary[Any, _Followed | None] = weakref.WeakKeyDictionary()

    def follow(self, changes: UndoList) -> None:
        self._changes = changes

    def add_reduced(self, tensor: Any, frame: FrameType | None) -> None:
        """The program calls all_reduce."""
        if self._collectives is not None:
            self._collectives.add("all_reduce", (tensor,), frame)

    def has_given_up(self) -> bool:
        """Whether no optimizer is followed, nor will be: the program has made no process group in its first steps."""
        return self._collectives is None and self._steps > _STEPS_WITHOUT_GROUP

    def may_begin(self, optimizer: Any) -> bool:
        """Whether this is the first step of an optimizer in a job with process groups."""
        from torch import distributed

        if self.has_given_up():
            return False
        self._steps += 1
        return distributed.is_available() and distributed.is_initialized() and optimizer not in self._optimizers

    def begin(self, optimizer: Any, others: set[int]) -> None:
        """Follows an optimizer from its first step on. `others`: the ids of parameters that are kept equal."""
        from torch.distributed import distributed_c10d

        self._optimizers[optimizer] = None
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        own = list(trained(optimizer))
        is_plain = len(own) == sum(each.requires_grad for each in parameters) > 0
        if not is_plain or not _is_of_program(optimizer) or any(id(each) in others or _is_shared(each) for each in own):
            return
        process_group = distributed_c10d._get_default_group()
        group = ReplicaGroup(process_group, " " + (_PARTS if _divides_data() else f"{self._digests_of(own)}"))
        if group.size < 2:
            return
        self._optimizers[optimizer] = _Followed(group)
        if self._collectives is None and self._changes is not None:
            self._collectives = Collectives()
            self._collectives.follow(self._changes)
            self._collectives.begin()

    def is_followed(self, optimizer: Any) -> bool:
        return self._collectives is not None and self._optimizers.get(optimizer) is not None

    def count_step(self, optimizer: Any, frame: FrameType | None) -> ReplicaGroup | None:
        """The optimizer has stepped. Returns the ranks to compare with, if there is anything to compare."""
        followed, collectives = self._optimizers.get(optimizer), self._collectives
        if followed is None or collectives is None:
            return None
        followed.group.count_step()
        followed.steps += 1
        if collectives.is_large or followed.steps >= _LAST_CHECK:
            self._optimizers[optimizer] = None
            return None
        return followed.group if followed.is_due() and collectives.cannot_synchronize(frame) else None


_PARTS = "with parts of the data"


def _divides_data() -> bool:
    """Whether the program has a sampler that gives each rank its own part of the data."""
    from torch.utils.data import DistributedSampler

    # The classes of some proxies run code when they are asked for their class.
    samplers = (each for each in gc.get_objects() if issubclass(type(each), DistributedSampler))
    return any(each.num_replicas > 1 for each in samplers)


def _is_of_program(optimizer: Any) -> bool:
    """Whether the optimizer is PyTorch's or the program's: those of libraries may synchronize."""
    return type(optimizer).__module__.startswith("torch.optim") or is_users_class(type(optimizer))


def _is_shared(parameter: Any) -> bool:
    """Whether other processes change the parameter, too."""
    return bool(parameter.device.type == "cpu" and parameter.is_shared())
