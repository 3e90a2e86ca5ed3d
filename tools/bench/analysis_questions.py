"""The questions of `tools/dev bench analysis`, in SQL that DuckDB and Spark read alike, with the planted answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis_facts import GRADIENT, LOSS, WEIGHT, Facts
from graphdbg.rules import ExpressionRule, rule_of
from graphdbg.rules.finding import MAX_FINDINGS
from graphdbg.rules.sql import Limits, findings_query

Row = Mapping[str, Any]
# Engines add numbers in different orders.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Question:
    """A question, whose answer is known in part.

    Attributes:
        name: What it asks.
        sql: A query with `order by`, unless the answer is one row.
        expected: The planted rows, with the columns that are known.
        planted: Selects the rows of an answer that `expected` has.
        is_for_links: Whether it is also asked about a run of very many ranks.
        limit_seconds: The goal for such a run of 1,024 ranks on two processors; None: there is none.
    """

    name: str
    sql: str
    expected: list[Row]
    planted: Callable[[list[Row]], list[Row]] = lambda rows: rows
    is_for_links: bool = False
    limit_seconds: float | None = None

    def is_answered_by(self, rows: list[Row]) -> bool:
        """Whether an answer has what was planted."""
        found = self.planted(rows)
        known: list[Row] = [{name: row[name] for name in each} for each, row in zip(self.expected, found, strict=False)]
        return len(found) == len(self.expected) and same(known, self.expected)


def same(rows: Sequence[Row], others: Sequence[Row]) -> bool:
    """Whether two answers agree, in the same order, up to rounding."""
    return len(rows) == len(others) and all(
        row.keys() == other.keys() and all(_equal(row[name], other[name]) for name in row)
        for row, other in zip(rows, others, strict=True)
    )


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=1e-300)
    return bool(one == other)


def questions(facts: Facts, ranks: int | None = None) -> list[Question]:
    """The questions about a run.

    Args:
        facts: What was planted in it.
        ranks: The number of its ranks if they are links to those that were written.
    """
    count = facts.size.ranks if ranks is None else ranks
    return [*_searches(facts), *_lookups(facts, count), *_rules(facts, count), *_scans(facts, count)]


def _searches(facts: Facts) -> list[Question]:
    nonfinite = {"step": facts.nonfinite_step, "tensor": f"{facts.nonfinite_node}:0", "rank": facts.nonfinite_rank}
    divergence = {"step": facts.divergence_step, "tensor": f"{facts.divergence_node}:0"}
    return [
        Question(
            "first non-finite tensor of all ranks",
            "select step, exec_order, rank, tensor from statistics where nonfinite_count > 0 "
            "order by step, exec_order, rank limit 1",
            [nonfinite],
            is_for_links=True,
            limit_seconds=60,
        ),
        Question(
            "first divergence of two ranks",
            "select a.step, a.exec_order, a.tensor, a.abs_mean as here, b.abs_mean as there "
            "from statistics a join statistics b on a.tensor = b.tensor and a.step = b.step and a.mode = b.mode "
            "and a.pass = b.pass where a.rank = 0 and b.rank = 1 "
            "and abs(a.abs_mean - b.abs_mean) > 1e-6 * abs(a.abs_mean) order by a.step, a.exec_order limit 1",
            [divergence],
            is_for_links=True,
            limit_seconds=5,
        ),
    ]


def _lookups(facts: Facts, ranks: int) -> list[Question]:
    steps = range(1, facts.size.steps + 1)
    return [
        Question(
            "history of one tensor, all ranks",
            f"select rank, step, mean from statistics where tensor = '{LOSS}:0' order by rank, step",
            [{"rank": rank, "step": step, "mean": facts.loss(step)} for rank in range(ranks) for step in steps],
            is_for_links=True,
        ),
        Question(
            "one step of one rank",
            f"select exec_order, tensor, abs_mean, l2 from statistics where rank = {ranks // 2} "
            f"and step = {facts.size.steps // 2} order by exec_order",
            [{"exec_order": order, "tensor": each.name} for order, each in enumerate(facts.tensors, 1)],
            is_for_links=True,
        ),
        Question(
            f"condition abs_max > 40 && step > {facts.loud_after}",
            f"select rank, step, tensor from statistics where abs_max > 40 and step > {facts.loud_after} "
            "order by step, rank, exec_order",
            [
                {"rank": rank, "step": step, "tensor": f"{facts.loud_node}:0"}
                for step in steps
                if step > facts.loud_after and facts.is_loud(step)
                for rank in range(ranks)
            ],
        ),
    ]


def rule_entries(facts: Facts) -> dict[str, dict[str, Any]]:
    """The rules, as the configuration writes them, by the facts that they find."""
    return {
        "parting": {"rule": "replicas_disagree"},
        "stall": {"rule": "loss_not_decreasing", "params": {"num_steps": facts.patience}},
        "vanishing": {"rule": "vanishing_gradient", "for": facts.vanishing_hold},
    }


def _rules(facts: Facts, ranks: int) -> list[Question]:
    entries = rule_entries(facts)
    parting = {"tensor": f"{facts.parting_node}:0", "step": facts.parting_step, "finding_count": 1}
    stalled = {"step": facts.stall_step + facts.patience, "finding_count": ranks}
    vanished = {
        "rank": facts.size.ranks - 1,
        "tensor": f"{facts.vanishing_node}:0",
        "step": facts.vanishing_step + facts.vanishing_hold - 1,
    }
    return [
        Question(
            "first weight in which replicas disagree", _findings(entries["parting"], facts.names(WEIGHT)), [parting]
        ),
        Question(
            "rule loss_not_decreasing",
            _findings(entries["stall"], [f"{LOSS}:0"]),
            [{"rank": rank, **stalled} for rank in range(min(ranks, MAX_FINDINGS))],
        ),
        Question(
            f"rule vanishing_gradient, held {facts.vanishing_hold} times, all gradients",
            _findings(entries["vanishing"], facts.names(GRADIENT)),
            [vanished],
        ),
    ]


def _findings(entry: Mapping[str, Any], tensors: list[str]) -> str:
    """The query that `graphdbg rules` sends. The names are known, because reading all graphs is no query."""
    rule = rule_of(entry)
    assert isinstance(rule, ExpressionRule)
    return findings_query(rule, Limits(tensors=tensors), MAX_FINDINGS)


def _scans(facts: Facts, ranks: int) -> list[Question]:
    steps = range(1, facts.size.steps + 1)
    losses = math.fsum(map(facts.loss, steps)) / len(steps)
    return [
        Question(
            "means of every tensor (full scan)",
            "select tensor, count(*) as observations, avg(mean) as mean, avg(abs_mean) as abs_mean, avg(l2) as l2 "
            "from statistics group by tensor order by tensor",
            [{"tensor": f"{LOSS}:0", "observations": ranks * len(steps), "mean": losses}],
            lambda rows: [row for row in rows if row["tensor"] == f"{LOSS}:0"],
        ),
        Question(
            "count of all rows",
            "select count(*) as observations from statistics",
            [{"observations": ranks * len(steps) * facts.size.tensors}],
            is_for_links=True,
        ),
    ]
