"""Reads the rules of a configuration for a job that is about to start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphdbg.rules import CompoundRule, ExpressionRule, PythonRule, RuleError, load_files, rule_of

from .actions import actions_of
from .errors import USAGE, CliError
from .live_rules import LiveRule, RuleSet


def read_live_rules(file: str, entries: Sequence[Mapping[str, Any]], rules_from: Sequence[str]) -> RuleSet:
    """The rules that a configuration file names, or else all rules of Python files with their defaults.

    Args:
        file: The configuration file, for errors.
        entries: Its rules.
        rules_from: Python files, which are executed.

    Raises:
        CliError: A rule is invalid, or a Python file cannot be read.
    """
    own = load_files(rules_from)
    rules: dict[str, LiveRule] = {}
    for number, entry in enumerate(entries or [{"rule": name} for name in own]):
        place = f"{file}: rules[{number}]" if entries else ""
        try:
            rule = rule_of(entry, place, own)
        except RuleError as error:
            raise CliError(str(error), USAGE) from None
        if rule.name in rules:
            raise CliError(f"{place}.name: there is a rule '{rule.name}' already", USAGE)
        actions = actions_of(entry, place)
        if isinstance(rule, PythonRule):
            rules[rule.name] = LiveRule(rule, actions, entry)
        else:
            rules |= {part.name: LiveRule(part, actions) for part in _named_parts(rule)}
    return RuleSet(list(rules.values()), rules_from)


def _named_parts(rule: ExpressionRule | CompoundRule) -> list[ExpressionRule]:
    """The expressions of a rule. The server distinguishes rules by their names."""
    if len(rule.parts) == 1:
        return list(rule.parts)
    return [replace(part, name=f"{part.name} ({number})") for number, part in enumerate(rule.parts, 1)]
