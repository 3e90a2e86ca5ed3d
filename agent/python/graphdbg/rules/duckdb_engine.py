"""Evaluates rules by SQL over the views of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .definition import ExpressionRule
from .expression import names_of
from .finding import MAX_FINDINGS, Finding, RuleResult
from .selection import selected_tensors
from .sql import Limits, column_of, counts_query, findings_query

if TYPE_CHECKING:
    from graphdbg.runs.run import Run


def evaluate_by_sql(run: Run, rules: Sequence[ExpressionRule], limits: Limits) -> list[RuleResult]:
    """Evaluates each rule over the observations within these limits."""
    return [_evaluate(run, rule, limits) for rule in rules]


def limits_of(run: Run, rule: ExpressionRule, limits: Limits) -> Limits:
    """These limits, and the tensors that the rule selects. Raises RuleError if its selection is invalid."""
    return replace(limits, tensors=None if rule.observes_steps else selected_tensors(run, rule))


def finding_of(rule: ExpressionRule, row: Mapping[str, Any], values: Mapping[str, float | None]) -> Finding:
    """The finding of a row of `findings_query`, with the values that the rule used by name."""
    from graphdbg.runs.record import mode_name

    mode = row.get("mode")
    return Finding(
        rule.name,
        row.get("rank"),
        row.get("tensor"),
        None if mode is None else mode_name(mode),
        row["step"],
        values,
        rule.describe(values),
    )


def _evaluate(run: Run, rule: ExpressionRule, limits: Limits) -> RuleResult:
    limits = limits_of(run, rule, limits)
    rows = run.sql(findings_query(rule, limits, MAX_FINDINGS)).to_pylist()
    used = names_of(rule.expression())
    findings = [finding_of(rule, row, {name: row[column_of(name)] for name in used}) for row in rows]
    if findings:
        return RuleResult(rule, findings, int(rows[0]["finding_count"]), None, None)
    counts = run.sql(counts_query(rule, limits)).to_pylist()[0]
    return RuleResult(rule, [], 0, int(counts["observations"]), int(counts["unknown"]))
