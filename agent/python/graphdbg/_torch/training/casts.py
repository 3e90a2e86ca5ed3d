"""Casts of tensors whose result is dropped: unlike those of modules, they are not in place."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from ..._user_code import Line, is_users_class, user_frame
from .check import Check, ModelCall, Report
from .dropped_casts import Cast, casts_in


class Casts(Check):
    """Looks for such statements in the functions that call a model or a backward pass, and in the model's own."""

    conditions = ("cast_without_effect",)

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self._casts: dict[CodeType, list[Cast]] = {}
        # Models whose modules have been looked through.
        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()
        # Where there is no other tensor to report.
        self._parameters: list[Any] = []
        # Of hooks of modules that have not been called yet.
        self._handles: list[Any] = []

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()

    def model_called(self, call: ModelCall) -> None:
        self._parameters = list(call.module.parameters())[:1]
        self._look_at_callers()
        if call.module not in self._seen:
            self._seen.add(call.module)
            for module in call.module.modules():
                self._watch(module)

    def backward(self, roots: Sequence[Any], line: Line | None) -> None:
        self._look_at_callers()

    def after_step(self, optimizer: Any) -> None:
        self._parameters = []

    def _look_at_callers(self) -> None:
        for frame in _users_frames():
            casts = self._casts_in(frame.f_code)
            if casts:
                self._look_at(casts, {**frame.f_globals, **frame.f_locals}, frame.f_code.co_filename)
                _forget_copy(frame)

    def _watch(self, module: Any) -> None:
        """Has a module's next call looked at, if its `forward` casts one of its arguments."""
        code = getattr(getattr(type(module), "forward", None), "__code__", None)
        if code is None or not is_users_class(type(module)):
            return
        casts, file = self._casts_in(code), code.co_filename
        if not casts:
            return

        def before_forward(module: Any, args: Any, kwargs: Any) -> None:
            handle.remove()
            try:
                arguments = inspect.signature(module.forward).bind(*args, **kwargs).arguments
            except TypeError:
                # The call is about to fail.
                return
            self._look_at(casts, {**module.forward.__globals__, **arguments}, file)

        handle = module.register_forward_pre_hook(before_forward, with_kwargs=True)
        self._handles.append(handle)

    def _casts_in(self, code: CodeType) -> list[Cast]:
        if code not in self._casts:
            self._casts[code] = casts_in(code)
        return self._casts[code]

    def _look_at(self, casts: list[Cast], variables: Mapping[str, Any], file: str) -> None:
        import torch

        for cast in casts:
            tensor: Any = variables.get(cast.variable)
            if type(tensor) is not torch.Tensor or not cast.changes(tensor, variables):
                continue
            dtype, device = str(tensor.dtype).removeprefix("torch."), tensor.device.type
            message = f"{cast} returns a new tensor, which is dropped: {cast.variable} is still {dtype} on {device}"
            line = file, cast.line
            self.report("cast_without_effect", message, [tensor, *self._parameters], line=line, key=line)


def _users_frames() -> Iterator[FrameType]:
    frame = user_frame(sys._getframe(1))
    while frame is not None:
        yield frame
        frame = user_frame(frame.f_back)


def _forget_copy(frame: FrameType) -> None:
    """Before Python 3.13 a function's frame keeps the copy of its variables, and with it tensors of the program."""
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        frame.f_locals.clear()
