"""Makes TensorFlow debuggable in this process, right after `import tensorflow`."""

from __future__ import annotations

import os
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


def follow() -> None:
    """Follows all functions, ops and optimizers from now on. Never raises."""
    try:
        import tensorflow

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
        self._steps = Steps(self._open)
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
        enter = backprop.GradientTape.__enter__

        def enter_and_begin(tape: Any) -> Any:
            # A loop of the program's own outside of functions begins here.
            if context.executing_eagerly():
                self._steps.begin()
            return enter(tape)

        backprop.GradientTape.__enter__ = enter_and_begin

    def _open(self) -> TensorFlowAgent | None:
        if os.getpid() != self._pid:
            return None
        if _exit_report.has_agent():
            log(
                "the program uses TensorFlow and another framework, and only the other one is debugged; "
                "set GRAPHDBG_FRAMEWORK=tensorflow to debug TensorFlow instead"
            )
            return None
        agent = TensorFlowAgent(self._native)
        if not agent.open_job(str(self._tensorflow.__version__), default_job_name(), library_directories()):
            return None
        _exit_report.set_agent(agent)
        self._calls.declarations = Declarations(agent, self._graphs, self._scopes, self._gradients, self._variables)
        self._gradients.around_eager = self._keras.around_gradient
        return agent
