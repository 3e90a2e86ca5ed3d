"""Other methods of finding bad values, which graphdbg is compared with."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def _statistics(tensor: Any) -> None:
    if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point() or tensor.numel() == 0:
        return
    with torch.no_grad():
        tensor.isnan().any().item()
        tensor.isinf().any().item()
        tensor.min().item()
        tensor.max().item()
        tensor.mean().item()


def detect_anomaly() -> None:
    """PyTorch's anomaly detection, which finds NaN in the outputs of backward nodes."""
    torch.autograd.set_detect_anomaly(True)


def forward_hooks() -> None:
    """Computes statistics of the outputs of every module, with a hook on all modules."""
    nn.modules.module.register_module_forward_hook(
        lambda module, inputs, output: [_statistics(tensor) for tensor in tree_leaves(output)] and None
    )


class _Statistics(TorchDispatchMode):
    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            _statistics(tensor)
        return result


def dispatch_mode() -> None:
    """Computes statistics of the outputs of every op, with a TorchDispatchMode."""
    _Statistics().__enter__()


PEERS = {"anomaly": detect_anomaly, "hooks": forward_hooks, "dispatch": dispatch_mode}
