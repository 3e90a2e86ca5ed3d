"""Decides which steps are observed, so that tests take a small share of the program's time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, process_time, thread_time

from .check import PATIENCE

# Most faults are there from the start.
_FIRST_STEPS = PATIENCE + 2
# The steps that decide about something that has changed.
_AFTER_CHANGE = PATIENCE + 1
# The share of the program's time that tests may take after the first steps. Together with
# what is attached anyway, a step may take 1.05 of its time.
_SHARE = 0.01
# Tests also slow down the program's own code, whose data they push out of the caches: an
# observed step is charged with all that it takes longer than others, but with no more than so
# many times what tests themselves have taken, since it may be longer for other reasons.
_MAX_CHARGE = 3.0
# One that takes several times as long as a step leaves so little of the program in the caches that the steps after it
# are slower, too. Programs with such short steps may not feel it: unless it was on debt, it is charged twice.
_LONG, _AFTERMATH = 2, 2.0
# Seconds that may be saved up, or owed.
_MAX_CREDIT = 0.05


@dataclass
class Clocks:
    """In seconds. Processor time does not grow while other processes have the processor."""

    wall: Callable[[], float] = perf_counter
    process: Callable[[], float] = process_time
    # Of the thread that trains.
    thread: Callable[[], float] = thread_time


class Cadence:
    """Observes the first steps, and later ones as far as there is credit.

    Each second of the program earns some milliseconds, which observed steps spend.
    Steps that decide whether there is a finding, and those after a change, may also be
    observed on debt, which later steps pay back.
    """

    def __init__(self, clocks: Clocks | None = None) -> None:
        self._clocks = clocks or Clocks()
        self.start()

    def start(self) -> None:
        """The next step is the first one."""
        # Steps that are observed because they are the first ones, or because of a change.
        self._first, self._after_change = _FIRST_STEPS, 0
        self._credit = 0.0
        # Seconds that tests have taken in this step.
        self._spent = 0.0
        # The processor time of a step that is not observed; 0 if it is not known.
        self._plain = 0.0
        # The steps since the credit was last counted, and whether these steps have been observed.
        self._steps, self._observed = 0, True
        # When the credit was last counted, and the time before which there cannot be any.
        self._counted = self._clocks.wall(), self._clocks.process()
        self._wake = 0.0

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Charges the time that passes within to the tests."""
        began = self._clocks.thread()
        try:
            yield
        finally:
            self._spent += self._clocks.thread() - began

    def changed(self) -> bool:
        """Something has changed, on which findings depend. Returns whether this step is observed."""
        self._after_change, self._wake = _AFTER_CHANGE, 0.0
        return self._may_owe()

    def look_again(self) -> None:
        """The next step may decide whether there is a finding."""
        self._wake = 0.0

    @property
    def until(self) -> float:
        """The time before which no step will be observed unless something changes."""
        return self._wake

    def end_step(self, is_undecided: Callable[[], bool], passed: int = 0) -> bool:
        """Returns whether the next step is observed.

        `is_undecided`: it decides whether there is a finding. `passed`: how many steps have ended since the last call
        without one.
        """
        self._steps += 1 + passed
        wall = self._clocks.wall()
        if wall < self._wake:
            return False
        self._count(wall)
        self._first = max(0, self._first - 1)
        self._after_change = max(0, self._after_change - 1)
        self._observed = self._is_due(is_undecided)
        if not self._observed:
            self._wake = wall - self._credit / _SHARE
        return self._observed

    def _count(self, wall: float) -> None:
        """Earns a share of the time since the last call, and pays for what tests have taken."""
        began, now = self._counted, (wall, self._clocks.process())
        # Several threads may work at the same time.
        took = min(now[0] - began[0], now[1] - began[1])
        charge = self._spent
        if not self._observed:
            self._plain = (took - charge) / self._steps
            # Calls without gradients are tested in each step. They leave the steps after a change something to owe.
            charge = min(charge, max(0.0, self._credit + _MAX_CREDIT / 2))
        elif self._plain > 0:
            charge = min(max(charge, took - self._plain * self._steps), _MAX_CHARGE * charge)
            if charge > _LONG * self._plain and self._credit > 0:
                charge *= _AFTERMATH
        # The first steps cost nothing.
        earned = _SHARE * took - (0.0 if self._first > 0 else charge)
        self._credit = min(_MAX_CREDIT, self._credit + earned)
        self._counted, self._spent, self._steps = now, 0.0, 0

    def _is_due(self, is_undecided: Callable[[], bool]) -> bool:
        if self._first > 0 or self._credit > 0:
            return True
        return self._may_owe() and (self._after_change > 0 or is_undecided())

    def _may_owe(self) -> bool:
        return self._credit > -_MAX_CREDIT
