"""Advice about findings: likely causes, and what to look at next."""

from __future__ import annotations

from graphdbg.client.models import Advice

from .catalogue import BUILT_INS, COMPOUNDS
from .definition import CompoundRule, ExpressionRule
from .python_rule import PythonRule


def advice_for(rule: ExpressionRule | CompoundRule | PythonRule) -> Advice | None:
    """The advice about findings of a rule; None if there is none."""
    if isinstance(rule, PythonRule):
        advice = Advice(tuple(rule.rule.causes), tuple(rule.rule.next))
        return advice if advice.causes or advice.next else None
    found = {**BUILT_INS, **COMPOUNDS}.get(rule.parts[0].base)
    return found.advice if found else None
