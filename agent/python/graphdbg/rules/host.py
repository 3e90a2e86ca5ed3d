"""Rules in Python over a run that is still recorded: what `graphdbg rulehost` runs, apart from its input and output.

The reports of the host are JSON objects; tools/cli/command_rulehost.py describes them.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .definition import RuleError
from .finding import Finding
from .growth import Growth
from .observations import Range
from .python_engine import Evaluation
from .python_rule import PythonRule
from .rule import Rule, SeriesKey
from .run_rule import RunRule
from .selection import check_collections
from .series import Series, SwitchedOff

if TYPE_CHECKING:
    from graphdbg.runs.run import Run

TIME_LIMIT_SECONDS = 10.0
# The memory of a job that runs for weeks must not grow with its steps.
_MOST_STEPS = 1_000
_REPORT_SECONDS = 1.0

Json = dict[str, Any]


class _TooSlow(BaseException):
    """A rule has exceeded the time limit. No rule catches it by `except Exception`."""


class RuleHost:
    """Evaluates rules over a run as it grows. Only for the main thread, because it uses SIGALRM.

    Each rule sees the same observations in the same order as over the recorded run. A rule that raises, or takes too
    long, is switched off.

    Args:
        rules: The rules; a report names one by its number.
        run: The run.
        report: Receives findings, rules that are switched off, and signs of life.
        time_limit: Seconds that a call of a rule may take.

    Raises:
        RuleError: A rule is not a Python class.
    """

    def __init__(
        self, rules: Sequence[Any], run: Run, report: Callable[[Json], None], time_limit: float = TIME_LIMIT_SECONDS
    ) -> None:
        self._run = run
        self._report = report
        self._time_limit = time_limit
        self._growth = Growth(run)
        self._paused = False
        self._next_sign = 0.0
        self._at: int | None = None
        # By the number of a rule: the counts that were reported last.
        self._counts: dict[int, Json] = {}
        for rule in rules:
            if not isinstance(rule, PythonRule):
                raise RuleError(f"{rule.name} is an expression, which the server evaluates itself")
        self._rules = {number: self._live(number, rule) for number, rule in enumerate(rules)}
        signal.signal(signal.SIGALRM, _raise_too_slow)

    def _live(self, number: int, rule: PythonRule) -> _LiveEvaluation:
        def found(finding: Finding) -> None:
            self._report({"rule": number, "finding": finding.json()})

        return _LiveEvaluation(self._run, rule, found, self._time_limit, lambda: self._sign(number))

    def update(self) -> None:
        """Evaluates the steps that have ended since the last call."""
        self._refresh()
        self._growth.update()
        for number in list(self._rules):
            with self._guarded(number) as live:
                live.update(self._growth)
        self._sign(None)
        self._report_counts()

    def tick(self) -> None:
        """To be called once per second, after an update."""
        for number, live in list(self._rules.items()):
            if live.has_tick and not self._paused:
                with self._guarded(number):
                    live.tick()
        self._sign(None)

    def set_paused(self, paused: bool) -> None:
        """While the job is paused no time passes for rules on silence."""
        self._paused = paused
        for live in self._rules.values():
            live.forget_silence()

    def finish(self) -> None:
        """Evaluates what is left, also of steps that never ended. To be called once the job is over."""
        self._refresh()
        for number in list(self._rules):
            with self._guarded(number) as live:
                if live.looks_at_the_whole_run:
                    # It may take longer than a rule that looks at one observation.
                    self._sign(None)
                live.finish()
        self._report_counts()

    def _refresh(self) -> None:
        # Taken before the run is read: other rules may take long, and that does not count as silence.
        now = time.monotonic()
        self._run.refresh()
        for live in self._rules.values():
            live.now = now

    @contextmanager
    def _guarded(self, number: int) -> Iterator[_LiveEvaluation]:
        """Switches a rule off if it raises or is too slow."""
        self._sign(number)
        live = self._rules[number]
        try:
            yield live
        except (SwitchedOff, RuleError) as error:
            self._switch_off(number, str(error))
        except _TooSlow:
            self._switch_off(number, f"a call took more than {self._time_limit:g} s")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _report_counts(self) -> None:
        for number, live in self._rules.items():
            counts = {"observations": live.observations, "unknown": live.unknown, "missing": live.missing}
            if self._counts.get(number) != counts:
                self._counts[number] = counts
                self._report({"rule": number, "counts": counts})

    def _switch_off(self, number: int, error: str) -> None:
        live = self._rules.pop(number)
        self._report({"switched_off": number, "name": live.rule.name, "error": error})

    def _sign(self, number: int | None) -> None:
        """A sign of life from the rule of this number, or from between two rules.

        Code that holds the interpreter's lock never sees SIGALRM: that is noticed by the silence of this process.
        """
        now = time.monotonic()
        if number != self._at or now >= self._next_sign:
            self._at, self._next_sign = number, now + _REPORT_SECONDS
            self._report({"at": number})


class _LiveEvaluation(Evaluation):
    """A rule over a run that grows, and when its series were last observed.

    Args:
        run, rule, found: As for Evaluation.
        time_limit: Seconds that a call of the rule may take.
        sign: Called before each observation.
    """

    def __init__(
        self,
        run: Run,
        rule: PythonRule,
        found: Callable[[Finding], None],
        time_limit: float,
        sign: Callable[[], None],
    ) -> None:
        super().__init__(run, rule, found)
        self.looks_at_the_whole_run = isinstance(rule.rule, RunRule)
        self.has_tick = type(rule.rule).tick is not Rule.tick
        self._time_limit = time_limit
        self._sign = sign
        # When the run was read last.
        self.now = time.monotonic()
        self._joins_ranks = "rank" not in rule.rule.series
        # The last step that was evaluated, by rank; of all ranks if they are joined.
        self._done: dict[int | None, int] = {}
        self._last: dict[SeriesKey, float] = {}

    def update(self, growth: Growth) -> None:
        """Evaluates the steps that are ready. Raises SwitchedOff and RuleError."""
        if self.looks_at_the_whole_run or not growth.joint or not self._has_collections():
            return
        if self._joins_ranks:
            self._advance(None, growth.joint)
            return
        for rank, last in growth.ready.items():
            self._advance(rank, last)

    def finish(self) -> None:
        rule = self.rule.rule
        self._check_collections()
        if isinstance(rule, RunRule):
            self.examine(rule, Range())
            return
        for rank in [None] if self._joins_ranks else self._run.ranks:
            self._advance(rank, None)
        super().finish()

    def tick(self) -> None:
        """Lets the rule look at the silence of each series. Raises SwitchedOff."""
        for series in list(self._series):
            self._add(self._call(self._series.tick, series, max(0.0, self.now - self._last[series.key])))

    def forget_silence(self) -> None:
        """Lets the silence of each series begin now."""
        self._last = dict.fromkeys(self._last, time.monotonic())

    def _advance(self, rank: int | None, last: int | None) -> None:
        first = self._done.get(rank, 0) + 1
        if last is not None and last < first:
            return
        self.advance(Range(first, last, None if rank is None else [rank]))
        self._done[rank] = last or first

    def _call(self, method: Callable[..., Finding | None], series: Series, *arguments: Any) -> Finding | None:
        self._sign()
        del series.steps[:-_MOST_STEPS]
        if method != self._series.tick:
            self._last[series.key] = self.now
        signal.setitimer(signal.ITIMER_REAL, self._time_limit)
        try:
            return method(series, *arguments)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _has_collections(self) -> bool:
        """A collection may have its first tensor later."""
        try:
            self._check_collections()
        except RuleError:
            return False
        return True

    def _check_collections(self) -> None:
        if self.rule.select.get("collections"):
            check_collections(self.rule, list(self._run.collections()))


def _raise_too_slow(number: int, frame: Any) -> None:
    raise _TooSlow
