"""Notifies the agent of backward passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .._undo import UndoList


class BackwardPasses(Protocol):
    """The function of _hooks that follows backward passes."""

    def around_backward(
        self, run_backward: Callable[..., Any], before: Callable[[Sequence[Any]], None], /
    ) -> Callable[..., Any]: ...


class Engine:
    """Stands for PyTorch's autograd engine."""

    def __init__(self, engine: Any, run_backward: Callable[..., Any]) -> None:
        self._engine = engine
        self.run_backward = run_backward

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def install(hooks: BackwardPasses, before: Callable[[Sequence[Any]], None], changes: UndoList) -> None:
    """Calls `before` with the roots of each backward pass that accumulates gradients."""
    from torch.autograd import Variable

    engine = Variable._execution_engine
    followed = Engine(engine, hooks.around_backward(engine.run_backward, before))
    changes.replace(Variable, "_execution_engine", followed)
