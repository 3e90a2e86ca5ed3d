"""Evaluates rules over a recorded run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphdbg.client.errors import USAGE, GraphdbgError

from .definition import ExpressionRule, RuleError
from .duckdb_engine import evaluate_by_sql
from .finding import RuleResult
from .selection import check_collections
from .spark_engine import evaluate_on_spark
from .sql import Limits

if TYPE_CHECKING:
    from graphdbg.runs.run import Run

ENGINES = ("auto", "log", "duckdb", "spark")

# Receives how many steps, or rules, of how many have been evaluated.
Progress = Callable[[int, int], None]


def evaluate(
    run: Run,
    rules: Sequence[ExpressionRule],
    steps: tuple[int | None, int | None] = (None, None),
    ranks: Sequence[int] | None = None,
    engine: str = "auto",
    progress: Progress = lambda done, total: None,
) -> list[RuleResult]:
    """Evaluates rules, in their order.

    Args:
        run: The run.
        rules: The rules.
        steps: First and last, both inclusive and either None. Observations before the first are not looked at.
        ranks: Only these; None: all.
        engine: "log" reads the log with the server's engine, "duckdb" evaluates SQL over the tables of the run,
            "spark" does so over its Parquet files in the active Spark application or else a local one, and "auto"
            chooses the log if it is on this machine and complete, and else DuckDB.
        progress: Called with the engines log and spark.

    Raises:
        RuleError: A rule selects a collection that the run does not have, or needs what the engine does not have.
        GraphdbgError: The engine is unknown, or cannot read the run.
    """
    if engine not in ENGINES:
        raise GraphdbgError(f"no engine {engine}; there are {', '.join(ENGINES)}", USAGE)
    for rank in ranks or ():
        run.rank(rank)
    known = list(run.collections()) if any(rule.select.get("collections") for rule in rules) else []
    for rule in rules:
        check_collections(rule, known)
    if engine == "spark":
        return evaluate_on_spark(run, rules, Limits(*steps, ranks or None), progress)
    directory = _directory_with_log(run)
    if engine == "duckdb" or (engine == "auto" and directory is None):
        return evaluate_by_sql(run, rules, Limits(*steps, ranks or None))
    if directory is None:
        raise GraphdbgError(f"{run.path} has no complete log on this machine: use the engine duckdb", USAGE)
    # The server's engine comes with the command line.
    run_rules = importlib.import_module("graphdbg.cli.run_rules").run_rules
    found: list[RuleResult] = run_rules(directory, rules, ranks, steps, progress)
    return found


def refuse_unobserved(results: Sequence[RuleResult]) -> None:
    """Raises RuleError for the first rule that selected nothing that was recorded."""
    for result in results:
        if result.observations == 0:
            raise RuleError(f"{result.rule.name}: nothing that it selects was recorded")


def _directory_with_log(run: Run) -> Path | None:
    """The run's directory if its log has all records."""
    directory = run.local_directory
    complete = all(rank.log_has_all() for rank in run.selected_ranks(None))
    return directory if complete else None
