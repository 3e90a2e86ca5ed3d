"""The rules that can be used, for users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphdbg.client.models import Advice

from .built_in import PYTHON_BUILT_INS
from .catalogue import BUILT_INS, COMPOUNDS, BuiltIn
from .classes import Classes, find_class, installed_ids
from .definition import RuleError
from .param import Param
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


def _expression(rule: BuiltIn) -> Listed:
    needs_selection = any(part.select is None for part in rule.parts)
    return Listed(rule.id, rule.title, "built-in", needs_selection, _listed(rule.params), rule.advice)


def _listed(params: Mapping[str, Param]) -> tuple[ListedParam, ...]:
    return tuple(
        ListedParam(name, param.describe(), param.default, param.is_required, param.help)
        for name, param in params.items()
    )


def _class(rule: type[Rule], origin: str) -> Listed:
    advice = Advice(tuple(rule.causes), tuple(rule.next))
    return Listed(rule.id, rule.title, origin, rule.select is None, _listed(rule.params), advice)


def _installed(name: str) -> Listed:
    try:
        found = find_class(name, {})
    except RuleError as error:
        return Listed(name, "", "package", error=str(error))
    return _class(found, "package") if found else Listed(name, "", "package", error="it is no longer installed")
