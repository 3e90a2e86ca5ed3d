"""Finds statements that cast a variable and drop the result, in the program's text."""

from __future__ import annotations

import ast
import functools
import linecache
import re
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any, NamedTuple

# The methods that cast, with the dtype or the kind of device that they have in their name.
_DTYPES = {
    "half": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "long": "int64",
}
_DEVICES = ("cuda", "cpu")
_METHODS = {*_DTYPES, *_DEVICES, "to", "type"}
# Files without such a text need not be parsed, which takes longer than a training step.
_MAY_CAST = re.compile(rf"(^|[;:])[ \t]*\w+\s*\.\s*({'|'.join(sorted(_METHODS))})\b", re.MULTILINE)


class Cast(NamedTuple):
    """A statement such as `x.half()`."""

    variable: str
    method: str
    # The text of the arguments that are a name, a constant or an attribute.
    arguments: tuple[str, ...]
    line: int

    def __str__(self) -> str:
        return f"{self.variable}.{self.method}({', '.join(self.arguments)})"

    def changes(self, tensor: Any, variables: Mapping[str, Any]) -> bool:
        """Whether the result differs from the tensor, as far as that can be determined."""
        import torch

        if self.method in _DTYPES:
            return bool(tensor.dtype != getattr(torch, _DTYPES[self.method]))
        if self.method in _DEVICES:
            return bool(tensor.device.type != self.method)
        targets = [_value_of(text, variables) for text in self.arguments]
        return any(_differs(tensor, target) for target in targets)


def casts_in(code: CodeType) -> list[Cast]:
    """The casts that a function runs on each call, and in each turn of its loops."""
    found = _casts_of(code.co_filename)
    if not found:
        return []
    lines = {line for _, _, line in code.co_lines()}
    return [cast for cast in found if cast.line in lines]


@functools.cache
def _casts_of(file: str) -> list[Cast]:
    text = "".join(linecache.getlines(file))
    if not _MAY_CAST.search(text):
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        # A cell of a notebook with magic commands, for example.
        return []
    return list(_unconditional(tree.body))


def _unconditional(statements: list[ast.stmt]) -> Iterator[Cast]:
    """Leaves out what depends on a condition, since it may not have run."""
    for statement in statements:
        if isinstance(statement, ast.Expr):
            cast = _cast_of(statement.value)
            if cast is not None:
                yield cast
        elif not isinstance(statement, ast.If) or "__name__" in ast.unparse(statement.test):
            yield from _unconditional(getattr(statement, "body", []))


def _cast_of(expression: ast.expr) -> Cast | None:
    if not isinstance(expression, ast.Call) or not isinstance(expression.func, ast.Attribute):
        return None
    variable, method = expression.func.value, expression.func.attr
    if not isinstance(variable, ast.Name) or method not in _METHODS:
        return None
    values = [*expression.args, *(each.value for each in expression.keywords if each.arg in ("dtype", "device"))]
    simple = [each for each in values if isinstance(each, (ast.Name, ast.Constant, ast.Attribute))]
    return Cast(variable.id, method, tuple(ast.unparse(each) for each in simple), expression.lineno)


def _value_of(text: str, variables: Mapping[str, Any]) -> Any:
    """The value of a constant, of a variable, or of an attribute of PyTorch such as torch.float16."""
    import torch

    if text in variables:
        return variables[text]
    owner, _, name = text.rpartition(".")
    if owner == "torch":
        return getattr(torch, name, None)
    return text.strip("'\"")


def _differs(tensor: Any, target: Any) -> bool:
    import torch

    if isinstance(target, torch.dtype):
        return bool(tensor.dtype != target)
    if not isinstance(target, (torch.device, str)):
        return False
    try:
        return bool(tensor.device.type != torch.device(target).type)
    except RuntimeError:
        # Not the name of a device.
        return False
