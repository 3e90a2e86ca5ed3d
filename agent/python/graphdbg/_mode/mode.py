"""The TorchDispatchMode, and what else of PyTorch is listened to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.profiler import record_function
from torch.utils._python_dispatch import TorchDispatchMode

from .._autoload import warn
from .names import OPTIMIZER
from .ops import Op
from .session import IGNORED, Session


class Mode(TorchDispatchMode):  # type: ignore[misc]
    """Sees each op of its thread below autograd; the ops that it runs itself it does not see."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._ops: dict[Any, Op | None] = {}
        self._on = False
        self._entered = False
        self._dead = False

    def follow(self, on: bool) -> None:
        """To be called at boundaries. The mode is entered only below the program's own modes, since modes nest."""
        self._on = on and not self._dead
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
        if op.is_composite:
            # In inference mode: spelled out in other ops, which are the nodes.
            with self:
                return func.decompose(*args, **kwargs)
        execution = self._guarded(lambda: self._begin(op, args, kwargs))
        result = func(*args, **kwargs)
        if execution is not None:
            status = self._guarded(lambda: self._session.end_op(execution, result))
            self._session.op_ends(status or 0)
        return result

    def _op(self, func: Any) -> Op | None:
        if func not in self._ops:
            self._ops[func] = self._guarded(lambda: Op(func)) if hasattr(func, "_schema") else None
        return self._ops[func]

    def _begin(self, op: Op, args: Any, kwargs: Any) -> Any:
        node = self._session.op_begins(op) if op.is_node else 0
        return self._session.graph.begin(op, node, args, kwargs) if node else None

    def _guarded(self, body: Callable[[], Any]) -> Any:
        """An error of ours ends the debugging, not the program."""
        try:
            return body()
        except Exception as error:
            self._dead = True
            self._on = False
            warn(f"internal error: {error!r}")
            return None


def follow_ranges(session: Session) -> None:
    """Notices optimizers and loaders by the ranges that PyTorch names for its profiler."""
    enter, leave = record_function.__enter__, record_function.__exit__

    def enter_range(self: Any) -> Any:
        name = self.name
        if session.is_here():
            optimizer = _optimizer_class(name)
            if optimizer:
                if name.startswith("Optimizer.step#"):
                    session.optimizer_seen = True
                    session.start()
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

    record_function.__enter__, record_function.__exit__ = enter_range, leave_range


def _optimizer_class(range_name: str) -> str:
    """The class in "Optimizer.step#SGD.step"; empty for other ranges."""
    return range_name.partition("#")[2].rpartition(".")[0] if range_name.startswith("Optimizer.") else ""
