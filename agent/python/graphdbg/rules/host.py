"""Rules in Python over a live job: what `graphdbg rulehost` runs, apart from its input and output.

The server sends requests and the host returns reports, each a JSON object; tools/cli/command_rulehost.py
describes them.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graphdbg.runs.errors import NotRecorded

from .definition import RuleError
from .finding import Finding
from .live_observation import LiveObservation
from .python_rule import PythonRule
from .rule import Rule, SeriesKey
from .run_rule import RunRule
from .series import Series, SeriesTable, SwitchedOff

if TYPE_CHECKING:
    from graphdbg.runs.run import Run

TIME_LIMIT_SECONDS = 10.0
# The memory of a job that runs for weeks must not grow with its steps.
_MOST_STEPS = 1_000

Json = dict[str, Any]


class _TooSlow(BaseException):
    """A rule has exceeded the time limit. No rule catches it by `except Exception`."""


class RuleHost:
    """Evaluates rules over observations as they arrive. Only for the main thread, because it uses SIGALRM.

    Args:
        rules: The rules; a report or request names one by its number.
        run: The job's recording, which has saved values; None if there is none.
        report: Receives findings and rules that are switched off.
        time_limit: Seconds that a call of a rule may take.

    Raises:
        RuleError: A rule is no Python class, or looks at finished runs only.
    """

    def __init__(
        self,
        rules: Sequence[Any],
        run: Run | None,
        report: Callable[[Json], None],
        time_limit: float = TIME_LIMIT_SECONDS,
    ) -> None:
        self._run = run
        self._report = report
        self._time_limit = time_limit
        self._rules = {number: _LiveRule(rule) for number, rule in enumerate(rules)}
        signal.signal(signal.SIGALRM, _raise_too_slow)

    def describe(self) -> list[Json]:
        """What to send to each rule: its name, selection, needs, and what distinguishes its series."""
        return [each.describe() for each in self._rules.values()]

    def observe(self, number: int, observation: Mapping[str, Any]) -> None:
        """Lets a rule look at an observation. One that was switched off ignores it."""
        with self._guarded(number) as live:
            if live is not None:
                self._add(number, live.observe(observation, self._run))

    def tick(self) -> None:
        """To be called once per second."""
        self._for_each_series(_LiveRule.tick, lambda live: live.has_tick)

    def finish(self) -> None:
        """To be called at the end of the job."""
        self._for_each_series(_LiveRule.finish, lambda live: True)

    def _for_each_series(
        self, method: Callable[[_LiveRule, Series], Finding | None], applies: Callable[[_LiveRule], bool]
    ) -> None:
        for number, live in list(self._rules.items()):
            for series in list(live.table) if applies(live) else ():
                with self._guarded(number) as running:
                    if running is not None:
                        self._add(number, method(running, series))

    @contextmanager
    def _guarded(self, number: int) -> Iterator[_LiveRule | None]:
        """Yields a rule, and switches it off if it raises or is too slow; None if it was switched off."""
        live = self._rules.get(number)
        try:
            signal.setitimer(signal.ITIMER_REAL, self._time_limit)
            yield live
            signal.setitimer(signal.ITIMER_REAL, 0)
        except SwitchedOff as error:
            self._switch_off(number, str(error))
        except _TooSlow:
            self._switch_off(number, f"a call took more than {self._time_limit:g} s")
        except NotRecorded:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _switch_off(self, number: int, error: str) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        live = self._rules.pop(number)
        self._report({"switched_off": number, "name": live.rule.name, "error": error})

    def _add(self, number: int, found: Finding | None) -> None:
        if found is not None:
            self._report({"rule": number, "finding": found.json()})


class _LiveRule:
    """A rule with its series, and when each was last observed."""

    def __init__(self, rule: Any) -> None:
        if not isinstance(rule, PythonRule):
            raise RuleError(f"{rule.name} is an expression, which the server evaluates itself")
        if isinstance(rule.rule, RunRule):
            raise RuleError(f"{rule.name} examines finished runs: use `graphdbg rules`")
        self.rule = rule
        self.table = SeriesTable(rule)
        self.has_tick = type(rule.rule).tick is not Rule.tick
        self._last: dict[SeriesKey, float] = {}

    def describe(self) -> Json:
        rule, needs = self.rule.rule, self.rule.rule.needs
        return {
            "name": self.rule.name,
            "select": dict(self.rule.select),
            "series": list(rule.series),
            "needs": {"tensors": needs.tensors, "non_finite": needs.non_finite, "steps": needs.steps},
        }

    def observe(self, observation: Mapping[str, Any], run: Run | None) -> Finding | None:
        now = LiveObservation(observation, run)
        series = self.table.at(now, now.step)
        del series.steps[:-_MOST_STEPS]
        now.series_steps = series.steps
        self._last[series.key] = time.monotonic()
        return self.table.observe(series, now)

    def tick(self, series: Series) -> Finding | None:
        return self.table.tick(series, time.monotonic() - self._last[series.key])

    def finish(self, series: Series) -> Finding | None:
        return self.table.finish(series)


def _raise_too_slow(number: int, frame: Any) -> None:
    raise _TooSlow
