"""Allows tensors to be swapped although the agent refers to them.

`torch.utils.swap_tensors` (which `Module.to` and `load_state_dict` call if the
program has enabled that) refuses tensors that have weak references, and the agent
has one to each parameter.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Protocol

from .._undo import UndoList


class Bindings(Protocol):
    """The functions of _hooks that release and hold tensors."""

    def release_tensor(self, tensor: object, /) -> int: ...
    def hold_tensor(self, binding: int, tensor: object, /) -> None: ...


def install(hooks: Bindings, changes: UndoList) -> None:
    import torch

    # PyTorch 1.13 does not have it.
    original = getattr(torch.utils, "swap_tensors", None)
    if original is None:
        return

    @wraps(original)
    def swap_tensors(first: Any, second: Any) -> None:
        if not changes.active:
            return original(first, second)  # type: ignore[no-any-return]
        bindings = [(tensor, hooks.release_tensor(tensor)) for tensor in (first, second)]
        try:
            original(first, second)
        finally:
            # A name belongs to the Python object, not to the value that it now holds.
            for tensor, binding in bindings:
                if binding:
                    hooks.hold_tensor(binding, tensor)

    changes.replace(torch.utils, "swap_tensors", swap_tensors)
