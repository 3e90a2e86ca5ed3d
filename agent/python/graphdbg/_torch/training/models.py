"""The models that the program has called, and where their parameters are."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..._user_code import Line, is_users_class, line_of_forward
from .forward_code import draws_random_numbers, names_in_forward


class Home(NamedTuple):
    """Where a parameter is."""

    # The path, such as "encoder.0.weight".
    name: str
    # The module that holds it.
    layer: weakref.ref[Any]
    # The user's own code holds the module that holds the parameter, or the parameter.
    is_users: bool
    # A module that is called has it, but the one that calls it has not registered it.
    is_unregistered: bool
    # A module holds it in a plain list or dict, or as a plain attribute.
    is_loose: bool
    # It is in a list of modules, not all of which a call must use.
    is_choice: bool
    # The code of the modules around its layer calls it, if only on some condition.
    is_named: bool
    # The user's own code around its layer draws random numbers, and may skip the layer (LayerDrop).
    may_skip: bool
    # The outermost module of a library that contains it among other modules, as a whole
    # transformer does; None if the user's own code combines what is around it.
    composite: weakref.ref[Any] | None
    # Where the module that calls the parameter's module defines its `forward`, or else where the model is called.
    forward: Line | None

    @property
    def is_bias(self) -> bool:
        return "bias" in self.name.rpartition(".")[2]


class Models:
    def __init__(self) -> None:
        # Each with what the names of its parameters begin with.
        self._roots: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        # The user's line that called each first.
        self._calls: weakref.WeakKeyDictionary[Any, Line | None] = weakref.WeakKeyDictionary()
        # Grows with each new model.
        self.revision = 0
        # Modules hold tensors as if they were parameters.
        self.has_loose = False
        # The parameters of all, until something changes.
        self._parameters: list[weakref.ref[Any]] | None = None
        # By the parameter's id; built again if it lacks a parameter.
        self._homes: dict[int, tuple[weakref.ref[Any], Home]] = {}

    def add(self, model: Any, line: Line | None = None) -> None:
        """`line`: of the user's code that calls it."""
        if self._roots.get(model) != "":
            self._add(model, "")
            self._calls[model] = line

    def add_unregistered(self, module: Any) -> bool:
        """Adds a module that a model calls, unless a model contains it. Returns whether none does."""
        if any(each is module for root in list(self._roots) for each in root.modules()):
            return False
        self._add(module, f"{type(module).__name__}.")
        return True

    def _add(self, module: Any, prefix: str) -> None:
        self._roots[module] = prefix
        self._parameters = None
        self.revision += 1

    def look_again(self) -> None:
        """Models may have other parameters."""
        self._parameters = None

    def with_modes(self) -> list[Any]:
        """Those that are either in training or in evaluation mode."""
        return [root for root in list(self._roots) if hasattr(root, "training")]

    def parameters(self) -> Iterator[Any]:
        """With tensors that require gradients and that modules hold as plain attributes."""
        if self._parameters is None:
            roots = list(self._roots)
            found = {id(parameter): parameter for root in roots for parameter in root.parameters()}
            loose = [each for root in roots for module in root.modules() for _, each in _loose_in(module)]
            self.has_loose = bool(loose)
            found |= {id(tensor): tensor for tensor in loose}
            self._parameters = [weakref.ref(parameter) for parameter in found.values()]
        for reference in self._parameters:
            parameter = reference()
            if parameter is not None:
                yield parameter

    def home_of(self, parameter: Any) -> Home | None:
        """None if no model has the parameter."""
        found = self._homes.get(id(parameter))
        if found is None or found[0]() is not parameter:
            self._read()
            found = self._homes.get(id(parameter))
        return found[1] if found is not None and found[0]() is parameter else None

    def beside(self, parameter: Any) -> list[Any]:
        """The other parameters of its layer."""
        home = self.home_of(parameter)
        layer = home.layer() if home is not None else None
        return [] if layer is None else [each for each in layer.parameters(recurse=False) if each is not parameter]

    def is_loose(self, parameter: Any) -> bool:
        """Whether no module has registered it."""
        home = self.home_of(parameter)
        return home is None or home.is_loose

    def name_of(self, parameter: Any) -> str:
        home = self.home_of(parameter)
        return home.name if home is not None else "a parameter"

    def forward_of(self, parameter: Any) -> Line | None:
        """The line of the `forward` that uses the parameter."""
        home = self.home_of(parameter)
        return home.forward if home is not None else None

    def _read(self) -> None:
        from torch.nn import ModuleDict, ModuleList

        self._homes.clear()
        for root, prefix in list(self._roots.items()):
            modules = dict(root.named_modules(remove_duplicate=False))
            for path, module in modules.items():
                above = [modules[path[:end]] for end in _ends(path)]
                # Containers have no forward of their own.
                holder = next((each for each in reversed(above) if not _is_container(each)), module)
                choice = any(isinstance(each, (ModuleList, ModuleDict)) for each in above)
                named = _is_named(modules, path)
                skips = any(is_users_class(type(each)) and draws_random_numbers(type(each)) for each in above)
                users = is_users_class(type(module)) or is_users_class(type(holder))
                composite = next((each for each in (*above, module) if _is_composite(each)), None)
                of = next((each for each in (module, holder) if is_users_class(type(each))), None)
                forward = line_of_forward(of) if of is not None else self._calls.get(root)
                own = [(name, each, False) for name, each in module.named_parameters(recurse=False)]
                for name, parameter, loose in (*own, *((name, each, True) for name, each in _loose_in(module))):
                    full_name = prefix + (f"{path}.{name}" if path else name)
                    outermost = weakref.ref(composite) if composite else None
                    place = users, bool(prefix), loose, choice, named, skips
                    home = Home(full_name, weakref.ref(module), *place, outermost, forward)
                    known = self._homes.get(id(parameter))
                    # A list may have parameters that a module below has registered.
                    if known is None or (known[1].is_loose and not loose):
                        self._homes[id(parameter)] = weakref.ref(parameter), home


def _loose_in(module: Any) -> list[tuple[str, Any]]:
    """The tensors that a module holds as if they were parameters, by the names of the attributes: plain tensors, and
    what is in plain lists and dicts."""
    import torch

    found: list[tuple[str, Any]] = []
    for name, value in vars(module).items():
        # Modules keep what is registered in dicts of their own.
        if type(value) is torch.Tensor:
            found.append((name, value))
        elif type(value) in (list, tuple) and not name.startswith("_"):
            found += [(f"{name}.{place}", each) for place, each in enumerate(value)]
        elif type(value) is dict and not name.startswith("_"):
            found += [(f"{name}.{key}", each) for key, each in value.items()]
    types = (torch.Tensor, torch.nn.Parameter)
    return [(name, each) for name, each in found if type(each) in types and each.requires_grad and each.is_leaf]


def _ends(path: str) -> list[int]:
    """The ends of the paths of all modules that contain this one, from the root on."""
    if not path:
        return []
    return [0, *(index for index, character in enumerate(path) if character == ".")]


def _is_named(modules: dict[str, Any], path: str) -> bool:
    for end in _ends(path):
        holder, child = modules[path[:end]], path[end:].lstrip(".").partition(".")[0]
        if is_users_class(type(holder)) and child not in names_in_forward(type(holder)):
            return False
    return True


def _is_container(module: Any) -> bool:
    from torch.nn import ModuleDict, ModuleList, Sequential

    return isinstance(module, (ModuleDict, ModuleList, Sequential))


def _is_composite(module: Any) -> bool:
    """Whether a library combines modules in it."""
    return not is_users_class(type(module)) and not _is_container(module) and next(module.children(), None) is not None
