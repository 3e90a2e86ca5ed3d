"""Exports of a rank to TensorBoard: event files with scalars and histograms."""

from __future__ import annotations

import contextlib
import socket
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy

from .files import whole_file
from .rank import Rank
from .record import SAVED_KIND, mode_name
from .saved import for_numpy, value_of_scalar
from .steps import Mark
from .tensorboard import EventFile

# A tensor's name, or its tag, with a record of its statistics or of saved values.
Named = tuple[str, Any]
# The measures that TensorBoard shows of tensors with more than one element.
_SCALARS = ("mean", "abs_mean", "abs_max", "l2")


def export_events(rank: Rank, directory: Path, tagged: Iterable[Named]) -> list[Path]:
    """Writes a file of events for each mode: MODE/events.out.tfevents.…, so that curves of modes do not mix.

    Args:
        rank: The rank.
        directory: The directory of the modes.
        tagged: The records with their tags.

    Returns:
        The files, all of which appear at the end.
    """
    clock = _Clock(rank)
    files: dict[str, tuple[Path, EventFile]] = {}
    with contextlib.ExitStack() as stack:
        for tag, record in tagged:
            mode = mode_name(int(record["mode"]))
            if mode not in files:
                name = f"events.out.tfevents.{int(clock.start)}.{socket.gethostname()}.{rank.number}.graphdbg"
                file = directory / mode / name
                files[mode] = file, EventFile(stack.enter_context(whole_file(file)), clock.start)
            _write(files[mode][1], rank, tag, record, clock)
    return [file for file, _ in files.values()]


def _write(events: EventFile, rank: Rank, tag: str, record: Any, clock: _Clock) -> None:
    step = int(record["step"])
    time = clock.time_of(step, int(record["mode"]), int(record["pass"]))
    if record["kind"] != SAVED_KIND:
        events.scalars(step, time, _scalars(record, tag))
        return
    value = for_numpy(rank.read_saved(record))
    if value.dtype.kind in "biuf":
        events.histogram(step, time, tag, value)


def _scalars(record: Any, tag: str) -> list[tuple[str, float]]:
    if record["count"] == 1:
        return [(tag, float(value_of_scalar(record, ())))]
    return [(f"{tag}/{name}", float(record[name])) for name in _SCALARS if not numpy.isnan(record[name])]


class _Clock:
    """When steps and passes began, in seconds since 1970.

    Attributes:
        start: When the first one began, or the recording.
    """

    def __init__(self, rank: Rank) -> None:
        self._marks = rank.steps.marks
        known = sorted((mark.step, _seconds(mark)) for mark in self._marks.values() if _seconds(mark))
        self._steps = [step for step, _ in known]
        self._times = [time for _, time in known]
        started = rank.info.get("started_unix_ns")
        self.start = self._times[0] if known else started / 1e9 if isinstance(started, int) else 0.0

    def time_of(self, step: int, mode: int, pass_: int) -> float:
        """The time of the pass, else of its step; where the marks are missing, of the last one before."""
        for key in ((step, mode, pass_), (step, mode, 0)):
            mark = self._marks.get(key)
            if mark is not None and _seconds(mark):
                return _seconds(mark)
        at = bisect_right(self._steps, step)
        return self._times[at - 1] if at else self.start


def _seconds(mark: Mark) -> float:
    return (mark.begin_ns or mark.end_ns) / 1e9
