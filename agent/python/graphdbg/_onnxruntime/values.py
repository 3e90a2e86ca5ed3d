"""Describes ONNX Runtime's values and a model's initializers to the agent."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from .._mode import c_agent
from . import elements
from .model import Initializer

_DEVICES = {"cpu": 0, "cuda": 1, "npu": 2, "cann": 2}
_DEVICE_OTHER = 3


def describe(element: int, shape: list[int], data: int, owner: int = 0, device: str = "cpu") -> Any:
    """A graphdbg_tensor. `owner` is the same for all who share the memory, and 0 if nobody can keep it."""
    return c_agent.sized(
        c_agent.Tensor,
        dtype=elements.dtype_of(element),
        device=_DEVICES.get(device, _DEVICE_OTHER),
        data=None if element == elements.STRING else data,
        ndim=len(shape),
        shape=(ctypes.c_int64 * len(shape))(*shape),
        storage_id=owner,
        owner=owner,
        framework_dtype=elements.name_of(element).encode(),
    )


class Files:
    """Initializers' values, mapped into memory and not read until somebody looks."""

    def __init__(self) -> None:
        self._maps: dict[str, tuple[mmap.mmap, int] | None] = {}

    def address(self, initializer: Initializer) -> int:
        """Of its values; 0 if they cannot be had."""
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
                # A private map may be written, which ctypes asks for; nobody does.
                mapped = mmap.mmap(stream.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        except (OSError, ValueError):
            return None
        return mapped, ctypes.addressof(ctypes.c_char.from_buffer(mapped))
