"""Evaluates rules over a recorded run."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from graphdbg.client.errors import USAGE, GraphdbgError

from .advice import advice_for
from .definition import CompoundRule, ExpressionRule, RuleError
from .duckdb_engine import evaluate_by_sql
from .finding import MAX_FINDINGS, RuleResult
from .observations import Range
from .odd_ranks import name_ranks
from .python_engine import evaluate_class
from .python_rule import AnyRule, PythonRule
from .selection import check_collections
from .spark_engine import Spark
from .sql import Limits

if TYPE_CHECKING:
    from graphdbg.runs.run import Run

ENGINES = ("auto", "log", "duckdb", "spark")

# Receives how many steps, or rules, of how many have been evaluated.
Progress = Callable[[int, int], None]


class RuleWarning(UserWarning):
    """A rule in Python has raised an exception and was switched off."""


def evaluate(
    run: Run,
    rules: Sequence[AnyRule],
    steps: tuple[int | None, int | None] = (None, None),
    ranks: Sequence[int] | None = None,
    engine: str = "auto",
    progress: Progress = lambda done, total: None,
) -> list[RuleResult]:
    """Evaluates rules, in their order. Rules in Python that raise are switched off; see RuleResult.error.

    Args:
        run: The run.
        rules: The rules.
        steps: First and last, both inclusive and either None. Observations before the first are not looked at.
        ranks: Only these; None: all.
        engine: For expressions: "log" reads the log with the server's engine, "duckdb" evaluates SQL over the tables
            of the run, "spark" does so over its Parquet files in the active Spark application or else a local one, and
            "auto" chooses the log if it is on this machine and complete, and else DuckDB.
        progress: Called with the engines log and spark, and for rules in Python.

    Raises:
        RuleError: A rule selects a collection that the run does not have, or needs what the engine does not have.
        GraphdbgError: The engine is unknown, or cannot read the run.
    """
    if engine not in ENGINES:
        raise GraphdbgError(f"no engine {engine}; there are {', '.join(ENGINES)}", USAGE)
    for rank in ranks or ():
        run.rank(rank)
    expressions = [part for rule in rules if not isinstance(rule, PythonRule) for part in rule.parts]
    classes = [rule for rule in rules if isinstance(rule, PythonRule)]
    _check_collections(run, [*expressions, *classes])
    spark = Spark(run) if engine == "spark" else None
    by_expression = iter(
        _evaluate_expressions(run, expressions, steps, ranks, spark or engine, progress) if expressions else ()
    )
    limits = Range(*steps, ranks or None)
    results = (
        (spark and spark.evaluate_class(rule, limits)) or evaluate_class(run, rule, limits, progress)
        if isinstance(rule, PythonRule)
        else name_ranks(run, _joined(rule, [next(by_expression) for _ in rule.parts]), ranks)
        for rule in rules
    )
    return [_advised(each) for each in results]


def refuse_unobserved(results: Sequence[RuleResult]) -> None:
    """Raises RuleError for the first rule that selected nothing that was recorded."""
    for result in results:
        if result.observations == 0 and not result.error:
            raise RuleError(f"{result.rule.name}: nothing that it selects was recorded")


def warn_of_errors(results: Sequence[RuleResult]) -> None:
    """Issues a RuleWarning for each rule in Python that was switched off."""
    for result in results:
        if result.error:
            warnings.warn(f"{result.rule.name} was switched off: {result.error}", RuleWarning, stacklevel=4)


def _check_collections(run: Run, rules: Sequence[ExpressionRule | PythonRule]) -> None:
    known = list(run.collections()) if any(rule.select.get("collections") for rule in rules) else []
    for rule in rules:
        check_collections(rule, known)


def _evaluate_expressions(
    run: Run,
    rules: Sequence[ExpressionRule],
    steps: tuple[int | None, int | None],
    ranks: Sequence[int] | None,
    engine: str | Spark,
    progress: Progress,
) -> list[RuleResult]:
    if isinstance(engine, Spark):
        return engine.evaluate(rules, Limits(*steps, ranks or None), progress)
    directory = run.directory_with_log
    if engine == "duckdb" or (engine == "auto" and directory is None):
        return evaluate_by_sql(run, rules, Limits(*steps, ranks or None))
    if directory is None:
        raise GraphdbgError(f"{run.path} has no complete log on this machine: use the engine duckdb", USAGE)
    # The server's engine comes with the command line.
    run_rules = importlib.import_module("graphdbg.cli.run_rules").run_rules
    found: list[RuleResult] = run_rules(directory, rules, ranks, steps, progress)
    return found


def _joined(rule: ExpressionRule | CompoundRule, results: Sequence[RuleResult]) -> RuleResult:
    """The result of a rule with those of its parts."""
    if isinstance(rule, ExpressionRule):
        return results[0]
    found = sorted((each for result in results for each in result.findings), key=lambda each: each.step)
    count = sum(result.count for result in results)
    if found:
        return RuleResult(rule, found[:MAX_FINDINGS], count, None, None)
    observations = sum(result.observations or 0 for result in results)
    return RuleResult(rule, [], 0, observations, sum(result.unknown or 0 for result in results))


def _advised(result: RuleResult) -> RuleResult:
    """The result with the rule's advice in findings that have none."""
    advice = advice_for(result.rule)
    if advice is None:
        return result
    return replace(result, findings=[each if each.advice else replace(each, advice=advice) for each in result.findings])
