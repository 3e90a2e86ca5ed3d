"""Finds calls of `step` in the program's source, to tell whether any of them may be that of an optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType
from typing import Any

from .program_text import Unit, frames_from, units_from


def may_be_stepped(optimizer: Any, frame: FrameType | None) -> bool:
    """Whether a function of the program's stack, or one that it may call, has `x.step` where x may be the optimizer.

    The stack is that from `frame` outwards. True if its source cannot be read, or if a library runs the loop.
    """
    units = units_from(frame)
    if units is None:
        return True
    return any(_may_be(optimizer, receiver, unit.frame) for unit in units for receiver in _receivers_in(unit))


def reads_gradients(frame: FrameType | None) -> bool:
    """Whether a function from `frame` outwards names the attribute `grad`, as a program does that uses gradients
    otherwise than by a step."""
    frames = (each for each in frames_from(frame) if "/torch/" not in each.f_code.co_filename)
    return any("grad" in each.f_code.co_names for each in frames)


def _receivers_in(unit: Unit) -> Iterator[ast.expr]:
    nodes = list(unit.nodes())
    # A statement that only names the method does not call it.
    idle = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr == "step" and id(node) not in idle:
            yield node.value


def _may_be(optimizer: Any, receiver: ast.expr, frame: FrameType | None) -> bool:
    from torch.optim import Optimizer

    path = _path_of(receiver)
    value = _value_of(path, frame) if path and frame is not None else None
    if value is None or value is optimizer:
        return True
    # Wrappers of optimizers, such as those of libraries, are none themselves.
    return not (isinstance(value, Optimizer) or _is_scheduler(value))


def _path_of(expression: ast.expr) -> list[str]:
    """["self", "optimizer"] for `self.optimizer`; empty for other expressions."""
    if isinstance(expression, ast.Name):
        return [expression.id]
    if isinstance(expression, ast.Attribute) and (outer := _path_of(expression.value)):
        return [*outer, expression.attr]
    return []


def _value_of(path: list[str], frame: FrameType) -> Any:
    """What a name refers to in a frame; None if it is not known. Runs no code of the program."""
    first, *attributes = path
    value = frame.f_locals.get(first, frame.f_globals.get(first))
    for attribute in attributes:
        value = getattr(value, "__dict__", {}).get(attribute)
    return value


def _is_scheduler(value: Any) -> bool:
    from torch.optim import lr_scheduler

    return bool(type(value).__module__ == lr_scheduler.__name__)
