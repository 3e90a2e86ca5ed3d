"""Finds the optimizers that a program has made."""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from . import moments

# More items in a container are data.
_MAX_ITEMS = 64
# From a variable through attributes and containers.
_MAX_DEPTH = 4
_MAX_OBJECTS = 20_000


def optimizers(frame: FrameType | None) -> list[Any]:
    """The optimizers that the variables of the frames lead to; if there are none, those of the whole process."""
    classes = _used_classes()
    if not classes:
        return []
    found = list({id(each): each for each in _Search(classes).from_frames(frame)}.values())
    if found:
        return found
    # Goes through all objects, which takes tens of milliseconds.
    return [each for each in gc.get_referrers(*classes) if type(each) in classes]


def _used_classes() -> frozenset[type]:
    """The classes of which optimizers have been made: PyTorch marks their `step` with the first one."""
    from torch.optim import Optimizer

    return frozenset(each for each in _below(Optimizer) if hasattr(getattr(each, "step", None), "hooked"))


def _below(base: Any) -> Iterator[Any]:
    for each in base.__subclasses__():
        yield each
        yield from _below(each)


class _Search:
    def __init__(self, classes: frozenset[type]) -> None:
        self._classes = classes
        self._seen: set[int] = set()

    def from_frames(self, frame: FrameType | None) -> Iterator[Any]:
        while frame is not None:
            if not moments.is_own(frame):
                yield from self._in_frame(frame)
            frame = frame.f_back

    def _in_frame(self, frame: FrameType) -> Iterator[Any]:
        variables = frame.f_locals
        values = list(variables.values())
        # Before Python 3.13 the frame keeps this copy, and with it tensors of the program.
        if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            variables.clear()
        yield from self._among(values, 0)

    def _among(self, values: Iterable[object], depth: int) -> Iterator[Any]:
        for value in values:
            if id(value) in self._seen or len(self._seen) > _MAX_OBJECTS:
                continue
            self._seen.add(id(value))
            # The classes of some proxies run code when they are asked for their class.
            if type(value) in self._classes:
                yield value
            elif depth < _MAX_DEPTH:
                yield from self._among(_held_by(value), depth + 1)


def _held_by(value: object) -> Iterable[object]:
    if type(value) is dict:
        return list(value.values()) if len(value) <= _MAX_ITEMS else ()
    if type(value) in (list, tuple, set):
        items = list(value)  # type: ignore[call-overload]
        return items if len(items) <= _MAX_ITEMS else ()
    module = type(value).__module__
    if module in ("builtins", "types") or module.partition(".")[0] in ("torch", "numpy") or isinstance(value, type):
        return ()
    try:
        # Not `vars`, which may run the program's code.
        attributes = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return ()
    return list(attributes.values()) if type(attributes) is dict else ()
