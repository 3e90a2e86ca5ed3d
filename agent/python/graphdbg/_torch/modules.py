"""Assigns scopes to modules: the paths under which the user knows them."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from .._undo import UndoList
from . import model_names

if TYPE_CHECKING:
    from torch.nn import Module


class Scopes(Protocol):
    """The functions of _hooks that declare scopes and what is in them."""

    PARAMETER: int
    BUFFER: int

    def declare_scope(self, path: str, type_name: str, now: bool, /) -> int: ...
    def bind_tensor(self, scope: int, name: str, kind: int, tensor: object, /) -> None: ...
    def give_input(self, scope: int, name: str, tensor: object, /) -> None: ...
    def set_scope(self, module: object, scope: int, model: bool, /) -> None: ...
    def set_input_names(self, module: object, tensor_class: type, names: tuple[str, ...], /) -> None: ...
    def current_scope(self) -> tuple[int, bool]: ...


# Names under which wrappers hold the module that they wrap.
_WRAPPED = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")


def _join(path: str, name: str) -> str:
    """The path of a module, without the wrappers of launchers and compilers on the way."""
    name = "/".join(part for part in name.split(".") if part not in _WRAPPED)
    return f"{path}/{name}" if path and name else path or name


def _name_in(parent: Module, module: Module) -> str:
    """The name of a module below `parent`; "" if it is not registered there."""
    return next((name for name, child in parent.named_modules() if child is module), "")


# Per call of a model. A larger number of tensors is a data set rather than inputs.
_MAX_INPUTS = 64


def is_model(root: Module) -> bool:
    """Whether a call of this outermost module is a pass of a model.

    A lone loss function or activation is not a model.
    """
    if next(root.parameters(), None) is not None or next(root.children(), None) is not None:
        return True
    names = {cls.__name__ for cls in type(root).__mro__}
    return not names.isdisjoint({"GraphModule", "ScriptModule"})


def _unwrapped(module: Module) -> Module:
    """The module inside wrappers that only pass their arguments on (such as DistributedDataParallel)."""
    return _unwrapping(module)[-1]


def _unwrapping(module: Module) -> list[Module]:
    """A module, what it wraps, and so on to the module that is no wrapper."""
    chain = [module]
    while True:
        inner = next(filter(None, (chain[-1]._modules.get(name) for name in ("module", *_WRAPPED))), None)
        if inner is None or _argument_names(chain[-1]):
            return chain
        chain.append(inner)


def _argument_names(module: Module) -> list[str]:
    """The names of the arguments of `forward` that can be positional."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except Exception:
        # `forward` is not a Python function, or has a broken signature.
        return []
    return [p.name for p in parameters if p.kind in positional]


def _add_tensors(tensor_type: type[Any], name: str, value: Any, found: dict[str, Any], depth: int = 0) -> None:
    """Adds the tensors in an argument, named by their position in it."""
    if isinstance(value, tensor_type):
        found[name] = value
    elif depth < 3 and isinstance(value, Mapping):
        for key, item in value.items():
            _add_tensors(tensor_type, f"{name}.{key}", item, found, depth + 1)
    elif depth < 3 and isinstance(value, (list, tuple)):
        for index, item in enumerate(value[:_MAX_INPUTS]):
            _add_tensors(tensor_type, f"{name}.{index}", item, found, depth + 1)


class ModuleTree:
    """The modules that have been called, and the modules inside them.

    If the program has one model when it calls the first one, its path is empty. Others
    are named after the variable or attribute that holds them. A module that is called
    on its own, but is a part of a model that the caller holds, has its path there.
    Wrappers such as DistributedDataParallel have the path of what they wrap. Modules
    without parameters and modules that nobody holds are named after their class, and so
    are modules that their caller has not registered.
    """

    def __init__(
        self,
        hooks: Scopes,
        library_directories: Sequence[str] = (),
        computes_shapes: Callable[[], bool] = lambda: False,
    ) -> None:
        """While `computes_shapes` returns True, calls of unknown modules are no part of the graph."""
        self._hooks = hooks
        self._computes_shapes = computes_shapes
        self._libraries = tuple(library_directories)
        # By path. A path is free again when its module no longer exists.
        self._owners: dict[str, weakref.ref[Module]] = {}
        # By scope.
        self._paths: dict[int, str] = {}
        # By the module's id.
        self._known: dict[int, weakref.ref[Module]] = {}
        self._scopes: dict[int, int] = {}
        # The model that was called last, and the names of its arguments.
        self._arguments: tuple[weakref.ref[Module] | None, list[str]] = (None, [])

    def scope_of(self, candidate: object) -> int:
        """The scope of a module that has been called; 0 for everything else."""
        return self._scopes.get(id(candidate), 0)

    def add(self, module: Module) -> None:
        """Assigns a scope to `module`, which is being called and has none yet, unless only shapes are computed."""
        if self._computes_shapes():
            return
        scope, inside = self._hooks.current_scope()
        if inside:
            self._add_inner(module, self._paths.get(scope, ""))
        else:
            self._add_root(module)

    def _add_root(self, module: Module) -> None:
        *wrappers, core = _unwrapping(module)
        if not self._is_known(core):
            if next(core.parameters(), None) is None:
                self._register(core, self._free_path(type(core).__name__, core), model=is_model(core))
            else:
                self._add_model(core)
        for wrapper in wrappers:
            self._give_scope(wrapper, self._scopes[id(core)], model=True)

    def _add_model(self, module: Module) -> None:
        """Adds the model that `module` is or is a part of."""
        holders = model_names.Holders(self._is_user_code)
        model = holders.owner_of(module, _unwrapped)
        if self._is_known(model):
            path = _join(self._paths[self._scopes[id(model)]], _name_in(model, module))
            self._register(module, self._free_path(path, module), model=True)
            return
        if self._is_free("", model) and not holders.has_others(model, _unwrapped):
            path = ""
        else:
            path = self._free_path(holders.name_of(model, _unwrapped) or type(model).__name__, model)
        self._register(model, path, model=True, parts_are_called=model is not module)

    def _is_user_code(self, file: str) -> bool:
        if file.startswith("<"):
            return file in ("<stdin>", "<string>", "<console>") or file.startswith("<ipython-input-")
        return "/site-packages/" not in file and "/dist-packages/" not in file and not file.startswith(self._libraries)

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

    def _register(self, root: Module, root_path: str, *, model: bool, parts_are_called: bool = False) -> None:
        """Adds a module and those inside it. `parts_are_called`: the program calls these rather than the whole."""
        for name, module in root.named_modules():
            path = _join(root_path, name)
            if name and self._is_known(module):
                continue
            scope = self._hooks.declare_scope(path, type(module).__name__, model)
            self._owners[path] = weakref.ref(module)
            self._paths[scope] = path
            is_called = module is root or (parts_are_called and is_model(module))
            self._give_scope(module, scope, model=model and is_called)

    def _give_scope(self, module: Module, scope: int, *, model: bool) -> None:
        self._known[id(module)] = weakref.ref(module)
        self._scopes[id(module)] = scope
        self._hooks.set_scope(module, scope, model)
        self._bind(module, scope)

    def _is_known(self, module: Module) -> bool:
        known = self._known.get(id(module))
        return known is not None and known() is module

    def _bind(self, module: Module, scope: int) -> None:
        for name, parameter in module.named_parameters(recurse=False):
            self._hooks.bind_tensor(scope, name, self._hooks.PARAMETER, parameter)
        for name, buffer in module.named_buffers(recurse=False):
            self._hooks.bind_tensor(scope, name, self._hooks.BUFFER, buffer)

    def follow_registrations(self, on_parameter: Callable[[], None], changes: UndoList) -> None:
        """Binds parameters and buffers that modules register after their first call."""
        from . import older_torch

        def parameter(module: Module, name: str, value: Any) -> None:
            if not changes.active:
                return
            on_parameter()
            self._rebind(module, name, self._hooks.PARAMETER, value)

        def buffer(module: Module, name: str, value: Any) -> None:
            if changes.active:
                self._rebind(module, name, self._hooks.BUFFER, value)

        older_torch.before_each_registration("parameter", parameter, changes)
        older_torch.before_each_registration("buffer", buffer, changes)

    def _rebind(self, module: Module, name: str, kind: int, value: Any) -> None:
        if value is not None and self._is_known(module):
            self._hooks.bind_tensor(self._scopes[id(module)], name, kind, value)

    def give_inputs(self, module: Module, /, *args: Any, **kwargs: Any) -> None:
        """Declares the tensors in the arguments of `module`, a model that is about to be called."""
        import torch

        scope = self._scopes[id(module)]
        names = self._arguments_of(module)
        given: dict[str, Any] = {}
        for index, value in enumerate(args):
            number = index - len(names)
            name = names[index] if number < 0 else f"input_{number}" if number else "input"
            _add_tensors(torch.Tensor, name, value, given)
        for name, value in kwargs.items():
            _add_tensors(torch.Tensor, name, value, given)
        given = {name.replace("/", "."): tensor for name, tensor in islice(given.items(), _MAX_INPUTS)}
        for name, tensor in given.items():
            self._hooks.give_input(scope, name, tensor)
        if not kwargs and all(type(value) is torch.Tensor for value in args) and len(given) == len(args):
            self._hooks.set_input_names(module, torch.Tensor, tuple(given))

    def _arguments_of(self, module: Module) -> list[str]:
        last, names = self._arguments
        if last is None or last() is not module:
            names = _argument_names(_unwrapped(module))
            self._arguments = (weakref.ref(module), names)
        return names
