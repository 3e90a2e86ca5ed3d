"""Reads the source of the functions that a program runs, and of those that they may call."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType

from ..._user_code import is_library_file, is_own

# How many of the program's files are read at most.
_FILES = 500

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True)
class Unit:
    """A file, a function or a loop of the program.

    Attributes:
        node: Its syntax tree.
        file: The file that it is in.
        frame: The frame that runs it, in which its names have values; None if none does.
    """

    node: ast.Module | Function | Loop
    file: str
    frame: FrameType | None = None

    def nodes(self) -> Iterator[ast.AST]:
        """Without the functions that a file defines, and with those that a function does."""
        waiting: deque[ast.AST] = deque([self.node])
        while waiting:
            node = waiting.popleft()
            yield node
            is_file = isinstance(self.node, ast.Module)
            children = ast.iter_child_nodes(node)
            waiting.extend(each for each in children if not (is_file and isinstance(each, _FUNCTIONS)))

    def names(self) -> set[str]:
        nodes = list(self.nodes())
        names = {each.id for each in nodes if isinstance(each, ast.Name)}
        return names | {each.attr for each in nodes if isinstance(each, ast.Attribute)}


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """The stack from `frame` outwards."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_other_library(frame: FrameType) -> bool:
    """Whether code of a library runs in the frame that may train models."""
    file = frame.f_code.co_filename
    return "-packages/" in file and "/torch/" not in file and not is_own(frame)


def units_from(frame: FrameType | None) -> list[Unit] | None:
    """What the user's frames from `frame` outwards run, and all functions that it may call.

    None if the source cannot be read, or if a library runs the loop.
    """
    return _read(frame, lambda on_stack: on_stack)


def repeated_units_from(frame: FrameType | None) -> list[Unit] | None:
    """The same, without what runs only once, before and behind the outermost loop; None also if there is no loop."""
    return _read(frame, _repeated) or None


def _read(frame: FrameType | None, choose: Callable[[list[Unit]], list[Unit]]) -> list[Unit] | None:
    frames = list(frames_from(frame))
    if any(is_other_library(each) for each in frames):
        return None
    text = _Text()
    try:
        return list(text.with_called(choose([text.unit_of(each) for each in _users(frames)])))
    except (OSError, SyntaxError, ValueError):
        return None


def _users(frames: Sequence[FrameType]) -> list[FrameType]:
    files = ((each, each.f_code.co_filename) for each in frames)
    # `python -m` runs code of the interpreter that has no file.
    return [each for each, file in files if not is_library_file(file) and not file.startswith("<frozen ")]


def _repeated(on_stack: list[Unit]) -> list[Unit]:
    """The outermost loop on the stack, and the units that it calls; `on_stack` begins with the innermost one."""
    for place in reversed(range(len(on_stack))):
        unit = on_stack[place]
        assert unit.frame is not None
        loops = [each for each in unit.nodes() if isinstance(each, _LOOPS) and _has_line(each, unit.frame.f_lineno)]
        if loops:
            # Nodes come after those that contain them.
            return [*on_stack[:place], Unit(loops[0], unit.file, unit.frame)]
    return []


class _Text:
    """The files of the program, each of which is parsed once, so that a function is one node."""

    def __init__(self) -> None:
        self._trees: dict[str, ast.Module] = {}

    def unit_of(self, frame: FrameType) -> Unit:
        """The innermost function that the frame runs, or else the file."""
        file, line = frame.f_code.co_filename, frame.f_lineno
        found: ast.Module | Function = self._parsed(file)
        for node in ast.walk(found):
            # Functions come after those that contain them.
            if isinstance(node, _FUNCTIONS) and _has_line(node, line):
                found = node
        return Unit(found, file, frame)

    def with_called(self, units: Sequence[Unit]) -> Iterator[Unit]:
        """Follows names: a function may be called wherever its name is."""
        self._add_other_modules()
        functions: dict[str, list[Unit]] = {}
        for file, tree in self._trees.items():
            for node in ast.walk(tree):
                if isinstance(node, _FUNCTIONS):
                    functions.setdefault(node.name, []).append(Unit(node, file))
        waiting = deque(units)
        seen = {id(unit.node) for unit in units}
        while waiting:
            unit = waiting.popleft()
            yield unit
            for name in unit.names():
                for function in functions.get(name, []):
                    if id(function.node) not in seen:
                        seen.add(id(function.node))
                        waiting.append(function)

    def _parsed(self, file: str) -> ast.Module:
        if file not in self._trees:
            with open(file, encoding="utf-8") as source:
                self._trees[file] = ast.parse(source.read())
        return self._trees[file]

    def _add_other_modules(self) -> None:
        for file in _files_of_modules(set(self._trees)):
            with contextlib.suppress(OSError, SyntaxError, ValueError):
                self._parsed(file)


def _files_of_modules(known: set[str]) -> list[str]:
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    others = [each for each in files if isinstance(each, str) and each.endswith(".py") and each not in known]
    return [each for each in others if not is_library_file(each)][:_FILES]


def _has_line(node: Function | Loop, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)
