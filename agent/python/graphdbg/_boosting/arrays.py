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


def describe(array: Array) -> Any:
    """A graphdbg_tensor of a packed array, which the agent cannot retain."""
    tensor = _c_api.sized(_c_api.Tensor)
    describe_in(tensor, array, 0)
    return tensor


def describe_in(tensor: Any, array: Array, owner: int) -> None:
    """Describes a packed array in a graphdbg_tensor. The agent retains it by the handle `owner`, unless it is 0."""
    tensor.dtype, tensor.framework_dtype = _known(array.dtype)
    shape = array.shape
    tensor.ndim = len(shape)
    tensor.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    place_in(tensor, array, owner)


def place_in(tensor: Any, array: Array, owner: int) -> None:
    """The same for an array of the type and shape that the structure describes already."""
    # Much faster than array.ctypes.data.
    tensor.data = None if tensor.dtype == _c_api.DTYPE_OTHER else array.__array_interface__["data"][0]
    tensor.storage_id = tensor.owner = owner


@functools.cache
def _known(dtype: Any) -> tuple[int, bytes]:
    """The number of a dtype, and its name, which NumPy puts together anew each time."""
    return _c_api.DTYPES.get(dtype.name, _c_api.DTYPE_OTHER), dtype.name.encode()
