"""The library with the taps' handlers (agent/adapters/jax/tap.cc)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._build_adapter import CannotBuild, Library, build

_MAX_RANK = 16
# Limits of one run of a function with taps.
_MAX_ITERATIONS = 100
_MAX_BYTES = 4 << 30


# Names by XLA's numbers of element types.
_DTYPES = {
    1: "bool",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "uint8",
    7: "uint16",
    8: "uint32",
    9: "uint64",
    10: "float16",
    11: "float32",
    12: "float64",
    15: "complex64",
    16: "bfloat16",
    18: "complex128",
    19: "float8_e5m2",
    20: "float8_e4m3fn",
}


_NUMBERS = {name: number for number, name in _DTYPES.items()}


def number_of(dtype: str) -> int:
    """XLA's number of an element type; 0 if it is not known here."""
    return _NUMBERS.get(dtype, 0)


class _Tapped(ctypes.Structure):
    _fields_ = (
        ("tap", ctypes.c_int64),
        ("iteration", ctypes.c_int64),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_uint32),
        ("shape", ctypes.c_int64 * _MAX_RANK),
    )


class Tapped:
    """A value that a tap has copied. Owns the memory."""

    __slots__ = ("_free", "address", "bytes", "dtype", "iteration", "shape")

    def __init__(self, value: _Tapped, free: Callable[[int], None]) -> None:
        self.dtype = _DTYPES.get(value.dtype, "other")
        self._free = free
        self.address = value.data
        self.bytes = value.bytes
        self.iteration = value.iteration
        self.shape = list(value.shape[: value.rank])

    def content(self) -> bytes:
        return ctypes.string_at(self.address, self.bytes)

    def __del__(self) -> None:
        self._free(self.address)


class TapLibrary:
    def __init__(self) -> None:
        """Compiles the library if necessary and registers its handlers. Raises CannotBuild."""
        import jax

        include = Path(jax.ffi.include_dir())
        self._library = library = ctypes.CDLL(str(build(_library(include, jax.lib.__version__))))
        library.graphdbg_taps_begin.argtypes = (ctypes.c_int64, ctypes.c_uint64)
        library.graphdbg_taps_begin.restype = None
        library.graphdbg_taps_end.argtypes = (ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64))
        library.graphdbg_taps_end.restype = ctypes.POINTER(_Tapped)
        library.graphdbg_taps_nonfinite.argtypes = (
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.POINTER(ctypes.c_uint64),
            ctypes.POINTER(ctypes.c_int),
            ctypes.c_uint64,
        )
        self._free = ctypes.PyDLL(library._name).graphdbg_taps_free
        self._free.argtypes = (ctypes.c_void_p,)
        self._free.restype = None
        for name in ("graphdbg_tap_observe", "graphdbg_tap_pass"):
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")

    def has_nonfinite(self, addresses: Any, sizes: Any, dtypes: Any) -> bool:
        """Whether an element of one of these arrays is NaN or infinite.

        The arguments are arrays of C: for each array, its address, 0 to leave it out, its
        size in bytes and the number_of() its dtype.
        """
        return bool(self._library.graphdbg_taps_nonfinite(addresses, sizes, dtypes, len(addresses)))

    def collect(self, run: Callable[[], Any]) -> tuple[dict[int, list[Tapped]], int]:
        """Calls `run` and returns the values by tap, in order of iterations, and how many were not kept."""
        self._library.graphdbg_taps_begin(_MAX_ITERATIONS, _MAX_BYTES)
        try:
            run()
        finally:
            count, omitted = ctypes.c_uint64(), ctypes.c_uint64()
            values = self._library.graphdbg_taps_end(count, omitted)
            found: dict[int, list[Tapped]] = {}
            for i in range(count.value):
                if values[i].data:
                    found.setdefault(values[i].tap, []).append(Tapped(values[i], self._free))
        for each in found.values():
            each.sort(key=lambda value: value.iteration)
        return found, omitted.value


def _library(include: Path, version: str) -> Library:
    if not (include / "xla" / "ffi" / "api" / "ffi.h").exists():
        raise CannotBuild(f"this jaxlib has no C++ headers in {include}")
    return Library(
        purpose=f"jaxlib {version}",
        key=f"jaxlib-{version}",
        file_name="libgraphdbg_jax.so",
        sources="agent/adapters/jax",
        flags=["-std=c++17", "-O3", "-isystem", str(include)],
        links=["-Wl,-z,nodelete"],
    )
