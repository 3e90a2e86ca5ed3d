"""ONNX Runtime's values and a model's initializers, described for the agent."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from .. import _c_api
from .._agent import Agent
from . import elements
from .node_graph import Initializer

_DEVICES = {"cpu": 0, "cuda": 1, "npu": 2, "cann": 2}
_DEVICE_OTHER = 3


def describe(element: int, shape: list[int], data: int, owner: int = 0, device: str = "cpu") -> Any:
    """Makes a graphdbg_tensor.

    `owner` is the same for all values that share the memory, and 0 if the agent
    cannot retain it.
    """
    return _c_api.sized(
        _c_api.Tensor,
        dtype=elements.dtype_of(element),
        device=_DEVICES.get(device, _DEVICE_OTHER),
        data=None if element == elements.STRING else data,
        ndim=len(shape),
        shape=(ctypes.c_int64 * len(shape))(*shape),
        storage_id=owner,
        owner=owner,
        framework_dtype=elements.name_of(element).encode(),
    )


class CannotPassOn(Exception):
    """A value cannot be passed from one piece of a model to another. The message gives the reason."""


class Value:
    """An OrtValue with its producer and its description for the agent."""

    __slots__ = ("_description", "handle", "node", "ort", "slot")

    def __init__(self, ort: Any, node: int, slot: int) -> None:
        self.ort = ort
        self.node = node
        self.slot = slot
        self.handle = 0
        self._description: Any = None

    def passed_on(self) -> Any:
        """The OrtValue as an input of a piece."""
        # ONNX Runtime crashes if an input is an optional without a value.
        if not self.ort.has_value():
            raise CannotPassOn("an optional value is missing")
        return self.ort

    def description(self, agent: Agent) -> Any:
        """The value's graphdbg_tensor; None for sequences and other values that are not tensors."""
        if self._description is None and self.ort.has_value() and self.ort.is_tensor():
            self.handle = agent.new_handle(self.ort)
            ort = self.ort
            self._description = describe(
                ort.element_type(), ort.shape(), ort.data_ptr(), self.handle, ort.device_name().lower()
            )
        return self._description


def empty() -> Any:
    """A graphdbg_tensor without elements."""
    return describe(0, [0], 0)


def ort_value(runtime: Any, array: Any) -> Any:
    """Returns an OrtValue with a copy of an array."""
    value = runtime.OrtValue.ortvalue_from_shape_and_type(list(array.shape), array.dtype.type)._get_c_value()
    packed = array if array.flags.c_contiguous else array.copy("C")
    ctypes.memmove(value.data_ptr(), packed.ctypes.data, packed.nbytes)
    return value


class Files:
    """Files with initializers' values, mapped into memory, so that they are only read when needed."""

    def __init__(self) -> None:
        self._maps: dict[str, tuple[mmap.mmap, int] | None] = {}

    def address(self, initializer: Initializer) -> int:
        """The address of the initializer's values; 0 if they are not available."""
        if initializer.file is None:
            return 0
        if initializer.file not in self._maps:
            self._maps[initializer.file] = self._map(initializer.file)
        mapped = self._maps[initializer.file]
        return mapped[1] + initializer.offset if mapped is not None else 0

    @staticmethod
    def _map(file: str) -> tuple[mmap.mmap, int] | None:
        try:
            with open(file, "rb") as stream:
                # ctypes needs a writable map. It is private, and nothing writes to it.
                mapped = mmap.mmap(stream.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        except (OSError, ValueError):
            return None
        return mapped, ctypes.addressof(ctypes.c_char.from_buffer(mapped))
