"""Where two runs or ranks diverge: the first op whose recorded statistics, or digests, differ.

server/runs/divergence.cc finds the same. Executions are matched by step, mode, pass, iteration and the tensor's name,
or what `node_alignment` takes for the same; several of the same tensor within these by their order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy
from graphdbg.client.errors import USAGE, GraphdbgError

from .call_differences import CallDifference, Side, call_differences
from .compared_side import MAX_NAMES, ComparedSide, SharedNames, matched, renamed
from .graph import NodeTable
from .measures_apart import MEASURES_COMPARED, digests_apart, measures_apart, relative_differences
from .node_alignment import Renaming
from .rank import Rank
from .record import CHANGE, CHANGE_KIND, STATISTICS_KIND, Array, mode_name, tensor_keys
from .steps import step_ranges
from .summed_ranks import SummedRanks
from .tolerance import DerivedTolerances, Tolerance

METHODS = ("statistics", "digest")
EQUAL, DIFFERS, NOT_RECORDED = "equal", "differs", "not_recorded"
_NEXT = 20
_RECORDS_AT_ONCE = 200_000
# How far behind an op recorded inputs are looked for.
_MAX_DEPTH, _MAX_INPUTS = 16, 64
# How much further apart than in the calibration two values may be, which samples their spread once.
_SLACK = 8.0

Number = int | float


@dataclass(frozen=True)
class ComparedInput:
    """A tensor that an op reads, as it was last recorded before the op was executed.

    Attributes:
        node, slot: The tensor, by its name here.
        there_node: The node's name in the other run; None if nothing there was compared with it.
        state: "equal", "differs", or "not_recorded".
        measure, here, there: As of Difference; None unless the tensor differs.
    """

    node: str
    there_node: str | None
    slot: int
    state: str
    measure: str | None = None
    here: Number | None = None
    there: Number | None = None


@dataclass(frozen=True)
class Difference:
    """One tensor that was recorded differently.

    Attributes:
        step, mode, pass_: Where.
        node, slot: The tensor, by its name here.
        there_node: The node's name in the other run.
        exec_order: Its place in the step here, from 1; 0 if it has none.
        measure: The first of count, nan_count, pos_inf_count, neg_inf_count, min, max, mean, abs_mean, abs_max,
            variance, l1 and l2 that differs, or "digest".
        here, there: Its values.
        inputs: The tensors that the op reads here, in order of its arguments; instead of one that was not recorded,
            what it was computed from.
        calls: How the two sides call the op differently.
    """

    step: int
    mode: str
    pass_: int
    node: str
    there_node: str
    slot: int
    exec_order: int
    measure: str
    here: Number
    there: Number
    inputs: tuple[ComparedInput, ...] = ()
    calls: tuple[CallDifference, ...] = ()


@dataclass(frozen=True)
class Divergence:
    """How far two runs or ranks agree.

    Attributes:
        steps: How many steps were compared: those that both recorded, up to the one with the last of the
            differences.
        matched: The number of tensors that both recorded in these steps.
        only_here, only_there: The first 1,000 names, in order, of tensors that only one recorded in these steps.
        only_here_count, only_there_count: How many there are.
        first: The first difference in order of execution here; None if everything that was compared agrees.
        next: The 20 differences behind it.
        renamings: The first 1,000 names of nodes or scopes that were found to be others there, in order.
        partial: How many tensors were not compared since each rank has a part of a sum.
    """

    steps: int
    matched: int
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]
    only_here_count: int
    only_there_count: int
    first: Difference | None
    next: tuple[Difference, ...]
    renamings: tuple[Renaming, ...]
    partial: int = 0


def find_divergence(
    here: Rank,
    there: Rank,
    rename: Mapping[str, str] | None = None,
    tolerance: Tolerance | None = None,
    by: str = METHODS[0],
    progress: Callable[[int, int], None] = lambda done, total: None,
    tensors: Collection[str] | None = None,
    steps: tuple[int | None, int | None] = (None, None),
    calibration: Rank | None = None,
    summed: Sequence[Rank] = (),
) -> Divergence:
    """Compares what two ranks recorded.

    Args:
        here, there: The ranks, of the same run or of two.
        rename: Names of nodes or scopes here, and the names that these have there. The longest one that fits counts.
        tolerance: What counts as equal.
        by: "statistics", or "digest", which compares all bits of the tensors that have digests.
        progress: Receives how many steps of how many have been compared.
        tensors: Names here, NODE:SLOT, of the tensors to compare; None: all.
        steps: The first and the last step to compare, both inclusive and either None.
        calibration: A rank that counts as equal to `here`. The relative tolerance of a tensor is 8 times the largest
            relative difference of a measure between the two up to the step, and at least that of `tolerance`.
        summed: All ranks of the other run, the first of which is `there`, if they have parts of what `here` has.

    Raises:
        GraphdbgError: There is no such method, or it has no tolerance to calibrate.
    """
    if by not in METHODS:
        raise GraphdbgError(f"no comparison by {by}; there are {', '.join(METHODS)}", USAGE)
    if calibration is not None and by == "digest":
        raise GraphdbgError("digests are equal or not: there is no tolerance to calibrate", USAGE)
    if summed and by == "digest":
        raise GraphdbgError("digests of parts do not add up", USAGE)
    names = None if tensors is None else frozenset(tensors)
    compared = _Comparison(here, there, rename or {}, tolerance or Tolerance(), by, names, steps, calibration, summed)
    return compared.run(progress)


class _Comparison:
    def __init__(
        self,
        here: Rank,
        there: Rank,
        rename: Mapping[str, str],
        tolerance: Tolerance,
        by: str,
        names: Collection[str] | None,
        limits: tuple[int | None, int | None],
        calibration: Rank | None,
        summed: Sequence[Rank],
    ) -> None:
        numbers: dict[str, int] = {}
        self._names = SharedNames(here, there, rename)
        there_names = None if names is None else [self._names.tensor_there(name) for name in names]
        self._here = ComparedSide(here, self._names.of_here, numbers, names)
        self._there = ComparedSide(there, self._names.of_there, numbers, there_names)
        self._summed = SummedRanks(summed, self._names, numbers) if summed else None
        self._equal: ComparedSide | None = None
        if calibration is not None:
            equal = SharedNames(here, calibration, {})
            self._equal = ComparedSide(calibration, lambda node: renamed(equal.of_there(node), rename), numbers, names)
        # By the number of a tensor here: its largest spread so far.
        self._spreads: dict[int, float] = {}
        self._limits = limits
        self._tolerance = tolerance
        self._derived = (
            DerivedTolerances(here.nodes, there.nodes, self._names.pairs()) if tolerance.rtol is None else None
        )
        self._kind = CHANGE_KIND if by == "digest" else STATISTICS_KIND
        self._steps = 0
        self._found: list[Difference] = []
        # By the tensor here: what was compared last in earlier steps.
        self._newest: dict[int, tuple[int, _Apart | None]] = {}

    def run(self, progress: Callable[[int, int], None]) -> Divergence:
        here, there = self._here.rank, self._there.rank
        records = max(here.end_position, there.end_position)
        for first, last, done, total in step_ranges(here.steps.steps(), self._limits, records, _RECORDS_AT_ONCE):
            self._compare(first, last)
            progress(done, total)
            if len(self._found) > _NEXT:
                break
        only_here, only_there = _only(self._here, self._there), _only(self._there, self._here)
        return Divergence(
            self._steps,
            len(self._here.seen) - len(only_here),
            self._here.names(only_here),
            self._there.names(only_there),
            len(only_here),
            len(only_there),
            self._found[0] if self._found else None,
            tuple(self._found[1 : _NEXT + 1]),
            self._names.alignment.renamings[:MAX_NAMES],
            len(self._summed.partial) if self._summed else 0,
        )

    def _compare(self, first: int, last: int | None) -> None:
        for side in (self._here, self._there, *self._others()):
            side.read(self._kind, first, last)
        steps = numpy.intersect1d(self._here.records["step"], self._there.records["step"])
        if self._summed is not None:
            steps = numpy.intersect1d(steps, self._summed.steps())
        for side in (self._here, self._there, *self._others()):
            side.keep(steps)
        differences = self._differences(steps)
        missing = _NEXT + 1 - len(self._found)
        if len(differences) >= missing:
            # Nothing behind the step with the last difference counts.
            steps = steps[steps <= differences[missing - 1].step]
            for side in (self._here, self._there):
                side.keep(steps)
        self._found += differences
        self._here.add_seen()
        self._there.add_seen()
        self._steps += len(steps)

    def _differences(self, steps: Array) -> list[Difference]:
        """The first that are missing, in order of execution here."""
        at_here, there = self._pairs()
        here = self._here.records[at_here]
        if self._kind == CHANGE_KIND:
            measure = digests_apart(here, there)
            names: tuple[str, ...] = ("digest",)
            here, there = here.view(CHANGE), there.view(CHANGE)
        else:
            rtol, floor = self._tolerances(here, there, steps)
            rtol = numpy.maximum(rtol, self._calibrated()[at_here])
            measure, names = measures_apart(here, there, rtol, self._tolerance.atol, floor), MEASURES_COMPARED
        pairs = _Pairs(here, there, tensor_keys(here), measure, names)
        places = numpy.flatnonzero(measure >= 0)[: _NEXT + 1 - len(self._found)]
        found = [self._describe(pairs, at) for at in places.tolist()]
        self._newest |= pairs.newest()
        return found

    def _others(self) -> list[ComparedSide | SummedRanks]:
        return [side for side in (self._summed, self._equal) if side is not None]

    def _pairs(self) -> tuple[Array, Array]:
        """The places of records here that both sides have, ascending, and the records there."""
        if self._summed is not None:
            return self._summed.pairs(self._here)
        at_here, at_there = matched(self._here, self._there)
        return at_here, self._there.records[at_there]

    def _tolerances(self, here: Array, there: Array, steps: Array) -> tuple[Array, Array]:
        """The relative tolerances of pairs of records, and the absolute ones of single elements."""
        if self._derived is None:
            return numpy.full(len(here), self._tolerance.rtol), numpy.zeros(len(here))
        return self._derived.of(here, there, self._steps + 1 + numpy.searchsorted(steps, here["step"]))

    def _calibrated(self) -> Array:
        """The relative tolerances of the records here that a calibration gives, shape (n,)."""
        if self._equal is None:
            return numpy.zeros(len(self._here.records))
        at_here, at_equal = matched(self._here, self._equal)
        spread = numpy.zeros(len(self._here.records))
        spread[at_here] = relative_differences(self._here.records[at_here], self._equal.records[at_equal])
        tensors = self._here.tensors
        order = numpy.argsort(tensors, kind="stable")
        starts = numpy.flatnonzero(numpy.diff(tensors[order])) + 1
        for places in numpy.split(order, starts) if len(order) else ():
            tensor = int(tensors[places[0]])
            spread[places[0]] = max(spread[places[0]], self._spreads.get(tensor, 0.0))
            spread[places] = numpy.maximum.accumulate(spread[places])
            self._spreads[tensor] = float(spread[places[-1]])
        return _SLACK * spread

    def _describe(self, pairs: _Pairs, at: int) -> Difference:
        here, there = pairs.here[at], pairs.there[at]
        inputs: dict[int, ComparedInput] = {}
        self._add_inputs(pairs, at, int(here["node"]), inputs, set(), 0)
        return Difference(
            int(here["step"]),
            mode_name(int(here["mode"])),
            int(here["pass"]),
            self._here.rank.nodes.name(int(here["node"])),
            self._there.rank.nodes.name(int(there["node"])),
            int(here["slot"]),
            int(here["exec_order"]),
            *pairs.values(at),
            tuple(inputs.values()),
            call_differences(
                Side(self._here.rank.nodes, int(here["node"]), self._names.of_here),
                Side(self._there.rank.nodes, int(there["node"]), self._names.of_there),
            ),
        )

    def _add_inputs(
        self, pairs: _Pairs, at: int, node: int, found: dict[int, ComparedInput], seen: set[int], depth: int
    ) -> None:
        """Adds what an op reads, and instead of what was not recorded, what that was computed from."""
        nodes = self._here.rank.nodes
        for producer, slot in _read(nodes, node):
            key = producer << 16 | slot
            if key in seen:
                continue
            seen.add(key)
            before = pairs.last(key, at)
            newest = self._newest.get(key) if before is None else pairs.verdict(before)
            known = newest is not None
            if not known and depth < _MAX_DEPTH and len(seen) < _MAX_INPUTS and _read(nodes, producer):
                self._add_inputs(pairs, at, producer, found, seen, depth + 1)
            else:
                found[key] = self._describe_input(nodes.name(producer), slot, newest)

    def _describe_input(self, name: str, slot: int, newest: tuple[int, _Apart | None] | None) -> ComparedInput:
        if newest is None:
            return ComparedInput(name, None, slot, NOT_RECORDED)
        there_node, apart = newest
        there_name = self._there.rank.nodes.name(there_node)
        if apart is None:
            return ComparedInput(name, there_name, slot, EQUAL)
        return ComparedInput(name, there_name, slot, DIFFERS, *apart)


def _read(nodes: NodeTable, node: int) -> list[tuple[int, int]]:
    """The tensors that a node reads, as far as their nodes are known."""
    found = nodes.nodes.get(node)
    inputs = [] if found is None else found.values["inputs"]
    return [
        (each["node_id"], each["slot"]) for each in inputs if not each["control"] and each["node_id"] in nodes.nodes
    ]


_Apart = tuple[str, Number, Number]


@dataclass(frozen=True)
class _Pairs:
    """Records of both sides that are of the same execution, in order of execution here.

    Attributes:
        here, there: The records, shape (n,).
        keys: Node and slot here, u64, shape (n,).
        measure: The place in `names` of the first measure that differs, or -1, shape (n,).
    """

    here: Array
    there: Array
    keys: Array
    measure: Array
    names: tuple[str, ...]

    def values(self, at: int) -> _Apart:
        name = self.names[self.measure[at]]
        return name, self.here[at][name].item(), self.there[at][name].item()

    def verdict(self, at: int) -> tuple[int, _Apart | None]:
        """The node there, and what differs."""
        return int(self.there[at]["node"]), self.values(at) if self.measure[at] >= 0 else None

    def last(self, key: int, before: int) -> int | None:
        """The place of the last record of a tensor before a place."""
        found = numpy.flatnonzero(self.keys[:before] == numpy.uint64(key))
        return int(found[-1]) if len(found) else None

    def newest(self) -> dict[int, tuple[int, _Apart | None]]:
        """The verdict on the last record of each tensor."""
        keys, places = numpy.unique(self.keys[::-1], return_index=True)
        return {key: self.verdict(len(self.keys) - 1 - at) for key, at in zip(keys.tolist(), places, strict=True)}


def _only(side: ComparedSide, other: ComparedSide) -> list[int]:
    """The tensors that a side has and the other has not."""
    tensors = set(other.seen.values())
    return [own for own, tensor in side.seen.items() if tensor not in tensors]
