"""Watches optimizers, and names the parameters that no module contains."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from types import FrameType
from typing import Any, Protocol

from .._undo import UndoList
from .._user_code import user_frame


class Training(Protocol):
    """The functions of _hooks that concern the start of the training."""

    PARAMETER: int

    def declare_scope(self, path: str, type_name: str, now: bool, /) -> int: ...
    def bind_tensor(self, scope: int, name: str, kind: int, tensor: object, /) -> None: ...
    def optimizer_seen(self) -> None: ...
    def start(self) -> None: ...


def _parameters(optimizer: Any) -> Iterator[tuple[str, Any]]:
    """Yields the optimizer's tensors, each with the name that the program has given it, or ""."""
    for group in optimizer.param_groups:
        names = group.get("param_names") or [""] * len(group["params"])
        yield from zip(names, group["params"], strict=False)


def _variable_name(frame: FrameType | None, tensor: Any) -> str:
    """The name of the variable that refers to a tensor where the optimizer is made; "" if none does."""
    if frame is None:
        return ""
    for variables in (frame.f_locals, frame.f_globals):
        for name, value in list(variables.items()):
            if value is tensor:
                return str(name)
    return ""


class LooseParameters:
    """Names tensors that an optimizer trains and that no module contains."""

    def __init__(self, hooks: Training) -> None:
        self._hooks = hooks
        self._modules_have_parameters = False
        self._count = 0

    def module_has_parameter(self) -> None:
        self._modules_have_parameters = True

    def add(self, optimizer: Any) -> None:
        """Handles a new optimizer. If it trains loose tensors only, the training starts here."""
        if self.adopt(optimizer):
            self._hooks.start()

    def adopt(self, optimizer: Any) -> bool:
        """Names the loose tensors of an optimizer. Returns whether it trains nothing else."""
        self._hooks.optimizer_seen()
        parameters = list(_parameters(optimizer))
        loose = [(name, tensor) for name, tensor in parameters if self._is_loose(tensor)]
        if not loose:
            return False
        frame = user_frame(sys._getframe())
        scope = self._hooks.declare_scope("", "", False)
        for name, tensor in loose:
            self._hooks.bind_tensor(
                scope, name or _variable_name(frame, tensor) or self._numbered_name(), self._hooks.PARAMETER, tensor
            )
        return len(loose) == len(parameters)

    def _is_loose(self, tensor: Any) -> bool:
        from torch.nn import Parameter

        return not (self._modules_have_parameters and isinstance(tensor, Parameter))

    def _numbered_name(self) -> str:
        self._count += 1
        return f"parameter_{self._count}"


class ProgramCalls(Protocol):
    """The functions of _hooks that mark the program's own code inside an optimizer."""

    def enter_program(self) -> int: ...
    def leave_program(self, depth: int, /) -> None: ...


class Closures:
    """Marks the closures that the program passes to optimizers as the program's own code."""

    def __init__(self, hooks: ProgramCalls) -> None:
        self._hooks = hooks

    def before_step(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """A hook for torch.optim's register_optimizer_step_pre_hook; `args` begins with the optimizer."""
        if len(args) > 1 and callable(args[1]):
            return (args[0], self._wrapped(args[1]), *args[2:]), kwargs
        if callable(kwargs.get("closure")):
            return args, {**kwargs, "closure": self._wrapped(kwargs["closure"])}
        return None

    def _wrapped(self, closure: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            depth = self._hooks.enter_program()
            try:
                return closure(*args, **kwargs)
            finally:
                self._hooks.leave_program(depth)

        return call


def install(on_optimizer: Callable[[Any], None], changes: UndoList) -> None:
    """Calls `on_optimizer` with each new optimizer."""
    from torch.optim import Optimizer

    original = Optimizer.__init__

    @wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if changes.active:
            on_optimizer(self)

    changes.replace(Optimizer, "__init__", init)
