"""Calls a function right after a module has been imported for the first time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ._undo import UndoList


class _Loader(Loader):
    """Wraps another loader and calls a function after it has run the module."""

    def __init__(self, loader: Loader, call: Callable[[], None]) -> None:
        self._loader = loader
        self._call = call

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # Restore the original loader, so that the module shows no trace of graphdbg.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._call()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Finder(MetaPathFinder):
    """Finds one module through the other finders, wraps its loader, and removes itself."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self._name = name
        self._call = call

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find_spec(fullname, path, target) if find_spec else None
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self._call)
                return spec
        return None


def after_import(name: str, call: Callable[[], None], changes: UndoList | None = None) -> None:
    """Calls `call` once, right after module `name` has been imported, unless `changes` have been undone by then.

    If the module has been imported already, `call` runs immediately. It must not
    raise.
    """
    if name in sys.modules:
        return call()
    if changes is None:
        sys.meta_path.insert(0, _Finder(name, call))
        return
    finder = _Finder(name, lambda: call() if changes.active else None)
    sys.meta_path.insert(0, finder)
    changes.enter(lambda: sys.meta_path.remove(finder) if finder in sys.meta_path else None)
