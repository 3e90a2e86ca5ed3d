"""Follows Keras 3 on TensorFlow: the scopes of its layers, its variables and its optimizers."""

from __future__ import annotations

import importlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from .. import _c_api, _import_hook
from .._log import log
from .._optimizer_steps import StepCounter
from .calls import Calls, Steps
from .gradients import Gradients
from .names import Scope, Scopes
from .native import handle_of
from .variables import VariablePaths

# Where Keras defines what is followed. The layers are imported after the backend.
OPTIMIZERS = "keras.src.optimizers.base_optimizer"
_LOSS_SCALING = "keras.src.optimizers.loss_scale_optimizer"
_LAYERS = "keras.src.layers.layer"
_BACKEND = "keras.src.backend.tensorflow.core"


class KerasFollower:
    def __init__(
        self, steps: Steps, calls: Calls, scopes: Scopes, variables: VariablePaths, gradients: Gradients
    ) -> None:
        self._steps = steps
        self._calls = calls
        self._gradients = gradients
        self._scopes = scopes
        self._variables = variables
        self._counter = StepCounter(steps.end)
        self._thread = threading.local()
        # Optimizers whose loss scale is known.
        self._scaling: weakref.WeakSet[Any] = weakref.WeakSet()
        # The numbers of scopes of eager ops, by their paths.
        self._numbers: dict[tuple[str, bool], int] = {}

    def install(self) -> None:
        _after_import(_LAYERS, "layers", self._follow_backend)
        _after_import(OPTIMIZERS, "optimizers", self._follow_optimizers)
        _after_import(_LOSS_SCALING, "scaled losses", self._follow_scaled_losses)

    def adopt(self, candidates: Iterable[object]) -> None:
        """Follows the variables and optimizers among objects that were made before."""
        core, optimizers = sys.modules.get(_BACKEND), sys.modules.get(OPTIMIZERS)
        for candidate in candidates:
            # The classes of some proxies run code when they are asked for their class.
            if core is not None and issubclass(type(candidate), core.Variable):
                self._variables.add(candidate)
            elif optimizers is not None and issubclass(type(candidate), optimizers.BaseOptimizer):
                self._steps.optimizer_seen = True
                self._variables.add_optimizer(candidate)

    # ---- scopes and variables

    def _follow_backend(self) -> None:
        if importlib.import_module("keras.src.backend.config").backend() != "tensorflow":
            return
        core = importlib.import_module(_BACKEND)
        self._wrap_scopes(core.name_scope)
        initialize = core.Variable._initialize

        @wraps(initialize)
        def initialize_and_add(variable: Any, value: Any) -> None:
            initialize(variable, value)
            self._variables.add(variable)

        core.Variable._initialize = initialize_and_add

    def _wrap_scopes(self, name_scope: Any) -> None:
        from tensorflow.python.eager import context
        from tensorflow.python.framework import ops

        current_path = importlib.import_module("keras.src.backend.common.name_scope").current_path
        enter, leave = name_scope.__enter__, name_scope.__exit__

        @wraps(enter)
        def enter_and_add(scope: Any) -> Any:
            result = enter(scope)
            if not scope._pop_on_exit:
                return result
            module = sys.modules.get(OPTIMIZERS)
            is_optimizer = module is not None and isinstance(scope.caller, module.BaseOptimizer)
            if not context.executing_eagerly():
                graph = ops.get_default_graph()
                path = current_path()
                class_name = _class_of(scope.caller, path)
                self._scopes.add(graph, graph.get_name_scope(), Scope(path, is_optimizer, class_name))
            elif self._steps.agent is not None:
                scope._graphdbg_before = self._enter(current_path(), is_optimizer)
            return result

        @wraps(leave)
        def leave_and_restore(scope: Any, *args: Any, **kwargs: Any) -> Any:
            before = scope.__dict__.pop("_graphdbg_before", None)
            if before is not None and self._steps.agent is not None:
                self._steps.agent.native.enter(before, None)
            return leave(scope, *args, **kwargs)

        name_scope.__enter__ = enter_and_add
        name_scope.__exit__ = leave_and_restore

    def _enter(self, path: str, is_optimizer: bool) -> int:
        agent = self._steps.agent
        assert agent is not None
        number = self._numbers.get((path, is_optimizer))
        if number is None:
            prefix, category = ("optimizer", _c_api.OPTIMIZER) if is_optimizer else ("forward", _c_api.ACTIVATION)
            number = self._numbers[path, is_optimizer] = agent.native.scope(f"{prefix}/{path}", category)
        before: int = agent.native.enter(number, None)
        return before

    def around_gradient(self, scope: str, output: Any) -> Callable[[], None] | None:
        """Called before the gradient of an op is computed outside of functions."""
        agent = self._steps.agent
        if agent is None:
            return None
        path = f"backward/{scope}" if scope else "backward"
        number = self._numbers.get((path, False))
        if number is None:
            number = self._numbers[path, False] = agent.native.scope(path, _c_api.GRADIENT)
        before = agent.native.enter(number, handle_of(output))

        def leave() -> None:
            agent.native.enter(before, None)

        return leave

    # ---- optimizers

    def _follow_optimizers(self) -> None:
        from tensorflow.python.eager import context
        from tensorflow.python.framework import ops

        base = importlib.import_module(OPTIMIZERS).BaseOptimizer
        initialize, apply = base.__init__, base.apply

        @wraps(initialize)
        def initialize_and_report(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            initialize(optimizer, *args, **kwargs)
            self._steps.optimizer_seen = True
            self._variables.add_optimizer(optimizer)

        @wraps(apply)
        def apply_and_count(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            # Optimizers may call others, such as the one that scales losses.
            outermost = not getattr(self._thread, "applies", False)
            self._thread.applies = True
            try:
                result = apply(optimizer, *args, **kwargs)
            finally:
                self._thread.applies = not outermost
            if outermost:
                self._follow_loss_scale(optimizer)
                if context.executing_eagerly():
                    self._counter(optimizer)
                else:
                    self._calls.updates.add(ops.get_default_graph(), optimizer)
            return result

        base.__init__ = initialize_and_report
        base.apply = apply_and_count

    def _follow_scaled_losses(self) -> None:
        from tensorflow.python.eager import context
        from tensorflow.python.framework import ops

        scaling = importlib.import_module(_LOSS_SCALING).LossScaleOptimizer
        scale_loss = scaling.scale_loss

        @wraps(scale_loss)
        def scale_and_report(optimizer: Any, loss: Any) -> Any:
            scaled = scale_loss(optimizer, loss)
            if not context.executing_eagerly():
                self._gradients.add_scaled(ops.get_default_graph(), scaled, loss)
            return scaled

        scaling.scale_loss = scale_and_report

    def _follow_loss_scale(self, optimizer: Any) -> None:
        """The loss is multiplied by a variable, so the gradients are too large by it."""
        scale = getattr(optimizer, "dynamic_scale", None)
        value = getattr(scale, "_value", None)
        if value is not None and optimizer not in self._scaling:
            self._scaling.add(optimizer)
            self._steps.native.follow_loss_scale(value)


def _class_of(caller: Any, path: str) -> str:
    """The name of the class of a layer, or of the loss with which a model was compiled; "" for other scopes."""
    layers = sys.modules.get(_LAYERS)
    if layers is not None and isinstance(caller, layers.Layer):
        return type(caller).__name__
    # Losses open scopes in which they are not mentioned.
    return "Loss" if caller is None and path.split("/")[0] == "compile_loss" else ""


def _after_import(name: str, what: str, call: Callable[[], None]) -> None:
    def follow() -> None:
        try:
            call()
        except Exception as error:
            log(f"cannot follow the {what} of this version of Keras: {error!r}")

    _import_hook.after_import(name, follow)
