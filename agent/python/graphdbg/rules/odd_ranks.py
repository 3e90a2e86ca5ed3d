"""Names the ranks whose values differ from those of most others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from graphdbg.runs.errors import NotRecorded

from .definition import ExpressionRule
from .finding import Finding, RuleResult

if TYPE_CHECKING:
    from graphdbg.runs.run import Run

_RULE = "replicas_disagree"
# Findings for which the values of each rank are read.
_NAMED = 10


def name_ranks(run: Run, result: RuleResult, ranks: Sequence[int] | None) -> RuleResult:
    """The findings of `replicas_disagree` with the rank that differs, if it is one and most others agree."""
    if not isinstance(result.rule, ExpressionRule) or result.rule.base != _RULE:
        return result
    first, others = result.findings[:_NAMED], result.findings[_NAMED:]
    return replace(result, findings=[*(_named(run, each, ranks or run.ranks) for each in first), *others])


def _named(run: Run, finding: Finding, ranks: Sequence[int]) -> Finding:
    values = _values(run, finding, ranks)
    if not values:
        return finding
    middle, width = median(values.values()), max(values.values()) - min(values.values())
    # One of several values that differ from the middle by most of the range.
    odd = [rank for rank, value in values.items() if 2 * abs(value - middle) > width]
    if not odd or 2 * len(odd) >= len(values):
        return finding
    if len(odd) > 1:
        ranks_text = ", ".join(map(str, odd))
        return replace(
            finding, message=f"{finding.message}; ranks {ranks_text} of {len(values)} differ from the others"
        )
    message = f"{finding.message}; rank {odd[0]} of {len(values)} differs from the others"
    return replace(finding, rank=odd[0], message=message)


def _values(run: Run, finding: Finding, ranks: Sequence[int]) -> dict[int, float]:
    values: dict[int, float] = {}
    for rank in ranks if finding.tensor else ():
        try:
            l2 = run.tensor(str(finding.tensor)).statistics(finding.step, rank, finding.mode).l2
        except NotRecorded:
            continue
        if l2 is not None:
            values[rank] = l2
    return values
