"""The adapter with taps (agent/adapters/tensorflow_taps), called through ctypes.

It needs no compiler: one library, which the package contains, serves all versions of TensorFlow. It has the methods of
native.Native. Ops of functions are seen in copies of the functions (tapped_functions.py); others are not.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Sequence
from ctypes import CFUNCTYPE, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import Terminated, _c_api
from .tapped_functions import TappedFunctions, TappedOp

if TYPE_CHECKING:
    from .native import Copies, Functions, TensorFlowAgent

_LIBRARY = _c_api.LIBRARY.with_name("libgraphdbg_tensorflow_taps.so")
_TENSORFLOW = "libtensorflow_framework.so.2"
# Called on a thread that does not hold the interpreter's lock.
_Reader = CFUNCTYPE(None, c_uint32)


class NoTaps(Exception):
    """Taps cannot be used; the message says why."""


def load(tensorflow: Any) -> TapNative:
    """Raises NoTaps."""
    if not _LIBRARY.exists():
        raise NoTaps("this installation of graphdbg has no library with taps")
    # The library finds the agent because it is loaded already.
    _c_api.load()
    native = TapNative(ctypes.CDLL(str(_LIBRARY)))
    file = Path(tensorflow.__file__).resolve().parent / _TENSORFLOW
    if native.register(str(file)) != 0:
        raise NoTaps(f"{file} lacks a part of TensorFlow's C interface")
    return native


class TapNative:
    counts_steps = False

    def __init__(self, library: ctypes.CDLL) -> None:
        types: dict[str, tuple[Any, ...]] = {
            "install": (c_char_p,),
            "open": (c_char_p, c_char_p, _Reader),
            "trace": (c_int,),
            "set_mode": (c_int,),
            "set_loss_scale": (c_double,),
            "bind": (c_uint32,),
            "set_value": (c_uint32, c_int, c_void_p, ctypes.POINTER(c_int64), c_size_t),
        }
        for name, arguments in types.items():
            getattr(library, f"graphdbg_taps_{name}").argtypes = arguments
        library.graphdbg_taps_open.restype = c_void_p
        self._library = library
        # Kept as long as the library, which calls it.
        self._reader = _Reader(self._read)
        self.level = library.graphdbg_taps_level
        self.terminating = library.graphdbg_taps_terminating
        self.trace = library.graphdbg_taps_trace
        # By function and op.
        self.ops: dict[str, dict[str, TappedOp]] = {}
        self._variables: dict[int, weakref.ref[Any]] = {}
        # What has been read since the last step.
        self._values: dict[int, Any] = {}
        self._loss_scale: weakref.ref[Any] | None = None

    def register(self, file: str) -> int:
        """Registers the tap with TensorFlow, whose library this is. 0 if that has succeeded."""
        return int(self._library.graphdbg_taps_install(file.encode()))

    def install(self) -> None:
        """There is nothing to do before the first op."""

    def open(self, version: str, job_name: str, libraries: Sequence[str]) -> int | None:
        address: int | None = self._library.graphdbg_taps_open(version.encode(), job_name.encode(), self._reader)
        return address

    def raise_in_main_thread(self) -> None:
        main = threading.main_thread().ident
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main or 0), ctypes.py_object(Terminated))

    # ---- steps

    def start(self) -> int:
        return int(self._library.graphdbg_taps_start())

    def step_end(self) -> int:
        self._forget_values()
        variable = self._loss_scale() if self._loss_scale is not None else None
        if variable is not None:
            self._library.graphdbg_taps_set_loss_scale(float(variable.numpy()))
        return int(self._library.graphdbg_taps_step_end())

    def begin_call(self, mode: int, counts_steps: int) -> None:
        self._library.graphdbg_taps_set_mode(mode)

    def end_call(self) -> None:
        """Calls are not told apart."""

    def counted_steps(self) -> int:
        return 0

    # ---- ops

    def add_op(
        self,
        function: str,
        op: str,
        node: int,
        flags: int,
        counts_steps: bool,
        outputs: Sequence[tuple[int, int]],
        inputs: Sequence[tuple[int, int]] = (),
    ) -> None:
        """As Native.add_op."""
        if node:
            self.ops.setdefault(function, {})[op] = TappedOp(node, flags, inputs)

    def copies_of(self, functions: Functions, agent: TensorFlowAgent) -> Copies:
        return TappedFunctions(functions, self.ops)

    def scope(self, name: str, category: int) -> int:
        """Ops outside of functions are not seen."""
        return 0

    def enter(self, scope: int, forward_output: int | None) -> int:
        return 0

    def report_gradient(self, node: int, gradient: int | None) -> None:
        """Ops outside of functions are not seen."""

    # ---- variables

    def bind_variable(self, node: int, variable: Any) -> None:
        self._variables[node] = weakref.ref(variable)
        self._library.graphdbg_taps_bind(node)

    def follow_loss_scale(self, variable: Any) -> None:
        self._loss_scale = weakref.ref(variable)

    def _read(self, node: int) -> None:
        """Called between steps only, when no function runs."""
        variable = self._variables[node]() if node in self._variables else None
        if variable is None:
            return
        try:
            # The value of a scalar is no array.
            value = self._values[node] = np.asarray(variable.numpy())
        except Exception:
            return
        dtype = _c_api.DTYPES.get(value.dtype.name, _c_api.DTYPE_OTHER)
        shape = (c_int64 * max(value.ndim, 1))(*value.shape)
        self._library.graphdbg_taps_set_value(node, dtype, value.ctypes.data, shape, value.ndim)

    def _forget_values(self) -> None:
        shape = (c_int64 * 1)()
        for node in self._values:
            self._library.graphdbg_taps_set_value(node, _c_api.DTYPE_OTHER, None, shape, 0)
        self._values.clear()
