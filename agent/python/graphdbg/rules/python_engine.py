"""Evaluates rules that are Python classes over a recorded run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from graphdbg.runs.errors import NotRecorded

from .finding import MAX_FINDINGS, Finding, RuleResult
from .observations import Block, Range, read_steps, read_tensors
from .recorded_observation import RecordedObservation
from .rule import SeriesKey
from .run_rule import RunRule
from .selection import selected_tensors
from .series import SeriesTable, SwitchedOff, call

if TYPE_CHECKING:
    from graphdbg.runs.run import Run

    from .python_rule import PythonRule

_NO_VALUES = "values were not saved: record the collection at the level tensors, or all of them with when_full: block"


def evaluate_class(
    run: Run, rule: PythonRule, limits: Range, progress: Callable[[int, int], None] = lambda done, total: None
) -> RuleResult:
    """Evaluates a rule over the observations within these limits.

    A rule that raises is switched off: the result has its error, and the findings before.

    Raises:
        RuleError: Its selection is invalid.
    """
    evaluation = _Evaluation(run, rule, limits)
    try:
        if isinstance(rule.rule, RunRule):
            evaluation.examine(rule.rule)
        else:
            evaluation.walk(progress)
    except SwitchedOff as error:
        evaluation.error = str(error)
    return evaluation.result()


class _Evaluation:
    def __init__(self, run: Run, rule: PythonRule, limits: Range) -> None:
        self._run, self._rule, self._limits = run, rule, limits
        self._names = None if rule.rule.needs.steps else selected_tensors(run, rule)
        self._series = SeriesTable(rule)
        self._found: list[Finding] = []
        self._count = self._observations = self._unknown = 0
        self._missing = ""
        self.error = ""

    def examine(self, rule: RunRule) -> None:
        """Lets a rule look at the whole run. Raises SwitchedOff."""
        self._observations = len(self._run.steps(complete=False))
        try:
            for found in call(lambda: list(rule.examine(self._run, self._names, self._limits))):
                self._add(self._series.completed(found, SeriesKey(), 0))
        except NotRecorded as error:
            self._unknown, self._missing = self._observations, str(error)

    def walk(self, progress: Callable[[int, int], None]) -> None:
        """Lets a rule look at one observation after another. Raises SwitchedOff."""
        collections = self._collections_by_tensor()
        for block in self._blocks():
            self._observations += len(block.entries) + block.skipped + block.unknown
            self._add_unknown(block.unknown, _NO_VALUES)
            for place, records in block.entries:
                series = self._series.at(place, place.step)
                now = RecordedObservation(self._run, place, records, collections, series.steps)
                try:
                    self._add(self._series.observe(series, now))
                except NotRecorded as error:
                    self._add_unknown(1, str(error))
            progress(block.done, block.total)
        self._finish()

    def result(self) -> RuleResult:
        found = sorted(self._found, key=lambda each: each.step)[:MAX_FINDINGS]
        return RuleResult(self._rule, found, self._count, self._observations, self._unknown, self.error, self._missing)

    def _finish(self) -> None:
        for series in self._series:
            try:
                self._add(self._series.finish(series))
            except NotRecorded as error:
                self._missing = self._missing or str(error)

    def _blocks(self) -> Iterator[Block]:
        needs = self._rule.rule.needs
        if needs.steps:
            return read_steps(self._run, self._limits)
        return read_tensors(self._run, self._names, needs, self._limits)

    def _collections_by_tensor(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for name, collection in self._run.collections().items():
            for tensor in collection.tensors:
                found[tensor] = (*found.get(tensor, ()), name)
        return found

    def _add(self, found: Finding | None) -> None:
        if found is not None:
            self._count += 1
            if self._count <= MAX_FINDINGS:
                self._found.append(found)

    def _add_unknown(self, count: int, missing: str) -> None:
        self._unknown += count
        if count:
            self._missing = self._missing or missing
