"""NumPy arrays, described for the agent."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from .. import _c_api

Array = Any


def packed(values: Any) -> Array:
    """The values as an array without gaps, which is a copy unless it is one already."""
    return np.ascontiguousarray(values)


def own_copy(values: Any) -> Array:
    """A copy that the program cannot change later."""
    get = getattr(values, "get", None)  # of CuPy
    return np.array(get() if callable(get) else values, order="C")


def describe(array: Array, owner: int = 0) -> Any:
    """A graphdbg_tensor of a packed array. `owner` is the handle by which the agent retains it; 0: it cannot."""
    dtype, name = _known(array.dtype)
    shape = array.shape
    return _c_api.sized(
        _c_api.Tensor,
        dtype=dtype,
        # Much faster than array.ctypes.data.
        data=None if dtype == _c_api.DTYPE_OTHER else array.__array_interface__["data"][0],
        ndim=len(shape),
        shape=(ctypes.c_int64 * max(len(shape), 1))(*shape),
        storage_id=owner,
        owner=owner,
        framework_dtype=name,
    )


@functools.cache
def _known(dtype: Any) -> tuple[int, bytes]:
    """The number of a dtype, and its name, which NumPy puts together anew each time."""
    return _c_api.DTYPES.get(dtype.name, _c_api.DTYPE_OTHER), dtype.name.encode()
