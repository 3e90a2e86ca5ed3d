"""Has torch.compile'd code run eagerly, so that the user's own ops are seen.

Compiled code fuses ops into kernels that no debugger can look into. PyTorch
offers to run it eagerly instead ("force_eager"); this keeps that in force,
whatever the program asks for, and says so when it first makes a difference.
GRAPHDBG_COMPILED=keep leaves everything compiled, and shows each compiled region
as one node.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Protocol

from ._import_hook import after_import

_NOTICE = (
    "code under torch.compile runs eagerly while it is debugged, so that each of its ops is seen; "
    "GRAPHDBG_COMPILED=keep keeps it compiled"
)


def kept() -> bool:
    """Whether the user wants compiled code to stay compiled."""
    return os.environ.get("GRAPHDBG_COMPILED", "").strip().lower() == "keep"


class Eager:
    """Holds the compiler's stance at "force_eager" for as long as it is in force."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        self._notify: Callable[[str], None] | None = notify
        self._in_force = True
        # What the program believes it has set; None before torch._dynamo came.
        self._wanted: Any = None

    def install(self) -> None:
        # The program may never need it, and it takes seconds to import.
        after_import("torch._dynamo", self._take_over)

    def lift(self) -> None:
        """The program's own stance holds again: nobody debugs it any more."""
        self._in_force = False
        if self._wanted is not None:
            from torch._dynamo import eval_frame

            eval_frame._stance = self._wanted

    def _take_over(self) -> None:
        from torch._dynamo import config, decorators, eval_frame

        if not self._in_force:
            return
        if not hasattr(eval_frame, "_set_stance"):
            # Before PyTorch 2.6.
            config.disable = True
            return
        original, eager = eval_frame._set_stance, eval_frame.DynamoStance("force_eager")

        def set_stance(stance: Any) -> Any:
            if not self._in_force:
                return original(stance)
            before, self._wanted = self._wanted, stance
            return before

        set_stance._dynamo_forbidden = True  # type: ignore[attr-defined]
        self._wanted = original(eager)
        eval_frame._set_stance = decorators._set_stance = set_stance
        self._watch_for_compiled_code(eval_frame)

    def _watch_for_compiled_code(self, eval_frame: Any) -> None:
        original = eval_frame._callback_from_stance

        def callback_from_stance(callback: Any) -> Any:
            if self._in_force and self._notify is not None and callback not in (None, False):
                notify, self._notify = self._notify, None
                notify(_NOTICE)
            return original(callback)

        eval_frame._callback_from_stance = callback_from_stance


class Regions(Protocol):
    """The part of _hooks that knows compiled code."""

    def enter_region(self, inputs: list[object], /) -> bool: ...
    def leave_region(self, outputs: list[object] | None, /) -> None: ...


def _tensors(values: Any) -> Iterator[object]:
    import torch

    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _tensors(value)


class Kept:
    """Makes each region that is compiled a node."""

    def __init__(self, hooks: Regions) -> None:
        self._hooks = hooks

    def install(self) -> None:
        after_import("torch._dynamo", self._take_over)

    def _take_over(self) -> None:
        from torch._dynamo import output_graph

        original = output_graph.OutputGraph.call_user_compiler

        @wraps(original)
        def call_user_compiler(self_: Any, *args: Any, **kwargs: Any) -> Any:
            return self._region(original(self_, *args, **kwargs))

        output_graph.OutputGraph.call_user_compiler = call_user_compiler

    def _region(self, compiled: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(compiled, assigned=())
        def region(*args: Any) -> Any:
            if not self._hooks.enter_region(list(_tensors(args))):
                return compiled(*args)
            outputs: list[object] | None = None
            try:
                result = compiled(*args)
                outputs = list(_tensors(result))
            finally:
                self._hooks.leave_region(outputs)
            return result

        return region
