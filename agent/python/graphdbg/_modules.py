"""Gives modules their scopes: the paths by which the user knows them."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch.nn import Module


class Scopes(Protocol):
    """The part of _hooks that knows scopes."""

    PARAMETER: int
    BUFFER: int

    def declare_scope(self, path: str, type_name: str, now: bool, /) -> int: ...
    def bind_tensor(self, scope: int, name: str, kind: int, tensor: object, /) -> None: ...
    def set_scope(self, module: object, scope: int, model: bool, /) -> None: ...
    def current_scope(self) -> tuple[int, bool]: ...


def _join(path: str, name: str) -> str:
    name = name.replace(".", "/")
    return f"{path}/{name}" if path and name else path or name


def _name_in(parent: Module, module: Module) -> str:
    """Of a module that was added since its parent was first called; "" if it is not registered there."""
    return next((name for name, child in parent.named_modules() if child is module), "")


class ModuleTree:
    """The modules that were called so far, and those inside them.

    The first module with parameters that is called from outside any other is
    the model; its path is empty. Others that are called from outside are named
    by their class, and so are modules that their caller does not register.
    """

    def __init__(self, hooks: Scopes) -> None:
        self._hooks = hooks
        # By path and by scope; a path is free again when its module is gone.
        self._owners: dict[str, weakref.ref[Module]] = {}
        self._paths: dict[int, str] = {}
        self._known: dict[int, weakref.ref[Module]] = {}

    def add(self, module: Module) -> None:
        """Gives `module`, which is being called and has no scope, one."""
        scope, inside = self._hooks.current_scope()
        if inside:
            self._add_inner(module, self._paths.get(scope, ""))
        else:
            self._add_root(module)

    def _add_root(self, module: Module) -> None:
        has_parameters = next(module.parameters(), None) is not None
        is_first = has_parameters and self._is_free("", module)
        path = "" if is_first else self._free_path(type(module).__name__, module)
        self._register(module, path, model=has_parameters)

    def _add_inner(self, module: Module, parent_path: str) -> None:
        owner = self._owners.get(parent_path)
        parent = owner() if owner is not None else None
        name = _name_in(parent, module) if parent is not None else ""
        path = _join(parent_path, name or type(module).__name__)
        self._register(module, path if name else self._free_path(path, module), model=False)

    def _is_free(self, path: str, module: Module) -> bool:
        owner = self._owners.get(path)
        holder = owner() if owner is not None else None
        return holder is None or holder is module

    def _free_path(self, base: str, module: Module) -> str:
        path, number = base, 0
        while not self._is_free(path, module):
            number += 1
            path = f"{base}_{number}"
        return path

    def _register(self, root: Module, root_path: str, *, model: bool) -> None:
        for name, module in root.named_modules():
            path = _join(root_path, name)
            if name and self._is_known(module):
                continue
            scope = self._hooks.declare_scope(path, type(module).__name__, model)
            self._owners[path] = self._known[id(module)] = weakref.ref(module)
            self._paths[scope] = path
            self._hooks.set_scope(module, scope, model and module is root)
            self._bind(module, scope)

    def _is_known(self, module: Module) -> bool:
        known = self._known.get(id(module))
        return known is not None and known() is module

    def _bind(self, module: Module, scope: int) -> None:
        for name, parameter in module.named_parameters(recurse=False):
            self._hooks.bind_tensor(scope, name, self._hooks.PARAMETER, parameter)
        for name, buffer in module.named_buffers(recurse=False):
            self._hooks.bind_tensor(scope, name, self._hooks.BUFFER, buffer)
