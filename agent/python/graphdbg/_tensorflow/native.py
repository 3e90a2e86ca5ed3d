"""The compiled adapter (agent/adapters/tensorflow), called through ctypes.

The package may contain it; otherwise it is compiled for the installed version of TensorFlow
when it is first used.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from .. import Terminated, _c_api
from .._agent import Agent
from .._build_adapter import Library, build
from .versions import SUPPORTED, is_supported, minor_of
from .xla import Uncompiled

if TYPE_CHECKING:
    from .tap_native import TapNative

_PACKAGE = Path(__file__).resolve().parents[1]
ADAPTER = "libgraphdbg_tensorflow.so"

# A C++ function of TensorFlow, and the libraries that have it, the one of newer versions first.
_EAGER_TENSOR_HANDLE = "_Z18EagerTensor_HandlePK7_object"
_LIBRARIES = ("python/lib_pywrap_tensorflow_common.so", "python/_pywrap_tensorflow_internal.so")


# Called on a thread that does not hold the interpreter's lock.
_StackReader = CFUNCTYPE(None, c_void_p)


class Unsupported(Exception):
    """This version of TensorFlow cannot be followed; the message says so."""


def check(tensorflow: Any) -> None:
    """Raises Unsupported unless the adapters were made for this version."""
    version = str(tensorflow.__version__)
    if not is_supported(version):
        raise Unsupported(f"TensorFlow {version} is not supported, only {SUPPORTED}")


def load(tensorflow: Any) -> Native:
    """Builds the adapter if the package does not contain it. Raises CannotBuild."""
    # The adapter finds the agent because it is loaded already.
    _c_api.load()
    shipped = shipped_adapter(str(tensorflow.__version__))
    if shipped is not None:
        # A TensorFlow of this version that was built in another way may lack what the adapter needs.
        with contextlib.suppress(OSError):
            return Native(ctypes.CDLL(str(shipped)))
    return Native(ctypes.CDLL(str(build(library(tensorflow)))))


def shipped_adapter(version: str) -> Path | None:
    """The adapter in the package for this version of TensorFlow, if there is one."""
    # TensorFlow's C++ interfaces change with each minor version.
    file = _PACKAGE / "lib" / f"tensorflow-{minor_of(version)}" / ADAPTER
    return file if file.exists() and os.environ.get("GRAPHDBG_ADAPTER") != "compile" else None


def library(tensorflow: Any) -> Library:
    """The adapter for this TensorFlow, to build."""
    root = Path(tensorflow.__file__).resolve().parent
    flags: list[str] = []
    for flag in tensorflow.sysconfig.get_compile_flags():
        # Its headers have warnings of their own.
        flags += ["-isystem", flag[2:]] if flag.startswith("-I") else [flag]
    return Library(
        purpose=f"TensorFlow {tensorflow.__version__}",
        key=f"tensorflow-{tensorflow.__version__}",
        file_name=ADAPTER,
        sources="agent/adapters/tensorflow",
        flags=[*flags, f"-DGRAPHDBG_TENSORFLOW_BUILD={tensorflow.version.GIT_VERSION}"],
        links=[
            f"-L{root}",
            "-l:libtensorflow_framework.so.2",
            "-l:libtensorflow_cc.so.2",
            "-Wl,-z,nodelete",
            str(_c_api.LIBRARY),
        ],
        unity_build=True,
    )


def handle_of(tensor: Any) -> int | None:
    """The address of an EagerTensor's handle; None for anything else."""
    if type(tensor).__name__ != "EagerTensor":
        return None
    find = _eager_tensor_handle()
    address: int | None = find(tensor) if find is not None else None
    return address


@functools.cache
def _eager_tensor_handle() -> Any:
    """Returns the address of an EagerTensor's TFE_TensorHandle; None in versions that do not export it."""
    import tensorflow

    for name in _LIBRARIES:
        file = Path(tensorflow.__file__).resolve().parent / name
        if not file.exists():
            continue
        find = getattr(ctypes.PyDLL(str(file)), _EAGER_TENSOR_HANDLE, None)
        if find is not None:
            find.argtypes, find.restype = (ctypes.py_object,), c_void_p
            return find
    return None


class Functions(Protocol):
    """The graphs of the program's functions."""

    def get(self, name: str) -> Any: ...


class Copies(Protocol):
    def name_of(self, context: Any, function: str) -> str:
        """The name of the function to call instead; the same if there is no reason for another."""


class Native:
    """The functions of python_calls.cc, which describes them."""

    # Whether steps are seen that end within a call of a function.
    counts_steps = True

    def __init__(self, library: ctypes.CDLL) -> None:
        types: dict[str, tuple[Any, ...]] = {
            "open": (c_char_p, c_char_p, ctypes.py_object, _StackReader, POINTER(c_char_p), c_size_t),
            "add_frame": (c_void_p, c_char_p, c_int, c_char_p),
            "trace": (c_int,),
            "begin_call": (c_int, c_int),
            "add_op": (c_char_p, c_char_p, c_uint32, c_uint32, c_int, POINTER(c_uint32), c_size_t),
            "add_copy": (c_char_p, c_char_p),
            "bind": (c_uint32, c_void_p),
            "report_gradient": (c_uint32, c_void_p),
            "set_loss_scale": (c_void_p,),
            "scope": (c_char_p, c_int),
            "enter": (c_int, c_void_p),
        }
        for name, arguments in types.items():
            getattr(library, f"graphdbg_tf_{name}").argtypes = arguments
        library.graphdbg_tf_open.restype = c_void_p
        self._library = library
        # Kept as long as the adapter, which calls it.
        self._stack_reader = _StackReader(self._read_stack)
        self.install = library.graphdbg_tf_install
        self.level = library.graphdbg_tf_level
        self.terminating = library.graphdbg_tf_terminating
        self.raise_in_main_thread = library.graphdbg_tf_raise_in_main_thread
        self.start = library.graphdbg_tf_start
        self.step_end = library.graphdbg_tf_step_end
        self.trace = library.graphdbg_tf_trace
        self.begin_call = library.graphdbg_tf_begin_call
        self.end_call = library.graphdbg_tf_end_call
        self.counted_steps = library.graphdbg_tf_counted_steps
        self.counted_steps.restype = c_uint64
        self.enter = library.graphdbg_tf_enter
        self.report_gradient = library.graphdbg_tf_report_gradient

    def open(self, version: str, job_name: str, libraries: Sequence[str]) -> int | None:
        """The address of the agent; None if there is nothing to debug."""
        directories = (c_char_p * len(libraries))(*(each.encode() for each in libraries))
        address: int | None = self._library.graphdbg_tf_open(
            version.encode(), job_name.encode(), Terminated, self._stack_reader, directories, len(libraries)
        )
        return address

    def _read_stack(self, stack: int) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            self._library.graphdbg_tf_add_frame(
                stack, code.co_filename.encode(errors="replace"), frame.f_lineno, code.co_name.encode()
            )
            frame = frame.f_back

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
        """`outputs` and `inputs` are pairs of the node that has made a value and its slot there; 0: not known."""
        producers = (c_uint32 * (2 * len(outputs)))(*(number for output in outputs for number in output))
        self._library.graphdbg_tf_add_op(
            function.encode(), op.encode(), node, flags, int(counts_steps), producers, len(outputs)
        )

    def add_copy(self, function: str, copy: str) -> None:
        self._library.graphdbg_tf_add_copy(function.encode(), copy.encode())

    def bind_variable(self, node: int, variable: Any) -> None:
        self._library.graphdbg_tf_bind(node, handle_of(variable.handle))

    def follow_loss_scale(self, variable: Any) -> None:
        """The loss is multiplied by a variable."""
        self._library.graphdbg_tf_set_loss_scale(handle_of(variable.handle))

    def copies_of(self, functions: Functions, agent: TensorFlowAgent) -> Copies:
        """The copies of functions that run while ops are followed."""
        return Uncompiled(agent.notify, self.add_copy)

    def scope(self, name: str, category: int) -> int:
        number: int = self._library.graphdbg_tf_scope(name.encode(), category)
        return number


class TensorFlowAgent(Agent):
    """The agent with the callbacks of the compiled adapter, or of that with taps."""

    def __init__(self, native: Native | TapNative) -> None:
        super().__init__()
        self.native = native
        # Called before the end of the program is reported.
        self.before_end: Callable[[], None] = lambda: None

    def open_job(self, version: str, job_name: str, libraries: Sequence[str]) -> bool:
        """False if there is nothing to debug."""
        address = self.native.open(version, job_name, libraries)
        self._agent = ctypes.c_void_p(address)
        return address is not None

    def follows_ops(self) -> bool:
        return bool(self.native.level() == _c_api.LEVEL_OPS and not self.native.terminating())

    def is_off(self) -> bool:
        return bool(self.native.level() == _c_api.LEVEL_OFF)

    def close_at_exit(self) -> None:
        if not self.native.terminating():
            self.before_end()
        self.close(Terminated.EXIT_CODE if self.native.terminating() else 0, None, None, None)
