"""Tests the results of a function's calls for NaN and infinities."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from . import structure
from .tap_library import TapLibrary, number_of
from .values import Addresses, host_parts


class Results:
    """Those that may be NaN are tested in one call, since a call takes longer than most tests."""

    def __init__(self, jax: Any, avals: Sequence[Any]) -> None:
        self._jax = jax
        self._count = len(avals)
        # Numbers, sizes in bytes and dtypes of those that may be NaN.
        self._tested = [number for number, aval in enumerate(avals) if _may_be_nan(aval)]
        sizes = [int(avals[number].size) * int(avals[number].dtype.itemsize) for number in self._tested]
        dtypes = [number_of(avals[number].dtype.name) for number in self._tested]
        self._sizes = (ctypes.c_uint64 * len(sizes))(*sizes)
        self._dtypes = (ctypes.c_int * len(dtypes))(*dtypes)
        # Made anew for each call, since several threads may call the function.
        self._addresses = ctypes.c_void_p * len(self._tested)

    def are_bad(self, outputs: Sequence[Any], find: Addresses, library: TapLibrary) -> bool:
        """Whether one of the outputs of a call is not finite, or they are not the expected ones. Waits for them."""
        if len(outputs) != self._count:
            return True
        tested = [outputs[number] for number in self._tested]
        # Before the wait, which leaves the processor's caches full of the step's data, and the program waits for
        # what comes after it.
        addresses = find.of(tested)
        arrays = self._addresses(*addresses)
        all_found = all(addresses)
        self._jax.block_until_ready(tested)
        if library.has_nonfinite(arrays, self._sizes, self._dtypes):
            return True
        return not all_found and any(
            self._is_bad_on_devices(array, dtype, library)
            for array, address, dtype in zip(tested, addresses, self._dtypes, strict=True)
            if not address
        )

    @staticmethod
    def _is_bad_on_devices(array: Any, dtype: int, library: TapLibrary) -> bool:
        """Whether an element of an array on several devices is NaN or infinite."""
        return any(
            library.has_nonfinite((ctypes.c_void_p * 1)(part), (ctypes.c_uint64 * 1)(size), (ctypes.c_int * 1)(dtype))
            for part, size in host_parts(array)
        )


def _may_be_nan(aval: Any) -> bool:
    return bool(structure.is_plain(aval)) and aval.dtype.kind not in "iub"
