"""What the code of a module's `forward` refers to."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator
from types import CodeType
from typing import Any

# By class.
_names: weakref.WeakKeyDictionary[Any, frozenset[str]] = weakref.WeakKeyDictionary()


def names_in_forward(cls: Any) -> frozenset[str]:
    """The names of attributes and functions in a class's `forward` and in the methods that it calls."""
    if cls not in _names:
        _names[cls] = _read(cls)
    return _names[cls]


def _read(cls: Any) -> frozenset[str]:
    found: set[str] = set()
    waiting = ["forward"]
    while waiting:
        method = inspect.unwrap(getattr(cls, waiting.pop(), None) or _nothing)
        code = getattr(method, "__code__", None)
        new = set(_names_in(code)) - found if code is not None else set()
        found |= new
        waiting += new
    return frozenset(found)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _nothing() -> None: ...
