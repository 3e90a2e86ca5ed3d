"""Follows Keras 3 when it runs on PyTorch.

Its optimizers do not use torch.optim. Its layers are modules, which it also calls
without values, to find the shapes of their outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Protocol

from .. import _import_hook
from .._log import log
from .._undo import UndoList

# Where Keras defines the base classes.
_OPTIMIZERS = "keras.src.optimizers.base_optimizer"
_LAYERS = "keras.src.layers.layer"


class OptimizerSeen(Protocol):
    """The function of _hooks that is called for a new optimizer."""

    def optimizer_seen(self) -> None: ...


class SymbolicCalls:
    """Knows whether the program is in a call of a layer that computes only shapes."""

    def __init__(self, changes: UndoList) -> None:
        self.active = False
        self._changes = changes

    def wrap(self) -> None:
        import importlib

        layer = importlib.import_module(_LAYERS).Layer
        scope = importlib.import_module("keras.src.backend.common.symbolic_scope")
        original = layer.__call__

        @wraps(original)
        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            if (
                self.active
                or not self._changes.active
                or not (scope.in_symbolic_scope() or _has_symbols((args, kwargs)))
            ):
                return original(layer, *args, **kwargs)
            self.active = True
            try:
                return original(layer, *args, **kwargs)
            finally:
                self.active = False

        self._changes.replace(layer, "__call__", call)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _has_symbols(arguments: Any) -> bool:
    return any(type(leaf).__name__ == "KerasTensor" for leaf in _leaves(arguments))


def install(hooks: OptimizerSeen, on_step: Callable[[Any], None], symbolic: SymbolicCalls, changes: UndoList) -> None:
    """Calls `on_step(optimizer)` after each step of an optimizer of Keras, once Keras is imported."""
    _after_import(_LAYERS, "layers", symbolic.wrap, changes)
    _after_import(_OPTIMIZERS, "optimizers", lambda: _wrap_optimizers(hooks, on_step, changes), changes)


def _after_import(name: str, what: str, call: Callable[[], None], changes: UndoList) -> None:
    def follow() -> None:
        try:
            call()
        except Exception as error:
            log(f"cannot follow the {what} of this version of Keras: {error!r}")

    _import_hook.after_import(name, follow, changes)


def _wrap_optimizers(hooks: OptimizerSeen, on_step: Callable[[Any], None], changes: UndoList) -> None:
    import importlib

    base = importlib.import_module(_OPTIMIZERS).BaseOptimizer
    initialize, apply = base.__init__, base.apply
    # Optimizers that call others, such as the one that scales losses.
    active: list[Any] = []

    @wraps(initialize)
    def initialize_and_report(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        if changes.active:
            hooks.optimizer_seen()

    @wraps(apply)
    def apply_in_range(self: Any, *args: Any, **kwargs: Any) -> Any:
        if active or not changes.active:
            return apply(self, *args, **kwargs)
        from torch.autograd.profiler import record_function

        active.append(self)
        try:
            # PyTorch marks the steps of its own optimizers by this name.
            with record_function(f"Optimizer.step#{type(self).__name__}.step"):
                result = apply(self, *args, **kwargs)
        finally:
            active.pop()
        on_step(self)
        return result

    changes.replace(base, "__init__", initialize_and_report)
    changes.replace(base, "apply", apply_in_range)
