"""How far a run that is still recorded can be evaluated."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from graphdbg.runs.errors import DataLossError
from graphdbg.runs.log import Selection
from graphdbg.runs.record import END_KIND, SAVED, SAVED_KIND
from graphdbg.runs.saved import find_file

if TYPE_CHECKING:
    from graphdbg.runs.rank import Rank
    from graphdbg.runs.run import Run

# Values that were not written by then are lost.
_VALUE_SECONDS = 10.0


class Growth:
    """The steps of a run that are complete, with the values that were saved in them.

    Attributes:
        ready: The last complete step of each rank; of one that has ended, its last step.
        joint: The last step that is complete on all ranks that still run; 0 if there is none.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self.ready: dict[int, int] = {}
        self.joint = 0
        # By rank: the last step whose end is in the log, and the position up to which that was looked for.
        self._logged: dict[int, int] = {}
        self._position: dict[int, int] = {}
        # Since when the values of the steps behind the last one that is ready are awaited.
        self._waits_since: dict[int, float] = {}

    def update(self) -> None:
        """To be called after a refresh of the run.

        The record of a saved tensor precedes its value, which another thread of the job writes. Records that only the
        ring has may precede their nodes and collections, so that a step counts once its end is in the log.
        """
        for number in self._run.ranks:
            rank = self._run.rank(number)
            last = self._last_logged(rank) if rank.ended is None else rank.steps.last
            if last > self.ready.setdefault(number, 0) and self._has_values(rank, last):
                self.ready[number] = last
        running = [last for number, last in self.ready.items() if self._run.rank(number).ended is None]
        self.joint = min(running) if running else max(self.ready.values(), default=0)

    def _last_logged(self, rank: Rank) -> int:
        """The last step whose end is in the log."""
        ranges = [*(rank.log.ranges() if rank.log else []), *rank.packed.ranges()]
        end = max((end for _, end in ranges), default=0)
        found = rank.select(Selection((END_KIND,), first_position=self._position.get(rank.number, 0)))
        ends = found.records[(found.records["pass"] == 0) & (found.positions < end)]
        self._position[rank.number] = end
        self._logged[rank.number] = max(self._logged.get(rank.number, 0), *ends["step"].tolist(), 0)
        return self._logged[rank.number]

    def _has_values(self, rank: Rank, last: int) -> bool:
        """Whether the values of the steps up to this one were written. Files are written one after the other."""
        first = self.ready[rank.number] + 1
        saved = rank.select(Selection((SAVED_KIND,), first, last)).records
        since = self._waits_since.setdefault(rank.number, time.monotonic())
        may_come = rank.ended is None and time.monotonic() - since < _VALUE_SECONDS
        if may_come and len(saved) and not _is_finished(rank, saved[-1:].view(SAVED)[0]):
            return False
        del self._waits_since[rank.number]
        return True


def _is_finished(rank: Rank, saved: object) -> bool:
    try:
        return not find_file(rank.files, rank.name, saved).endswith(".part")
    except (OSError, DataLossError):
        return False
