"""Which nodes a source line means."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from dataclasses import dataclass

from .graph_index import GraphIndex


@dataclass(frozen=True)
class Place:
    """A line that made ops.

    Attributes:
        line: The line, which is later than the one asked for if that made none.
        nodes: Where a run of the line begins: in execution order, without those in the scope of one before, or
            inside it.
    """

    line: int
    nodes: tuple[int, ...]


def find_line(index: GraphIndex, text: str | None, file: str, line: int) -> Place | None:
    """The first line from `line` on that made ops, in the same function.

    Args:
        index: The graph.
        text: The content of the file; None if it is unknown: then only the line itself is looked at.
        file: The end of the file's path.
        line: From 1.

    Returns:
        None if no line of the function from there on made ops.
    """
    lines = index.lines_of(file)
    if line in lines:
        return Place(line, tuple(first_of_runs(index, lines[line])))
    end = last_line_of_function(text, line) if text is not None else line
    found = min((each for each in lines if line < each <= end and _same_function(text, line, each)), default=None)
    return None if found is None else Place(found, tuple(first_of_runs(index, lines[found])))


def lines_with_ops(index: GraphIndex, file: str, first: int, last: int) -> list[int]:
    """The lines of a file, both ends inclusive, that made ops; ascending."""
    return sorted(line for line in index.lines_of(file) if first <= line <= last)


def first_of_runs(index: GraphIndex, nodes: Sequence[int]) -> list[int]:
    """The nodes at which runs of one line begin.

    `relu(self.fc1(x))` makes ops in two scopes, one inside the other, and runs once. A line in a loop over layers
    makes ops in scopes beside each other, and runs once for each.

    Args:
        nodes: The nodes of the line in execution order.
    """
    kept: list[int] = []
    scopes: set[int] = set()
    for node in nodes:
        if not any(index.is_inside(node, scope) for scope in scopes):
            kept.append(node)
            scopes.add(index.scope_number(node))
    return kept


def last_line_of_function(text: str, line: int) -> int:
    """The last line of the innermost function around a line, or of the file."""
    begin, end = _function_at(text, line)
    return end if begin else len(text.splitlines())


def _same_function(text: str | None, a: int, b: int) -> bool:
    return text is not None and _function_at(text, a) == _function_at(text, b)


def _function_at(text: str, line: int) -> tuple[int, int]:
    """The first and last line of the innermost function around a line; zeros outside all functions."""
    around = [(begin, end) for begin, end in _functions(text) if begin <= line <= end]
    return max(around, default=(0, 0))


@functools.lru_cache(maxsize=16)
def _functions(text: str) -> list[tuple[int, int]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(node.lineno, node.end_lineno or node.lineno) for node in ast.walk(tree) if isinstance(node, kinds)]
