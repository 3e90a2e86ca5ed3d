"""Evaluates rules that are Python classes over a recorded run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphdbg.runs.errors import NotRecorded

from .finding import MAX_FINDINGS, Finding, RuleResult
from .observations import Block, Range, read_steps, read_tensors
from .recorded_observation import Place, RecordedObservation, Records
from .rule import SeriesKey
from .run_rule import RunRule
from .selection import selected_tensors
from .series import Series, SeriesTable, SwitchedOff, call

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
    found: list[Finding] = []
    evaluation = Evaluation(run, rule, found.append)
    error = ""
    try:
        if isinstance(rule.rule, RunRule):
            evaluation.examine(rule.rule, limits)
        else:
            evaluation.advance(limits, progress)
            evaluation.finish()
    except SwitchedOff as switched_off:
        error = str(switched_off)
    first = sorted(found, key=lambda each: each.step)[:MAX_FINDINGS]
    counts = (evaluation.observations, evaluation.unknown)
    return RuleResult(rule, first, evaluation.count, *counts, error, evaluation.missing)


def collections_by_tensor(run: Run) -> dict[str, tuple[str, ...]]:
    """The names of the collections that selected a tensor, by its name."""
    found: dict[str, tuple[str, ...]] = {}
    for name, collection in run.collections().items():
        for tensor in collection.tensors:
            found[tensor] = (*found.get(tensor, ()), name)
    return found


class Evaluation:
    """The evaluation of a rule over a run, part by part in the order of the run.

    Args:
        run: The run. It may grow from one part to the next.
        rule: The rule.
        found: Receives the first MAX_FINDINGS findings.

    Attributes:
        count: How many findings there are.
        observations, unknown, missing: As in RuleResult.
    """

    def __init__(self, run: Run, rule: PythonRule, found: Callable[[Finding], None]) -> None:
        self.rule = rule
        self.count = self.observations = self.unknown = 0
        self.missing = ""
        self._run = run
        self._found = found
        self._series = SeriesTable(rule)

    def examine(self, rule: RunRule, limits: Range) -> None:
        """Lets a rule look at the whole run. Raises SwitchedOff and RuleError."""
        names = selected_tensors(self._run, self.rule)
        self.observations = len(self._run.steps(complete=False))
        try:
            for found in call(lambda: list(rule.examine(self._run, names, limits))):
                self._add(self._series.completed(found, SeriesKey(), 0))
        except NotRecorded as error:
            self.unknown, self.missing = self.observations, str(error)

    def advance(self, limits: Range, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Lets the rule look at the observations within these limits. Raises SwitchedOff and RuleError."""
        collections = self._collections()
        for block in self._blocks(limits):
            self.observations += len(block.entries) + block.skipped + block.unknown
            self._add_unknown(block.unknown, _NO_VALUES)
            for place, records in block.entries:
                series = self._series.at(place, place.step)
                now = self._observation(place, records, collections, series.steps)
                try:
                    self._add(self._call(self._series.observe, series, now))
                except NotRecorded as error:
                    self._add_unknown(1, str(error))
            progress(block.done, block.total)

    def finish(self) -> None:
        """To be called behind the last observation. Raises SwitchedOff."""
        for series in self._series:
            try:
                self._add(self._call(self._series.finish, series))
            except NotRecorded as error:
                self.missing = self.missing or str(error)

    def _observation(
        self, place: Place, records: Records, collections: Mapping[str, tuple[str, ...]], steps: Sequence[int]
    ) -> RecordedObservation:
        return RecordedObservation(self._run, place, records, collections, steps)

    def _call(self, method: Callable[..., Finding | None], series: Series, *arguments: Any) -> Finding | None:
        """Calls a method of the rule for a series. Raises SwitchedOff and NotRecorded."""
        return method(series, *arguments)

    def _blocks(self, limits: Range) -> Iterator[Block]:
        needs = self.rule.rule.needs
        if needs.steps:
            return read_steps(self._run, limits)
        return read_tensors(self._run, selected_tensors(self._run, self.rule), needs, limits)

    def _collections(self) -> Mapping[str, tuple[str, ...]]:
        return collections_by_tensor(self._run)

    def _add(self, found: Finding | None) -> None:
        if found is not None:
            self.count += 1
            if self.count <= MAX_FINDINGS:
                self._found(found)

    def _add_unknown(self, count: int, missing: str) -> None:
        self.unknown += count
        if count:
            self.missing = self.missing or missing
