"""Facts about tensors, in values that JSON can carry."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# A description of a batch names this many tensors.
_MOST = 8


def tensors_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yields the tensors in lists, tuples, mappings and objects such as model outputs."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif depth > 4 or isinstance(value, (str, bytes)):
        return
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from tensors_in(each, depth + 1)
    elif isinstance(value, (list, tuple)):
        for each in value[:_MOST]:
            yield from tensors_in(each, depth + 1)
    elif hasattr(value, "__dataclass_fields__"):
        yield from tensors_in(vars(value), depth + 1)


def describe(tensor: Any) -> dict[str, Any]:
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": [int(size) for size in tensor.shape],
        "device": str(tensor.device),
    }


def describe_all(value: Any) -> list[dict[str, Any]]:
    return [describe(tensor) for tensor, _ in zip(tensors_in(value), range(_MOST), strict=False)]


def local(tensor: Any) -> Any:
    """The part of a sharded tensor that is on this rank."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def is_finite(tensor: Any) -> bool:
    import torch

    if not (tensor.is_floating_point() or tensor.is_complex()):
        return True
    with torch.no_grad():
        values = local(tensor.detach())
        values = values.coalesce().values() if values.layout == torch.sparse_coo else values
        return bool(torch.isfinite(values).all())


def checksum(tensor: Any) -> float:
    """A number that changes with the tensor, without a copy of it."""
    import torch

    with torch.no_grad():
        return float(local(tensor.detach()).sum(dtype=torch.float64))


def digest(tensors: Iterable[Any]) -> str:
    """A hash of types, shapes and values, equal only if these are equal to the bit."""
    import torch

    found = hashlib.sha256()
    with torch.no_grad():
        for tensor in tensors:
            values = local(tensor.detach())
            values = values.to_dense() if values.layout != torch.strided else values
            values = values.resolve_conj().resolve_neg().cpu().contiguous()
            found.update(f"{values.dtype} {tuple(values.shape)};".encode())
            found.update(ctypes.string_at(values.data_ptr(), values.numel() * values.element_size()))
    return found.hexdigest()
