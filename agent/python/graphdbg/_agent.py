"""The agent, called through its C interface, for adapters that are written in Python.

Values are passed as handles: the agent retains and releases them, and what one stands
for is looked up here.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import Terminated, _c_api
from ._deferred_signals import DeferredSignals

_KINDS = {
    "op": _c_api.OP,
    "parameter": _c_api.PARAMETER,
    "buffer": _c_api.BUFFER,
    "constant": _c_api.CONSTANT,
    "input": _c_api.INPUT,
}
_CATEGORIES = {
    "other": _c_api.OTHER,
    "weight": _c_api.WEIGHT,
    "gradient": _c_api.GRADIENT,
    "activation": _c_api.ACTIVATION,
    "optimizer": _c_api.OPTIMIZER,
}


@dataclass(frozen=True)
class NodeDeclaration:
    """A node of the graph, as graphdbg_node_info describes it.

    `inputs` are pairs of a node's number and the slot of its output. `outputs` are
    Tensor structures, empty where sizes are known only when the op runs. `order` is the
    node's place in execution order, from 1; 0 for what is not executed. `flags` are some
    of _c_api.NODE_*.
    """

    graph: str
    name: str
    kind: str = "op"
    category: str = "other"
    op_type: str = ""
    stack: _c_api.SourceStack = ()
    inputs: Sequence[tuple[int, int]] = ()
    outputs: Sequence[Any] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    forward_node: int = 0
    order: int = 0
    flags: int = 0


class TooLarge(Exception):
    """The agent accepts no more graphs or nodes. The message names the limit."""


class Agent:
    def __init__(self) -> None:
        self._library = _c_api.load()
        # These calls are only array lookups, so they keep the interpreter's lock.
        library = ctypes.PyDLL(str(_c_api.LIBRARY))
        self._interest = library.graphdbg_interest
        self._interest.argtypes = self._library.graphdbg_interest.argtypes
        self._interests = library.graphdbg_interests
        self._interests.argtypes = self._library.graphdbg_interests.argtypes
        self._agent = ctypes.c_void_p()
        self._signals = DeferredSignals()
        self._handles = itertools.count(1)
        self._level = _c_api.LEVEL_OPS
        self._terminating = False
        # Called by the thread that is about to wait for the user. It must not raise.
        self.before_wait: Callable[[], None] = lambda: None
        # The exception that a signal handler of the program has raised.
        self.raised: Exception | None = None
        # Values by the handles that were passed to the agent: those that are being
        # reported, and those that the agent retains, with their use counts.
        self._reported: dict[int, Any] = {}
        self._retained: dict[int, list[Any]] = {}
        self._lock = threading.Lock()
        # Descriptions of bound tensors, or functions that make one, by the node's number.
        self._bound: dict[int, Any] = {}
        # How often a thread has waited inside the agent.
        self.waits = 0
        # Called after the level has changed, on any thread.
        self.on_level: Callable[[], None] = lambda: None

    # ---- opening and closing

    def open(self, framework: str, version: str, job_name: str, device: str) -> bool:
        """Opens the agent; False if there is nothing to debug."""
        # Kept until the process exits, since the agent calls it until then.
        self._host = _c_api.make_host(
            retain=self._retain,
            release=self._release,
            begin_wait=self._begin_wait,
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

    def _begin_wait(self, _: Any) -> None:
        self.waits += 1
        self._signals.begin_wait()
        self.before_wait()

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
        if callable(bound):
            bound = bound()
        if bound is None or not bound.data or bound.ndim > 64:
            return 1
        for i in range(bound.ndim):
            shape[i] = bound.shape[i]
        ctypes.memmove(out, ctypes.byref(bound), ctypes.sizeof(bound))
        out.contents.shape = shape
        return 0

    def _set_level(self, _: Any, level: int) -> None:
        self._level = level
        self.on_level()

    # ---- the graph

    def declare(self, node: NodeDeclaration) -> int:
        """Declares a node and returns its number. Raises TooLarge."""
        edges = (_c_api.Edge * len(node.inputs))()
        for edge, (producer, slot) in zip(edges, node.inputs, strict=True):
            edge.node, edge.slot = producer, slot
        attributes = (_c_api.Attribute * len(node.attributes))()
        for attribute, (name, value) in zip(attributes, node.attributes.items(), strict=True):
            attribute.name, attribute.value = name.encode(), value.encode()
        info = _c_api.sized(
            _c_api.NodeInfo,
            name=node.name.encode(),
            kind=_KINDS[node.kind],
            category=_CATEGORIES[node.category],
            op_type=node.op_type.encode(),
            stack=_c_api.make_frames(node.stack),
            stack_depth=len(node.stack),
            forward_node=node.forward_node,
            outputs=(_c_api.Tensor * len(node.outputs))(*node.outputs),
            output_count=len(node.outputs),
            inputs=edges,
            input_count=len(edges),
            attributes=attributes,
            attribute_count=len(attributes),
            graph=node.graph.encode(),
            order=node.order,
            flags=node.flags,
        )
        number = ctypes.c_uint32()
        self._check(self._library.graphdbg_declare_node(self._agent, info, number))
        return number.value

    def declare_scope(self, graph: str, name: str, type_name: str) -> None:
        texts = [text.encode() for text in (graph, name, type_name)]
        self._check(self._library.graphdbg_declare_scope_in(self._agent, *texts))

    def _check(self, status: int) -> None:
        if status == _c_api.RESOURCE_EXHAUSTED:
            raise TooLarge(self._library.graphdbg_last_error().decode())

    def bind(self, node: int, description: Any) -> None:
        """Binds a node to a Tensor structure, or to a function that returns one, or None, on any thread."""
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

    def interest_in(self, node: int) -> int:
        """One of _c_api.INTEREST_*; 0 if executions of the node are not to be reported."""
        return int(self._interest(self._agent, node))

    def requires(self, node: int) -> bool:
        """Whether the node's executions must be reported, not only if that is cheap."""
        return bool(self._interest(self._agent, node) == _c_api.INTEREST_REQUIRED)

    def interests(self, nodes: Any, out: Any) -> int:
        """Stores the interest in each of an array of nodes in an array of bytes, and returns the greatest."""
        return int(self._interests(self._agent, nodes, len(nodes), out))

    def seeks_only_nonfinite(self) -> bool:
        """Whether executions are required only in order to find NaN and infinities."""
        return bool(self._library.graphdbg_seeks_only_nonfinite(self._agent))

    def add_repetition(self, nanoseconds: int) -> None:
        """A part of the program has been repeated in order to report its executions, which took this long."""
        self._library.graphdbg_add_repetition(self._agent, nanoseconds)

    def new_handle(self, value: Any) -> int:
        """Returns a new handle for a value that is going to be reported."""
        handle = next(self._handles)
        self._reported[handle] = value
        return handle

    def forget(self, handle: int) -> None:
        self._reported.pop(handle, None)

    def executed(
        self,
        node: int,
        flags: int,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        mode: int,
        iteration: int = 0,
    ) -> None:
        """Reports an execution in `mode`, one of _c_api's; waits while the job is paused there."""
        self.report(_c_api.make_execution(node, flags, inputs, outputs, mode=mode, iteration=iteration))

    def report(self, execution: Any) -> None:
        """Reports an Execution structure; waits while the job is paused there."""
        self._at_boundary(self._library.graphdbg_executed(self._agent, execution))

    def op_failed(self, node: int, message: str) -> None:
        """Reports that an execution has raised an error; waits while the job is paused there."""
        execution = _c_api.make_execution(node, 0, [], [], error=message.encode())
        self._at_boundary(self._library.graphdbg_executed(self._agent, execution))

    def save(self, name: str, collection: str, value: Any) -> None:
        """Records a Tensor structure as the output of a node of this name; waits while the job is paused there."""
        self._at_boundary(
            self._library.graphdbg_save_tensor(self._agent, name.encode(), collection.encode(), ctypes.byref(value))
        )

    def begin_pass(self, mode: int, within_step: bool = False) -> None:
        """What is reported from now on is of this mode, one of _c_api's; within a step until `end_pass`."""
        self._library.graphdbg_begin_pass(self._agent, mode, within_step)

    def end_pass(self) -> None:
        self._library.graphdbg_end_pass(self._agent)

    def start(self) -> None:
        self._at_boundary(self._library.graphdbg_start(self._agent))

    def tested_finite(self, nodes: Any, finite: bool) -> None:
        """Whether tensors bound to an array of nodes, which have been written to, are known to be finite."""
        self._library.graphdbg_tested_finite(self._agent, nodes, len(nodes), finite)

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
