"""What the code of a module's `forward` refers to."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType


@lru_cache(maxsize=256)
def names_in_forward(cls: type) -> frozenset[str]:
    """The names of attributes and functions in `forward` and in the methods that it calls."""
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
