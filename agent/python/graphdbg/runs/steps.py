"""The steps and passes of a rank, from their marks: records of kinds 3 and 4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy

from .record import BEGIN_KIND, MARK, MODES, REASONS, Array, mode_name

# A step, or a pass of a mode within it: step, number of the mode, pass (0 for a step).
Key = tuple[int, int, int]


@dataclass(frozen=True)
class Step:
    """A step of a run, as `Run.follow` yields it.

    Attributes:
        step: Its number, from 1.
        mode: "train", "eval", "predict" or "unknown".
        mode_step: Its number among the steps of its mode, from 1; 0 if that is not known.
        seconds: How long it took on the slowest rank; None if that is not known.
    """

    step: int
    mode: str
    mode_step: int
    seconds: float | None


@dataclass
class Mark:
    """A step or a pass. Times are 0 where the mark is missing."""

    step: int
    mode: str
    pass_: int
    mode_step: int = 0
    begin_ns: int = 0
    end_ns: int = 0
    records: int = 0
    dropped: int = 0
    tensors_dropped: int = 0
    measuring_ns: int = 0
    tensor_bytes: int = 0
    reason: str = ""
    monotonic_ns: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def has_ended(self) -> bool:
        return self.end_ns != 0

    @property
    def seconds(self) -> float | None:
        begin, end = self.monotonic_ns
        return (end - begin) / 1e9 if begin and end >= begin else None


class StepIndex:
    """The marks of a rank, by step, mode and pass."""

    def __init__(self) -> None:
        self.marks: dict[Key, Mark] = {}
        self._by_mode: dict[tuple[str, int], int] = {}
        self._own: dict[int, Mark] = {}
        self.last_ended = 0

    def add(self, records: Array) -> None:
        """Adds records of kinds 3 and 4; shape (n,)."""
        for mark in records.view(MARK):
            step, mode, pass_ = int(mark["step"]), int(mark["mode"]), int(mark["pass"])
            entry = self.marks.get((step, mode, pass_))
            if entry is None:
                entry = self.marks[step, mode, pass_] = Mark(step, mode_name(mode), pass_, int(mark["mode_step"]))
                self._by_mode.setdefault((entry.mode, entry.mode_step), step)
            is_end = mark["kind"] != BEGIN_KIND
            entry.monotonic_ns[int(is_end)] = int(mark["monotonic_ns"])
            if is_end:
                _end(entry, mark)
                if pass_ == 0:
                    self.last_ended = max(self.last_ended, step)
            else:
                entry.begin_ns = int(mark["unix_ns"])
            if pass_ == 0:
                self._own[step] = entry

    def extend(self, other: StepIndex, steps: int, mode_steps: Mapping[str, int]) -> None:
        """Adds the marks of a run that resumes this one, behind this many steps, and steps of each mode."""
        for (step, mode, pass_), mark in other.marks.items():
            moved = replace(mark, step=step + steps, mode_step=mark.mode_step + mode_steps.get(mark.mode, 0))
            self.marks[moved.step, mode, pass_] = moved
            self._by_mode.setdefault((moved.mode, moved.mode_step), moved.step)
            if pass_ == 0:
                self._own[moved.step] = moved
        self.last_ended = other.last_ended + steps

    @property
    def last(self) -> int:
        """The last step; 0 if there is none."""
        return max((mark.step for mark in self.marks.values()), default=0)

    def last_of(self, mode: str) -> int:
        """The last mode step of a mode; 0 if there is none."""
        return max((mark.mode_step for mark in self.marks.values() if mark.mode == mode), default=0)

    def steps(self, mode: str | None = None) -> list[int]:
        """The steps, ascending; with a mode, those of the mode and those with a pass of it."""
        return sorted({mark.step for mark in self.marks.values() if mode in (None, mark.mode)})

    def modes(self) -> list[str]:
        return sorted({mark.mode for mark in self.marks.values()}, key=MODES.index)

    def step(self, number: int) -> Mark | None:
        """The mark of a step itself; None if there is none."""
        return self._own.get(number)

    def step_of(self, mode: str, mode_step: int) -> int | None:
        return self._by_mode.get((mode, mode_step))

    def mode_steps(self, records: Array) -> Array:
        """The mode step of each record, i64 of shape (n,); 0 where its step has no mark."""
        steps, modes, passes = records["step"], records["mode"], records["pass"]
        return self.mode_steps_of(steps, modes, passes)

    def mode_steps_of(self, steps: Array, modes: Array, passes: Array) -> Array:
        """Like mode_steps, but for columns of shape (n,), which rarely change from one row to the next."""
        if not len(steps):
            return numpy.empty(0, "<i8")
        changes = numpy.flatnonzero((steps[1:] != steps[:-1]) | (modes[1:] != modes[:-1]) | (passes[1:] != passes[:-1]))
        starts = numpy.concatenate([[0], changes + 1])
        keys = zip(steps[starts].tolist(), modes[starts].tolist(), passes[starts].tolist(), strict=True)
        found = numpy.array([self._mode_step(key) for key in keys], "<i8")
        return numpy.repeat(found, numpy.diff(numpy.append(starts, len(steps))))

    def _mode_step(self, key: Key) -> int:
        # Records outside of passes belong to the step itself.
        mark = self.marks.get(key) or self.marks.get((key[0], key[1], 0))
        return mark.mode_step if mark else 0


def step_ranges(
    steps: Sequence[int], limits: tuple[int | None, int | None], records: int, most: int
) -> Iterator[tuple[int, int | None, int, int]]:
    """Divides steps into ranges of about `most` records each.

    Args:
        steps: The steps of a run, ascending.
        limits: The first and the last step, both inclusive and either None.
        records: How many records these steps have together.
        most: How many records a range may have.

    Returns:
        For each range its first and last step, both inclusive, and how many steps of how many precede its end.
    """
    begin, end = limits
    count = max(1, most * max(1, len(steps)) // max(1, records))
    wanted = [step for step in steps if (begin is None or step >= begin) and (end is None or step <= end)]
    first = begin or 0
    for done in range(count, len(wanted), count):
        yield first, wanted[done] - 1, done, len(wanted)
        first = wanted[done]
    yield first, end, len(wanted), len(wanted)


def _end(entry: Mark, mark: Array) -> None:
    entry.end_ns = int(mark["unix_ns"])
    for name in ("records", "dropped", "tensors_dropped", "measuring_ns", "tensor_bytes"):
        setattr(entry, name, int(mark[name]))
    reason = int(mark["reason"])
    entry.reason = REASONS[reason] if reason < len(REASONS) else f"reason {reason}"
