"""What the code of a module's `forward` refers to."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator
from types import CodeType
from typing import Any

# Names of functions and modules that draw random numbers.
_RANDOM = frozenset(
    (
        "random",
        "rand",
        "rand_like",
        "randint",
        "randrange",
        "randperm",
        "uniform",
        "uniform_",
        "bernoulli",
        "bernoulli_",
    )
)

# By class.
_names: weakref.WeakKeyDictionary[Any, frozenset[str]] = weakref.WeakKeyDictionary()


def names_in_forward(cls: Any) -> frozenset[str]:
    """The names of attributes and functions in a class's `forward` and in the methods that it calls."""
    if cls not in _names:
        _names[cls] = _read(cls)
    return _names[cls]


def draws_random_numbers(cls: Any) -> bool:
    """Whether its `forward` may decide at random what it calls."""
    return not names_in_forward(cls).isdisjoint(_RANDOM)


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
