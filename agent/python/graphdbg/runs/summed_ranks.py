"""The records of all ranks of a run as if one process had computed everything: for comparison with such a process.

A tensor of which each rank has as many elements as the one process has is a copy; others are parts, whose counts, sums
and sums of squares add up. Copies that differ from rank to rank, such as a gradient before it is reduced, are parts of
a sum of which nothing can be said.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from .compared_side import ComparedSide, SharedNames, matched
from .measures_apart import measures_apart
from .rank import Rank
from .record import COUNTS, Array, tensor_keys

# Copies that were computed alike are equal to the bit; these may come from reductions in another order.
_SAME = 1e-6


class SummedRanks:
    """The ranks of the other side.

    Attributes:
        sides: One for each rank.
        partial: The tensors here, as node and slot in one number, of which ranks have parts of a sum.
    """

    def __init__(self, ranks: Sequence[Rank], names: SharedNames, numbers: dict[str, int]) -> None:
        """`names` are those of the first rank, whose nodes the other ones have by name."""
        first = ranks[0].nodes

        def name_of(rank: Rank, node: int) -> str:
            name = rank.nodes.name(node)
            known = first.id_of(name)
            return name if known is None else names.of_there(known)

        self.sides = [
            ComparedSide(rank, lambda node, rank=rank: name_of(rank, node), numbers, None)  # type: ignore[misc]
            for rank in ranks
        ]
        self.partial: set[int] = set()

    def read(self, kind: int, first: int, last: int | None) -> None:
        for side in self.sides:
            side.read(kind, first, last)

    def keep(self, steps: Array) -> None:
        for side in self.sides:
            side.keep(steps)

    def steps(self) -> Array:
        """The steps that all ranks have."""
        found: Array = numpy.unique(self.sides[0].records["step"])
        for side in self.sides[1:]:
            found = numpy.intersect1d(found, side.records["step"])
        return found

    def pairs(self, here: ComparedSide) -> tuple[Array, Array]:
        """The places of records here, ascending, and what all ranks have recorded of the same execution."""
        size, ranks = len(here.records), len(self.sides)
        # For each rank the place of the record of each execution here, or -1.
        places = numpy.full((ranks, size), -1)
        for number, side in enumerate(self.sides):
            at_here, at_there = matched(here, side)
            places[number, at_here] = at_there
        common = numpy.flatnonzero((places >= 0).all(axis=0))
        records = [side.records[places[number, common]] for number, side in enumerate(self.sides)]
        own = here.records[common]
        copies = numpy.ones(len(common), bool)
        for each in records:
            copies &= each["count"] == own["count"]
        differ = numpy.zeros(len(common), bool)
        rtol, floor = numpy.full(len(common), _SAME), numpy.zeros(len(common))
        for each in records[1:]:
            differ |= measures_apart(records[0], each, rtol, 0.0, floor) >= 0
        partial = copies & differ
        self.partial.update(tensor_keys(own[partial]).tolist())
        found = numpy.where(copies, records[0], _summed(records))
        return common[~partial], found[~partial]


def _summed(parts: Sequence[Array]) -> Array:
    """Records of tensors from those of their parts."""
    found = parts[0].copy()
    finite = [each["count"] - each["nan_count"] - each["pos_inf_count"] - each["neg_inf_count"] for each in parts]
    elements = numpy.maximum(sum(part.astype("f8") for part in finite), 1)
    for name in COUNTS:
        found[name] = sum(each[name] for each in parts)
    found["l1"] = sum(_or_zero(each["l1"], count) for each, count in zip(parts, finite, strict=True))
    squares = sum(_or_zero(each["l2"], count) ** 2 for each, count in zip(parts, finite, strict=True))
    found["l2"] = numpy.sqrt(squares)
    sums = sum(_or_zero(each["mean"], count) * count for each, count in zip(parts, finite, strict=True))
    found["mean"], found["abs_mean"] = sums / elements, found["l1"] / elements
    # Sums of squares would cancel out.
    found["variance"] = (
        sum(
            _or_zero(each["variance"] + (each["mean"] - found["mean"]) ** 2, count) * count
            for each, count in zip(parts, finite, strict=True)
        )
        / elements
    )
    for name, least in (("min", True), ("max", False), ("abs_max", False)):
        for each in parts:
            found[name] = (numpy.fmin if least else numpy.fmax)(found[name], each[name])
    return found


def _or_zero(values: Array, count: Array) -> Array:
    """The values, and 0 for tensors without finite elements, which have none."""
    return numpy.where(count > 0, values, 0.0)
