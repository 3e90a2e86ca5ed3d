"""Follows Keras' optimizers, which do not use torch.optim, when Keras runs on PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

from .. import _import_hook
from .._log import log

# Where Keras 3 defines the base class of its optimizers.
_MODULE = "keras.src.optimizers.base_optimizer"


class OptimizerSeen(Protocol):
    """The function of _hooks that is called for a new optimizer."""

    def optimizer_seen(self) -> None: ...


def install(hooks: OptimizerSeen, on_step: Callable[[Any], None]) -> None:
    """Calls `on_step(optimizer)` after each step of an optimizer of Keras, once Keras is imported."""

    def follow() -> None:
        try:
            _wrap(hooks, on_step)
        except Exception as error:
            log(f"cannot follow the optimizers of this version of Keras: {error!r}")

    _import_hook.after_import(_MODULE, follow)


def _wrap(hooks: OptimizerSeen, on_step: Callable[[Any], None]) -> None:
    import importlib

    base = importlib.import_module(_MODULE).BaseOptimizer
    initialize, apply = base.__init__, base.apply
    # Optimizers that call others, such as the one that scales losses.
    active: list[Any] = []

    @wraps(initialize)
    def initialize_and_report(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        hooks.optimizer_seen()

    @wraps(apply)
    def apply_in_range(self: Any, *args: Any, **kwargs: Any) -> Any:
        if active:
            return apply(self, *args, **kwargs)
        from torch.autograd.profiler import record_function

        active.append(self)
        try:
            # As PyTorch marks the steps of its own optimizers.
            with record_function(f"Optimizer.step#{type(self).__name__}.step"):
                result = apply(self, *args, **kwargs)
        finally:
            active.pop()
        on_step(self)
        return result

    base.__init__, base.apply = initialize_and_report, apply_in_range
