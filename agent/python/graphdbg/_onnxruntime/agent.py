"""The agent, called through its C interface."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .. import Terminated
from .._mode import c_agent
from .._mode.waits import Waits

_LIBRARY = Path(__file__).resolve().parents[1] / "lib" / "libgraphdbg.so"
_KINDS = {"op": c_agent.OP, "parameter": c_agent.PARAMETER, "constant": c_agent.CONSTANT, "input": c_agent.INPUT}
_EXECUTED = frozenset(("op", "input"))
_CATEGORIES = {"other": c_agent.OTHER, "weight": c_agent.WEIGHT, "activation": c_agent.ACTIVATION}


class TooLarge(Exception):
    """The agent takes no more graphs or nodes; the message names the limit."""


class Agent:
    def __init__(self) -> None:
        self._library = c_agent.load(str(_LIBRARY))
        # Without letting go of the interpreter's lock: the call is an array lookup.
        self._interest = ctypes.PyDLL(str(_LIBRARY)).graphdbg_interest
        self._interest.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
        self._agent = ctypes.c_void_p()
        self._waits = Waits()
        self._handles = itertools.count(1)
        self._level = c_agent.LEVEL_OPS
        self._terminating = False
        # What a signal handler of the program's has raised.
        self.raised: Exception | None = None
        # Values by the handles that the agent knows them by: those that it is
        # being told of, and those that it keeps, with how often.
        self._told: dict[int, Any] = {}
        self._kept: dict[int, list[Any]] = {}
        self._lock = threading.Lock()
        # Descriptions of initializers, by the node's number.
        self._bound: dict[int, Any] = {}

    # ---- life

    def open(self, version: str, job_name: str, device: str) -> bool:
        # The agent calls back for as long as the process lives.
        self._host = self._make_host()
        options = c_agent.sized(
            c_agent.Options,
            abi_version=c_agent.ABI_VERSION,
            framework=b"onnxruntime",
            framework_version=version.encode(),
            device=device.encode(),
            job_name=job_name.encode(),
            host=ctypes.pointer(self._host),
        )
        status: int = self._library.graphdbg_open(options, self._agent)
        return status == c_agent.OK

    def _make_host(self) -> Any:
        callbacks: dict[str, Callable[..., Any]] = {
            "retain": self._retain,
            "release": self._release,
            "begin_wait": lambda _: self._waits.begin(),
            "end_wait": lambda _, token: self._waits.end(),
            "interrupted": lambda _, token: int(self._waits.interrupted()),
            "resolve": self._resolve,
            "set_level": self._set_level,
        }
        types: dict[str, Any] = dict(c_agent.Host._fields_)
        return c_agent.sized(c_agent.Host, **{name: types[name](call) for name, call in callbacks.items()})

    def close(self, exit_code: int, type_name: str | None, message: str | None, trace: str | None) -> None:
        texts = [text.encode(errors="replace") if text is not None else None for text in (type_name, message, trace)]
        ending = c_agent.sized(
            c_agent.Ending,
            exit_code=exit_code,
            exception_type=texts[0],
            exception_message=texts[1],
            exception_traceback=texts[2],
        )
        self._library.graphdbg_close(self._agent, ending)

    def close_at_exit(self) -> None:
        self.close(Terminated.EXIT_CODE if self._terminating else 0, None, None, None)

    def notify(self, line: str) -> None:
        self._library.graphdbg_notify(self._agent, line.encode(errors="replace"))

    # ---- callbacks

    def _retain(self, _: Any, handle: int) -> None:
        with self._lock:
            self._kept.setdefault(handle, [0, self._told.get(handle)])[0] += 1

    def _release(self, _: Any, handle: int) -> None:
        with self._lock:
            kept = self._kept[handle]
            kept[0] -= 1
            if kept[0] == 0:
                del self._kept[handle]

    def _resolve(self, _: Any, handle: int, out: Any, shape: Any, strides: Any) -> int:
        bound = self._bound.get(handle)
        if bound is None or not bound.data or bound.ndim > 64:
            return 1
        for i in range(bound.ndim):
            shape[i] = bound.shape[i]
        ctypes.memmove(out, ctypes.byref(bound), ctypes.sizeof(bound))
        out.contents.shape = shape
        return 0

    def _set_level(self, _: Any, level: int) -> None:
        self._level = level

    # ---- the graph

    def declare(self, graph: str, declaration: dict[str, Any], nodes: Sequence[int], outputs: Sequence[Any]) -> int:
        """A node as model.py has it; `nodes` are the numbers of those declared before, in executable order."""
        edges = (c_agent.Edge * len(declaration["inputs"]))()
        for edge, (node, slot) in zip(edges, declaration["inputs"], strict=True):
            edge.node, edge.slot = nodes[node], slot
        texts = declaration["attributes"]
        attributes = (c_agent.Attribute * len(texts))()
        for attribute, (name, value) in zip(attributes, texts.items(), strict=True):
            attribute.name, attribute.value = name.encode(), value.encode()
        stack = declaration["stack"]
        frames = (c_agent.Frame * len(stack))()
        for frame, (file, line, function, user) in zip(frames, stack, strict=True):
            frame.file, frame.line, frame.function, frame.user = file.encode(), line, function.encode(), user
        info = c_agent.sized(
            c_agent.NodeInfo,
            name=declaration["name"].encode(),
            kind=_KINDS[declaration["kind"]],
            category=_CATEGORIES[declaration["category"]],
            op_type=declaration["op_type"].encode(),
            stack=frames,
            stack_depth=len(stack),
            outputs=(c_agent.Tensor * len(outputs))(*outputs),
            output_count=len(outputs),
            inputs=edges,
            input_count=len(edges),
            attributes=attributes,
            attribute_count=len(attributes),
            graph=graph.encode(),
            order=len(nodes) + 1 if declaration["kind"] in _EXECUTED else 0,
        )
        node = ctypes.c_uint32()
        self._check(self._library.graphdbg_declare_node(self._agent, info, node))
        return node.value

    def declare_scope(self, graph: str, name: str, type_name: str) -> None:
        texts = [text.encode() for text in (graph, name, type_name)]
        self._check(self._library.graphdbg_declare_scope_in(self._agent, *texts))

    def _check(self, status: int) -> None:
        if status == c_agent.RESOURCE_EXHAUSTED:
            raise TooLarge(self._library.graphdbg_last_error().decode())

    def bind(self, node: int, description: Any) -> None:
        self._bound[node] = description
        self._library.graphdbg_bind_tensor(self._agent, node, node)

    # ---- executions

    def follows_ops(self) -> bool:
        return self._level == c_agent.LEVEL_OPS and not self._terminating

    def is_off(self) -> bool:
        return self._level == c_agent.LEVEL_OFF

    def interest(self, node: int) -> bool:
        return bool(self._interest(self._agent, node))

    def is_looked_at(self, node: int) -> bool:
        """Not only that its value ought to be there if the program stops elsewhere."""
        return bool(self._interest(self._agent, node) == c_agent.LOOKED_AT)

    def handle_of(self, value: Any) -> int:
        """A new handle for a value that the agent is going to be told of."""
        handle = next(self._handles)
        self._told[handle] = value
        return handle

    def forget(self, handle: int) -> None:
        self._told.pop(handle, None)

    def executed(
        self, node: int, flags: int, inputs: Sequence[Any], outputs: Sequence[Any], iteration: int = 0
    ) -> None:
        execution = c_agent.sized(
            c_agent.Execution,
            node=node,
            flags=flags,
            inputs=(c_agent.Input * len(inputs))(*inputs),
            input_count=len(inputs),
            outputs=(c_agent.Tensor * len(outputs))(*outputs),
            output_count=len(outputs),
            mode=c_agent.EVAL,
            iteration=iteration,
        )
        self._at_boundary(self._library.graphdbg_executed(self._agent, execution))

    def start(self) -> None:
        self._at_boundary(self._library.graphdbg_start(self._agent))

    def step_end(self) -> None:
        self._at_boundary(self._library.graphdbg_step_end(self._agent))

    def _at_boundary(self, status: int) -> None:
        try:
            self._waits.raise_noted()
        except Exception as error:
            self.raised = error
            raise
        # Once: `finally` blocks may run sessions too.
        if status == c_agent.TERMINATE and not self._terminating:
            self._terminating = True
            raise Terminated
