"""The built-in rules, as catalogue.json describes them.

The server embeds the same file, and makes the same expressions from it: see server/rules/catalogue.h. Rules that have
a counterpart in SageMaker Debugger have its names and defaults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from graphdbg.client.models import Advice

from .definition import SERIES_PARTS
from .param import Param, Value
from .rule import Rule

_TYPES: dict[str, type[Value]] = {each.__name__: each for each in (int, float, bool, str)}
_R = TypeVar("_R", bound=Rule)


@dataclass(frozen=True)
class Term:
    """A condition that is one of several: any of them has to be true.

    Attributes:
        text: The expression. `{threshold}` stands for a parameter, `{num_steps-1}` for one less than it.
        only_if, unless: A parameter that must be given, and not false, for the term to count, or must not.
    """

    text: str
    only_if: str = ""
    unless: str = ""

    def applies(self, values: Mapping[str, Any]) -> bool:
        """Whether the term counts with these parameters."""
        if self.unless and _is_set(values[self.unless]):
            return False
        return not self.only_if or _is_set(values[self.only_if])


@dataclass(frozen=True)
class Part:
    """An expression of a rule.

    Attributes:
        terms: At least one.
        select: The tensors that it looks at; None if each use must name them.
        series, reduce: As in a rule.
    """

    terms: tuple[Term, ...]
    select: Mapping[str, list[str]] | None = None
    series: tuple[str, ...] = SERIES_PARTS
    reduce: Mapping[str, str] = field(default_factory=dict)

    def when(self, values: Mapping[str, Any]) -> str:
        """The expression with these parameters. Raises ValueError if they leave none."""
        terms = [each for each in self.terms if each.applies(values)]
        if not terms:
            raise ValueError(f"{' or '.join(each.only_if for each in self.terms)} is required")
        return " || ".join(re.sub(r"\{(\w+)(-1)?\}", lambda found: _number(values, found), each.text) for each in terms)


@dataclass(frozen=True)
class BuiltIn:
    """A built-in rule that consists of expressions.

    Attributes:
        id: Its name.
        title: What a finding means.
        params: Its parameters.
        parts: The expressions, of which any may match.
        advice: About findings.
    """

    id: str
    title: str
    params: Mapping[str, Param]
    parts: tuple[Part, ...]
    advice: Advice


def described(rule: type[_R]) -> type[_R]:
    """Gives a built-in rule in Python its title, parameters and advice."""
    entry = _ENTRIES[rule.id]
    rule.title = entry["title"]
    rule.params = _params(entry)
    rule.causes, rule.next = entry["causes"], entry["next"]
    return rule


def _is_set(value: Value | None) -> bool:
    return value is not None and value is not False


def _number(values: Mapping[str, Any], found: re.Match[str]) -> str:
    value = values[found[1]] - 1 if found[2] else values[found[1]]
    # The fewest digits, without those of a whole number behind the point.
    return repr(value).removesuffix(".0")


def _params(entry: Mapping[str, Any]) -> dict[str, Param]:
    return {each["name"]: _param(**each) for each in entry["params"]}


def _param(name: str, type: str, **others: Any) -> Param:
    return Param(_TYPES[type], **others)


def _built_in(entry: Mapping[str, Any]) -> BuiltIn:
    advice = Advice(tuple(entry["causes"]), tuple(entry["next"]))
    return BuiltIn(entry["id"], entry["title"], _params(entry), tuple(map(_part, entry["parts"])), advice)


def _part(entry: Mapping[str, Any]) -> Part:
    terms = tuple(Term(each["text"], each.get("if", ""), each.get("unless", "")) for each in entry["when"])
    series = tuple(entry.get("series", SERIES_PARTS))
    return Part(terms, entry.get("select"), series, entry.get("reduce", {}))


def _read() -> dict[str, Mapping[str, Any]]:
    text = Path(__file__).with_name("catalogue.json").read_text(encoding="utf-8")
    return {each["id"]: each for each in json.loads(text)["rules"]}


def _those(wanted: Callable[[int], bool]) -> dict[str, BuiltIn]:
    expressions = {name: entry for name, entry in _ENTRIES.items() if "parts" in entry}
    return {name: _built_in(entry) for name, entry in expressions.items() if wanted(len(entry["parts"]))}


_ENTRIES = _read()
# Rules that are one expression, and those that match where one of several does.
BUILT_INS = _those(lambda parts: parts == 1)
COMPOUNDS = _those(lambda parts: parts > 1)
