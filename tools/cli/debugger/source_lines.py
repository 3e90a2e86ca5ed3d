"""Which nodes a source line means."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

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
    lines = {number: forward_ops(index, nodes) for number, nodes in index.lines_of(file).items()}
    if line in lines:
        return Place(line, tuple(first_of_runs(index, lines[line])))
    end = last_line_of_function(text, line) if text is not None else line
    found = min((each for each in lines if line < each <= end and _same_function(text, line, each)), default=None)
    return None if found is None else Place(found, tuple(first_of_runs(index, lines[found])))


def forward_ops(index: GraphIndex, nodes: Sequence[int]) -> list[int]:
    """The ops that a line itself makes: their backward ops have the same line. If there are no others, those."""
    return [node for node in nodes if not index.name(node).startswith("backward/")] or list(nodes)


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
    function = function_at(text, line)
    return len(text.splitlines()) if function is None else function.end_lineno or function.lineno


def function_name(text: str, line: int) -> str:
    """The name of the innermost function around a line; "" outside all functions."""
    function = function_at(text, line)
    return "" if function is None else function.name


def line_of_function(text: str, name: str) -> int | None:
    """The line of the first statement of a function, by its name or that of its class and its own: Net.forward."""
    owner, _, own = name.rpartition(".")
    bodies = [parsed(text)] if not owner else [each.body for each in parsed(text) if _is_class(each, owner)]
    found = (each for body in bodies for each in body if isinstance(each, _FUNCTIONS) and each.name == own)
    function = next(found, None)
    return None if function is None else next_statement(text, function.lineno)


def _is_class(statement: ast.stmt, name: str) -> TypeGuard[ast.ClassDef]:
    return isinstance(statement, ast.ClassDef) and statement.name == name


def next_statement(text: str, line: int) -> int:
    """The line itself if a statement is there, else the first line of the next one: of the same function, if any.

    A blank line, a comment, a docstring and the line of `def` have none.
    """
    function = function_at(text, line)
    statements = _statements(text if function is None else function)
    if any(each.lineno <= line <= (each.end_lineno or each.lineno) for each in statements):
        return line
    if function is None:
        statements = [each for inner in _functions(text) for each in _statements(inner)] + statements
    return min((each.lineno for each in statements if each.lineno > line), default=line)


def has_call(text: str, line: int) -> bool:
    """Whether a simple statement at a line calls something."""
    function = function_at(text, line)
    body = parsed(text) if function is None else function.body
    statements = [each for statement in body for each in ast.walk(statement) if isinstance(each, ast.stmt)]
    here = (each for each in statements if each.lineno <= line <= (each.end_lineno or each.lineno))
    parts = (part for each in here if not _blocks(each) for part in ast.walk(each))
    return any(isinstance(part, ast.Call) for part in parts)


def local_text(file: str) -> str | None:
    """A file of this machine; None if it cannot be read."""
    try:
        return Path(file).read_text()
    except (OSError, UnicodeDecodeError):
        return None


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _statements(scope: str | _Function) -> list[ast.stmt]:
    """The simple statements of a function, or of a file outside functions."""
    found: list[ast.stmt] = []
    queue: list[ast.stmt] = list(scope.body) if not isinstance(scope, str) else list(parsed(scope))
    for each in queue:
        if isinstance(each, _FUNCTIONS):
            continue
        blocks = _blocks(each)
        if blocks:
            queue += [child for block in blocks for child in block]
        elif not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
            found.append(each)
    return found


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of a compound statement; none of a simple one."""
    blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    blocks += [part.body for name in ("handlers", "cases") for part in getattr(statement, name, [])]
    return [block for block in blocks if block]


def _same_function(text: str | None, a: int, b: int) -> bool:
    return text is not None and function_at(text, a) is function_at(text, b)


def function_at(text: str, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function around a line."""
    around = [each for each in _functions(text) if each.lineno <= line <= (each.end_lineno or each.lineno)]
    return max(around, key=lambda each: each.lineno, default=None)


@functools.lru_cache(maxsize=16)
def _functions(text: str) -> list[_Function]:
    found = (node for statement in parsed(text) for node in ast.walk(statement))
    return [node for node in found if isinstance(node, _FUNCTIONS)]


@functools.lru_cache(maxsize=16)
def parsed(text: str) -> list[ast.stmt]:
    """The statements of a file; none if it is not Python that this version reads."""
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return []
