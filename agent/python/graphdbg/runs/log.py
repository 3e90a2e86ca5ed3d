"""All records of a rank that are in segments or in the ring, selected by step, kind and tensor."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy

from . import ring
from .errors import Damage
from .record import BEGIN_KIND, END_KIND, HOLE_KIND, RECORD, Array
from .segment import READ_AT_ONCE, ZONE, Segment, segment_files

_MARKS = frozenset((BEGIN_KIND, END_KIND))


@dataclass(frozen=True)
class Selection:
    """Which records are wanted; None selects all.

    Attributes:
        kinds: Kinds of records.
        first_step, last_step: Steps, both inclusive.
        node, slot: The tensor.
        first_position: The least position.
    """

    kinds: Collection[int] | None = None
    first_step: int | None = None
    last_step: int | None = None
    node: int | None = None
    slot: int | None = None
    first_position: int = 0

    def mask(self, records: Array) -> Array:
        """Which records it selects, a bool for each. Holes are never selected."""
        kind = records["kind"]
        wanted = kind != HOLE_KIND if self.kinds is None else numpy.zeros(len(kind), bool)
        for each in self.kinds or ():
            wanted |= kind == each
        if self.first_step is not None:
            wanted &= records["step"] >= numpy.uint64(max(self.first_step, 0))
        if self.last_step is not None:
            wanted &= records["step"] <= numpy.uint64(max(self.last_step, 0))
        if self.node is not None:
            wanted &= records["node"] == self.node
        if self.slot is not None:
            wanted &= records["slot"] == self.slot
        return wanted


@dataclass(frozen=True)
class Found:
    """Records of shape (n,) with their positions, u64 of shape (n,), in ascending order."""

    positions: Array
    records: Array

    @staticmethod
    def join(parts: Collection[Found]) -> Found:
        if not parts:
            return Found(numpy.empty(0, "<u8"), numpy.empty(0, RECORD))
        return Found(
            numpy.concatenate([part.positions for part in parts]), numpy.concatenate([part.records for part in parts])
        )

    def sorted(self) -> Found:
        order = numpy.argsort(self.positions, kind="stable")
        return Found(self.positions[order], self.records[order])


class Log:
    """The segments and the ring of a rank.

    Attributes:
        recovered: What only the ring has.
    """

    def __init__(self, directory: Path, ring_file: Path | None, incarnation: bytes | None = None) -> None:
        self._directory = directory
        self._ring_file = ring_file
        self._incarnation = incarnation
        self._segments: dict[str, Segment] = {}
        self.recovered = ring.nothing()

    def refresh(self, progress: Callable[[int], None] = lambda records: None) -> None:
        """Reads what was added since the last call. `progress` receives the number of records of each segment."""
        self._refresh_segments(progress)
        held = ring.nothing()
        if self._ring_file is not None:
            held = ring.read_ring(self._ring_file, self._wanted_of_ring(), self._incarnation)
        # Again, because a record may have left the ring meanwhile.
        self._refresh_segments()
        covered = numpy.zeros(len(held.positions), bool)
        for first, end in self.ranges():
            covered |= (held.positions >= numpy.uint64(first)) & (held.positions < numpy.uint64(end))
        self.recovered = ring.Recovered(held.header, held.positions[~covered], held.records[~covered], held.damage)

    def _refresh_segments(self, progress: Callable[[int], None] = lambda records: None) -> None:
        files = segment_files(self._directory)
        for number, file in files.items():
            segment = self._segments.setdefault(number, Segment(file))
            segment.file = file
            segment.refresh()
            progress(segment.count)
        for number in set(self._segments) - set(files):
            del self._segments[number]

    def _wanted_of_ring(self) -> int:
        """The first position that the ring may have and segments do not."""
        ranges = self.ranges()
        whole = all(end == first for (_, end), (first, _) in itertools.pairwise(ranges))
        return ranges[-1][1] if ranges and whole and not self.damages else 0

    @property
    def segments(self) -> list[Segment]:
        return list(self._segments.values())

    @property
    def damages(self) -> list[Damage]:
        found = [segment.damage for segment in self._segments.values()] + [self.recovered.damage]
        return [damage for damage in found if damage is not None]

    def ranges(self) -> list[tuple[int, int]]:
        """The positions that segments have, as (first, end), without those that an earlier segment has."""
        return [(first, segment.end) for segment, first in self._parts()]

    @property
    def count(self) -> int:
        """The number of records."""
        return sum(end - first for first, end in self.ranges()) + len(self.recovered.records)

    def blocks(self, recovered: bool = True) -> Iterator[Found]:
        """All records, at most 65,536 at a time: first those of segments, then what only the ring has."""
        for segment, first in self._parts():
            for position, block in segment.blocks(first - segment.first):
                yield Found(_positions(position, len(block)), block)
        for start in range(0, len(self.recovered.records) if recovered else 0, READ_AT_ONCE):
            part = slice(start, start + READ_AT_ONCE)
            yield Found(self.recovered.positions[part], self.recovered.records[part])

    def select(self, selection: Selection) -> Found:
        """The selected records, copied."""
        found: list[Found] = []
        select = _select_marks if selection.kinds is not None and _MARKS.issuperset(selection.kinds) else _select
        for segment, first in self._parts():
            if segment.end > selection.first_position:
                found += select(segment, max(first, selection.first_position), selection)
        wanted = selection.mask(self.recovered.records) & (self.recovered.positions >= selection.first_position)
        if wanted.any():
            found.append(Found(self.recovered.positions[wanted], self.recovered.records[wanted]))
        return Found.join(found).sorted()

    def _parts(self) -> Iterator[tuple[Segment, int]]:
        """Segments in order of position, each with the first position that no earlier one has."""
        end = 0
        for segment in sorted(self._segments.values(), key=lambda each: each.first):
            if segment.count and segment.end > end:
                yield segment, max(segment.first, end)
                end = segment.end


def _positions(first: int, count: int) -> Array:
    return numpy.uint64(first) + numpy.arange(count, dtype="<u8")


def _select(segment: Segment, first: int, selection: Selection) -> Iterator[Found]:
    possible = numpy.ones(len(segment.lowest), bool)
    if selection.first_step is not None:
        possible &= segment.highest >= numpy.uint64(max(selection.first_step, 0))
    if selection.last_step is not None:
        possible &= segment.lowest <= numpy.uint64(max(selection.last_step, 0))
    skipped = first - segment.first
    for start, stop in _zones(possible, skipped, segment.count):
        for position, block in segment.blocks(start, stop):
            wanted = selection.mask(block)
            if wanted.any():
                yield Found(_positions(position, len(block))[wanted], block[wanted])


def _select_marks(segment: Segment, first: int, selection: Selection) -> Iterator[Found]:
    wanted = selection.mask(segment.marks) & (segment.mark_numbers >= first - segment.first)
    positions = numpy.uint64(segment.first) + segment.mark_numbers.astype("<u8")
    yield Found(positions[wanted], segment.marks[wanted])


def _zones(possible: Array, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The records of runs of possible zones, as numbers in the file from `start` to `stop`."""
    edges = numpy.flatnonzero(numpy.diff(possible, prepend=False, append=False))
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        begin, finish = max(int(first) * ZONE, start), min(int(end) * ZONE, stop)
        if begin < finish:
            yield begin, finish
