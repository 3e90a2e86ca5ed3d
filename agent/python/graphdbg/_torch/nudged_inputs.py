"""Changes what models receive in the last bit, if GRAPHDBG_NUDGE_INPUTS asks for it.

Such a run shows how far rounding alone drives a training apart: `graphdbg diff --calibrate` measures its tolerances by
it. Elements that are not finite stay as they are, and so does what a loss function or another module without parameters
receives. A model whose inputs have no floating-point tensors, such as token ids, has the first floating-point output of
one of its modules changed instead.
"""

from __future__ import annotations

import functools
import os
import threading
from typing import TYPE_CHECKING, Any, Protocol

from .._log import log
from .._undo import UndoList
from .modules import is_model

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


class IgnoringHooks(Protocol):
    """The functions of _hooks that keep ops out of the graph."""

    def enter_ignored(self) -> int: ...
    def leave_ignored(self, depth: int, /) -> None: ...


def is_wanted() -> bool:
    """Whether the environment asks for changed inputs."""
    return os.environ.get("GRAPHDBG_NUDGE_INPUTS", "").strip().lower() not in ("", "0", "false")


def install(hooks: IgnoringHooks, changes: UndoList) -> None:
    """Wraps the calls of modules."""
    from torch.nn import Module

    log(
        "floating-point inputs of models are changed in the last bit (--nudge-inputs), so that `graphdbg diff "
        "--calibrate` can measure rounding: results differ from those of an ordinary run"
    )
    call, nudge = Module.__call__, _Nudge(hooks)

    @functools.wraps(Module.__call__)
    def nudged(self: Module, /, *args: Any, **kwargs: Any) -> Any:
        return nudge.around(call, self, args, kwargs) if changes.active else call(self, *args, **kwargs)

    changes.replace(Module, "__call__", nudged)


class _Nudge(threading.local):
    """The calls of one thread.

    Attributes:
        depth: How many calls of models and of their modules are in progress.
        pending: The model has received nothing that could be changed.
    """

    def __init__(self, hooks: IgnoringHooks) -> None:
        self._hooks = hooks
        self.depth = 0
        self.pending = False

    def around(self, call: Any, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.depth == 0:
            if not is_model(module):
                return call(module, *args, **kwargs)
            (args, kwargs), found = self._nudged((args, kwargs))
            self.pending = not found
        self.depth += 1
        try:
            result = call(module, *args, **kwargs)
        finally:
            self.depth -= 1
        if self.pending:
            result, found = self._nudged(result)
            self.pending = not found
        return result

    def _nudged(self, values: Any) -> tuple[Any, bool]:
        """The same with changed tensors, and whether there is any."""
        import torch
        from torch.utils._pytree import tree_map

        found = False

        def change(value: Any) -> Any:
            nonlocal found
            if not isinstance(value, torch.Tensor) or not value.is_floating_point():
                return value
            found = True
            return _one_bit_up(value)

        depth = self._hooks.enter_ignored()
        try:
            return tree_map(change, values), found
        finally:
            self._hooks.leave_ignored(depth)


def _one_bit_up(tensor: Tensor) -> Tensor:
    """Each finite element as the next larger number. Gradients flow through."""
    import torch

    with torch.no_grad():
        values = tensor.detach()
        if values.dtype in (torch.float32, torch.float64, torch.bfloat16):
            step = torch.nextafter(values, torch.full_like(values, torch.inf)) - values
        else:
            step = values.abs() * torch.finfo(values.dtype).eps
        step = torch.where(torch.isfinite(values) & torch.isfinite(step), step, torch.zeros_like(step))
    # A tensor plus the distance to the next number is that number exactly.
    return tensor + step
