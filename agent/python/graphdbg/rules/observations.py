"""Reads the observations of a recorded run in the order in which they were made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy
from graphdbg.runs.log import Selection
from graphdbg.runs.record import SAVED_KIND, STATISTICS_KIND, Array, mode_name, places_in_step, tensor_keys
from graphdbg.runs.steps import step_ranges

from .recorded_observation import Place, Records
from .rule import Needs

if TYPE_CHECKING:
    from graphdbg.runs.rank import Rank
    from graphdbg.runs.run import Run

_RECORDS_AT_ONCE = 50_000
_INTENTIONAL_INFINITIES = 4
# The fields that both records of an execution have in common.
_EXECUTION = ("step", "exec_order", "node", "slot", "mode", "pass", "iteration")


@dataclass(frozen=True)
class Range:
    """The steps and ranks that are looked at; None: no limit."""

    first: int | None = None
    last: int | None = None
    ranks: Sequence[int] | None = None


@dataclass(frozen=True)
class Block:
    """Successive observations.

    Attributes:
        entries: The observations that the rule needs.
        skipped: How many others there were, which do not interest it.
        unknown: How many others there were without the value that it needs.
        done, total: How many steps of how many have been read.
    """

    entries: list[tuple[Place, Records]]
    skipped: int
    unknown: int
    done: int
    total: int


def read_steps(run: Run, limits: Range) -> Iterator[Block]:
    """The steps of each rank, as one block."""
    found = [
        (Place(rank.number, "", mark.step, mark.mode, 0), Records())
        for rank in _ranks(run, limits)
        for (step, _, pass_), mark in rank.steps.marks.items()
        if pass_ == 0 and _is_within(step, limits)
    ]
    found.sort(key=lambda entry: (entry[0].step, entry[0].rank))
    yield Block(found, 0, 0, len(found), len(found))


def read_tensors(run: Run, names: Collection[str] | None, needs: Needs, limits: Range) -> Iterator[Block]:
    """The executions of tensors by step, place in the step, and rank.

    Args:
        run: The run.
        names: Names of tensors, NODE:SLOT; None: all.
        needs: What the rule needs.
        limits: Steps and ranks.
    """
    ranks = _ranks(run, limits)
    reader = Reader(needs, [_Selected(rank, names) for rank in ranks])
    records = sum(rank.end_position for rank in ranks)
    bounds = limits.first, limits.last
    for first, last, done, total in step_ranges(run.steps(complete=False), bounds, records, _RECORDS_AT_ONCE):
        yield reader.read(first, last, (done, total))


def _ranks(run: Run, limits: Range) -> list[Rank]:
    return [run.rank(number) for number in limits.ranks or run.ranks]


def _is_within(step: int, limits: Range) -> bool:
    return (limits.first is None or step >= limits.first) and (limits.last is None or step <= limits.last)


class Source(Protocol):
    """Where the records of a rank come from."""

    @property
    def number(self) -> int:
        """The rank's number."""

    def name(self, node: int, slot: int) -> str:
        """The name of a tensor, NODE:SLOT."""

    def read(self, first: int, last: int | None) -> Array:
        """The statistics and saved values of selected tensors in steps of [first, last], shape (n,)."""


class _Selected:
    """The selected tensors of a rank; nodes that are not in its graph are never selected."""

    def __init__(self, rank: Rank, names: Collection[str] | None) -> None:
        self.number = rank.number
        self._rank = rank
        self._nodes = None if names is not None else numpy.fromiter(rank.nodes.nodes, "<u8")
        self._tensors = rank.tensor_keys(names or ())

    def name(self, node: int, slot: int) -> str:
        return f"{self._rank.nodes.name(node)}:{slot}"

    def read(self, first: int, last: int | None) -> Array:
        records = self._rank.select(Selection((STATISTICS_KIND, SAVED_KIND), first, last)).records
        if self._nodes is not None:
            return records[numpy.isin(records["node"], self._nodes)]
        return records[numpy.isin(tensor_keys(records), self._tensors)]


class Reader:
    """Makes observations from the records of several ranks."""

    def __init__(self, needs: Needs, sources: Sequence[Source]) -> None:
        self._needs = needs
        self._sources = sources
        self._names: dict[tuple[int, int, int], str] = {}

    def read(self, first: int, last: int | None, progress: tuple[int, int]) -> Block:
        """The observations in steps of [first, last]."""
        parts = [each.read(first, last) for each in self._sources]
        places = numpy.repeat(numpy.arange(len(parts)), [len(part) for part in parts])
        records = numpy.concatenate(parts)
        is_saved = records["kind"] == SAVED_KIND
        saved = dict(zip(_executions(records[is_saved], places[is_saved]), records[is_saved], strict=True))
        wanted = self._wanted(records, places, is_saved)
        order = _in_order(records[wanted], places[wanted])
        chosen, where = records[wanted][order], places[wanted][order]
        entries = []
        kinds, executions = chosen["kind"].tolist(), _executions(chosen, where)
        for record, kind, execution in zip(chosen, kinds, executions, strict=True):
            statistics = None if kind == SAVED_KIND else record
            entries.append((self._place(execution), Records(statistics, saved.get(execution) if saved else None)))
        kept = [entry for entry in entries if not self._needs.tensors or entry[1].has_value]
        skipped = int((~is_saved).sum()) - int((~is_saved[wanted]).sum())
        return Block(kept, skipped, len(entries) - len(kept), *progress)

    def _wanted(self, records: Array, places: Array, is_saved: Array) -> Array:
        """One record of each execution that the rule needs: its statistics, or else its saved value."""
        wanted = ~is_saved
        if self._needs.non_finite:
            wanted &= _has_non_finite(records)
        elif self._needs.tensors and is_saved.any():
            with_statistics = set(_executions(records[~is_saved], places[~is_saved]))
            alone = [each not in with_statistics for each in _executions(records[is_saved], places[is_saved])]
            wanted[numpy.flatnonzero(is_saved)[alone]] = True
        return wanted

    def _place(self, execution: tuple[int, ...]) -> Place:
        at, step, _, node, slot, mode, pass_, _ = execution
        source = self._sources[at]
        name = self._names.get((at, node, slot))
        if name is None:
            name = self._names[at, node, slot] = source.name(node, slot)
        return Place(source.number, name, step, mode_name(mode), pass_)


def _in_order(records: Array, places: Array) -> Array:
    """Their order by step, place in the step, and rank."""
    return numpy.lexsort((places, records["pass"], places_in_step(records), records["step"]))


def _executions(records: Array, places: Array) -> list[tuple[int, ...]]:
    """What distinguishes the executions of records, for each: its rank's place, and the fields of _EXECUTION."""
    return list(zip(places.tolist(), *(records[name].tolist() for name in _EXECUTION), strict=True))


def _has_non_finite(records: Array) -> Array:
    infinities = (records["pos_inf_count"] | records["neg_inf_count"]) != 0
    is_intentional = (records["flags"] & _INTENTIONAL_INFINITIES) != 0
    found: Array = (records["nan_count"] != 0) | (infinities & ~is_intentional)
    return found
