"""The agent's C interface (graphdbg/agent.h) for ctypes, and the functions that its callers share.

Calls release the interpreter's lock; callbacks acquire it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
)
from ctypes import c_void_p as void_p
from pathlib import Path
from typing import Any

LIBRARY = Path(__file__).resolve().parent / "lib" / "libgraphdbg.so"

ABI_VERSION = 1
# A flag of Options: the program tests the conditions of training.
OPTION_REPORTS = 1
OK, DETACHED, TERMINATE, INTERRUPTED = 0, 1, 2, 3
INVALID_ARGUMENT, RESOURCE_EXHAUSTED = 4, 5
LEVEL_OFF, LEVEL_STEPS, LEVEL_OPS = 0, 1, 2
OP, PARAMETER, BUFFER, CONSTANT, INPUT = 1, 2, 3, 4, 5
OTHER, WEIGHT, GRADIENT, ACTIVATION, OPTIMIZER = 0, 1, 2, 3, 4
UNINITIALIZED, MOVES_VALUES, EXPLICIT_NONFINITE, IN_PLACE, GIVEN = 1, 2, 4, 8, 16
NODE_RECOMPUTED, NODE_LOSS = 1, 2
INTEREST_REQUIRED = 2
# Numbers of graphdbg_dtype by NumPy's names, which PyTorch and JAX share.
DTYPES = {
    "bool": 1,
    "int8": 2,
    "int16": 3,
    "int32": 4,
    "int64": 5,
    "uint8": 6,
    "uint16": 7,
    "uint32": 8,
    "uint64": 9,
    "float16": 10,
    "bfloat16": 11,
    "float32": 12,
    "float64": 13,
    "complex64": 14,
    "complex128": 15,
    "float8_e4m3fn": 17,
    "float8_e5m2": 18,
}
DTYPE_OTHER = 16
MODE_UNKNOWN, TRAIN, EVAL, PREDICT = 0, 1, 2, 3


class Tensor(Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("dtype", c_int),
        ("device", c_int),
        ("device_id", c_int32),
        ("data", void_p),
        ("ndim", c_uint32),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("storage_id", c_uint64),
        ("owner", void_p),
        ("framework_dtype", c_char_p),
    )


class Frame(Structure):
    _fields_ = (("file", c_char_p), ("line", c_uint32), ("function", c_char_p), ("user", c_int))


class Edge(Structure):
    _fields_ = (("node", c_uint32), ("slot", c_uint32))


class Attribute(Structure):
    _fields_ = (("name", c_char_p), ("value", c_char_p))


class NodeInfo(Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("name", c_char_p),
        ("kind", c_int),
        ("category", c_int),
        ("op_type", c_char_p),
        ("stack", POINTER(Frame)),
        ("stack_depth", c_size_t),
        ("forward_node", c_uint32),
        ("outputs", POINTER(Tensor)),
        ("output_count", c_size_t),
        ("flags", c_uint32),
        ("inputs", POINTER(Edge)),
        ("input_count", c_size_t),
        ("attributes", POINTER(Attribute)),
        ("attribute_count", c_size_t),
        ("graph", c_char_p),
        ("order", c_uint64),
    )


class Input(Structure):
    _fields_ = (("node", c_uint32), ("slot", c_uint32), ("tensor", Tensor))


class Execution(Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("node", c_uint32),
        ("flags", c_uint32),
        ("inputs", POINTER(Input)),
        ("input_count", c_size_t),
        ("outputs", POINTER(Tensor)),
        ("output_count", c_size_t),
        ("grad_scale", c_double),
        ("micro_step", c_uint32),
        ("mode", c_int),
        ("iteration", c_uint32),
        ("error", c_char_p),
    )


class Finding(Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("condition", c_char_p),
        ("node", c_uint32),
        ("message", c_char_p),
        ("source", POINTER(Frame)),
    )


class Ending(Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("exit_code", c_int32),
        ("exception_type", c_char_p),
        ("exception_message", c_char_p),
        ("exception_traceback", c_char_p),
    )


class Host(Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("user", void_p),
        ("retain", CFUNCTYPE(None, void_p, void_p)),
        ("release", CFUNCTYPE(None, void_p, void_p)),
        ("begin_wait", CFUNCTYPE(void_p, void_p)),
        ("end_wait", CFUNCTYPE(None, void_p, void_p)),
        ("interrupted", CFUNCTYPE(c_int, void_p, void_p)),
        ("resolve", CFUNCTYPE(c_int, void_p, void_p, POINTER(Tensor), POINTER(c_int64), POINTER(c_int64))),
        ("set_level", CFUNCTYPE(None, void_p, c_int)),
        ("capture_stack", CFUNCTYPE(c_size_t, void_p, POINTER(Frame), c_size_t)),
        ("current_stream", CFUNCTYPE(void_p, void_p, c_int, c_int32)),
        ("place", CFUNCTYPE(c_int, void_p, POINTER(c_uint32), POINTER(c_uint32))),
    )


class Replica(Structure):
    _fields_ = (("node", c_uint32), ("digest", c_uint64))


class Replicas(Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("group", c_char_p),
        ("group_size", c_uint32),
        ("moment", c_uint64),
        ("replicas", POINTER(Replica)),
        ("count", c_size_t),
    )


class Options(Structure):
    _fields_ = (
        ("struct_size", c_uint32),
        ("abi_version", c_uint32),
        ("framework", c_char_p),
        ("framework_version", c_char_p),
        ("device", c_char_p),
        ("device_id", c_int32),
        ("job_name", c_char_p),
        ("host", POINTER(Host)),
        ("flags", c_uint32),
    )


# A frame of a source stack: file, line, function, and whether it is the user's code.
SourceFrame = tuple[str, int, str, bool]
SourceStack = Sequence[SourceFrame]


def sized(structure: Any, **fields: Any) -> Any:
    """Makes a structure with `struct_size` set."""
    return structure(struct_size=ctypes.sizeof(structure), **fields)


def make_execution(node: int, flags: int, inputs: Sequence[Any], outputs: Sequence[Any], **fields: Any) -> Any:
    """Makes an `Execution`; `inputs` are `Input` and `outputs` are `Tensor` structures."""
    return sized(
        Execution,
        node=node,
        flags=flags,
        inputs=(Input * len(inputs))(*inputs),
        input_count=len(inputs),
        outputs=(Tensor * len(outputs))(*outputs),
        output_count=len(outputs),
        **fields,
    )


def load() -> ctypes.CDLL:
    """Loads the agent and declares the types of its functions."""
    library = ctypes.CDLL(str(LIBRARY))
    arguments: dict[str, tuple[Any, ...]] = {
        "graphdbg_open": (POINTER(Options), POINTER(void_p)),
        "graphdbg_failed": (void_p, POINTER(Ending)),
        "graphdbg_close": (void_p, POINTER(Ending)),
        "graphdbg_declare_node": (void_p, POINTER(NodeInfo), POINTER(c_uint32)),
        "graphdbg_declare_scope": (void_p, c_char_p, c_char_p),
        "graphdbg_declare_scope_in": (void_p, c_char_p, c_char_p, c_char_p),
        "graphdbg_bind_tensor": (void_p, c_uint32, void_p),
        "graphdbg_interest": (void_p, c_uint32),
        "graphdbg_interests": (void_p, POINTER(c_uint32), c_size_t, POINTER(c_uint8)),
        "graphdbg_seeks_only_nonfinite": (void_p,),
        "graphdbg_add_repetition": (void_p, c_uint64),
        "graphdbg_begin_op": (void_p, c_uint32),
        "graphdbg_end_op": (void_p,),
        "graphdbg_start": (void_p,),
        "graphdbg_executed": (void_p, POINTER(Execution)),
        "graphdbg_tested_finite": (void_p, POINTER(c_uint32), c_size_t, c_int),
        "graphdbg_step_end": (void_p,),
        "graphdbg_begin_pass": (void_p, c_int, c_int),
        "graphdbg_end_pass": (void_p,),
        "graphdbg_set_mode": (void_p, c_int),
        "graphdbg_save_tensor": (void_p, c_char_p, c_char_p, POINTER(Tensor)),
        "graphdbg_current": (),
        "graphdbg_notify": (void_p, c_char_p),
        "graphdbg_watches": (void_p, c_char_p),
        "graphdbg_report": (void_p, POINTER(Finding)),
        "graphdbg_compare_replicas": (void_p, POINTER(Replicas)),
        "graphdbg_digest": (void_p, c_uint64, c_size_t),
    }
    for name, types in arguments.items():
        getattr(library, name).argtypes = types
    library.graphdbg_begin_op.restype = library.graphdbg_end_op.restype = None
    library.graphdbg_add_repetition.restype = None
    library.graphdbg_tested_finite.restype = None
    library.graphdbg_last_error.restype = c_char_p
    library.graphdbg_current.restype = void_p
    library.graphdbg_digest.restype = c_uint64
    return library


def make_host(**callbacks: Callable[..., Any]) -> Any:
    """Makes a Host from callbacks by name. It must outlive the agent."""
    types: dict[str, Any] = dict(Host._fields_)
    return sized(Host, **{name: types[name](callback) for name, callback in callbacks.items()})


def open_agent(
    library: ctypes.CDLL,
    agent: void_p,
    host: Any,
    *,
    framework: str,
    framework_version: str,
    job_name: str,
    device: str,
    flags: int = 0,
) -> bool:
    """Opens the agent and stores its handle in `agent`; False if there is nothing to debug.

    `flags` are any of OPTION_*.
    """
    options = sized(
        Options,
        abi_version=ABI_VERSION,
        framework=framework.encode(),
        framework_version=framework_version.encode(),
        device=device.encode(),
        job_name=job_name.encode(),
        host=ctypes.pointer(host),
        flags=flags,
    )
    status: int = library.graphdbg_open(options, agent)
    return status == OK


def close_agent(
    library: ctypes.CDLL,
    agent: void_p,
    exit_code: int,
    exception_type: str | None = None,
    exception_message: str | None = None,
    exception_traceback: str | None = None,
) -> None:
    """Closes the agent with the program's exit code and, if there is one, the uncaught exception."""
    library.graphdbg_close(agent, _ending(exit_code, exception_type, exception_message, exception_traceback))


def report_failure(library: ctypes.CDLL, agent: void_p, type_name: str, message: str, trace: str) -> None:
    """Reports the exception that ends the program, before the agent is closed. May wait for the user."""
    library.graphdbg_failed(agent, _ending(1, type_name, message, trace))


def _ending(exit_code: int, type_name: str | None, message: str | None, trace: str | None) -> Any:
    return sized(
        Ending,
        exit_code=exit_code,
        exception_type=_encoded(type_name),
        exception_message=_encoded(message),
        exception_traceback=_encoded(trace),
    )


def _encoded(text: str | None) -> bytes | None:
    return text.encode(errors="replace") if text is not None else None


def notify(library: ctypes.CDLL, agent: void_p, line: str) -> None:
    """Shows a line to the user, on stderr and on every page that shows the job."""
    library.graphdbg_notify(agent, line.encode(errors="replace"))


def watches(library: ctypes.CDLL, agent: void_p, condition: str | None) -> bool:
    """Whether a watchpoint has this condition of training. None: any of them."""
    return bool(library.graphdbg_watches(agent, _encoded(condition)))


def report_finding(
    library: ctypes.CDLL, agent: void_p, condition: str, node: int, message: str, file: str | None, line: int
) -> bool:
    """Reports a finding about a node, and the user's line that it concerns."""
    finding = sized(Finding, condition=condition.encode(), node=node, message=message.encode(errors="replace"))
    if file is not None:
        finding.source = make_frames([(file, line, "", True)])
    status: int = library.graphdbg_report(agent, finding)
    return status == OK


def compare_replicas(
    library: ctypes.CDLL, agent: void_p, group: str, group_size: int, moment: int, replicas: Sequence[tuple[int, int]]
) -> None:
    """Has the server compare tensors, given as nodes and digests, with those of the group's other ranks."""
    array = (Replica * len(replicas))(*(Replica(node, digest) for node, digest in replicas))
    library.graphdbg_compare_replicas(
        agent,
        sized(
            Replicas, group=group.encode(), group_size=group_size, moment=moment, replicas=array, count=len(replicas)
        ),
    )


def make_frames(stack: SourceStack) -> Any:
    """An array of Frame."""
    frames = (Frame * len(stack))()
    for frame, (file, line, function, user) in zip(frames, stack, strict=True):
        frame.file, frame.line, frame.function, frame.user = file.encode(), line, function.encode(), user
    return frames
