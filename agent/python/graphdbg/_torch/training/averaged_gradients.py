"""Notices that a program averages the gradients of its ranks itself, as DistributedDataParallel does."""

from __future__ import annotations

import functools
from typing import Any

from ..._undo import UndoList
from .check import trained

# How many collectives are remembered until a step.
_REMEMBERED = 4096


class AveragedGradients:
    """The tensors that the program has reduced over all ranks since the last step."""

    def __init__(self) -> None:
        # By the address of its memory: the group.
        self._reduced: dict[int, Any] = {}

    def follow(self, changes: UndoList) -> None:
        """Has calls of `all_reduce` noticed from now on."""
        from torch import distributed

        if not distributed.is_available():
            return
        original = distributed.all_reduce

        @functools.wraps(original)
        def watched(
            tensor: Any, op: Any = distributed.ReduceOp.SUM, group: Any = None, *args: Any, **kwargs: Any
        ) -> Any:
            if changes.active and len(self._reduced) < _REMEMBERED:
                self._reduced[_address_of(tensor)] = group
            return original(tensor, op, group, *args, **kwargs)

        changes.replace(distributed, "all_reduce", watched)

    def has_any(self) -> bool:
        return bool(self._reduced)

    def take_group(self, optimizer: Any) -> Any:
        """The process group over which a gradient of the optimizer has been reduced; None if none has been."""
        from torch.distributed import distributed_c10d

        reduced, self._reduced = self._reduced, {}
        for parameter in trained(optimizer):
            if parameter.grad is not None and (address := _address_of(parameter.grad)) in reduced:
                return reduced[address] or distributed_c10d._get_default_group()
        return None


def _address_of(tensor: Any) -> int:
    try:
        return int(tensor.data_ptr())
    except (AttributeError, RuntimeError):
        # A tensor without memory of its own.
        return 0
