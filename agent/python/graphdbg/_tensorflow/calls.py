"""Follows the calls of functions, and finds the steps of the program."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable
from typing import Any

from .. import Terminated, _c_api
from .functions import Declarations, FunctionGraphs
from .native import Native, TensorFlowAgent
from .xla import Uncompiled

# Functions of Keras that only set variables.
_SETUP = re.compile(r"__inference_initialize_variables_\d+$")


class Steps:
    """Starts the job, and ends its steps."""

    def __init__(self, native: Native, open_agent: Callable[[], TensorFlowAgent | None]) -> None:
        self.native = native
        self._open = open_agent
        self._agent: TensorFlowAgent | None = None
        self._started = False
        self._ended = False
        self._open_step = False
        # Whether the program has made an optimizer.
        self.optimizer_seen = False

    def begin(self) -> TensorFlowAgent | None:
        """Called before the first op of a step. None if nothing is to be debugged."""
        self.end_open()
        if not self._started:
            self._started = True
            self._agent = self._open()
            if self._agent is not None:
                self._at_boundary(self._agent.native.start())
        return self._agent

    @property
    def agent(self) -> TensorFlowAgent | None:
        """The agent if the job has started."""
        return self._agent

    def end(self) -> None:
        if self._agent is not None:
            self._at_boundary(self._agent.native.step_end())

    def gradients_computed(self) -> None:
        """Without an optimizer, the step ends before the next one begins."""
        self._open_step = not self.optimizer_seen

    def end_open(self) -> None:
        if self._open_step:
            self._open_step = False
            self.end()

    def refresh(self) -> None:
        """After a call in which steps have ended."""
        if self._agent is not None:
            self._agent.native.trace(int(self._agent.follows_ops()))

    def _at_boundary(self, status: int) -> None:
        self.refresh()
        # Only once, because `finally` blocks may call functions, too.
        if status == _c_api.TERMINATE and not self._ended:
            self.terminate()

    def terminate(self) -> None:
        """Ends the program, as the user has requested."""
        self._ended = True
        if threading.current_thread() is not threading.main_thread() and self._agent is not None:
            self._agent.native.raise_in_main_thread()
        raise Terminated from None


class Calls:
    """Replaces Context.call_function, through which Python calls functions."""

    def __init__(self, steps: Steps, graphs: FunctionGraphs) -> None:
        self._steps = steps
        self._graphs = graphs
        self.declarations: Declarations | None = None
        self._uncompiled: Uncompiled | None = None
        self._thread = threading.local()
        # Graphs in which an optimizer updates variables.
        self._updating: weakref.WeakSet[Any] = weakref.WeakSet()
        # Of the functions that have been called: whether they contain such a graph, and
        # whether it is in a loop.
        self._updates: dict[str, tuple[bool, bool]] = {}

    def updates_variables(self, graph: Any) -> None:
        """Called when an optimizer adds its ops to a graph."""
        self._updating.add(graph)

    def install(self) -> None:
        from tensorflow.python.eager.context import Context

        original = Context.call_function

        def call_function(context: Any, name: Any, inputs: Any, output_count: Any) -> Any:
            if getattr(self._thread, "inside", False):
                return original(context, name, inputs, output_count)
            self._thread.inside = True
            try:
                return self._call(original, context, name, inputs, output_count)
            finally:
                self._thread.inside = False

        Context.call_function = call_function

    def _call(self, original: Any, context: Any, name: Any, inputs: Any, output_count: Any) -> Any:
        function = name.decode()
        updates, in_loop = self._find_updates(function)
        is_step = updates or (not self._steps.optimizer_seen and not _SETUP.match(function))
        agent = self._steps.begin() if is_step else self._steps.agent
        if agent is None or agent.is_off():
            return original(context, name, inputs, output_count)
        if agent.follows_ops():
            name = self._prepare(agent, context, function)
        agent.native.begin_call(self._begin_pass(agent, updates), int(in_loop))
        try:
            result = original(context, name, inputs, output_count)
        except Exception:
            if agent.native.terminating():
                self._steps.terminate()
            raise
        finally:
            agent.native.end_call()
        if in_loop:
            self._steps.refresh()
        elif is_step:
            self._steps.end()
        return result

    def _prepare(self, agent: TensorFlowAgent, context: Any, function: str) -> bytes:
        """Declares the function's ops. Returns the name of the function to call."""
        if self.declarations is None:
            return function.encode()
        self.declarations.declare(function)
        if self._uncompiled is None:
            self._uncompiled = Uncompiled(agent)
        return self._uncompiled.name_of(context, function).encode()

    def _begin_pass(self, agent: TensorFlowAgent, updates: bool) -> int:
        """Tells the agent the purpose of the call, and returns it."""
        if updates:
            agent.begin_pass(_c_api.TRAIN)
            return _c_api.TRAIN
        if self._steps.optimizer_seen:
            agent.begin_pass(_c_api.EVAL, within_step=True)
            return _c_api.EVAL
        agent.begin_pass(_c_api.PREDICT)
        return _c_api.PREDICT

    def _find_updates(self, function: str) -> tuple[bool, bool]:
        known = self._updates.get(function)
        if known is None:
            known = self._updates[function] = self._search_updates(function, False, set())
        return known

    def _search_updates(self, function: str, in_loop: bool, seen: set[str]) -> tuple[bool, bool]:
        graph = self._graphs.get(function)
        if graph is None or function in seen:
            return False, False
        seen.add(function)
        if graph in self._updating:
            return True, in_loop
        for op in graph.get_operations():
            for body, loops in _called(op):
                found = self._search_updates(body, in_loop or loops, seen)
                if found[0]:
                    return found
        return False, False


def _called(op: Any) -> list[tuple[str, bool]]:
    """The functions that an op calls, and whether in a loop."""
    from . import op_types

    if op.type in op_types.LOOPS:
        return [(op.get_attr("body").name, True)]
    if op.type in op_types.CASES:
        return [(branch.name, False) for branch in op.get_attr("branches")]
    attributes = op_types.CALLS.get(op.type) or op_types.BRANCHES.get(op.type) or ()
    return [(op.get_attr(name).name, False) for name in attributes]
