"""Notifies the agent of backward passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .._undo import UndoList


class BackwardPasses(Protocol):
    """The functions of _hooks that count backward passes."""

    def enter_backward(self, creates_graph: bool, /) -> int: ...
    def leave_backward(self, creates_graph: bool, accumulates: bool, token: int, /) -> None: ...


class Engine:
    """Wraps PyTorch's autograd engine."""

    def __init__(
        self, engine: Any, hooks: BackwardPasses, before: Callable[[Sequence[Any]], None], changes: UndoList
    ) -> None:
        """`before` is called with the roots of each pass that accumulates gradients."""
        self._engine = engine
        self._hooks = hooks
        self._before = before
        self._changes = changes

    def run_backward(
        self,
        tensors: Any,
        grad_tensors: Any,
        keep_graph: bool,
        create_graph: bool,
        inputs: Any = (),
        allow_unreachable: bool = False,
        accumulate_grad: bool = False,
    ) -> Any:
        run = self._engine.run_backward
        if not self._changes.active:
            return run(tensors, grad_tensors, keep_graph, create_graph, inputs, allow_unreachable, accumulate_grad)
        if accumulate_grad:
            self._before(tensors)
        token = self._hooks.enter_backward(create_graph)
        accumulates = False
        try:
            result = run(tensors, grad_tensors, keep_graph, create_graph, inputs, allow_unreachable, accumulate_grad)
            accumulates = accumulate_grad
        finally:
            self._hooks.leave_backward(create_graph, accumulates, token)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def install(hooks: BackwardPasses, before: Callable[[Sequence[Any]], None], changes: UndoList) -> None:
    """Calls `before` with the roots of each backward pass that accumulates gradients."""
    from torch.autograd import Variable

    engine = Engine(Variable._execution_engine, hooks, before, changes)
    changes.replace(Variable, "_execution_engine", engine)
