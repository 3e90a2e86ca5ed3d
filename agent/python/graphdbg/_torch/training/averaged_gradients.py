"""Notices that a program averages the gradients of its ranks itself, as DistributedDataParallel does."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..._undo import UndoList
from .check import trained

# How many tensors are remembered until a step.
_REMEMBERED = 4096


class AveragedGradients:
    """The tensors that the program has reduced over all ranks since the last step."""

    def __init__(self, add: Callable[[Any, FrameType], None]) -> None:
        """`add` is called with each tensor that is reduced, and the frame that calls."""
        self._add = add
        # By weak references to their memory, whose place no other tensor can take meanwhile: the group.
        self._reduced: dict[Any, Any] = {}

    def follow(self, changes: UndoList) -> None:
        """Has calls of `all_reduce` noticed from now on."""
        import torch
        from torch import distributed

        # Since PyTorch 2.
        if not distributed.is_available() or not hasattr(torch.Tensor, "untyped_storage"):
            return
        original = distributed.all_reduce
        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)

        @functools.wraps(original)
        def watched(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            # What is noticed would break a compiled graph.
            if is_compiling() or not changes.active:
                return original(tensor, *args, **kwargs)
            self._add(tensor, sys._getframe(1))
            if len(self._reduced) < _REMEMBERED:
                memory = _memory_of(tensor)
                if memory is not None:
                    self._reduced[memory] = args[1] if len(args) > 1 else kwargs.get("group")
            return original(tensor, *args, **kwargs)

        changes.replace(distributed, "all_reduce", watched)

    def has_any(self) -> bool:
        return bool(self._reduced)

    def take_group(self, optimizer: Any) -> Any:
        """The process group over which a gradient of the optimizer has been reduced; None if none has been."""
        from torch.distributed import distributed_c10d

        reduced, self._reduced = self._reduced, {}
        for parameter in trained(optimizer):
            if parameter.grad is not None and (memory := _memory_of(parameter.grad)) in reduced:
                return reduced[memory] or distributed_c10d._get_default_group()
        return None


def _memory_of(tensor: Any) -> Any | None:
    """A weak reference to a tensor's memory; None if it has none of its own."""
    from torch.multiprocessing.reductions import StorageWeakRef

    try:
        return StorageWeakRef(tensor.untyped_storage())
    except (AttributeError, RuntimeError, NotImplementedError):
        return None
