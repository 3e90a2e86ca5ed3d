"""The rules that a caller passes, as objects or as mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .definition import ExpressionRule, RuleError
from .reading import rule_of


def rules_of(given: Any) -> list[ExpressionRule]:
    """The rules among conditions and rules; none if all are conditions.

    Raises:
        RuleError: A rule is invalid, or conditions and rules are mixed.
    """
    several = (
        [given] if isinstance(given, (str, ExpressionRule, Mapping)) or not isinstance(given, Sequence) else list(given)
    )
    if all(isinstance(each, str) for each in several):
        return []
    rules = []
    for number, each in enumerate(several):
        place = f"rules[{number}]" if len(several) > 1 else ""
        if isinstance(each, ExpressionRule):
            each.check()
            rules.append(each)
        elif isinstance(each, Mapping):
            rules.append(rule_of(each, place))
        else:
            raise RuleError(f"{place}: expected a rule, not {each!r}" if place else f"expected a rule, not {each!r}")
    return rules
