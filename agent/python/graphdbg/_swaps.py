"""Lets tensors be swapped that the agent holds on to.

`torch.utils.swap_tensors` (and with it `Module.to` and `load_state_dict`, if the
program chose so) refuses a tensor that has weak references, and the agent has
one to each parameter.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Protocol


class Bindings(Protocol):
    """The part of _hooks that holds tensors."""

    def release_tensor(self, tensor: object, /) -> int: ...
    def hold_tensor(self, binding: int, tensor: object, /) -> None: ...


def install(hooks: Bindings) -> None:
    import torch

    # Not in PyTorch 1.13.
    original = getattr(torch.utils, "swap_tensors", None)
    if original is None:
        return

    @wraps(original)
    def swap_tensors(first: Any, second: Any) -> None:
        # 0 if it is none of the agent's.
        bindings = [(tensor, hooks.release_tensor(tensor)) for tensor in (first, second)]
        try:
            original(first, second)
        finally:
            # The objects keep their names, whatever they hold now.
            for tensor, binding in bindings:
                if binding:
                    hooks.hold_tensor(binding, tensor)

    torch.utils.swap_tensors = swap_tensors
