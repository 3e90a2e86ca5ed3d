"""The records of one of two ranks that are compared, and which of both are of the same execution."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import numpy

from .graph import split_tensor
from .log import Selection
from .node_alignment import Alignment
from .rank import Rank
from .record import CHANGE, CHANGE_KIND, Array, places_in_step, tensor_keys

MAX_NAMES = 1000


def renamed(name: str, names: Mapping[str, str]) -> str:
    """A name there: with the longest of the names or scopes that it begins with replaced."""
    fitting = [old for old in names if name == old or name.startswith(f"{old}/")]
    old = max(fitting, key=len, default=None)
    return name if old is None else names[old] + name[len(old) :]


class SharedNames:
    """The names by which nodes of both sides are the same."""

    def __init__(self, here: Rank, there: Rank, rename: Mapping[str, str]) -> None:
        self._here, self._there, self._rename = here, there, rename
        names = {number: self.of_here(number) for number in here.nodes.nodes}
        self.alignment = Alignment(here.nodes, there.nodes, names)

    def of_here(self, node: int) -> str:
        return renamed(self._here.nodes.name(node), self._rename)

    def of_there(self, node: int) -> str:
        if node not in self.alignment.here_of:
            return self._there.nodes.name(node)
        partner = self.alignment.here_of[node]
        # No node has a name with this character.
        return f"\0{node}" if partner is None else self.of_here(partner)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The nodes here and there that are the same."""
        here = {self.of_here(number): number for number in self._here.nodes.nodes}
        for number in self._there.nodes.nodes:
            partner = here.get(self.of_there(number))
            if partner is not None:
                yield partner, number

    def tensor_there(self, name: str) -> str:
        """The name there of a tensor here."""
        node, slot = split_tensor(name)
        partner = self.alignment.there_of.get(self._here.nodes.id_of(node) or 0)
        found = renamed(node, self._rename) if partner is None else self._there.nodes.name(partner)
        return f"{found}:{slot}"


class ComparedSide:
    """The records of a rank for some steps.

    Attributes:
        records: The records in order of execution, shape (n,).
        tensors: For each the number of its tensor, which is the same on both sides, u64.
    """

    def __init__(
        self,
        rank: Rank,
        name_of: Callable[[int], str],
        numbers: dict[str, int],
        names: Collection[str] | None,
    ) -> None:
        """`name_of` returns the name that a node has on both sides, `numbers` has the number of each such name."""
        self.rank = rank
        self._name_of = name_of
        self._wanted = None if names is None else rank.tensor_keys(names)
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
            records = records[numpy.isin(tensor_keys(records), self._wanted)]
        order = numpy.lexsort((places_in_step(records), records["step"]))
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
        keys, places = numpy.unique(tensor_keys(self.records), return_index=True)
        for own, tensor in zip(keys.tolist(), self.tensors[places].tolist(), strict=True):
            self.seen.setdefault(own, tensor)

    def names(self, keys: Iterable[int]) -> tuple[str, ...]:
        """The first names of tensors, in order."""
        return tuple(sorted(f"{self.rank.nodes.name(own >> 16)}:{own & 0xFFFF}" for own in keys)[:MAX_NAMES])

    def _number(self, node: int) -> int:
        if node not in self._number_of:
            self._number_of[node] = self._numbers.setdefault(self._name_of(node), len(self._numbers))
        return self._number_of[node]


def matched(here: ComparedSide, there: ComparedSide) -> tuple[Array, Array]:
    """The places of the records on both sides that are of the same execution, in order of execution here."""
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
    if not len(codes):
        return numpy.empty(0, "<u8")
    order = numpy.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = numpy.concatenate([[True], ordered[1:] != ordered[:-1]])
    places = numpy.arange(len(codes), dtype="<u8")
    found = numpy.empty(len(codes), "<u8")
    found[order] = places - numpy.maximum.accumulate(numpy.where(starts, places, 0))
    return found
