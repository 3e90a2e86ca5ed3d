"""The agent, called through its C interface."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Sequence
from typing import Any

from .. import Terminated, _c_api
from .._deferred_signals import DeferredSignals

_KINDS = {"op": _c_api.OP, "parameter": _c_api.PARAMETER, "constant": _c_api.CONSTANT, "input": _c_api.INPUT}
_EXECUTED = frozenset(("op", "input"))
_CATEGORIES = {"other": _c_api.OTHER, "weight": _c_api.WEIGHT, "activation": _c_api.ACTIVATION}


class TooLarge(Exception):
    """The agent accepts no more graphs or nodes. The message names the limit."""


class Agent:
    def __init__(self) -> None:
        self._library = _c_api.load()
        # This call is only an array lookup, so it keeps the interpreter's lock.
        self._interest = ctypes.PyDLL(str(_c_api.LIBRARY)).graphdbg_interest
        self._interest.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
        self._agent = ctypes.c_void_p()
        self._signals = DeferredSignals()
        self._handles = itertools.count(1)
        self._level = _c_api.LEVEL_OPS
        self._terminating = False
        # The exception that a signal handler of the program has raised.
        self.raised: Exception | None = None
        # Values by the handles that were passed to the agent: those that are being
        # reported, and those that the agent retains, with their use counts.
        self._reported: dict[int, Any] = {}
        self._retained: dict[int, list[Any]] = {}
        self._lock = threading.Lock()
        # Descriptions of initializers, by the node's number.
        self._bound: dict[int, Any] = {}

    # ---- opening and closing

    def open(self, version: str, job_name: str, device: str, framework: str = "onnxruntime") -> bool:
        """Opens the agent; False if there is nothing to debug.

        `framework` is "onnx" for a model that is shown and not run.
        """
        # Kept until the process exits, since the agent calls it until then.
        self._host = _c_api.make_host(
            retain=self._retain,
            release=self._release,
            begin_wait=lambda _: self._signals.begin_wait(),
            end_wait=lambda _, token: self._signals.end_wait(),
            interrupted=lambda _, token: int(self._signals.is_interrupted()),
            resolve=self._resolve,
            set_level=self._set_level,
        )
        return _c_api.open_agent(
            self._library,
            self._agent,
            self._host,
            framework=framework,
            framework_version=version,
            job_name=job_name,
            device=device,
        )

    def failed(self, exception: BaseException, type_name: str, message: str, trace: str) -> None:
        _c_api.report_failure(self._library, self._agent, type_name, message, trace)

    def close(self, exit_code: int, type_name: str | None, message: str | None, trace: str | None) -> None:
        _c_api.close_agent(self._library, self._agent, exit_code, type_name, message, trace)

    def close_at_exit(self) -> None:
        self.close(Terminated.EXIT_CODE if self._terminating else 0, None, None, None)

    def notify(self, line: str) -> None:
        _c_api.notify(self._library, self._agent, line)

    # ---- callbacks

    def _retain(self, _: Any, handle: int) -> None:
        with self._lock:
            self._retained.setdefault(handle, [0, self._reported.get(handle)])[0] += 1

    def _release(self, _: Any, handle: int) -> None:
        with self._lock:
            entry = self._retained[handle]
            entry[0] -= 1
            if entry[0] == 0:
                del self._retained[handle]

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
        """Declares a node of model.py. `nodes` are the numbers of the nodes declared before, in executable order."""
        edges = (_c_api.Edge * len(declaration["inputs"]))()
        for edge, (node, slot) in zip(edges, declaration["inputs"], strict=True):
            edge.node, edge.slot = nodes[node], slot
        texts = declaration["attributes"]
        attributes = (_c_api.Attribute * len(texts))()
        for attribute, (name, value) in zip(attributes, texts.items(), strict=True):
            attribute.name, attribute.value = name.encode(), value.encode()
        stack = declaration["stack"]
        info = _c_api.sized(
            _c_api.NodeInfo,
            name=declaration["name"].encode(),
            kind=_KINDS[declaration["kind"]],
            category=_CATEGORIES[declaration["category"]],
            op_type=declaration["op_type"].encode(),
            stack=_c_api.make_frames(stack),
            stack_depth=len(stack),
            outputs=(_c_api.Tensor * len(outputs))(*outputs),
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
        if status == _c_api.RESOURCE_EXHAUSTED:
            raise TooLarge(self._library.graphdbg_last_error().decode())

    def bind(self, node: int, description: Any) -> None:
        self._bound[node] = description
        self._library.graphdbg_bind_tensor(self._agent, node, node)

    # ---- executions

    def follows_ops(self) -> bool:
        return self._level == _c_api.LEVEL_OPS and not self._terminating

    def is_off(self) -> bool:
        return self._level == _c_api.LEVEL_OFF

    def interest(self, node: int) -> bool:
        """Whether executions of the node are to be reported."""
        return bool(self._interest(self._agent, node))

    def requires(self, node: int) -> bool:
        """Whether the node's executions must be reported, not only if that is cheap."""
        return bool(self._interest(self._agent, node) == _c_api.INTEREST_REQUIRED)

    def new_handle(self, value: Any) -> int:
        """Returns a new handle for a value that is going to be reported."""
        handle = next(self._handles)
        self._reported[handle] = value
        return handle

    def forget(self, handle: int) -> None:
        self._reported.pop(handle, None)

    def executed(
        self, node: int, flags: int, inputs: Sequence[Any], outputs: Sequence[Any], iteration: int = 0
    ) -> None:
        execution = _c_api.make_execution(node, flags, inputs, outputs, mode=_c_api.EVAL, iteration=iteration)
        self._at_boundary(self._library.graphdbg_executed(self._agent, execution))

    def start(self) -> None:
        self._at_boundary(self._library.graphdbg_start(self._agent))

    def step_end(self) -> None:
        self._at_boundary(self._library.graphdbg_step_end(self._agent))

    def _at_boundary(self, status: int) -> None:
        try:
            self._signals.deliver()
        except Exception as error:
            self.raised = error
            raise
        # Only once, because `finally` blocks may run sessions, too.
        if status == _c_api.TERMINATE and not self._terminating:
            self._terminating = True
            raise Terminated
