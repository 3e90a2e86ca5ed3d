"""Reads rules from mappings and configuration files. Errors name the file, the key and the nearest valid key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphdbg._config import ConfigurationError, load
from graphdbg._config._validate import nearest

from .catalogue import BUILT_INS, COMPOUNDS, BuiltIn, Part
from .classes import Classes, find_class, known_ids
from .definition import SELECTION_LISTS, SERIES_PARTS, CompoundRule, ExpressionRule, RuleError
from .python_rule import AnyRule, PythonRule, selection
from .rule import Rule, values_of

_KEYS = ("rule", "name", "params", "select", "series", "reduce", "when", "for", "cool_down", "actions")
_KEY = re.compile(r"[\w.]+: ")
_MOST_OBSERVATIONS = 1_000_000_000


def read_rules(file: str | Path, own: Classes | None = None) -> list[AnyRule]:
    """The rules of a configuration file, in their order.

    Args:
        file: The file.
        own: Further rules by id, such as those of `load_file`.

    Raises:
        RuleError: The file cannot be read, has errors, or has no rules.
    """
    try:
        values = load(file).values
    except ConfigurationError as error:
        raise RuleError(str(error)) from None
    if not values.get("rules"):
        raise RuleError(f"{file}: there are no rules; expected a list with the key 'rules'")
    return [rule_of(entry, f"{file}: rules[{number}]", own) for number, entry in enumerate(values["rules"])]


def built_in(name: str, place: str = "", own: Classes | None = None) -> AnyRule:
    """A rule by its id, with its defaults. Raises RuleError if there is none, or it needs parameters."""
    return rule_of({"rule": name}, place, own)


def rule_of(entry: Mapping[str, Any], place: str = "", own: Classes | None = None) -> AnyRule:
    """A rule as the configuration writes it.

    Args:
        entry: Its keys, such as `rule` and `params`, or `when` and `select`.
        place: Where it is, for errors: "job.yaml: rules[2]".
        own: Further rules by id, such as those of `load_file`.

    Raises:
        RuleError: It is invalid.
    """
    try:
        rule = _Reader(entry, own or {}).rule()
        rule.check()
    except RuleError as error:
        # A rule in a file is a key of it: rules[2].when.
        separator = "" if not place else "." if _KEY.match(str(error)) else ": "
        raise RuleError(f"{place}{separator}{error}") from None
    return rule


class _Reader:
    def __init__(self, entry: Mapping[str, Any], own: Classes) -> None:
        self._entry = entry
        self._own = own
        _refuse_others("", entry, _KEYS)

    def rule(self) -> AnyRule:
        name, when = self._entry.get("rule"), self._text("when")
        if (name is None) == (when is None):
            raise RuleError("expected either 'rule', the name of a built-in rule, or 'when', an expression")
        if name is None:
            if self._entry.get("params"):
                raise RuleError("params: only built-in rules have parameters")
            return self._make(str(when), str(when), Part((), {}), "")
        if name in BUILT_INS:
            return self._make_built_in(BUILT_INS[name])
        if name in COMPOUNDS:
            return self._make_compound(COMPOUNDS[name])
        found = find_class(name, self._own) if isinstance(name, str) else None
        if found is None:
            raise RuleError(f"rule: there is no rule '{name}'{nearest(str(name), known_ids(self._own))}")
        return self._make_class(found)

    def _make_class(self, base: type[Rule]) -> PythonRule:
        self._refuse("series", "reduce")
        rule = base(**self._mapping("params"))
        return PythonRule(
            self._text("name") or rule.id,
            rule,
            selection(rule, self._select()),
            self._whole("for", 1, 1),
            self._whole("cool_down", 0, 10),
        )

    def _make_compound(self, base: BuiltIn) -> CompoundRule:
        self._refuse("select", "series", "reduce")
        params = values_of(base.params, self._mapping("params"))
        return CompoundRule(
            self._text("name") or base.id,
            tuple(self._make(base.id, part.when(params), part, base.id) for part in base.parts),
        )

    def _refuse(self, *keys: str) -> None:
        """Refuses keys that this rule decides itself."""
        for key in keys:
            if self._entry.get(key) is not None:
                raise RuleError(f"{key}: {self._entry['rule']} has its own and accepts no other")

    def _make_built_in(self, base: BuiltIn) -> ExpressionRule:
        (part,) = base.parts
        try:
            when = part.when(values_of(base.params, self._mapping("params")))
        except ValueError as error:
            raise RuleError(f"params: {base.id}: {error}") from None
        return self._make(base.id, when, part, base.id)

    def _make(self, name: str, when: str, part: Part, base: str) -> ExpressionRule:
        """A rule with this expression, and with the part's fields where it has none of its own."""
        select = self._select()
        if select is None:
            select = part.select
        if select is None:
            raise RuleError(f"select: {name} needs a selection of tensors, such as {{collections: [weights]}}")
        return ExpressionRule(
            name=self._text("name") or name,
            when=when,
            select=select,
            series=self._series(part.series),
            reduce=self._reduce(part.reduce),
            hold=self._whole("for", 1, 1),
            cool_down=self._whole("cool_down", 0, 10),
            base=base,
        )

    def _select(self) -> Mapping[str, list[str]] | None:
        if self._entry.get("select") is None:
            return None
        given = self._mapping("select")
        _refuse_others("select.", given, SELECTION_LISTS)
        return {name: _texts(f"select.{name}", value) for name, value in given.items()}

    def _series(self, default: tuple[str, ...]) -> tuple[str, ...]:
        if self._entry.get("series") is None:
            return default
        parts = _texts("series", self._entry["series"])
        for part in parts:
            if part not in (*SERIES_PARTS, "run"):
                raise RuleError(f"series: '{part}' is unknown{nearest(part, [*SERIES_PARTS, 'run'])}")
        # Everything belongs to the one run.
        return tuple(part for part in SERIES_PARTS if part in parts)

    def _reduce(self, default: Mapping[str, str]) -> Mapping[str, str]:
        if self._entry.get("reduce") is None:
            return default
        given = self._mapping("reduce")
        for name, value in given.items():
            if not isinstance(value, str):
                raise RuleError(f"reduce.{name}: expected a text such as max(l2), not {value!r}")
        return given

    def _mapping(self, key: str) -> Mapping[str, Any]:
        value = self._entry.get(key) or {}
        if not isinstance(value, Mapping):
            raise RuleError(f"{key}: expected a mapping, not {value!r}")
        return value

    def _text(self, key: str) -> str | None:
        value = self._entry.get(key)
        if value is not None and not isinstance(value, str):
            raise RuleError(f"{key}: expected a text, not {value!r}")
        return value

    def _whole(self, key: str, least: int, default: int) -> int:
        value = self._entry.get(key)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MOST_OBSERVATIONS:
            raise RuleError(f"{key}: expected a whole number of at least {least}, not {value!r}")
        return value


def _texts(key: str, value: Any) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(each, str) for each in value):
        raise RuleError(f"{key}: expected a list of texts, not {value!r}")
    return list(value)


def _refuse_others(prefix: str, entry: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in entry:
        if key not in known:
            raise RuleError(f"{prefix}{key}: unknown key{nearest(str(key), list(known))}")
