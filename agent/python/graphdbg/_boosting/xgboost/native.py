"""XGBoost's C interface, where its Python functions do more than is needed in each round."""

from __future__ import annotations

import ctypes
import json
from typing import Any

import numpy as np

from ..arrays import Array

_FORMAT = json.dumps({"format": "ubj"}).encode()
# All rounds, and margins, as Booster.predict asks for them.
_MARGINS = json.dumps(
    {"type": 1, "training": False, "iteration_begin": 0, "iteration_end": 0, "strict_shape": False}
).encode()
_Length = ctypes.c_uint64
_Numbers = ctypes.POINTER(ctypes.c_float)


class Native:
    def __init__(self, core: Any) -> None:
        """`core` is the module xgboost.core."""
        self._library = core._LIB
        self._check = core._check_call

    def model_of_round(self, booster: Any, round_: int) -> bytes:
        """The model of one round, from 1, in Universal Binary JSON. Linear boosters raise XGBoostError."""
        handle = ctypes.c_void_p()
        self._check(self._library.XGBoosterSlice(booster.handle, round_ - 1, round_, 1, ctypes.byref(handle)))
        try:
            return self._saved(handle)
        finally:
            self._check(self._library.XGBoosterFree(handle))

    def _saved(self, handle: Any) -> bytes:
        length, text = _Length(), ctypes.POINTER(ctypes.c_char)()
        self._check(self._library.XGBoosterSaveModelToBuffer(handle, _FORMAT, ctypes.byref(length), ctypes.byref(text)))
        return ctypes.string_at(text, length.value)

    def margins(self, booster: Any, data: Any) -> Array:
        """A copy of the margins that the library keeps for its training data."""
        shape, dimensions, values = ctypes.POINTER(_Length)(), _Length(), _Numbers()
        self._check(
            self._library.XGBoosterPredictFromDMatrix(
                booster.handle,
                data.handle,
                _MARGINS,
                ctypes.byref(shape),
                ctypes.byref(dimensions),
                ctypes.byref(values),
            )
        )
        sizes = shape[: dimensions.value]
        return _copied(values, int(np.prod(sizes))).reshape(sizes)

    def numbers(self, data: Any, name: bytes, before: Array | None) -> Array:
        """A copy of what `DMatrix.get_float_info` returns: `before`, an earlier one, if that has the same numbers."""
        length, values = _Length(), _Numbers()
        self._check(self._library.XGDMatrixGetFloatInfo(data.handle, name, ctypes.byref(length), ctypes.byref(values)))
        count = length.value
        if before is not None and before.size == count and _is_same(before, values):
            return before
        return _copied(values, count)


def _copied(values: Any, count: int) -> Array:
    copy = np.empty(count, np.float32)
    if count:
        ctypes.memmove(copy.ctypes.data, values, copy.nbytes)
    return copy


def _is_same(array: Array, values: Any) -> bool:
    return not array.nbytes or _compare(array.__array_interface__["data"][0], values, array.nbytes) == 0


_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
