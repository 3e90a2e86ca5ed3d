"""PyTorch's own report of the ops of a program: the reference for the agent.

A TorchDispatchMode sees each op below autograd. Its statistics are computed with NumPy,
and nothing here uses graphdbg.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

Json = dict[str, Any]

WITH_STATISTICS = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
WITH_STATISTICS |= {torch.uint16, torch.uint32, torch.uint64}
WITH_STATISTICS |= {torch.float16, torch.bfloat16, torch.float32, torch.float64}


class SeenOps(TorchDispatchMode):  # type: ignore[misc]
    """Writes each op that returns or writes tensors to a file, as a line of JSON."""

    def __init__(self, file: TextIO) -> None:
        super().__init__()
        self._file = file

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        schema = func._schema
        written = list(_written(schema, args, kwargs or {}))
        if written or any("Tensor" in str(value.type) for value in schema.returns):
            outputs = result if schema.returns else written
            line = {"op": schema.name.removeprefix("aten::"), "outputs": [describe(t) for t in _readable(outputs)]}
            self._file.write(json.dumps(line) + "\n")
        return result


def _written(schema: Any, args: Any, kwargs: Any) -> Iterator[Any]:
    """The tensors and lists of tensors that an op overwrites."""
    for i, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write and "Tensor" in str(argument.type):
            yield args[i] if i < len(args) else kwargs.get(argument.name)


def _readable(value: Any) -> Iterator[torch.Tensor]:
    """Tensors whose elements are in memory as they read."""
    if isinstance(value, (list, tuple)):
        for element in value:
            yield from _readable(element)
    elif isinstance(value, torch.Tensor) and value.layout is torch.strided:
        pending = value.is_conj() or value.is_neg() or value._is_zerotensor()
        if not (pending or value.is_quantized or value.is_nested or value.device.type == "meta"):
            yield value


def _elements(tensor: torch.Tensor) -> Any:
    """The elements of a tensor, read from its memory without any op of PyTorch."""
    bits = tensor.dtype is torch.bfloat16
    dtype = np.dtype("uint16" if bits else str(tensor.dtype).removeprefix("torch."))
    if tensor.numel() == 0:
        return np.empty(tuple(tensor.shape))
    strides = [stride * dtype.itemsize for stride in tensor.stride()]
    size = dtype.itemsize + sum((n - 1) * stride for n, stride in zip(tensor.shape, strides, strict=True))
    memory = (ctypes.c_char * size).from_address(tensor.data_ptr())
    x: Any = np.ndarray(tuple(tensor.shape), dtype, memory, 0, strides)
    return (x.astype(np.uint32) << 16).view(np.float32) if bits else x


def describe(tensor: torch.Tensor) -> Json:
    """The fields that the tracing agent writes for a tensor."""
    described: Json = {"dtype": str(tensor.dtype), "shape": list(tensor.shape)}
    if tensor.dtype not in WITH_STATISTICS:
        return described
    # Sums of large float64 numbers do not overflow in long double.
    x = _elements(tensor).astype(np.longdouble)
    finite = x[np.isfinite(x)]
    described |= {"nan": int(np.isnan(x).sum()), "inf": int(np.isinf(x).sum()), "zero": int((x == 0).sum())}
    if finite.size > 0:
        values = {"min": finite.min(), "max": finite.max(), "mean": finite.mean(), "abs_mean": np.abs(finite).mean()}
        described |= {name: float(value) for name, value in values.items()}
    return described
