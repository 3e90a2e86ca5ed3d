"""Observes programs that train with JAX, whatever library is on top of it."""

from __future__ import annotations

import functools
import weakref
from typing import Any

from .._jax import versions
from .._jax.seam import Seam
from .._jax.steps import Role, role_of
from . import arrays
from .first_steps import FirstSteps
from .guard import guarded
from .progress import Progress


def install(progress: Progress, _: str) -> None:
    import jax
    from jax._src import pjit

    progress.framework_imported("JAX", str(jax.__version__))
    versions.check(str(jax.__version__), pjit)
    # The frames of libraries tell the stage of an error.
    jax.config.update("jax_traceback_filtering", "off")
    watcher = _Watcher(progress, jax)
    jax.value_and_grad = watcher.around_differentiation(jax.value_and_grad, has_value=True)
    jax.grad = watcher.around_differentiation(jax.grad, has_value=False)
    Seam(pjit, watcher).install()


class _Watcher:
    """Implements Calls of _jax/seam.py: no followed function takes the fast path."""

    def __init__(self, progress: Progress, jax: Any) -> None:
        self._progress = progress
        self._jax = jax
        self._steps = FirstSteps(progress)
        self._roles: weakref.WeakKeyDictionary[Any, Role] = weakref.WeakKeyDictionary()
        # Gradients have been found that nothing has applied yet.
        self._is_open = False

    # ---- differentiated functions

    def around_differentiation(self, differentiate: Any, has_value: bool) -> Any:
        """Around jax.grad and jax.value_and_grad."""

        @functools.wraps(differentiate)
        def watched(function: Any, *args: Any, **kwargs: Any) -> Any:
            argument = kwargs.get("argnums", args[0] if args else 0)
            positions = (argument,) if isinstance(argument, int) else tuple(argument)

            @functools.wraps(function)
            def forward(*inputs: Any, **named: Any) -> Any:
                self._begin_forward(function, positions, inputs)
                return function(*inputs, **named)

            inner = differentiate(forward, *args, **kwargs)

            @functools.wraps(inner)
            def differentiated(*inputs: Any, **named: Any) -> Any:
                self._close_step()
                result = inner(*inputs, **named)
                self._after_backward(result, has_value)
                return result

            return differentiated

        return watched

    @guarded
    def _begin_forward(self, function: Any, positions: tuple[int, ...], inputs: tuple[Any, ...]) -> None:
        if self._progress.has_passed("forward"):
            return
        leaves = self._jax.tree_util.tree_leaves
        parameters = [each for at in positions if at < len(inputs) for each in leaves(inputs[at])]
        others = [each for at, given in enumerate(inputs) if at not in positions for each in leaves(given)]
        parameters = [each for each in parameters if hasattr(each, "dtype")]
        name = getattr(function, "__name__", type(function).__name__)
        self._steps.built(arrays.model(name, parameters, parameters), others)
        self._steps.note("forward", inputs=arrays.describe_all(others), outputs=[])
        self._steps.note("backward", with_gradient=len(parameters), trainable=len(parameters), without_gradient=[])
        self._progress.begin("forward")

    @guarded
    def _after_backward(self, result: Any, has_value: bool) -> None:
        leaves = self._jax.tree_util.tree_leaves(result)
        if any(isinstance(each, self._jax.core.Tracer) for each in leaves):
            return
        if has_value:
            self._steps.examine_loss(self._jax.tree_util.tree_leaves(result[0])[:1])
        self._steps.ran("forward", "loss", "backward")
        self._progress.begin("optimizer")
        self._is_open = True

    # ---- compiled functions

    def call(self, original: Any, arguments: tuple[Any, ...], parameters: dict[str, Any]) -> tuple[Any, bool]:
        role = self._role(parameters["jaxpr"])
        if not (role.steps or role.gradients or (role.updates and self._is_open)):
            return original(*arguments, **parameters), not role.updates
        if role.gradients or role.steps:
            self._close_step()
        self._before_call(role, arguments)
        result = original(*arguments, **parameters)
        self._jax.block_until_ready(result[0])
        self._after_call(role, result[0])
        if not role.gradients:
            self._is_open = False
            self._steps.end()
        return result, False

    def has_called(self, function: Any, arguments: Any, keywords: Any, outputs: Any) -> None:
        """Those on the fast path do not train."""

    def _role(self, closed: Any) -> Role:
        role = self._roles.get(closed)
        if role is None:
            role = self._roles[closed] = role_of(closed)
        return role

    @guarded
    def _before_call(self, role: Role, arguments: tuple[Any, ...]) -> None:
        self._progress.begin("optimizer" if role.updates else "forward")
        # They may be donated.
        self._steps.before_update(arguments[argument] for argument in self._plain(role.state))

    @guarded
    def _after_call(self, role: Role, outputs: Any) -> None:
        state = set(role.state.values())
        if not role.updates:
            self._steps.examine_loss(value for number, value in enumerate(outputs) if number not in state)
        if role.gradients:
            self._steps.ran("forward", "loss", "backward")
            self._is_open = True
        else:
            self._steps.after_update(outputs[output] for output in self._plain(role.state).values())

    def _plain(self, state: dict[int, int]) -> dict[int, int]:
        return state if self._steps.wants_weights() else {}

    def _close_step(self) -> None:
        """Gradients that are applied outside of functions: the step ends before the next ones are found."""
        if self._is_open:
            self._is_open = False
            self._applied()
            self._steps.end()

    @guarded
    def _applied(self) -> None:
        self._steps.ran("optimizer")
