"""Makes TensorFlow debuggable in this process, right after `import tensorflow`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import _exit_report
from .._build_adapter import CannotBuild
from .._log import log, warn_not_debugged
from .._process import default_job_name
from .._torch.user_code import library_directories
from .calls import Calls, Steps
from .functions import Declarations, FunctionGraphs
from .gradients import Gradients
from .keras import KerasFollower
from .names import Scopes
from .native import Native, TensorFlowAgent, Unsupported, load
from .variables import VariablePaths

_OTHER = (
    "the program uses TensorFlow and another framework, and only the other one is debugged; "
    "set GRAPHDBG_FRAMEWORK=tensorflow to debug TensorFlow instead"
)


def follow() -> None:
    """Follows all functions, ops and optimizers from now on. Never raises."""
    try:
        import tensorflow

        if _exit_report.has_agent():
            # Libraries import TensorFlow for other purposes, too; no adapter is compiled for that.
            log(_OTHER)
            return
        _Follower(tensorflow, load(tensorflow)).install()
    except (CannotBuild, Unsupported) as error:
        warn_not_debugged(str(error))
    except Exception as error:
        warn_not_debugged(f"cannot follow TensorFlow: {error}")


class _Follower:
    def __init__(self, tensorflow: Any, native: Native) -> None:
        self._tensorflow = tensorflow
        self._native = native
        self._graphs = FunctionGraphs()
        self._scopes = Scopes()
        self._gradients = Gradients()
        self._variables = VariablePaths()
        self._pid = os.getpid()
        self._steps = Steps(native, self._open)
        self._calls = Calls(self._steps, self._graphs)
        self._keras = KerasFollower(self._steps, self._calls, self._scopes, self._variables)

    def install(self) -> None:
        from tensorflow.python.eager import backprop, context

        # Before the first op.
        self._native.install()
        self._graphs.install()
        self._gradients.install()
        self._calls.install()
        self._keras.install()
        self._follow_tapes(backprop.GradientTape, context.executing_eagerly)

    def _follow_tapes(self, tape_class: Any, is_eager: Callable[[], bool]) -> None:
        """A step of the program's own outside of functions begins with a tape."""
        from tensorflow.python.framework.ops import get_default_graph as default_graph

        enter, gradient = tape_class.__enter__, tape_class.gradient

        @wraps(enter)
        def enter_and_begin(tape: Any) -> Any:
            if is_eager():
                self._steps.begin()
            return enter(tape)

        @wraps(gradient)
        def gradient_and_report(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_eager():
                graph = default_graph()
                start = graph.version
                result = gradient(tape, target, sources, *args, **kwargs)
                self._gradients.add_range(graph, start, graph.version)
                return result
            if self._calls.declarations is not None:
                self._calls.declarations.declare_parameters(self._tensorflow.nest.flatten(sources))
            leave = self._keras.around_gradient("", None)
            try:
                result = gradient(tape, target, sources, *args, **kwargs)
            finally:
                if leave is not None:
                    leave()
            self._steps.gradients_computed()
            return result

        tape_class.__enter__ = enter_and_begin
        tape_class.gradient = gradient_and_report

    def _open(self) -> TensorFlowAgent | None:
        if os.getpid() != self._pid:
            return None
        if _exit_report.has_agent():
            log(_OTHER)
            return None
        agent = TensorFlowAgent(self._native)
        if not agent.open_job(str(self._tensorflow.__version__), default_job_name(), library_directories()):
            return None
        agent.before_end = self._steps.end_open
        _exit_report.set_agent(agent)
        self._calls.declarations = Declarations(agent, self._graphs, self._scopes, self._gradients, self._variables)
        self._gradients.around_eager = self._keras.around_gradient
        return agent
