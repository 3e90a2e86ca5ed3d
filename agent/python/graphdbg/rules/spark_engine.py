"""Evaluates rules on Spark, by the same SQL as DuckDB, over the Parquet files of a packed run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graphdbg.client.errors import USAGE, GraphdbgError

from .definition import ExpressionRule
from .duckdb_engine import finding_of, limits_of
from .expression import names_of
from .finding import MAX_FINDINGS, RuleResult
from .observations import Range
from .python_rule import PythonRule
from .spark_classes import can_be_distributed, evaluate_class_on_spark
from .sql import Limits, column_of, counts_query, findings_query, keys_of

if TYPE_CHECKING:
    from graphdbg.runs.run import Run

# Rules whose queries are sent together. Spark plans and starts a query much slower than it evaluates one over a
# small run, and in a large one the queries share what they have read and sorted.
_RULES_AT_ONCE = 16
_KEY_TYPES = {"rank": "int", "tensor": "string", "mode": "int"}

# A rule and the observations that it looks at.
_Task = tuple[ExpressionRule, Limits]


class Spark:
    """Evaluates rules in a session of the active Spark application, or of a local one.

    Args:
        run: A run whose records are all packed.

    Raises:
        MissingPackageError: PySpark is not installed.
        NotRecorded: The run is not packed.
        GraphdbgError: There is no Java, records are only in the log, or Spark cannot read the run.
    """

    def __init__(self, run: Run) -> None:
        _check_packed(run)
        self._run = run
        self._session = importlib.import_module("graphdbg.runs.spark_session").new_session()
        with _translated_errors():
            importlib.import_module("graphdbg.runs.spark").spark_views(self._session, run.path)

    def evaluate(
        self, rules: Sequence[ExpressionRule], limits: Limits, progress: Callable[[int, int], None]
    ) -> list[RuleResult]:
        """Evaluates each rule over the observations within these limits.

        Args:
            rules: The rules.
            limits: The observations.
            progress: Receives how many rules of how many have been evaluated.

        Raises:
            RuleError: The selection of a rule is invalid.
            GraphdbgError: Spark cannot read the run.
        """
        tasks = [(rule, limits_of(self._run, rule, limits)) for rule in rules]
        results: list[RuleResult] = []
        with _translated_errors():
            for first in range(0, len(tasks), _RULES_AT_ONCE):
                progress(first, len(tasks))
                results += _evaluate(self._session, tasks[first : first + _RULES_AT_ONCE])
        return results

    def evaluate_class(self, rule: PythonRule, limits: Range) -> RuleResult | None:
        """Evaluates a rule in Python where the rows of its series are; None if that is impossible. Raises as above."""
        if not can_be_distributed(rule):
            return None
        with _translated_errors():
            return evaluate_class_on_spark(self._session, self._run, rule, limits)


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except _spark_errors() as error:
        raise GraphdbgError(f"Spark cannot evaluate the rules: {_first_line(error)}") from None


def _check_packed(run: Run) -> None:
    ranks = [part for rank in run.selected_ranks(None) for part in rank.parts]
    if len(ranks) > len(run.ranks):
        raise GraphdbgError("Spark reads no chain: evaluate rules on its runs one by one", USAGE)
    count = sum(rank.unpacked_count for rank in ranks)
    if count:
        raise GraphdbgError(
            f"{count} records of {run.path} are only in the log, which Spark does not read: graphdbg pack {run.path}",
            USAGE,
        )


def _spark_errors() -> tuple[type[Exception], ...]:
    return (
        importlib.import_module("pyspark.errors").PySparkException,
        importlib.import_module("py4j.protocol").Py4JError,
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _evaluate(session: Any, tasks: Sequence[_Task]) -> list[RuleResult]:
    found: list[list[Any]] = [[] for _ in tasks]
    for row in _answer(session, (_findings_part(number, *task) for number, task in enumerate(tasks))):
        found[row.rule].append(row)
    silent = [number for number, rows in enumerate(found) if not rows]
    counts = {row.rule: row for row in _answer(session, (_counts_part(each, *tasks[each]) for each in silent))}
    return [_result(rule, found[number], counts.get(number)) for number, (rule, _) in enumerate(tasks)]


def _answer(session: Any, parts: Iterable[str]) -> list[Any]:
    """The rows of queries with the same columns."""
    query = " union all ".join(parts)
    return list(session.sql(query).collect()) if query else []


def _findings_part(number: int, rule: ExpressionRule, limits: Limits) -> str:
    """The first findings of a rule, in columns that are the same for all rules."""
    keys = keys_of(rule)
    columns = [f"cast({key if key in keys else 'null'} as {_KEY_TYPES[key]}) as {key}" for key in _KEY_TYPES]
    used = ", ".join(column_of(name) for name in names_of(rule.expression()))
    return (
        f"select {number} as rule, {', '.join(columns)}, step, n, cast(array({used}) as array<double>) as used, "
        f"finding_count from ({findings_query(rule, limits, MAX_FINDINGS)})"
    )


def _counts_part(number: int, rule: ExpressionRule, limits: Limits) -> str:
    return f"select {number} as rule, observations, unknown from ({counts_query(rule, limits)})"


def _result(rule: ExpressionRule, rows: list[Any], counts: Any) -> RuleResult:
    if counts is not None:
        return RuleResult(rule, [], 0, int(counts.observations), int(counts.unknown))
    names = names_of(rule.expression())
    # Parts of a union arrive in any order.
    rows.sort(key=lambda row: (row.step, row.rank or 0, row.tensor or "", row.mode or 0, row.n))
    findings = [finding_of(rule, row.asDict(), dict(zip(names, row.used, strict=True))) for row in rows]
    return RuleResult(rule, findings, int(rows[0].finding_count), None, None)
