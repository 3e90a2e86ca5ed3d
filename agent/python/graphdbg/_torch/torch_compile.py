"""Runs code under torch.compile eagerly, so that the user's own ops are visible.

Compiled code fuses ops into kernels that a debugger cannot look into. PyTorch can
run it eagerly instead (the stance "force_eager"). This module keeps that stance
whatever the program asks for, and notifies the user when that first makes a
difference. GRAPHDBG_COMPILED=keep leaves everything compiled and shows each
compiled region as one node.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Protocol

from .._import_hook import after_import
from .._undo import UndoList

_NOTICE = (
    "code under torch.compile runs eagerly while it is debugged, so that each of its ops is visible; "
    "set GRAPHDBG_COMPILED=keep to keep it compiled"
)

# What the names of compiled regions begin with, which PyTorch adds to the variables of the function's module.
_COMPILED = "__compiled_fn_"


def is_kept() -> bool:
    """Whether the user wants compiled code to stay compiled."""
    return os.environ.get("GRAPHDBG_COMPILED", "").strip().lower() == "keep"


class ForcedEager:
    """Keeps the compiler's stance at "force_eager" until `lift` is called."""

    def __init__(self, notify: Callable[[str], None], changes: UndoList) -> None:
        self._notify: Callable[[str], None] | None = notify
        self._changes = changes
        self._active = True
        # The stance that the program has set; None until torch._dynamo is imported.
        self._programs_stance: Any = None

    def install(self) -> None:
        # torch._dynamo takes seconds to import, and many programs never need it.
        after_import("torch._dynamo", self._take_over, self._changes)
        self._changes.enter(self.lift)

    def lift(self) -> None:
        """Restores the program's own stance after the debugger has detached."""
        if not self._active:
            return
        self._active = False
        if self._programs_stance is not None:
            from torch._dynamo import eval_frame

            eval_frame._stance = self._programs_stance

    def _take_over(self) -> None:
        from torch._dynamo import config, decorators, eval_frame

        if not self._active:
            return
        if not hasattr(eval_frame, "_set_stance"):
            # Before PyTorch 2.6.
            self._changes.replace(config, "disable", True)
            return
        original, eager = eval_frame._set_stance, eval_frame.DynamoStance("force_eager")

        def set_stance(stance: Any) -> Any:
            if not self._active:
                return original(stance)
            before, self._programs_stance = self._programs_stance, stance
            return before

        set_stance._dynamo_forbidden = True  # type: ignore[attr-defined]
        self._programs_stance = original(eager)
        self._changes.replace(eval_frame, "_set_stance", set_stance)
        self._changes.replace(decorators, "_set_stance", set_stance)
        self._notify_of_compiled_code(eval_frame)

    def _notify_of_compiled_code(self, eval_frame: Any) -> None:
        original = eval_frame._callback_from_stance

        def callback_from_stance(callback: Any) -> Any:
            if self._active and self._notify is not None and callback not in (None, False):
                notify, self._notify = self._notify, None
                notify(_NOTICE)
            return original(callback)

        self._changes.replace(eval_frame, "_callback_from_stance", callback_from_stance)


class Regions(Protocol):
    """The functions of _hooks that follow compiled regions."""

    def enter_region(self, inputs: list[object], /) -> bool: ...
    def leave_region(self, outputs: list[object] | None, /) -> None: ...


def _tensors(values: Any) -> Iterator[object]:
    import torch

    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _tensors(value)


class CompiledRegions:
    """Makes each compiled region a node."""

    def __init__(self, hooks: Regions, changes: UndoList) -> None:
        self._hooks = hooks
        self._changes = changes

    def install(self) -> None:
        after_import("torch._dynamo", self._take_over, self._changes)

    def _take_over(self) -> None:
        from torch._dynamo import output_graph

        original = output_graph.OutputGraph.call_user_compiler

        @wraps(original)
        def call_user_compiler(self_: Any, *args: Any, **kwargs: Any) -> Any:
            compiled = original(self_, *args, **kwargs)
            return self._region(compiled) if self._changes.active else compiled

        self._changes.replace(output_graph.OutputGraph, "call_user_compiler", call_user_compiler)
        self._wrap_compiled()

    def _wrap_compiled(self) -> None:
        """Wraps the regions that were compiled before: the new code of a function calls them by name."""
        from torch._dynamo import disable

        for module in list(sys.modules.values()):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if name.startswith(_COMPILED) and callable(value):
                    # Like the region itself, the wrapper is not code to compile.
                    self._changes.replace(module, name, disable(self._region(value)))

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
