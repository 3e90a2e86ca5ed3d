"""Describes tensors for the agent, and records which node produced which tensor."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ... import _c_api

_INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
_FLOATS_8 = ("float8_e4m3fn", "float8_e5m2")
# The numbers in agent.h: first the original dtypes, then "other", then later additions.
_DTYPES = {name: number for number, name in enumerate((*_INTEGERS, *_FLOATS, "other", *_FLOATS_8), 1)}
_FLOATING = frozenset(_DTYPES[name] for name in (*_FLOATS, *_FLOATS_8))
_DEVICES = {"cpu": 0, "cuda": 1, "npu": 2}
_DEVICE_OTHER = 3


def current_stream(device: int, index: int) -> int | None:
    """The handle of the stream on which this thread's ops on a device run; `device` is a number of agent.h."""
    if device == _DEVICES["cuda"]:
        return int(torch.cuda.current_stream(index).cuda_stream)
    if device == _DEVICES["npu"]:
        # torch_npu queues ops before it submits them to the stream.
        torch.npu.current_stream(index).synchronize()
    return None


def storage_of(tensor: Any) -> Any:
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()._storage


def is_plain(value: Any) -> bool:
    """Whether `value` is a tensor whose elements are in memory as they read: no wrapper, no other layout."""
    return (
        isinstance(value, torch.Tensor)
        and type(value) in (torch.Tensor, torch.nn.Parameter)
        and value.layout == torch.strided
        and value.device.type != "meta"
        and not (value.is_quantized or value.is_conj() or value.is_neg() or getattr(value, "is_nested", False))
    )


def plain_tensors(value: Any) -> Iterator[Any]:
    """Yields the plain tensors of an argument or result, with lists flattened."""
    if isinstance(value, (list, tuple)):
        for element in value:
            yield from plain_tensors(element)
    elif is_plain(value):
        yield value


def _data_of(tensor: Any) -> int:
    # data_ptr() would materialize a lazy copy.
    address: int = torch._C._data_address(tensor) if hasattr(torch._C, "_data_address") else tensor.data_ptr()
    return address


def signature(tensor: Any) -> tuple[Any, ...]:
    """Distinguishes views of one storage."""
    return tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype


def describe(tensor: Any, owner: int = 0) -> Any:
    """The graphdbg_tensor of a plain tensor."""
    name = str(tensor.dtype)
    short = name.rpartition(".")[2]
    numbers = ctypes.c_int64 * tensor.dim()
    return _c_api.sized(
        _c_api.Tensor,
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
    """Records which node produced a value, by storage and view (producers.h in the compiled adapter)."""

    def __init__(self) -> None:
        # Outputs of this step's ops.
        self._outputs: dict[int, dict[Any, tuple[int, int]]] = {}
        # Parameters and buffers.
        self._parameters: dict[int, dict[Any, tuple[int, int]]] = {}
        # Weak references, which prevent addresses of storages from being reused.
        self._held: dict[int, Any] = {}

    def _hold(self, tensor: Any) -> int:
        storage = storage_of(tensor)
        address: int = storage._cdata
        if address not in self._held:
            self._held[address] = StorageWeakRef(storage)
        return address

    def record_output(self, tensor: Any, node: int, slot: int, overwrote: bool) -> None:
        views = self._outputs.setdefault(self._hold(tensor), {})
        if overwrote:
            views.clear()
        views[signature(tensor)] = (node, slot)

    def record_parameter(self, tensor: Any, node: int) -> None:
        """Records a parameter or buffer, which stays recorded when the step ends."""
        self._parameters.setdefault(self._hold(tensor), {}).setdefault(signature(tensor), (node, 0))

    def find(self, tensor: Any) -> tuple[int, int]:
        """The node and slot that produced a tensor; node 0 if unknown."""
        address, view = storage_of(tensor)._cdata, signature(tensor)
        parameters, outputs = self._parameters.get(address, {}), self._outputs.get(address, {})
        if view in parameters or view in outputs:
            return parameters.get(view) or outputs[view]
        return next(iter((parameters or outputs).values()), (0, 0))

    def end_step(self) -> None:
        self._outputs.clear()
        self._held = {address: held for address, held in self._held.items() if address in self._parameters}
