"""Finds the variables and attributes by which the user's code holds a model."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.nn import Module

# More items in a container are data rather than models.
_MAX_ITEMS = 64

# The items that `_held` yields: a name and the module that it refers to.
Held = tuple[str, "Module"]


class Holders:
    """The modules that the user's code holds while it calls a model, by name.

    The outermost function comes first, because it knows a model under the name that the
    program gave it, and inner ones often as `model`.
    """

    def __init__(self, is_user_code: Callable[[str], bool]) -> None:
        frames = list(_user_frames(is_user_code))
        self._held = [held for frame in reversed(frames) for held in _held_by(frame)]

    def name_of(self, module: Module, unwrap: Callable[[Module], Module]) -> str:
        """The first name of the module, or of a wrapper of it; "" if there is none."""
        return next((name for name, held in self._held if name != "self" and unwrap(held) is module), "")

    def owner_of(self, module: Module, unwrap: Callable[[Module], Module]) -> Module:
        """The largest held module that contains `module`; `module` itself if none does."""
        owner, size = module, 0
        for held in self._cores(unwrap):
            modules = list(held.modules())
            if len(modules) > size and any(inner is module for inner in modules):
                owner, size = held, len(modules)
        return owner

    def has_others(self, model: Module, unwrap: Callable[[Module], Module]) -> bool:
        """Whether the code holds modules with parameters that are not a part of `model`."""
        parts = {id(module) for module in model.modules()}
        return any(id(held) not in parts and next(held.parameters(), None) is not None for held in self._cores(unwrap))

    def _cores(self, unwrap: Callable[[Module], Module]) -> list[Module]:
        return list({id(core): core for core in (unwrap(held) for _, held in self._held)}.values())


def _user_frames(is_user_code: Callable[[str], bool]) -> Iterator[FrameType]:
    """Yields the user's frames of this thread, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def _held_by(frame: FrameType) -> list[Held]:
    variables = frame.f_locals
    held = list(_held(variables, frame.f_code.co_varnames[:1]))
    if variables is not frame.f_globals:
        held += _held(frame.f_globals, ())
        # Before Python 3.13 the frame keeps this copy, and with it tensors of the program.
        if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            variables.clear()
    return held


def _held(variables: Mapping[str, Any], owners: tuple[str, ...]) -> Iterator[Held]:
    """Yields the modules among variables, in the object whose method this is, and in containers."""
    items = list(variables.items())
    yield from _modules_in(items)
    for name in owners:
        owner = variables.get(name)
        if not _is_module(owner) and hasattr(owner, "__dict__") and not isinstance(owner, type):
            attributes = list(vars(owner).items())
            yield from _modules_in(attributes)
            yield from _modules_in_containers(attributes)
    yield from _modules_in_containers(items)


def _modules_in(items: list[tuple[str, Any]]) -> Iterator[Held]:
    for name, value in items:
        if _is_module(value):
            yield _clean(name), value


def _modules_in_containers(items: list[tuple[str, Any]]) -> Iterator[Held]:
    for name, value in items:
        if isinstance(value, dict) and len(value) <= _MAX_ITEMS and not name.startswith("__"):
            yield from _modules_in([(str(key), item) for key, item in list(value.items())])
        elif isinstance(value, (list, tuple)) and len(value) <= _MAX_ITEMS:
            yield from _modules_in([(f"{name}_{index}", item) for index, item in enumerate(value)])


def _is_module(value: Any) -> bool:
    from torch.nn import Module

    # isinstance would ask proxies for their class, which may run the program's code.
    return issubclass(type(value), Module)


def _clean(name: str) -> str:
    return re.sub(r"[^\w-]", "_", name) or "_"
