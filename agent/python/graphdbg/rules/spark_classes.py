"""Evaluates rules that are Python classes on Spark: each series where its rows are."""

from __future__ import annotations

import functools
import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy
from graphdbg.runs.record import COUNTS, MEASURES, RECORD, SAVED, SAVED_KIND, STATISTICS_KIND, Array

from .classes import MODULE_PREFIX
from .finding import MAX_FINDINGS, Finding, RuleResult
from .observations import Block, Range, Reader
from .python_engine import Evaluation, collections_by_tensor
from .recorded_observation import Place, RecordedObservation, Records
from .run_rule import RunRule
from .selection import selected_tensors
from .series import SwitchedOff
from .sql import Limits

if TYPE_CHECKING:
    from graphdbg.runs.rank import Rank
    from graphdbg.runs.run import Run

    from .python_rule import PythonRule

# Fields of records, and the types of the columns of other kinds of rows, which have none.
_COMMON = ("step", "mode", "dtype", "pass", "iteration", "exec_order", "flags", "grad_scale")
_OF_STATISTICS = dict.fromkeys(COUNTS, "bigint") | dict.fromkeys(MEASURES, "double")
_OF_SAVED = {"file": "string", "offset": "bigint", "bytes": "bigint", "crc": "bigint", "shape": "array<bigint>"}
_IS_NON_FINITE = "(nan_count > 0 or (pos_inf_count + neg_inf_count > 0 and (flags & 4) = 0))"
_ANSWER = "findings string, count bigint, observations bigint, unknown bigint, error string, missing string"


def can_be_distributed(rule: PythonRule) -> bool:
    """Whether a rule looks at series of tensors that do not depend on each other."""
    return bool(rule.rule.series) and not rule.rule.needs.steps and not isinstance(rule.rule, RunRule)


def evaluate_class_on_spark(session: Any, run: Run, rule: PythonRule, limits: Range) -> RuleResult:
    """Evaluates a rule for which `can_be_distributed`.

    Args:
        session: A session of Spark with the views of the run. Its executors have graphdbg installed, and read the
            run at the same path or URL where a rule asks for more than statistics.
        run: The run, which is packed.
        rule: The rule. The class of a Python file is sent along.
        limits: The observations.
    """
    module = sys.modules.get(type(rule.rule).__module__)
    if module is not None and module.__name__.startswith(MODULE_PREFIX):
        importlib.import_module("pyspark.cloudpickle").register_pickle_by_value(module)
    selected = Limits(limits.first, limits.last, limits.ranks, selected_tensors(run, rule))
    rows = session.sql(_query(selected, rule.rule.needs.non_finite))
    evaluate = _Series(run.path, rule, collections_by_tensor(run))
    # Spark would ask for the types of a function's arguments, but not of a lambda's.
    answers = rows.groupBy(*rule.rule.series).applyInArrow(lambda part: evaluate(part), _ANSWER).collect()
    result = _joined(rule, answers)
    if not rule.rule.needs.non_finite:
        return result
    # Rows that do not interest the rule were left out.
    (row,) = session.sql(f"select count(*) as observations from ({_statistics(selected)})").collect()
    return replace(result, observations=int(row.observations))


def _query(limits: Limits, non_finite: bool) -> str:
    """The rows of statistics and saved values, with the fields of their records."""
    statistics = _statistics(limits) + (f" and {_IS_NON_FINITE}" if non_finite else "")
    return f"{statistics} union all {_saved(limits)}"


def _statistics(limits: Limits) -> str:
    columns = [*_COMMON, *_OF_STATISTICS, *(f"cast(null as {kind}) as {name}" for name, kind in _OF_SAVED.items())]
    return _rows("statistics", STATISTICS_KIND, columns, limits)


def _saved(limits: Limits) -> str:
    columns = [*_COMMON, *(f"cast(null as {kind}) as {name}" for name, kind in _OF_STATISTICS.items()), *_OF_SAVED]
    return _rows("tensors", SAVED_KIND, columns, limits)


def _rows(view: str, kind: int, columns: Sequence[str], limits: Limits) -> str:
    chosen = ", ".join(f"{name} as `{name}`" if " " not in name else name for name in columns)
    return (
        f"select {kind} as kind, rank, tensor, {chosen} from {view} s "
        f"where {limits.condition('s')} and {limits.tensor_condition()}"
    )


def _joined(rule: PythonRule, answers: Sequence[Any]) -> RuleResult:
    """The result of a rule with those of its series."""
    found = [Finding.from_json(each) for answer in answers for each in json.loads(answer.findings)]
    found.sort(key=lambda each: (each.step, each.rank or 0, each.tensor or "", each.mode or ""))
    return RuleResult(
        rule,
        found[:MAX_FINDINGS],
        sum(answer["count"] for answer in answers),
        sum(answer.observations for answer in answers),
        sum(answer.unknown for answer in answers),
        min((answer.error for answer in answers if answer.error), default=""),
        min((answer.missing for answer in answers if answer.missing), default=""),
    )


class _Series:
    """Evaluates one series: a function of its rows, for `applyInArrow`."""

    def __init__(self, path: str, rule: PythonRule, collections: Mapping[str, tuple[str, ...]]) -> None:
        self._path, self._rule, self._by_tensor = path, rule, collections

    def __call__(self, rows: Any) -> Any:
        found: list[Finding] = []
        evaluation = _GroupEvaluation(self._path, self._rule, found.append, rows, self._by_tensor)
        error = ""
        try:
            evaluation.advance(Range())
            evaluation.finish()
        except SwitchedOff as switched_off:
            error = str(switched_off)
        answer = {
            "findings": json.dumps([each.json() for each in found]),
            "count": evaluation.count,
            "observations": evaluation.observations,
            "unknown": evaluation.unknown,
            "error": error,
            "missing": evaluation.missing,
        }
        return importlib.import_module("pyarrow").Table.from_pylist([answer])


class _GroupEvaluation(Evaluation):
    """The evaluation of a rule over the rows of one series."""

    def __init__(
        self,
        path: str,
        rule: PythonRule,
        found: Callable[[Finding], None],
        rows: Any,
        collections: Mapping[str, tuple[str, ...]],
    ) -> None:
        lazy: Any = _LazyRun(path)
        super().__init__(lazy, rule, found)
        self._rows = rows
        self._by_tensor = collections

    def _blocks(self, limits: Range) -> Iterator[Block]:
        names, records = _records_of(self._rows)
        ranks = numpy.asarray(self._rows.column("rank").to_pylist(), "<i8")
        sources = [_Rows(number, names, records[ranks == number]) for number in sorted(set(ranks.tolist()))]
        yield Reader(self.rule.rule.needs, sources).read(0, None, (1, 1))

    def _observation(
        self, place: Place, records: Records, collections: Mapping[str, tuple[str, ...]], steps: Sequence[int]
    ) -> RecordedObservation:
        return _RowObservation(self._run, place, records, collections, steps)

    def _collections(self) -> Mapping[str, tuple[str, ...]]:
        return self._by_tensor


class _RowObservation(RecordedObservation):
    """An observation whose records know its tensor by name only."""

    def _node(self, rank: Rank, records: Array) -> int:
        return rank.nodes.id_of(self.tensor.rpartition(":")[0]) or 0


class _Rows:
    """The records of a rank within a series. Their nodes are numbers of names."""

    def __init__(self, number: int, names: Sequence[str], records: Array) -> None:
        self.number = number
        self._names, self._records = names, records

    def name(self, node: int, slot: int) -> str:
        return self._names[node]

    def read(self, first: int, last: int | None) -> Array:
        return self._records


class _LazyRun:
    """The run, which most rules never need: it is opened when it is first used, once in a process."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        return getattr(_opened(self._path), name)


@functools.cache
def _opened(path: str) -> Run:
    # Runs import rules.
    run: Run = importlib.import_module("graphdbg.runs").open_run(path)
    return run


def _records_of(rows: Any) -> tuple[list[str], Array]:
    """The names of tensors, and a record of each row, shape (n,), whose node is the place of its name."""
    columns: dict[str, list[Any]] = {name: rows.column(name).to_pylist() for name in rows.column_names}
    names = sorted(set(columns["tensor"]))
    places = {name: place for place, name in enumerate(names)}
    records = numpy.zeros(rows.num_rows, RECORD)
    records["kind"] = columns["kind"]
    records["node"] = [places[name] for name in columns["tensor"]]
    is_saved = records["kind"] == SAVED_KIND
    for name in _COMMON:
        records[name] = numpy.asarray(columns[name], "<f8") if name == "grad_scale" else columns[name]
    statistics = records[~is_saved]
    for name in _OF_STATISTICS:
        values = [value for value, saved in zip(columns[name], is_saved.tolist(), strict=True) if not saved]
        statistics[name] = numpy.asarray(values, "<f8") if name in MEASURES else values
    records[~is_saved] = statistics
    saved = records.view(SAVED)
    for place in numpy.flatnonzero(is_saved).tolist():
        _fill(saved[place], {name: columns[name][place] for name in _OF_SAVED})
    return names, records


def _fill(saved: Any, row: Mapping[str, Any]) -> None:
    """Writes the fields of a saved tensor into its record."""
    _, dash, number = row["file"].partition(".")[0].partition("-")
    saved["file"] = int(number) if dash else 1
    saved["offset"], saved["bytes"], saved["data_crc"] = row["offset"], row["bytes"], row["crc"]
    saved["ndim"] = len(row["shape"])
    saved["shape"][: len(row["shape"])] = row["shape"]
