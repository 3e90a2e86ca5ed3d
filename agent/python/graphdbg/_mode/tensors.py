"""Describes tensors to the agent, and remembers which node made which."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from . import c_agent

_INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
_FLOATS_8 = ("float8_e4m3fn", "float8_e5m2")
# Numbers as in agent.h: those of the oldest dtypes first, then "other", then what was added.
_DTYPES = {name: number for number, name in enumerate((*_INTEGERS, *_FLOATS, "other", *_FLOATS_8), 1)}
_FLOATING = frozenset(_DTYPES[name] for name in (*_FLOATS, *_FLOATS_8))
_DEVICES = {"cpu": 0, "cuda": 1, "npu": 2}
_DEVICE_OTHER = 3


def current_stream(device: int, index: int) -> int | None:
    """The handle of the stream on which this thread's ops on a device run; device as in agent.h."""
    if device == _DEVICES["cuda"]:
        return int(torch.cuda.current_stream(index).cuda_stream)
    if device == _DEVICES["npu"]:
        # Its ops wait in a queue of the framework's first.
        torch.npu.current_stream(index).synchronize()
    return None


def storage_of(tensor: Any) -> Any:
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()._storage


def is_plain(value: Any) -> bool:
    """Whether it is a tensor with numbers in memory as they are read: no wrapper, no other layout."""
    return (
        isinstance(value, torch.Tensor)
        and type(value) in (torch.Tensor, torch.nn.Parameter)
        and value.layout == torch.strided
        and value.device.type != "meta"
        and not (value.is_quantized or value.is_conj() or value.is_neg() or getattr(value, "is_nested", False))
    )


def plain_tensors(value: Any) -> Iterator[Any]:
    """The plain tensors of an argument or result, lists flattened."""
    if isinstance(value, (list, tuple)):
        for element in value:
            yield from plain_tensors(element)
    elif is_plain(value):
        yield value


def _data_of(tensor: Any) -> int:
    # Does not make a lazy copy real, as data_ptr() does.
    address: int = torch._C._data_address(tensor) if hasattr(torch._C, "_data_address") else tensor.data_ptr()
    return address


def signature(tensor: Any) -> tuple[Any, ...]:
    """Tells views of one storage apart."""
    return tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype


def describe(tensor: Any, owner: int = 0) -> Any:
    """The graphdbg_tensor of a plain tensor."""
    name = str(tensor.dtype)
    short = name.rpartition(".")[2]
    numbers = ctypes.c_int64 * tensor.dim()
    return c_agent.sized(
        c_agent.Tensor,
        dtype=_DTYPES.get(short, _DTYPES["other"]),
        device=_DEVICES.get(tensor.device.type, _DEVICE_OTHER),
        device_id=tensor.device.index or 0,
        data=_data_of(tensor),
        ndim=tensor.dim(),
        shape=numbers(*tensor.shape),
        strides=numbers(*tensor.stride()),
        storage_id=storage_of(tensor)._cdata,
        owner=owner,
        framework_dtype=name.encode(),
    )


def is_floating(description: Any) -> bool:
    return description.dtype in _FLOATING


class Producers:
    """Which node made what a storage holds, by storage and view of it (producers.h)."""

    def __init__(self) -> None:
        self._made: dict[int, dict[Any, tuple[int, int]]] = {}
        self._kept: dict[int, dict[Any, tuple[int, int]]] = {}
        # Weak references: addresses are not given out again while they stand.
        self._held: dict[int, Any] = {}

    def _hold(self, tensor: Any) -> int:
        storage = storage_of(tensor)
        address: int = storage._cdata
        if address not in self._held:
            self._held[address] = StorageWeakRef(storage)
        return address

    def made(self, tensor: Any, node: int, slot: int, overwrote: bool) -> None:
        views = self._made.setdefault(self._hold(tensor), {})
        if overwrote:
            views.clear()
        views[signature(tensor)] = (node, slot)

    def keep(self, tensor: Any, node: int) -> None:
        """A parameter or buffer: remembered over steps."""
        self._kept.setdefault(self._hold(tensor), {}).setdefault(signature(tensor), (node, 0))

    def find(self, tensor: Any) -> tuple[int, int]:
        address, view = storage_of(tensor)._cdata, signature(tensor)
        kept, made = self._kept.get(address, {}), self._made.get(address, {})
        if view in kept or view in made:
            return kept.get(view) or made[view]
        return next(iter((kept or made).values()), (0, 0))

    def end_step(self) -> None:
        self._made.clear()
        self._held = {address: held for address, held in self._held.items() if address in self._kept}
