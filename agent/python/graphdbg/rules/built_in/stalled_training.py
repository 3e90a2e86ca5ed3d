"""The rule `stalled_training`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphdbg.rules.catalogue import described
from graphdbg.rules.finding import Finding
from graphdbg.rules.rule import Needs, Rule

if TYPE_CHECKING:
    from graphdbg.rules.observation import Observation


@described
class StalledTraining(Rule):
    """Live, looks at the seconds since the last step; over recorded runs, at the time between steps.

    The state is the time of the last step, in seconds since 1970.
    """

    id = "stalled_training"
    needs = Needs(steps=True)
    series = ("rank",)

    def observe(self, state: float | None, now: Observation) -> tuple[Any, Finding | None]:
        seconds = None if state is None or now.time is None else now.time - state
        return now.time or state, self._decided(seconds)

    def tick(self, state: Any, seconds_since: float) -> tuple[Any, Finding | None]:
        return state, self._decided(seconds_since)

    def _decided(self, seconds: float | None) -> Finding | None:
        if seconds is None or seconds <= self.values["threshold"]:
            return None
        return self.finding(f"no step began for {seconds:.6g} s", seconds=seconds)
