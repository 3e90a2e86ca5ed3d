"""The series of a rule in Python, and what it finds in them."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from .episodes import Episodes
from .finding import Finding
from .rule import SeriesKey

if TYPE_CHECKING:
    from .observation import Observation
    from .python_rule import PythonRule


class SwitchedOff(Exception):
    """The rule has raised an exception. The message has the line that raised it."""


class _Place(Protocol):
    """Where an observation was made."""

    @property
    def rank(self) -> int: ...
    @property
    def tensor(self) -> str: ...
    @property
    def mode(self) -> str: ...


@dataclass
class Series:
    """One series.

    Attributes:
        key: What its observations have in common.
        state: The rule's state.
        episodes: Decides which findings are reported.
        steps: The steps of its observations, each once.
    """

    key: SeriesKey
    state: Any
    episodes: Episodes
    steps: list[int] = field(default_factory=list)


class SeriesTable:
    """All series of a rule, made when they are first observed.

    Raises:
        SwitchedOff: By all methods, if the rule raises an exception.
    """

    def __init__(self, rule: PythonRule) -> None:
        self._rule = rule
        series = rule.rule.series
        self._parts = ("rank" in series, "tensor" in series, "mode" in series)
        self._series: dict[tuple[int | None, str | None, str | None], Series] = {}

    def __iter__(self) -> Iterator[Series]:
        return iter(self._series.values())

    def at(self, place: _Place, step: int) -> Series:
        """The series of an observation, with its step."""
        by_rank, by_tensor, by_mode = self._parts
        parts = (place.rank if by_rank else None, place.tensor if by_tensor else None, place.mode if by_mode else None)
        found = self._series.get(parts)
        if found is None:
            found = self._series[parts] = self._started(SeriesKey(*parts))
        if not found.steps or found.steps[-1] != step:
            found.steps.append(step)
        return found

    def _started(self, key: SeriesKey) -> Series:
        state = call(self._rule.rule.start, key)
        return Series(key, state, Episodes(self._rule.hold, self._rule.cool_down))

    def observe(self, series: Series, now: Observation) -> Finding | None:
        """The finding that an observation begins. Raises NotRecorded, too."""
        series.state, found = _checked(call(self._rule.rule.observe, series.state, now))
        return self._reported(series, found)

    def tick(self, series: Series, seconds_since: float) -> Finding | None:
        """The finding that a second of silence begins."""
        series.state, found = _checked(call(self._rule.rule.tick, series.state, seconds_since))
        return self._reported(series, found)

    def finish(self, series: Series) -> Finding | None:
        """The finding at the end of a series. Raises NotRecorded, too."""
        found: Finding | None = call(self._rule.rule.finish, series.state)
        return self._reported(series, found) if found else None

    def completed(self, found: Finding, key: SeriesKey, step: int) -> Finding:
        """A finding with the rule's name, and the place of its series where it names none."""
        return replace(
            found,
            rule=self._rule.name,
            rank=key.rank if found.rank is None else found.rank,
            tensor=found.tensor or key.tensor,
            mode=found.mode or key.mode,
            step=found.step or step,
        )

    def _reported(self, series: Series, found: Finding | None) -> Finding | None:
        reports = series.episodes.reports(found is not None)
        return self.completed(found, series.key, series.steps[-1]) if reports and found else None


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a method of a rule. Raises SwitchedOff, or NotRecorded."""
    # Imported late: only rules over recordings raise it.
    from graphdbg.runs.errors import NotRecorded

    try:
        return function(*arguments)
    except NotRecorded:
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise SwitchedOff(f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})") from error


def _checked(answer: Any) -> tuple[Any, Finding | None]:
    if isinstance(answer, tuple) and len(answer) == 2 and (answer[1] is None or isinstance(answer[1], Finding)):
        return answer
    raise SwitchedOff(f"observe must return a state with a finding or None, not {answer!r}")
