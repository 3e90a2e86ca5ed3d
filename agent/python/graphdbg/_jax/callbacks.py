"""Calls of the program's own Python functions from within jitted functions, which may raise errors."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from types import CodeType
from typing import Any

# The lines of a traceback.
_FRAME = re.compile(r'^ *File "(?P<file>.+)", line (?P<line>\d+), in ', re.MULTILINE)
# JAX checks what a callback has returned.
_RETURNED = re.compile(r"for return value #(?P<slot>\d+): Expected: (?P<type>.+), Actual: ")


def code_of(equation: Any) -> CodeType | None:
    """The code of the function that an equation calls back; None if there is none in Python."""
    flat = equation.params.get("callback")
    function = getattr(flat, "callback_func", flat)
    while isinstance(function, functools.partial):
        function = function.func
    if not callable(function):
        return None
    codes = (getattr(each, "__code__", None) for each in (function, function.__call__))
    return next((code for code in codes if isinstance(code, CodeType)), None)


def was_running(code: CodeType | None, message: str) -> bool:
    """Whether an error's message contains a traceback with a line of the code."""
    if code is None:
        return False
    lines = {line for _, _, line in code.co_lines() if line is not None}
    frames = _FRAME.finditer(message)
    return any(each["file"] == code.co_filename and int(each["line"]) in lines for each in frames)


def may_have_returned(avals: Sequence[Any], message: str) -> bool:
    """Whether an error's message is that something was returned in place of a value of one of these types."""
    found = _RETURNED.search(message)
    if found is None or int(found["slot"]) >= len(avals):
        return False
    aval = avals[int(found["slot"])]
    return found["type"] in (str(getattr(aval, "shape", "")), str(getattr(aval, "dtype", "")))
