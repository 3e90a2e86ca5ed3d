"""What the source of a function says about its variables. Nothing is executed."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .source_lines import parsed

Function = ast.FunctionDef | ast.AsyncFunctionDef
OWN = "self"


@dataclass(frozen=True)
class Part:
    """One of several targets that a value is unpacked to: which, of how many."""

    position: int
    count: int


@dataclass(frozen=True)
class Assignment:
    """`name = value`.

    Attributes:
        part: Which part of the value; None: all of it.
        is_repeated: Whether it is in a loop.
    """

    name: str
    value: ast.expr
    part: Part | None = None
    is_repeated: bool = False


def assignments(body: Sequence[ast.stmt], is_repeated: bool = False) -> Iterator[Assignment]:
    """The assignments to names, without those of functions and classes inside."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for each in _assigned(statement):
            yield dataclasses.replace(each, is_repeated=is_repeated)
        inner = is_repeated or isinstance(statement, (ast.For, ast.While))
        for block in ("body", "orelse", "finalbody"):
            yield from assignments(getattr(statement, block, []), inner)
        for handler in getattr(statement, "handlers", []):
            yield from assignments(handler.body, inner)


def _assigned(statement: ast.stmt) -> Iterator[Assignment]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _targets(target, statement.value)
    elif isinstance(statement, ast.AugAssign):
        # The op has the line of the whole statement.
        value = ast.BinOp(left=statement.value, op=statement.op, right=statement.value)
        yield from _targets(statement.target, ast.copy_location(value, statement))
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield from _targets(statement.target, statement.value)


def _targets(target: ast.expr, value: ast.expr) -> Iterator[Assignment]:
    if isinstance(target, ast.Name):
        yield Assignment(target.id, value)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for each, part in zip(target.elts, value.elts, strict=True):
            yield from _targets(each, part)
    elif isinstance(target, ast.Tuple):
        for position, each in enumerate(target.elts):
            if isinstance(each, ast.Name):
                yield Assignment(each.id, value, Part(position, len(target.elts)))


def arguments(function: Function | None) -> list[str]:
    """The names of the arguments of a function."""
    if function is None:
        return []
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def argument(call: ast.Call, function: Function, name: str) -> ast.expr | None:
    """What a call passes for an argument of the function; None if it is not there."""
    names = arguments(function)
    named = {each.arg: each.value for each in call.keywords}
    place = names.index(name) - (names[0] == OWN)
    return named.get(name, call.args[place] if 0 <= place < len(call.args) else None)


def returned(function: Function) -> list[ast.expr]:
    """The values that a function returns."""
    found = [each.value for statement in function.body for each in ast.walk(statement) if isinstance(each, ast.Return)]
    return [each for each in found if each is not None]


def loops(body: Sequence[ast.stmt]) -> dict[str, str]:
    """By the variable of a loop over a module's list, `for block in self.blocks`: the path of the list."""
    found = {}
    for each in (node for statement in body for node in ast.walk(statement)):
        if isinstance(each, ast.For):
            target, values = each.target, each.iter
            if isinstance(values, ast.Call) and called_name(values) == "enumerate" and values.args:
                values = values.args[0]
                target = target.elts[-1] if isinstance(target, ast.Tuple) else target
            path = own_path(values)
            if isinstance(target, ast.Name) and path:
                found[target.id] = path
    return found


def own_path(value: ast.expr) -> str:
    """Of `self.blocks[0].fc` blocks/0/fc; "" for what is no attribute of self."""
    if isinstance(value, ast.Attribute):
        if isinstance(value.value, ast.Name):
            return value.attr if value.value.id == OWN else ""
        outer = own_path(value.value)
        return f"{outer}/{value.attr}" if outer else ""
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        outer = own_path(value.value)
        return f"{outer}/{value.slice.value!s}" if outer else ""
    return ""


def called_name(call: ast.expr) -> str:
    """The plain name that is called; "" for other calls."""
    return call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""


def function_of(text: str, name: str) -> Function | None:
    """A function of a file, outside of classes."""
    return _named(parsed(text), name)


def method_of(text: str, class_name: str, name: str) -> Function | None:
    """A method of a class of a file."""
    owner = next((each for each in parsed(text) if isinstance(each, ast.ClassDef) and each.name == class_name), None)
    return None if owner is None else _named(owner.body, name)


def class_around(text: str, line: int) -> str:
    """The name of the class around a line; "" if there is none."""
    classes = (each for each in parsed(text) if isinstance(each, ast.ClassDef))
    return next((each.name for each in classes if each.lineno <= line <= (each.end_lineno or 0)), "")


def instances(text: str) -> dict[str, str]:
    """By variable: the class of the file of which an object is assigned to it, as in `net = Net(3)`."""
    found = (node for statement in parsed(text) for node in ast.walk(statement) if isinstance(node, ast.Assign))
    made = (each for statement in found for each in _assigned(statement) if each.part is None)
    return {
        each.name: called_name(each.value)
        for each in made
        if method_of(text, called_name(each.value), "forward") is not None
    }


def _named(body: Sequence[ast.stmt], name: str) -> Function | None:
    functions = (each for each in body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return next((each for each in functions if each.name == name), None)
