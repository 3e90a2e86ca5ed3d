"""Makes TensorFlow debuggable in this process, right after `import tensorflow`."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import _exit_report
from .._build_adapter import CannotBuild
from .._log import log, warn_not_debugged
from .._process import default_job_name
from .._user_code import library_directories
from . import tap_native
from .calls import Calls, Steps
from .first_training import FirstTraining
from .functions import Declarations, FunctionGraphs
from .gradients import Gradients
from .keras import KerasFollower
from .names import Scopes
from .native import Native, TensorFlowAgent, Unsupported, check, load
from .tap_native import NoTaps, TapNative
from .variables import VariablePaths

_OTHER = (
    "the program uses TensorFlow and another framework, and only the other one is debugged; "
    "set GRAPHDBG_FRAMEWORK=tensorflow to debug TensorFlow instead"
)


def follow() -> None:
    """Follows all functions, ops and optimizers from now on. Never raises."""
    try:
        import tensorflow

        if not _exit_report.may_become_free():
            log(_OTHER)
        elif _exit_report.has_agent():
            # Libraries import TensorFlow for other purposes, too; no adapter is compiled for that.
            FirstTraining(lambda: _install(tensorflow, late=True)).wait()
        else:
            _install(tensorflow, late=False)
    except Exception as error:
        warn_not_debugged(f"cannot follow TensorFlow: {error}")


def _install(tensorflow: Any, late: bool) -> None:
    """Never raises. `late`: the program may have made models already."""
    try:
        if late and not _exit_report.may_become_free():
            log(_OTHER)
            return
        check(tensorflow)
        _Follower(tensorflow, _load(tensorflow)).install(late)
    except (NoTaps, Unsupported) as error:
        warn_not_debugged(str(error))
    except Exception as error:
        warn_not_debugged(f"cannot follow TensorFlow: {error}")


def _load(tensorflow: Any) -> Native | TapNative:
    """The compiled adapter; where it cannot be built, the one with taps. Raises NoTaps."""
    if os.environ.get("GRAPHDBG_ADAPTER") == "taps":
        return tap_native.load(tensorflow)
    try:
        return load(tensorflow)
    except CannotBuild as error:
        try:
            native = tap_native.load(tensorflow)
        except NoTaps as reason:
            raise NoTaps(f"{error}; {reason}") from None
        log(
            f"{error}. Until then TensorFlow's functions run as copies with taps while ops are followed, so their "
            "values may differ in the last bits, and ops outside of functions are not followed"
        )
        return native


class _Follower:
    def __init__(self, tensorflow: Any, native: Native | TapNative) -> None:
        self._tensorflow = tensorflow
        self._native = native
        self._graphs = FunctionGraphs()
        self._scopes = Scopes()
        self._gradients = Gradients()
        self._variables = VariablePaths()
        self._pid = os.getpid()
        self._steps = Steps(native, self._open)
        self._calls = Calls(self._steps, self._graphs, self._gradients)
        self._keras = KerasFollower(self._steps, self._calls, self._scopes, self._variables, self._gradients)

    def install(self, late: bool) -> None:
        from tensorflow.python.eager import backprop, context

        # Before the first op.
        self._native.install()
        self._graphs.install()
        self._gradients.install()
        self._calls.install()
        self._keras.install()
        if late:
            self._keras.adopt(gc.get_objects())
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
            flatten = self._tensorflow.nest.flatten
            if not is_eager():
                graph = default_graph()
                start = graph.version
                result = gradient(tape, target, sources, *args, **kwargs)
                self._gradients.add_range(graph, start, graph.version)
                self._gradients.add_losses(graph, flatten(target))
                self._gradients.add_results(graph, flatten(sources), flatten(result))
                return result
            declarations = self._calls.declarations
            if declarations is not None:
                declarations.parameters.declare(flatten(sources))
            leave = self._keras.around_gradient("", None)
            try:
                result = gradient(tape, target, sources, *args, **kwargs)
            finally:
                if leave is not None:
                    leave()
            if declarations is not None and self._steps.follows_ops():
                declarations.parameters.report_gradients(flatten(sources), flatten(result))
                self._steps.check_termination()
            self._steps.gradients_computed()
            return result

        tape_class.__enter__ = enter_and_begin
        tape_class.gradient = gradient_and_report

    def _open(self) -> TensorFlowAgent | None:
        if os.getpid() != self._pid:
            return None
        if not _exit_report.make_free():
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
