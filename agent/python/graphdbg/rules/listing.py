"""The rules that can be used, for users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphdbg.client.models import Advice

from .advice import ADVICE
from .built_in import PYTHON_BUILT_INS
from .catalogue import BUILT_INS, COMPOUNDS, BuiltIn, Compound
from .classes import Classes, find_class, installed_ids
from .definition import RuleError
from .rule import Rule

_NONE = Advice((), ())


@dataclass(frozen=True)
class ListedParam:
    """A parameter: the values that it accepts, its default (None if there is none), and what it means."""

    name: str
    accepts: str
    default: Any
    required: bool = False
    help: str = ""


@dataclass(frozen=True)
class Listed:
    """A rule.

    Attributes:
        id, title: What it is.
        origin: "built-in", "file" or "package".
        needs_selection: Whether each use must name tensors.
        params: Its parameters.
        advice: Likely causes of its findings, and what to look at next.
        error: Why it cannot be used; "" if it can.
    """

    id: str
    title: str
    origin: str
    needs_selection: bool = False
    params: tuple[ListedParam, ...] = ()
    advice: Advice = _NONE
    error: str = ""


def listed(own: Classes) -> list[Listed]:
    """The built-in rules, those of `own`, and those of installed packages."""
    expressions = [*map(_expression, BUILT_INS.values()), *map(_expression, COMPOUNDS.values())]
    classes = [_class(rule, "built-in") for rule in PYTHON_BUILT_INS.values()]
    return [*expressions, *classes, *(_class(rule, "file") for rule in own.values()), *map(_installed, installed_ids())]


def _expression(rule: BuiltIn | Compound) -> Listed:
    params = tuple(ListedParam(name, _accepts(value), value) for name, value in rule.params.items())
    needs_selection = isinstance(rule, BuiltIn) and rule.select is None
    return Listed(rule.id, rule.title, "built-in", needs_selection, params, ADVICE[rule.id])


def _accepts(default: Any) -> str:
    return "true or false" if isinstance(default, bool) else "a number"


def _class(rule: type[Rule], origin: str) -> Listed:
    params: Mapping[str, Any] = rule.params
    return Listed(
        rule.id,
        rule.title,
        origin,
        rule.select is None,
        tuple(
            ListedParam(name, param.describe(), param.default, param.default is None, param.help)
            for name, param in params.items()
        ),
        Advice(tuple(rule.causes), tuple(rule.next)),
    )


def _installed(name: str) -> Listed:
    try:
        found = find_class(name, {})
    except RuleError as error:
        return Listed(name, "", "package", error=str(error))
    return _class(found, "package") if found else Listed(name, "", "package", error="it is no longer installed")
