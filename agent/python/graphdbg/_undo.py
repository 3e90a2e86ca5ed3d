"""The changes that graphdbg makes in a process, each with its undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Returns the name of what has to stay; None if nothing does.
Undo = Callable[[], str | None]


class UndoList:
    """Changes of one debugged job, which are undone in reverse order.

    Attributes:
        active: False once the job is no longer debugged. A wrapper that stays, because the program has built something
            else on it, then only passes calls on.
    """

    def __init__(self) -> None:
        self.active = True
        self._undos: list[Undo] = []

    def enter(self, undo: Undo) -> None:
        """Enters the undo of a change that has just been made."""
        self._undos.append(undo)

    def replace(self, holder: Any, name: str, value: Any) -> None:
        """Sets an attribute of a class, a module or an object."""
        is_own = name in vars(holder)
        before = vars(holder).get(name)
        setattr(holder, name, value)

        def put_back() -> str | None:
            if is_own and name not in vars(holder):
                # The program has deleted it.
                return None
            if vars(holder).get(name) is not value:
                return f"{_name_of(holder)}.{name}"
            if is_own:
                setattr(holder, name, before)
            else:
                delattr(holder, name)
            return None

        self.enter(put_back)

    def remove_handle(self, handle: Any) -> None:
        """Enters a hook that PyTorch has given a handle for."""
        self.enter(lambda: handle.remove())

    def run(self) -> list[str]:
        """Undoes everything. Returns the names of what stays: something else has replaced it since."""
        self.active = False
        stays = []
        while self._undos:
            left = _attempt(self._undos.pop())
            if left:
                stays.append(left)
        return stays


def _attempt(undo: Undo) -> str | None:
    try:
        return undo()
    except Exception as error:
        # The others are undone nevertheless.
        return f"{getattr(undo, '__qualname__', 'a change')} ({type(error).__name__}: {error})"


def _name_of(holder: Any) -> str:
    if isinstance(holder, type):
        return f"{holder.__module__}.{holder.__qualname__}"
    return str(getattr(holder, "__name__", type(holder).__qualname__))
