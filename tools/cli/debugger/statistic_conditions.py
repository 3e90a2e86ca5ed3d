"""Conditions on the statistics of an array that is in this process, for bundles, which no server checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graphdbg.client.http import Json
from graphdbg.client.models import Statistics

from .errors import DebuggerError
from .evaluate import OPERATORS, STATISTICS
from .expressions import Binary, Call, Expression, Number, Reference, Unary, parse

_BY_ID = {
    "nan": ("NaN", "nan_count > 0"),
    "inf": ("Infinity", "pos_inf_count + neg_inf_count > 0"),
    "overflow": ("NaN or infinity", "nan_count + pos_inf_count + neg_inf_count > 0"),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "sqrt": math.sqrt,
    "log10": math.log10,
    "min": min,
    "max": max,
}
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def rows() -> dict[str, Json]:
    """The conditions by id, as the HTTP API describes those of a server."""
    return {id: {"id": id, "title": title, "params": []} for id, (title, _) in _BY_ID.items()}


@dataclass(frozen=True)
class StatisticCondition:
    """Comparisons of which all of one alternative must hold."""

    alternatives: Sequence[Sequence[Binary]]

    @classmethod
    def of(cls, text: str) -> StatisticCondition:
        """Reads an id, or an expression such as "abs_max > 1e3 && nan_count == 0".

        Raises:
            DebuggerError: It is neither.
        """
        expression = _BY_ID[text.strip()][1] if text.strip() in _BY_ID else text
        parts = [alternative.split("&&") for alternative in expression.split("||")]
        return cls([[_comparison(part, text) for part in alternative] for alternative in parts])

    def is_met(self, statistics: Statistics) -> bool:
        """Whether it holds. A comparison with a statistic that does not exist does not."""
        return any(all(_holds(each, statistics) for each in alternative) for alternative in self.alternatives)


def _comparison(text: str, whole: str) -> Binary:
    parsed = parse(text)
    if not isinstance(parsed, Binary) or parsed.operator not in _COMPARISONS:
        raise DebuggerError(
            f"{whole.strip()} is no condition of a bundle: write {', '.join(_BY_ID)}, or comparisons of statistics "
            "such as abs_max > 1e3 && nan_count == 0"
        )
    for name in _names(parsed):
        if name not in STATISTICS:
            raise DebuggerError(f"there is no statistic {name}; there are: {', '.join(STATISTICS)}")
    return parsed


def _names(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Reference) and expression == Reference(expression.name):
        yield expression.name
    elif isinstance(expression, Unary):
        yield from _names(expression.target)
    elif isinstance(expression, Binary):
        yield from _names(expression.left)
        yield from _names(expression.right)
    elif isinstance(expression, Call):
        if expression.function not in _FUNCTIONS:
            raise DebuggerError(f"there is no function {expression.function}; there are: {', '.join(_FUNCTIONS)}")
        for each in expression.arguments:
            yield from _names(each)
    elif not isinstance(expression, Number):
        raise DebuggerError("a condition compares statistics, and these have no slices, steps and fields")


def _holds(comparison: Binary, statistics: Statistics) -> bool:
    try:
        return bool(_value(comparison, statistics))
    except (TypeError, ValueError, ArithmeticError):
        # A statistic is missing, because no element is finite, or the result is no number.
        return False


def _value(expression: Expression, statistics: Statistics) -> Any:
    if isinstance(expression, Number):
        return expression.value
    if isinstance(expression, Reference):
        return getattr(statistics, expression.name)
    if isinstance(expression, Unary):
        return -_value(expression.target, statistics)
    if isinstance(expression, Call):
        return _FUNCTIONS[expression.function](*(_value(each, statistics) for each in expression.arguments))
    assert isinstance(expression, Binary)
    return OPERATORS[expression.operator](_value(expression.left, statistics), _value(expression.right, statistics))
