"""Where two runs or ranks part: the first op whose recorded statistics, or digests, differ.

server/runs/divergence.cc finds the same, without calibration. Executions are matched by step, mode, pass, iteration and
the tensor's name; several of the same tensor within these by their order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
from graphdbg.client.errors import USAGE, GraphdbgError

from .graph import split_tensor
from .log import Selection
from .rank import Rank
from .record import CHANGE, CHANGE_KIND, STATISTICS_KIND, Array, mode_name

METHODS = ("statistics", "digest")
MAX_NAMES = 1000
_NEXT = 20
_RECORDS_AT_ONCE = 200_000
_EXACT = ("count", "nan_count", "pos_inf_count", "neg_inf_count")
_CLOSE = ("min", "max", "mean", "abs_mean", "abs_max", "variance", "l1", "l2")
_LIGHT = 1
# How much further apart than in the calibration two values may be, which samples their spread once.
_SLACK = 8.0

Number = int | float


@dataclass(frozen=True)
class Difference:
    """One tensor that was recorded differently.

    Attributes:
        step, mode, pass_: Where.
        node, slot: The tensor, by its name here.
        exec_order: Its place in the step here, from 1; 0 if it has none.
        measure: The first of count, nan_count, pos_inf_count, neg_inf_count, min, max, mean, abs_mean, abs_max,
            variance, l1 and l2 that differs, or "digest".
        here, there: Its values.
    """

    step: int
    mode: str
    pass_: int
    node: str
    slot: int
    exec_order: int
    measure: str
    here: Number
    there: Number


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
    """

    steps: int
    matched: int
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]
    only_here_count: int
    only_there_count: int
    first: Difference | None
    next: tuple[Difference, ...]


@dataclass(frozen=True)
class Tolerance:
    """The tolerance within which values are equal: |here - there| <= atol + rtol * size.

    The size is the larger absolute value of the two; of means, which may cancel out, the larger mean of absolute
    values, and of variances the larger mean of squares. Counts must be equal.
    """

    rtol: float = 1e-6
    atol: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise GraphdbgError(f"{name} is {getattr(self, name)}, not a number from 0 on", USAGE)


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
        calibration: A rank that counts as equal to `here`, and has its names. The relative tolerance of a tensor is
            8 times the largest relative difference of a measure between the two up to the step, and at least that
            of `tolerance`.

    Raises:
        GraphdbgError: There is no such method, or it has no tolerance to calibrate.
    """
    if by not in METHODS:
        raise GraphdbgError(f"no comparison by {by}; there are {', '.join(METHODS)}", USAGE)
    if calibration is not None and by == "digest":
        raise GraphdbgError("digests are equal or not: there is no tolerance to calibrate", USAGE)
    names = None if tensors is None else frozenset(tensors)
    compared = _Comparison(here, there, rename or {}, tolerance or Tolerance(), by, names, steps, calibration)
    return compared.run(progress)


def renamed(name: str, names: Mapping[str, str]) -> str:
    """A name there: with the longest of the names or scopes that it begins with replaced."""
    fitting = [old for old in names if name == old or name.startswith(f"{old}/")]
    old = max(fitting, key=len, default=None)
    return name if old is None else names[old] + name[len(old) :]


def _renamed_tensor(name: str, names: Mapping[str, str]) -> str:
    node, slot = split_tensor(name)
    return f"{renamed(node, names)}:{slot}"


class _Side:
    """The records of a rank for some steps.

    Attributes:
        records: The records in order of execution, shape (n,).
        tensors: For each the number of its tensor, which is the same on both sides, u64.
    """

    def __init__(
        self, rank: Rank, rename: Mapping[str, str], numbers: dict[str, int], names: Collection[str] | None
    ) -> None:
        self.rank = rank
        self._rename = rename
        self._wanted = None if names is None else _keys_of(rank, names)
        self._numbers = numbers
        self._number_of: dict[int, int] = {}
        # The tensors of all steps that were compared by this side's own node: several may have the same name there.
        self.seen: dict[int, int] = {}
        self.records: Array = numpy.empty(0)
        self.tensors: Array = numpy.empty(0)

    def read(self, kind: int, first: int, last: int | None) -> None:
        records = self.rank.select(Selection((kind,), first, last)).records
        if kind == CHANGE_KIND:
            records = records[records.view(CHANGE)["digest"] != 0]
        if self._wanted is not None:
            records = records[numpy.isin(_own_keys(records), self._wanted)]
        # In unsigned arithmetic, 0 - 1 is the largest number: records without a place come last.
        order = numpy.lexsort((records["exec_order"] - numpy.uint32(1), records["step"]))
        self.records = records[order]
        nodes, inverse = numpy.unique(self.records["node"], return_inverse=True)
        numbers = numpy.array([self._number(node) for node in nodes.tolist()], "<u8")
        self.tensors = numbers[inverse] << numpy.uint64(16) | self.records["slot"]

    def keep(self, steps: Array) -> None:
        """Forgets what is not in these steps."""
        kept = numpy.isin(self.records["step"], steps)
        self.records, self.tensors = self.records[kept], self.tensors[kept]

    def add_seen(self) -> None:
        """Adds the tensors of these steps to those that were compared."""
        keys, places = numpy.unique(_own_keys(self.records), return_index=True)
        for own, tensor in zip(keys.tolist(), self.tensors[places].tolist(), strict=True):
            self.seen.setdefault(own, tensor)

    def names(self, keys: Iterable[int]) -> tuple[str, ...]:
        """The first names of tensors, in order."""
        return tuple(sorted(f"{self.rank.nodes.name(own >> 16)}:{own & 0xFFFF}" for own in keys)[:MAX_NAMES])

    def _number(self, node: int) -> int:
        if node not in self._number_of:
            name = renamed(self.rank.nodes.name(node), self._rename)
            self._number_of[node] = self._numbers.setdefault(name, len(self._numbers))
        return self._number_of[node]


def _own_keys(records: Array) -> Array:
    """Node and slot of each record in one number, u64."""
    keys: Array = records["node"].astype("<u8") << numpy.uint64(16) | records["slot"]
    return keys


def _keys_of(rank: Rank, names: Collection[str]) -> Array:
    found = filter(None, map(rank.tensor_key, names))
    return numpy.array([node << 16 | slot for node, slot in found], "<u8")


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
    ) -> None:
        numbers: dict[str, int] = {}
        there_names = None if names is None else [_renamed_tensor(name, rename) for name in names]
        self._here, self._there = _Side(here, rename, numbers, names), _Side(there, {}, numbers, there_names)
        self._equal = None if calibration is None else _Side(calibration, rename, numbers, names)
        # By the number of a tensor here: its largest spread so far.
        self._spreads: dict[int, float] = {}
        self._limits = limits
        self._tolerance = tolerance
        self._kind = CHANGE_KIND if by == "digest" else STATISTICS_KIND
        self._steps = 0
        self._found: list[Difference] = []

    def run(self, progress: Callable[[int, int], None]) -> Divergence:
        for first, last, done, total in _ranges(self._here.rank, self._there.rank, self._limits):
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
        )

    def _compare(self, first: int, last: int | None) -> None:
        for side in (self._here, self._there):
            side.read(self._kind, first, last)
        steps = numpy.intersect1d(self._here.records["step"], self._there.records["step"])
        for side in (self._here, self._there):
            side.keep(steps)
        if self._equal is not None:
            self._equal.read(self._kind, first, last)
            self._equal.keep(steps)
        differences = self._differences()
        missing = _NEXT + 1 - len(self._found)
        if len(differences) >= missing:
            # Nothing behind the step with the last difference counts.
            steps = steps[steps <= int(differences[missing - 1][0]["step"])]
            for side in (self._here, self._there):
                side.keep(steps)
        self._found += [self._describe(*each) for each in differences[:missing]]
        self._here.add_seen()
        self._there.add_seen()
        self._steps += len(steps)

    def _differences(self) -> list[tuple[Any, Any, str]]:
        """The records that differ, in order of execution here, with the measure."""
        at_here, at_there = _matched(self._here, self._there)
        here, there = self._here.records[at_here], self._there.records[at_there]
        by_digest = self._kind == CHANGE_KIND
        rtol = self._relative_tolerances()[at_here]
        measure = _digests(here, there) if by_digest else _measures(here, there, rtol, self._tolerance.atol)
        names = ("digest",) if by_digest else (*_EXACT, *_CLOSE)
        if by_digest:
            here, there = here.view(CHANGE), there.view(CHANGE)
        places = numpy.flatnonzero(measure >= 0)[: _NEXT + 1]
        return [(here[at], there[at], names[measure[at]]) for at in places]

    def _relative_tolerances(self) -> Array:
        """Those of the records here, shape (n,)."""
        found: Array = numpy.full(len(self._here.records), self._tolerance.rtol)
        if self._equal is None:
            return found
        at_here, at_equal = _matched(self._here, self._equal)
        spread = numpy.zeros(len(found))
        spread[at_here] = _spread(self._here.records[at_here], self._equal.records[at_equal])
        tensors = self._here.tensors
        order = numpy.argsort(tensors, kind="stable")
        starts = numpy.flatnonzero(numpy.diff(tensors[order])) + 1
        for places in numpy.split(order, starts) if len(order) else ():
            tensor = int(tensors[places[0]])
            spread[places[0]] = max(spread[places[0]], self._spreads.get(tensor, 0.0))
            spread[places] = numpy.maximum.accumulate(spread[places])
            self._spreads[tensor] = float(spread[places[-1]])
        return numpy.maximum(found, _SLACK * spread)

    def _describe(self, here: Any, there: Any, measure: str) -> Difference:
        return Difference(
            int(here["step"]),
            mode_name(int(here["mode"])),
            int(here["pass"]),
            self._here.rank.nodes.name(int(here["node"])),
            int(here["slot"]),
            int(here["exec_order"]),
            measure,
            here[measure].item(),
            there[measure].item(),
        )


def _ranges(
    here: Rank, there: Rank, limits: tuple[int | None, int | None]
) -> Iterator[tuple[int, int | None, int, int]]:
    """Ranges of steps, both inclusive, of some 200,000 records each, and how many steps lie before their ends."""
    begin, end = limits
    steps = here.steps.steps()
    records = max(here.end_position, there.end_position)
    count = max(1, _RECORDS_AT_ONCE * max(1, len(steps)) // max(1, records))
    steps = [step for step in steps if (begin is None or step >= begin) and (end is None or step <= end)]
    first = begin or 0
    for done in range(count, len(steps), count):
        yield first, steps[done] - 1, done, len(steps)
        first = steps[done]
    yield first, end, len(steps), len(steps)


def _matched(here: _Side, there: _Side) -> tuple[Array, Array]:
    """Which records on both sides are of the same execution, in order of execution here."""
    size = len(here.records)
    records = numpy.concatenate([here.records, there.records])
    tensors = numpy.concatenate([here.tensors, there.tensors])
    placed = records["pass"].astype("<u8") << numpy.uint64(16) | records["iteration"]
    steps = records["step"] << numpy.uint64(8) | records["mode"]
    # Three keys of 64 bits, each joined with the next as dense numbers.
    codes = _dense(tensors)
    for key in (placed, steps):
        codes = _dense(codes << numpy.uint64(32) | _dense(key))
    first, second = (part << numpy.uint64(32) | _occurrences(part) for part in (codes[:size], codes[size:]))
    _, at_here, at_there = numpy.intersect1d(first, second, assume_unique=True, return_indices=True)
    order = numpy.argsort(at_here)
    return at_here[order], at_there[order]


def _dense(keys: Array) -> Array:
    return numpy.unique(keys, return_inverse=True)[1].astype("<u8")


def _occurrences(codes: Array) -> Array:
    """How often each code occurs before its place, u64."""
    order = numpy.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = numpy.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(codes) else numpy.empty(0, bool)
    places = numpy.arange(len(codes), dtype="<u8")
    found = numpy.empty(len(codes), "<u8")
    found[order] = places - numpy.maximum.accumulate(numpy.where(starts, places, 0)) if len(codes) else places
    return found


def _digests(here: Array, there: Array) -> Array:
    differ = here.view(CHANGE)["digest"] != there.view(CHANGE)["digest"]
    return numpy.where(differ, 0, -1)


def _spread(here: Array, there: Array) -> Array:
    """The largest relative difference of a measure; 0 where they are equal."""
    largest = numpy.zeros(len(here))
    with numpy.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for name in _CLOSE:
            apart = numpy.abs(here[name] - there[name])
            relative = numpy.where(apart == 0, 0.0, apart / _size(here, there, name))
            largest = numpy.fmax(largest, relative)
    return largest


def _measures(here: Array, there: Array, rtol: Array, atol: float) -> Array:
    """The number of the first measure that differs; -1 where none does."""
    found = numpy.full(len(here), -1)
    light = (here["flags"] | there["flags"]) & _LIGHT != 0
    with numpy.errstate(invalid="ignore", over="ignore"):
        for number, name in enumerate((*_EXACT, *_CLOSE)):
            x, y = here[name], there[name]
            differ = x != y
            if name in _CLOSE:
                far = ~(numpy.abs(x - y) <= atol + rtol * _size(here, there, name))
                absent_x, absent_y = numpy.isnan(x), numpy.isnan(y)
                differ &= ~(absent_x & absent_y) & ~(light & (absent_x | absent_y))
                # An infinite size makes no tolerance.
                differ &= far | ~(numpy.isfinite(x) & numpy.isfinite(y))
            found[(found < 0) & differ] = number
    return found


def _size(here: Array, there: Array, name: str) -> Array:
    """The size to which a relative tolerance of a measure refers."""
    sizes = [
        each["variance"] + each["mean"] ** 2
        if name == "variance"
        else numpy.abs(each["abs_mean" if name == "mean" else name])
        for each in (here, there)
    ]
    largest: Array = numpy.fmax(*sizes)
    return largest


def _only(side: _Side, other: _Side) -> list[int]:
    """The tensors that a side has and the other has not."""
    tensors = set(other.seen.values())
    return [own for own, tensor in side.seen.items() if tensor not in tensors]
