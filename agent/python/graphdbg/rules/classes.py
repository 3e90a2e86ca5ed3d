"""Finds rules that are Python classes: built-in ones, those of a file, and those of installed packages."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from .built_in import PYTHON_BUILT_INS
from .catalogue import BUILT_INS, COMPOUNDS
from .definition import RuleError
from .rule import Rule, check_class
from .run_rule import RunRule

# The group of entry points by which a package offers rules: the id of each, and its class.
ENTRY_POINTS = "graphdbg.rules"
# The modules of files with rules have names that begin so.
MODULE_PREFIX = "_graphdbg_rules_"

Classes = Mapping[str, type[Rule]]


def load_file(file: str | Path) -> dict[str, type[Rule]]:
    """The rules that a Python file defines, by id. The file is executed.

    Classes whose names begin with an underscore, and base classes of others, are no rules.

    Raises:
        RuleError: It cannot be read or executed, has no rules, or has invalid ones. The message has file and class.
    """
    module = _executed(Path(file))
    defined = [each for each in vars(module).values() if _is_rule(each) and each.__module__ == module.__name__]
    bases = {base for each in defined for base in each.__mro__[1:]}
    found: dict[str, type[Rule]] = {}
    for each in defined:
        if each in bases or each.__name__.startswith("_"):
            continue
        _check(each, str(file))
        if each.id in found:
            raise RuleError(f"{file}: class {each.__name__}: {each.id} is also the id of {found[each.id].__name__}")
        found[each.id] = each
    if not found:
        raise RuleError(f"{file}: there are no rules; expected classes derived from graphdbg.Rule")
    return found


def load_files(files: Iterable[str | Path]) -> dict[str, type[Rule]]:
    """The rules of several files, as `load_file`. Raises RuleError, also if two have the same id."""
    found: dict[str, type[Rule]] = {}
    for file in files:
        for name, rule in load_file(file).items():
            if name in found:
                raise RuleError(f"{file}: class {rule.__name__}: {name} is the id of a rule of another file")
            found[name] = rule
    return found


def installed_ids() -> list[str]:
    """The ids of the rules of installed packages; their code is not loaded."""
    return sorted(each.name for each in importlib.metadata.entry_points(group=ENTRY_POINTS))


def find_class(name: str, own: Classes) -> type[Rule] | None:
    """A rule by its id: one of `own`, a built-in one, or one of an installed package; None if there is none.

    Raises:
        RuleError: The package cannot be imported, or its rule is invalid.
    """
    found = own.get(name) or PYTHON_BUILT_INS.get(name)
    if found is not None:
        return found
    entries = list(importlib.metadata.entry_points(group=ENTRY_POINTS, name=name))
    return _loaded(entries[0]) if entries else None


def built_in_ids() -> list[str]:
    """The ids of the built-in rules."""
    return [*BUILT_INS, *COMPOUNDS, *PYTHON_BUILT_INS]


def known_ids(own: Classes) -> list[str]:
    """The ids of all rules."""
    return [*built_in_ids(), *own, *installed_ids()]


def _loaded(entry: importlib.metadata.EntryPoint) -> type[Rule]:
    place = f"entry point {entry.name} = {entry.value}"
    try:
        found = entry.load()
    except Exception as error:
        raise RuleError(f"{place}: {type(error).__name__}: {error}") from error
    if not _is_rule(found):
        raise RuleError(f"{place}: expected a class derived from graphdbg.Rule, not {found!r}")
    _check(found, place)
    if found.id != entry.name:
        raise RuleError(f"{place}: the id of class {found.__name__} is {found.id}")
    rule: type[Rule] = found
    return rule


def _executed(file: Path) -> ModuleType:
    if not file.is_file():
        raise RuleError(f"{file}: there is no such file")
    # A name of its own, by which pickle finds the module.
    name = f"{MODULE_PREFIX}{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise RuleError(f"{file}: expected a Python file, NAME.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise RuleError(f"{file}: {type(error).__name__}: {error}") from error
    return module


def _is_rule(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Rule) and value not in (Rule, RunRule)


def _check(rule: type[Rule], place: str) -> None:
    try:
        check_class(rule)
    except RuleError as error:
        raise RuleError(f"{place}: {error}") from None
    if rule.id in built_in_ids():
        raise RuleError(f"{place}: class {rule.__name__}: {rule.id} is the id of a built-in rule")
