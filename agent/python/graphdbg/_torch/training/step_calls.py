"""Finds calls of `step` in the program's source, to tell whether any of them may be that of an optimizer."""

from __future__ import annotations

import ast
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..user_code import is_library_file, is_own

# How many of the program's files are read at most.
_FILES = 500

_Unit = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def may_be_stepped(optimizer: Any, frame: FrameType | None) -> bool:
    """Whether a function of the program's stack, or one that it may call, has `x.step` where x may be the optimizer.

    The stack is that from `frame` outwards. True if its source cannot be read, or if a library runs the loop.
    """
    if any(_is_other_library(each) for each in _frames(frame)):
        return True
    try:
        program = _Program(list(_users_frames(frame)))
    except (OSError, SyntaxError, ValueError):
        return True
    return any(_may_be(optimizer, receiver, frames) for receiver, frames in program.receivers_of_step())


def reads_gradients(frame: FrameType | None) -> bool:
    """Whether a function from `frame` outwards names the attribute `grad`, as a program does that uses gradients
    otherwise than by a step."""
    return any("grad" in each.f_code.co_names for each in _frames(frame) if "/torch/" not in each.f_code.co_filename)


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_other_library(frame: FrameType) -> bool:
    """Whether code of a library runs in the frame that may train models."""
    file = frame.f_code.co_filename
    return "-packages/" in file and "/torch/" not in file and not is_own(frame)


def _users_frames(frame: FrameType | None) -> Iterator[FrameType]:
    files = ((each, each.f_code.co_filename) for each in _frames(frame))
    # `python -m` runs code of the interpreter that has no file.
    return (each for each, file in files if not is_library_file(file) and not file.startswith("<frozen "))


@dataclass
class _Program:
    """The source of a program."""

    # The user's frames.
    frames: list[FrameType]

    def __post_init__(self) -> None:
        trees = {file: _parsed(file) for file in dict.fromkeys(each.f_code.co_filename for each in self.frames)}
        self._on_stack = [(_unit_at(trees[each.f_code.co_filename], each.f_lineno), each) for each in self.frames]
        self._functions: dict[str, list[_Unit]] = {}
        for tree in (*trees.values(), *_other_modules(set(trees))):
            for node in ast.walk(tree):
                if isinstance(node, _FUNCTIONS):
                    self._functions.setdefault(node.name, []).append(node)

    def receivers_of_step(self) -> Iterator[tuple[ast.expr, list[FrameType]]]:
        """What has `step` as an attribute, each with the frames in which its names have values."""
        waiting: deque[tuple[_Unit, list[FrameType]]] = deque((unit, [frame]) for unit, frame in self._on_stack)
        seen = {id(unit) for unit, _ in waiting}
        while waiting:
            unit, frames = waiting.popleft()
            yield from ((receiver, frames) for receiver in _receivers_in(unit))
            for name in _names_in(unit):
                for function in self._functions.get(name, []):
                    if id(function) not in seen:
                        seen.add(id(function))
                        waiting.append((function, []))


def _parsed(file: str) -> ast.Module:
    with open(file, encoding="utf-8") as source:
        return ast.parse(source.read())


def _other_modules(known: set[str]) -> Iterator[ast.Module]:
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    others = [each for each in files if isinstance(each, str) and each.endswith(".py") and each not in known]
    for file in [each for each in others if not is_library_file(each)][:_FILES]:
        try:
            yield _parsed(file)
        except (OSError, SyntaxError, ValueError):
            continue


def _unit_at(tree: ast.Module, line: int) -> _Unit:
    """The innermost function that has the line, or else the file."""
    found: _Unit = tree
    for node in ast.walk(tree):
        # Functions come after those that contain them.
        if isinstance(node, _FUNCTIONS) and node.lineno <= line <= (node.end_lineno or 0):
            found = node
    return found


def _nodes_in(unit: _Unit) -> Iterator[ast.AST]:
    """Without the functions that a file defines, and with those that a function does."""
    waiting: deque[ast.AST] = deque([unit])
    while waiting:
        node = waiting.popleft()
        yield node
        children = ast.iter_child_nodes(node)
        waiting.extend(each for each in children if not (isinstance(unit, ast.Module) and isinstance(each, _FUNCTIONS)))


def _names_in(unit: _Unit) -> set[str]:
    nodes = list(_nodes_in(unit))
    names = {each.id for each in nodes if isinstance(each, ast.Name)}
    return names | {each.attr for each in nodes if isinstance(each, ast.Attribute)}


def _receivers_in(unit: _Unit) -> Iterator[ast.expr]:
    nodes = list(_nodes_in(unit))
    # A statement that only names the method does not call it.
    idle = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr == "step" and id(node) not in idle:
            yield node.value


def _may_be(optimizer: Any, receiver: ast.expr, frames: list[FrameType]) -> bool:
    from torch.optim import Optimizer

    names = _path_of(receiver)
    values = [_value_of(names, frame) for frame in frames] if names else []
    if not values or any(value is None or value is optimizer for value in values):
        return True
    # Wrappers of optimizers, such as those of libraries, are none themselves.
    return not all(isinstance(each, Optimizer) or _is_scheduler(each) for each in values)


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
