"""The TorchDispatchMode that sees ops, and the profiler ranges that mark optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.profiler import record_function
from torch.utils._python_dispatch import TorchDispatchMode

from ..._log import warn_not_debugged
from ..._undo import UndoList
from .node_names import OPTIMIZER
from .operators import Op
from .session import IGNORED, Session


class DispatchMode(TorchDispatchMode):  # type: ignore[misc]
    """Sees each op of its thread below autograd, except the ops that it runs itself."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._ops: dict[Any, Op | None] = {}
        self._on = False
        self._entered = False
        self._failed = False

    def follow(self, on: bool) -> None:
        """Starts or stops following. Call it at boundaries of steps and passes.

        Modes nest, so this one is entered and left only while the program has no
        modes of its own.
        """
        self._on = on and not self._failed
        if self._on and not self._entered and torch._C._len_torch_dispatch_stack() == 0:
            self._entered = True
            self.__enter__()
        elif not self._on and self._entered and torch._C._len_torch_dispatch_stack() == 1:
            self._entered = False
            self.__exit__(None, None, None)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        op = self._op(func) if self._on and not types else None
        if op is None:
            return func(*args, **kwargs)
        if op.is_composite(args, kwargs):
            # In inference mode composite ops arrive here. The ops that they consist of
            # are the nodes.
            with self:
                return func.decompose(*args, **kwargs)
        execution = self._guarded(lambda: self._begin(op, args, kwargs))
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            if execution is not None:
                message = str(error)
                self._guarded(lambda: self._session.graph.fail(execution, message))
            raise
        if execution is not None:
            status = self._guarded(lambda: self._session.end_op(execution, result))
            self._session.handle_status(status or 0)
        return result

    def _op(self, func: Any) -> Op | None:
        if func not in self._ops:
            self._ops[func] = self._guarded(lambda: Op(func)) if hasattr(func, "_schema") else None
        return self._ops[func]

    def _begin(self, op: Op, args: Any, kwargs: Any) -> Any:
        node = self._session.begin_op(op) if op.is_node else 0
        return self._session.graph.begin(op, node, args, kwargs) if node else None

    def _guarded(self, body: Callable[[], Any]) -> Any:
        """Calls `body`. An error in it ends the debugging, not the program."""
        try:
            return body()
        except Exception as error:
            self._failed = True
            self._on = False
            warn_not_debugged(f"internal error: {error!r}")
            return None


def follow_ranges(session: Session, changes: UndoList) -> None:
    """Recognizes optimizers and data loaders by the ranges that PyTorch marks for its profiler."""
    enter, leave = record_function.__enter__, record_function.__exit__

    def enter_range(self: Any) -> Any:
        name = self.name
        if changes.active and session.is_current_thread():
            optimizer = _optimizer_class(name)
            if optimizer:
                if name.startswith("Optimizer.step#"):
                    session.optimizer_seen = True
                    session.start(trains=True)
                self._graphdbg = session.enter(OPTIMIZER, session.graph.names.scope(optimizer, optimizer))
            elif name.startswith("enumerate(DataLoader)#"):
                self._graphdbg = session.enter(IGNORED, 0)
        return enter(self)

    def leave_range(self: Any, *exception: Any) -> Any:
        depth = self.__dict__.pop("_graphdbg", None)
        if depth is not None:
            session.leave(depth)
            if self.name.startswith("Optimizer.step#"):
                session.optimizer_stepped()
        return leave(self, *exception)

    changes.replace(record_function, "__enter__", enter_range)
    changes.replace(record_function, "__exit__", leave_range)


def _optimizer_class(range_name: str) -> str:
    """The class in "Optimizer.step#SGD.step"; "" for other ranges."""
    return range_name.partition("#")[2].rpartition(".")[0] if range_name.startswith("Optimizer.") else ""
