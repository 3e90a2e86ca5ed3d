"""Observations of a live job, as the server reports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from graphdbg.client.models import Statistics, statistics_or_none
from graphdbg.runs.errors import NotRecorded

from .observation import Observation

if TYPE_CHECKING:
    from graphdbg.runs.record import Array
    from graphdbg.runs.run import Run


class LiveObservation(Observation):
    """An observation of a job.

    Args:
        report: The report: rank, tensor ("" for a step), step, mode and pass, and if they are known mode_step, time,
            collections, statistics and inputs.
        run: The job's recording, which has saved values; None if there is none.

    Attributes:
        series_steps: The last steps of its series.
    """

    def __init__(self, report: Mapping[str, Any], run: Run | None) -> None:
        place = (int(report["rank"]), str(report["tensor"]), int(report["step"]), str(report["mode"]))
        super().__init__(*place, int(report["pass"]))
        self._report, self._run = report, run
        self.series_steps: Sequence[int] = ()

    @property
    def mode_step(self) -> int:
        return int(self._report.get("mode_step") or 0)

    @property
    def time(self) -> float | None:
        time = self._report.get("time")
        return None if time is None else float(time)

    @property
    def collections(self) -> tuple[str, ...]:
        return tuple(self._report.get("collections") or ())

    @property
    def statistics(self) -> Statistics:
        found = statistics_or_none(self._report.get("statistics"))
        if found is None:
            raise NotRecorded(f"{self.tensor or 'a step'} has no statistics at step {self.step} on rank {self.rank}")
        return found

    def value(self, step: int | None = None) -> Array:
        if self._run is not None:
            return self._saved(self._run, step or self.step)
        known = statistics_or_none(self._report.get("statistics"))
        if step in (None, self.step) and known is not None and known.count == 1 and known.mean is not None:
            return numpy.array(known.mean)
        raise NotRecorded(f"the value of {self.tensor} at step {step or self.step} is unknown: the job is not recorded")

    def steps(self) -> list[int]:
        return list(self.series_steps)

    def inputs(self) -> dict[str, Statistics | None]:
        return {name: statistics_or_none(each) for name, each in (self._report.get("inputs") or {}).items()}

    def _saved(self, run: Run, step: int) -> Array:
        place = (step, self.rank, self.mode, self.pass_)
        try:
            return run.tensor(self.tensor).value(*place)
        except (NotRecorded, KeyError):
            # It may have been recorded since the run was read.
            run.refresh()
            return run.tensor(self.tensor).value(*place)
