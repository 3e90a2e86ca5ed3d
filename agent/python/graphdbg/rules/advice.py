"""Advice about findings: likely causes, and what to look at next."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from graphdbg.client.models import Advice

from .catalogue import BUILT_INS, COMPOUNDS
from .definition import CompoundRule, ExpressionRule
from .python_rule import PythonRule

# The symptom of an expression that uses no statistic with one of its own.
_ANY = "expression"


def advice_for(rule: ExpressionRule | CompoundRule | PythonRule) -> Advice | None:
    """The advice about findings of a rule; None if there is none."""
    if isinstance(rule, PythonRule):
        advice = Advice(tuple(rule.rule.causes), tuple(rule.rule.next))
        return advice if advice.causes or advice.next else None
    found = {**BUILT_INS, **COMPOUNDS}.get(rule.parts[0].base)
    return found.advice if found else _advice_for_expression(rule.parts[0].when)


def _advice_for_expression(expression: str) -> Advice:
    """Advice that follows from the statistics that an expression uses, as agent/conditions/advice.h gives it."""
    general = _general()
    size = "large" if ">" in expression else "small"
    used = (row for row in general["measures"] if re.search(rf"\b{row['id']}\b", expression, re.ASCII))
    symptom = next((row[size] for row in used), _ANY)
    (row,) = (row for row in general["symptoms"] if row["id"] == symptom)
    return Advice(tuple(row["causes"]), tuple(row["next"]))


@cache
def _general() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_name("advice.json").read_text(encoding="utf-8"))
    return content
