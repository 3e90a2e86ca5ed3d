"""The rules that a caller passes, as objects or as mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .definition import CompoundRule, ExpressionRule, RuleError
from .python_rule import AnyRule, PythonRule
from .reading import rule_of
from .rule import Rule


def rules_of(given: Any) -> list[AnyRule]:
    """The rules among conditions and rules; none if all are conditions.

    Raises:
        RuleError: A rule is invalid, or conditions and rules are mixed.
    """
    several = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if all(isinstance(each, str) for each in several):
        return []
    rules: list[AnyRule] = []
    for number, each in enumerate(several):
        place = f"rules[{number}]" if len(several) > 1 else ""
        if isinstance(each, (ExpressionRule, CompoundRule, PythonRule)):
            each.check()
            rules.append(each)
        elif isinstance(each, Rule) or (isinstance(each, type) and issubclass(each, Rule)):
            rules.append(PythonRule.of(each))
        elif isinstance(each, Mapping):
            rules.append(rule_of(each, place))
        else:
            raise RuleError(f"{place}: expected a rule, not {each!r}" if place else f"expected a rule, not {each!r}")
    return rules
