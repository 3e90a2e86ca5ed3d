"""Follows the calls of functions, and finds the steps of the program."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from .. import Terminated, _c_api, _frameworks
from .functions import Declarations, FunctionGraphs
from .gradients import Gradients
from .native import Copies, Native, TensorFlowAgent
from .tap_native import TapNative
from .updates import Updates

# A function that does not train is followed beside other frameworks where it is called again and again.
_CALLS_OF_INFERENCE = 3
# Functions of Keras that only set variables.
_SETUP = re.compile(r"__inference_initialize_variables_\d+$")


class Steps:
    """Starts the job, and ends its steps."""

    def __init__(self, native: Native | TapNative, open_agent: Callable[[], TensorFlowAgent | None]) -> None:
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

    def follows_ops(self) -> bool:
        return self._agent is not None and self._agent.follows_ops()

    def check_termination(self) -> None:
        """After something was reported outside of functions."""
        if self.native.terminating() and not self._ended:
            self.terminate()

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

    def __init__(self, steps: Steps, graphs: FunctionGraphs, gradients: Gradients) -> None:
        self._steps = steps
        self._graphs = graphs
        self._gradients = gradients
        self.declarations: Declarations | None = None
        self._copies: Copies | None = None
        self._thread = threading.local()
        self.updates = Updates(graphs)
        # How often functions have been called before the job has started.
        self._calls: dict[str, int] = {}

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
        updates, repeated = self.updates.find(function)
        counted = repeated and self._steps.native.counts_steps
        is_step = updates or (not self._steps.optimizer_seen and not _SETUP.match(function))
        begins = is_step and (updates or self._steps.agent is not None or self._is_wanted(function))
        agent = self._steps.begin() if begins else self._steps.agent
        if agent is None or agent.is_off():
            return original(context, name, inputs, output_count)
        if agent.follows_ops():
            name = self._prepare(agent, context, function)
        before = agent.native.counted_steps() if counted else 0
        agent.native.begin_call(self._begin_pass(agent, updates), int(counted))
        try:
            result = original(context, name, inputs, output_count)
        except Exception:
            if agent.native.terminating():
                self._steps.terminate()
            raise
        finally:
            agent.native.end_call()
        # Steps inside code that XLA has compiled cannot be counted; then the call is one step.
        if counted and agent.native.counted_steps() != before:
            self._steps.refresh()
        elif is_step:
            self._steps.end()
        return result

    def _is_wanted(self, function: str) -> bool:
        """Whether the job starts with this call. Where another framework is loaded, that one may be what trains."""
        if not _frameworks.others_loaded("tensorflow"):
            return True
        calls = self._calls[function] = self._calls.get(function, 0) + 1
        computes_gradients, _ = self.updates.search(function, self._gradients.are_in)
        return computes_gradients or calls >= _CALLS_OF_INFERENCE

    def _prepare(self, agent: TensorFlowAgent, context: Any, function: str) -> bytes:
        """Declares the function's ops. Returns the name of the function to call."""
        if self.declarations is None:
            return function.encode()
        try:
            self.declarations.declare(function)
            if self._copies is None:
                self._copies = agent.native.copies_of(self._graphs, agent)
            return self._copies.name_of(context, function).encode()
        except Exception as error:
            # An error of graphdbg must not affect the program.
            self.declarations = None
            agent.notify(f"functions are no longer followed: {type(error).__name__}: {error}")
            return function.encode()

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
