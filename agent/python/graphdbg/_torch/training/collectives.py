"""What a program sends between its ranks, and which of its lines may send more."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from ..._undo import UndoList
from ..._user_code import Line, line_of
from .program_text import Unit, repeated_units_from

# A tensor with more elements may hold parameters or gradients; losses and metrics have fewer.
_FEW = 16
# Functions of torch.distributed that send tensors or objects; a library's own have similar names.
_NAMES = (
    *("all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_reduce"),
    *("all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast"),
    *("broadcast_object_list", "gather", "gather_object", "irecv", "isend", "monitored_barrier", "recv", "reduce"),
    *("reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send"),
)
# These send no values.
_BARRIERS = ("barrier", "monitored_barrier")
# Methods of tensors and other objects have these names, too.
_COMMON = ("gather", "recv", "reduce", "scatter", "send")
_OF_DISTRIBUTED = re.compile(r"dist|c10d|comm", re.IGNORECASE)
# Functions of libraries, or of files that are not read, that may synchronize models.
_SYNCHRONIZE = re.compile(r"all_?reduce|(average|broadcast|sync|synchronize)_(grad|model|param|state|weight)")


class Collectives:
    """The calls of torch.distributed since `begin`."""

    def __init__(self) -> None:
        # The lines that have sent few elements only.
        self._small: set[Line] = set()
        # Whether any has sent more.
        self.is_large = False
        self._calls = 0
        # What the process groups had counted at the beginning.
        self._counted = 0
        self._depth = 0

    def follow(self, changes: UndoList) -> None:
        """Has calls of all functions but `all_reduce` noticed from now on; those are given to `add`."""
        import torch
        from torch import distributed

        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
        for name in _NAMES:
            original = getattr(distributed, name, None)
            if original is not None and name != "all_reduce":
                changes.replace(distributed, name, self._watched(name, original, is_compiling, changes))

    def _watched(self, name: str, original: Any, is_compiling: Callable[[], bool], changes: UndoList) -> Any:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            # What is noticed would break a compiled graph.
            if is_compiling():
                return original(*args, **kwargs)
            # Those for objects call others.
            if changes.active and self._depth == 0:
                self.add(name, (*args, *kwargs.values()), sys._getframe(1))
            self._depth += 1
            try:
                return original(*args, **kwargs)
            finally:
                self._depth -= 1

        return call

    def add(self, name: str, arguments: tuple[Any, ...], frame: FrameType | None) -> None:
        self._calls += 1
        line = line_of(frame)
        if line is not None and (name in _BARRIERS or _is_small(arguments)):
            self._small.add(line)
        else:
            self.is_large = True

    def begin(self) -> None:
        self._small.clear()
        self.is_large, self._calls, self._counted = False, 0, _count_collectives()

    def cannot_synchronize(self, frame: FrameType | None) -> bool:
        """Whether nothing that the program has sent since the beginning, and nothing that its loop may send, can hold
        the parameters or gradients of a model. `frame`: the program is there, in its loop."""
        if self.is_large or _count_collectives() - self._counted > self._calls:
            return False
        units = repeated_units_from(frame)
        return units is not None and all(line in self._small for unit in units for line in _lines_in(unit))


def _is_small(arguments: tuple[Any, ...]) -> bool:
    import torch

    return bool(arguments) and isinstance(arguments[0], torch.Tensor) and _elements_in(arguments) <= _FEW


def _elements_in(value: Any) -> int:
    import torch

    if isinstance(value, torch.Tensor):
        return int(value.numel())
    return sum(map(_elements_in, value)) if isinstance(value, (list, tuple)) else 0


def _count_collectives() -> int:
    """By all process groups."""
    from torch.distributed import distributed_c10d

    count = 0
    for group in list(distributed_c10d._world.pg_map):
        try:
            count += int(group._get_sequence_number_for_group())
        except RuntimeError:
            # The backend does not count them.
            continue
    return count


def _lines_in(unit: Unit) -> Iterator[Line]:
    """The lines of a unit that may send something."""
    for node in unit.nodes():
        if isinstance(node, ast.Call) and _may_send(node.func):
            yield unit.file, node.lineno


def _may_send(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _NAMES or _SYNCHRONIZE.search(function.id) is not None
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr in _COMMON:
        return _OF_DISTRIBUTED.search(ast.unparse(function.value)) is not None
    return function.attr in _NAMES or _SYNCHRONIZE.search(function.attr) is not None
