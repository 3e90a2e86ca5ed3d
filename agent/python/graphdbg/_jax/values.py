"""Arrays and copied values, described for the agent."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from .. import _c_api
from . import structure

_CPU = 0
_MOST_SHARDINGS = 4096


def describe(dtype: Any, shape: Sequence[int], address: int = 0, owner: int = 0) -> Any:
    """Makes a graphdbg_tensor in row-major order. `owner` is 0 if the agent cannot retain it."""
    name = str(dtype)
    return _c_api.sized(
        _c_api.Tensor,
        dtype=_c_api.DTYPES.get(name, _c_api.DTYPE_OTHER),
        device=_CPU,
        data=address or None,
        ndim=len(shape),
        shape=(ctypes.c_int64 * len(shape))(*shape),
        storage_id=owner,
        owner=owner,
        framework_dtype=name.encode(),
    )


def empty() -> Any:
    """A graphdbg_tensor without elements."""
    return describe("float32", [0])


class HostArray:
    """An array of JAX, or one that JAX accepts as an argument, in the memory of the host."""

    def __init__(self, array: Any) -> None:
        """Waits for the array. Copies it unless it is on one CPU device."""
        import numpy as np

        self._array = array
        self.address = _address_of(array)
        if not self.address:
            self._array = np.asarray(array, order="C")
            self.address = self._array.ctypes.data
        self.dtype = self._array.dtype
        self.shape = list(self._array.shape)


def host_parts(array: Any) -> list[tuple[int, int]]:
    """Address and size in bytes of each different part of an array in host memory, when it is ready."""
    if not hasattr(array, "sharding") or not structure.is_plain(array.aval):
        return []
    shards = array.addressable_shards
    parts = [shard.data for shard in (shards[:1] if array.sharding.is_fully_replicated else shards)]
    return [(address, part.nbytes) for part in parts if (address := _address_of(part))]


class Addresses:
    """Finds the memory of the results of calls, quickly where they are on one CPU device."""

    def __init__(self) -> None:
        # Shardings on one CPU device, by their ids. JAX makes one for each result of a function.
        self._known: dict[int, Any] = {}

    def of(self, results: Sequence[Any]) -> list[int]:
        """The addresses of results of one call, which are on the same devices; 0 for others.

        The results need not be ready: their memory is allotted when the call is made.
        """
        try:
            if results and self._is_one_cpu(results[0].sharding):
                return [array.unsafe_buffer_pointer() for array in results]
        except Exception:
            # The first one does not tell where the others are.
            pass
        return [0] * len(results)

    def _is_one_cpu(self, sharding: Any) -> bool:
        if id(sharding) not in self._known:
            if not _is_one_cpu(sharding):
                return False
            if len(self._known) == _MOST_SHARDINGS:
                self._known.clear()
            self._known[id(sharding)] = sharding
        return True


def _is_one_cpu(sharding: Any) -> bool:
    return len(sharding.device_set) == 1 and next(iter(sharding.device_set)).platform == "cpu"


def _address_of(array: Any) -> int:
    """The address of an array on one CPU device; 0 for others."""
    sharding = getattr(array, "sharding", None)
    if sharding is None or not _is_one_cpu(sharding):
        return 0
    try:
        array.block_until_ready()
        return int(array.unsafe_buffer_pointer())
    except Exception:
        return 0
