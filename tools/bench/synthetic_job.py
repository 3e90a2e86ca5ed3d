"""A job with a synthetic graph and without a framework: `synthetic_job.py 100k` reports one
step through the agent's C interface, so that the server gets the graph as from any other
program. It then prints "ready" and makes one step per second until it is terminated."""

from __future__ import annotations

import ctypes
import sys
import time
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

import graphdbg
import synthetic_graphs as graphs

LIBRARY = Path(graphdbg.__file__).parent / "lib" / "libgraphdbg.so"
FLOAT32 = 12


class Tensor(ctypes.Structure):
    _fields_ = (
        ("struct_size", c_uint32), ("dtype", c_int32), ("device", c_int32), ("device_id", c_int32),
        ("data", c_void_p), ("ndim", c_uint32), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("storage_id", c_uint64), ("owner", c_void_p), ("framework_dtype", c_char_p),
    )  # fmt: skip


class Frame(ctypes.Structure):
    _fields_ = (("file", c_char_p), ("line", c_uint32), ("function", c_char_p), ("user", c_int32))


class Options(ctypes.Structure):
    _fields_ = (
        ("struct_size", c_uint32), ("abi_version", c_uint32), ("framework", c_char_p),
        ("framework_version", c_char_p), ("device", c_char_p), ("device_id", c_int32),
        ("job_name", c_char_p), ("host", c_void_p),
    )  # fmt: skip


class NodeInfo(ctypes.Structure):
    _fields_ = (
        ("struct_size", c_uint32), ("name", c_char_p), ("kind", c_int32), ("category", c_int32),
        ("op_type", c_char_p), ("stack", POINTER(Frame)), ("stack_depth", c_size_t), ("forward_node", c_uint32),
        ("outputs", POINTER(Tensor)), ("output_count", c_size_t), ("flags", c_uint32),
    )  # fmt: skip


class Input(ctypes.Structure):
    _fields_ = (("node", c_uint32), ("slot", c_uint32), ("tensor", Tensor))


class Execution(ctypes.Structure):
    _fields_ = (
        ("struct_size", c_uint32), ("node", c_uint32), ("flags", c_uint32), ("inputs", POINTER(Input)),
        ("input_count", c_size_t), ("outputs", POINTER(Tensor)), ("output_count", c_size_t),
        ("grad_scale", c_double), ("micro_step", c_uint32), ("mode", c_int32),
    )  # fmt: skip


def tensor(shape: tuple[int, ...]) -> Tensor:
    dims = (c_int64 * max(1, len(shape)))(*shape)
    return Tensor(ctypes.sizeof(Tensor), FLOAT32, 0, 0, None, len(shape), dims, None, 0, None, b"torch.float32")


def run(builder: graphs.Builder, name: str) -> None:
    agent_library = ctypes.CDLL(str(LIBRARY))
    for function in ("open", "declare_node", "declare_scope", "start", "executed", "step_end"):
        getattr(agent_library, f"graphdbg_{function}").restype = c_int32
    agent = c_void_p()
    options = Options(ctypes.sizeof(Options), 1, b"pytorch", b"2.13.0", b"cpu", 0, name.encode(), None)
    if agent_library.graphdbg_open(ctypes.byref(options), ctypes.byref(agent)) != 0:
        sys.exit("synthetic_job: run it under `graphdbg run`")
    ids: dict[int, int] = {}
    for scope, kind in builder.classes.items():
        agent_library.graphdbg_declare_scope(agent, scope.encode(), kind.encode())
    for node in builder.nodes:
        frames = (Frame * 2)(
            Frame(b"torch/nn/modules/linear.py", 114, b"forward", 0),
            Frame(b"/home/someone/train.py", node.line, b"forward", 1),
        )
        made = tensor(node.shape)
        info = NodeInfo(
            ctypes.sizeof(NodeInfo), node.name.encode(), node.kind, node.category, node.op_type.encode(),
            frames if node.line else None, 2 if node.line else 0, 0, ctypes.pointer(made), 1, 0,
        )  # fmt: skip
        number = c_uint32()
        agent_library.graphdbg_declare_node(agent, ctypes.byref(info), ctypes.byref(number))
        ids[id(node)] = number.value
    agent_library.graphdbg_start(agent)
    for node in builder.nodes:
        if node.kind != graphs.OP:
            continue
        inputs = (Input * max(1, len(node.inputs)))(*(Input(ids[id(i)], 0, tensor(i.shape)) for i in node.inputs))
        made = tensor(node.shape)
        execution = Execution(
            ctypes.sizeof(Execution), ids[id(node)], 0, inputs, len(node.inputs), ctypes.pointer(made), 1, 0.0, 0, 1
        )
        agent_library.graphdbg_executed(agent, ctypes.byref(execution))
    agent_library.graphdbg_step_end(agent)
    print("ready", flush=True)
    while agent_library.graphdbg_step_end(agent) == 0:
        time.sleep(1)


if __name__ == "__main__":
    run(graphs.GRAPHS[sys.argv[1]](), f"synthetic_{sys.argv[1]}.py")
