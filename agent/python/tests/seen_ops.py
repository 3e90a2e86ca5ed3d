"""What a dispatch mode sees, in the words of the trace agent."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def holds_tensors(kind: Any) -> bool:
    while isinstance(kind, (torch.OptionalType, torch.ListType)):
        kind = kind.getElementType()
    return isinstance(kind, torch.TensorType)


def is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def describe(tensor: torch.Tensor) -> dict[str, Any]:
    out: dict[str, Any] = {"dtype": str(tensor.dtype), "shape": list(tensor.shape)}
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex() or tensor.numel() == 0:
        return out
    values = tensor.detach().double()
    finite = values[values.isfinite()]
    out |= {"nan": int(values.isnan().sum()), "inf": int(values.isinf().sum())}
    if finite.numel():
        out |= {"min": finite.min().item(), "max": finite.max().item()}
        out |= {"mean": finite.mean().item(), "abs_mean": finite.abs().mean().item()}
    return out


class SeenOps(TorchDispatchMode):  # type: ignore[misc]
    """Describes the results of all ops below autograd that return or write tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[dict[str, Any]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        schema = function._schema
        written = [a for a in schema.arguments if is_written(a) and holds_tensors(a.type)]
        if any(holds_tensors(r.type) for r in schema.returns):
            outputs = tree_leaves(result)
        elif written:
            values = dict(zip((a.name for a in schema.arguments), args, strict=False)) | kwargs
            outputs = tree_leaves([values.get(a.name) for a in written])
        else:
            return result
        tensors = [describe(each) for each in outputs if isinstance(each, torch.Tensor)]
        self.ops.append({"op": schema.name, "outputs": tensors})
        return result
