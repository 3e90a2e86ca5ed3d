"""Which nodes of two graphs are the same op, where ops were inserted, removed or renamed.

server/runs/node_alignment.cc does the same. Nodes are put into order of execution. Those with the same name, op type,
shapes, line of code, and ops before and behind them are certain, and so are those that were given the other's name.
Between two certain pairs, the others are aligned so that the sum of the scores of all pairs is the largest (Needleman
and Wunsch 1970): an `add` inserted before another one makes the latter `add_1`, and yet it reads and is read by the
same ops as before. The gradient of a parameter is known by the parameter's name. Nodes that are left over and have the
same name are pairs, too: an op may have moved.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy

from .graph import NodeTable
from .record import Array
from .updates import Updates

# Nodes in a gap that would need a larger table (64 MB) are aligned by their names alone.
_MAX_CELLS = 16 << 20
# The score of any pair, and what each fact adds that both nodes have in common.
_PAIR = 1
_WEIGHTS = {"name": 1, "stem": 2, "text": 2, "before": 2, "behind": 2, "shapes": 2}


@dataclass(frozen=True)
class Renaming:
    """A node or scope here that has another name there.

    Attributes:
        old, new: The names here and there.
        nodes: How many nodes this concerns.
    """

    old: str
    new: str
    nodes: int


class Alignment:
    """Which nodes are the same.

    Attributes:
        here_of: By the id there, for nodes that are not the one with their name here: the id here, or None if there is
            no such node.
        there_of: The inverse.
        renamings: The names that differ, in order of those here.
    """

    def __init__(self, here: NodeTable, there: NodeTable, names: Mapping[int, str]) -> None:
        """`names` has what the nodes here are called there, by id."""
        given = {names[number] for number, node in here.nodes.items() if names.get(number, node.name) != node.name}
        here_nodes, there_nodes = _unique(_facts(here, names)), _unique(_facts(there, {}, given))
        names_here = {node.id: names.get(node.id, here.name(node.id)) for node in here_nodes}
        taken = set(names_here.values())
        pairs = _align(here_nodes, there_nodes)
        self.here_of: dict[int, int | None] = {}
        for node in there_nodes:
            partner, name = pairs.get(node.id), there.name(node.id)
            # Without an entry, nodes are the same if their names are.
            if name in taken if partner is None else names_here[partner] != name:
                self.here_of[node.id] = partner
        self.there_of = {partner: node for node, partner in self.here_of.items() if partner is not None}
        self.renamings = _renamings(
            (here.name(partner), there.name(node)) for node, partner in self.here_of.items() if partner is not None
        )


@dataclass(frozen=True)
class _Node:
    id: int
    # For the gradient of a parameter, derived from that of the parameter: the order of gradients does not matter.
    name: str
    stem: str
    # Nodes of a pair must have the same type and shapes unless they have the same name.
    type: tuple[int, str]
    shapes: tuple[tuple[int, ...], ...]
    text: str
    before: tuple[tuple[int, str], ...]
    behind: tuple[tuple[int, str], ...]
    # The names of the nodes that it reads.
    reads: tuple[str, ...]
    # The name is not its own, or not that of its own parameter, but a given one.
    renamed: bool


def _facts(table: NodeTable, names: Mapping[int, str], given: Collection[str] = ()) -> list[_Node]:
    """The nodes in order of execution; first those that are not executed.

    Args:
        names: Names that nodes were given, by id.
        given: Names that nodes of the other graph were given.
    """
    types = {number: (node.values["kind"], node.op_type) for number, node in table.nodes.items()}
    behind: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    producers: dict[int, list[int]] = {}
    for number, node in table.nodes.items():
        read = [each["node_id"] for each in node.values["inputs"] if not each["control"]]
        producers[number] = [each for each in read if each in types]
        for each in producers[number]:
            behind[each].append(types[number])
    parameter_of = _only_gradients(table)
    order = sorted(table.nodes, key=lambda number: (*_place(table.nodes[number].values), number))
    found = []
    for number in order:
        node = table.nodes[number]
        own = names.get(number, node.name)
        renamed = own != node.name
        parameter = None if renamed or own in given else parameter_of.get(number)
        name = own
        if parameter is not None:
            of = names.get(parameter, table.name(parameter))
            renamed = of != table.name(parameter)
            # No node has a name with this character.
            name = of + "\0"
        found.append(
            _Node(
                number,
                name,
                _stem(name),
                types[number],
                tuple(each.shape for each in node.outputs),
                node.source.text if node.source else "",
                tuple(sorted(types[each] for each in producers[number])),
                tuple(sorted(behind[number])),
                tuple(names.get(each, table.name(each)) for each in producers[number]),
                renamed,
            )
        )
    return found


def _only_gradients(table: NodeTable) -> dict[int, int]:
    """The parameters by the nodes of their gradients, if there is one for a parameter."""
    found = Updates(table)
    return {number: each for number, each in found.parameter_of.items() if len(found.gradients_of[each]) == 1}


def _place(values: Mapping[str, int]) -> tuple[bool, int, int]:
    executed = values["order"] != 0
    return (executed, values["first_step"] if executed else 0, values["order"])


def _stem(name: str) -> str:
    """A name without the number that distinguishes it from others with the same name."""
    return re.sub(r"_[0-9]+$", "", name)


def _unique(nodes: Sequence[_Node]) -> list[_Node]:
    counts = Counter(node.name for node in nodes)
    return [node for node in nodes if counts[node.name] == 1]


def _align(here: Sequence[_Node], there: Sequence[_Node]) -> dict[int, int]:
    """The ids here of nodes there."""
    place_of = {node.name: place for place, node in enumerate(there)}
    certain = {}
    for place, node in enumerate(here):
        other = place_of.get(node.name)
        if other is not None and (node.renamed or _facts_of(node) == _facts_of(there[other])):
            certain[place] = other
    pairs = dict(certain)
    anchors = _ascending(sorted(certain.items()))
    taken = set(certain.values())
    ends = itertools.chain(anchors, [(len(here), len(there))])
    begin, other_begin = 0, 0
    for end, other_end in ends:
        places = [at for at in range(begin, end) if at not in certain]
        others = [at for at in range(other_begin, other_end) if at not in taken]
        for at, other in _best(here, there, places, others):
            pairs[at] = other
        begin, other_begin = end + 1, other_end + 1
    paired = set(pairs.values())
    for place, node in enumerate(here):
        other = place_of.get(node.name)
        if place not in pairs and other is not None and other not in paired and _may_be_same(node, there[other]):
            pairs[place] = other
    return {there[other].id: here[place].id for place, other in pairs.items()}


def _facts_of(node: _Node) -> tuple[object, ...]:
    return node.type, node.shapes, node.text, node.before, node.behind


def _may_be_same(node: _Node, namesake: _Node) -> bool:
    """Names are numbered in order of execution, so that those of different ops may be equal by accident."""
    return (node.type, node.shapes) == (namesake.type, namesake.shapes) or node.reads == namesake.reads


def _ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of pairs, which ascend in the first number, that also ascends in the second one."""
    ends: list[int] = []
    # For each pair the place of the one before it, and for each length the place of its last pair.
    previous: list[int] = []
    last: list[int] = []
    for place, (_, other) in enumerate(pairs):
        length = bisect.bisect_left(ends, other)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [other]
        last[length : length + 1] = [place]
    chosen = []
    at = last[-1] if last else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = previous[at]
    return chosen[::-1]


def _best(
    here: Sequence[_Node], there: Sequence[_Node], places: Sequence[int], others: Sequence[int]
) -> list[tuple[int, int]]:
    """The pairs with the largest sum of scores that keep the order of both sides."""
    if not places or not others or (len(places) + 1) * (len(others) + 1) > _MAX_CELLS:
        return []
    scores = _Scores([here[at] for at in places], [there[at] for at in others])
    # The largest sum of the scores behind each place.
    sums = numpy.zeros((len(places) + 1, len(others) + 1), "i4")
    for at in range(len(places) - 1, -1, -1):
        row = scores.row(at)
        chosen = numpy.where(row > 0, row + sums[at + 1, 1:], 0)
        sums[at, :-1] = numpy.maximum.accumulate(numpy.maximum(chosen, sums[at + 1, :-1])[::-1])[::-1]
    found = []
    at, other = 0, 0
    row, row_of = scores.row(0), 0
    while at < len(places) and other < len(others):
        if row_of != at:
            row, row_of = scores.row(at), at
        if row[other] > 0 and sums[at, other] == row[other] + sums[at + 1, other + 1]:
            found.append((places[at], others[other]))
            at, other = at + 1, other + 1
        elif sums[at, other] == sums[at + 1, other]:
            at += 1
        else:
            other += 1
    return found


class _Scores:
    """The scores of all pairs of nodes, a row at a time; 0: no pair."""

    def __init__(self, here: Sequence[_Node], there: Sequence[_Node]) -> None:
        facts = ("name", "stem", "type", "text", "before", "behind", "shapes", "reads")
        self._here: dict[str, Array] = {}
        self._there: dict[str, Array] = {}
        for fact in facts:
            numbers: dict[object, int] = {}
            for side, nodes in ((self._here, here), (self._there, there)):
                side[fact] = numpy.array([numbers.setdefault(getattr(node, fact), len(numbers)) for node in nodes])
        self._has_around = numpy.array([bool(node.before or node.behind) for node in there])
        self._has_text = numpy.array([bool(node.text) for node in there])

    def row(self, at: int) -> Array:
        """The scores of a node here."""
        same = {fact: self._there[fact] == numbers[at] for fact, numbers in self._here.items()}
        same["text"] = same["text"] & self._has_text
        around = same["before"] & same["behind"] & self._has_around
        alike = same["type"] & same["shapes"] & (same["stem"] | same["text"] | around)
        score = _PAIR + sum(weight * same[fact] for fact, weight in _WEIGHTS.items())
        named = same["name"] & ((same["type"] & same["shapes"]) | same["reads"])
        found: Array = numpy.where(named | alike, score, 0)
        return found


def _renamings(names: Iterable[tuple[str, str]]) -> tuple[Renaming, ...]:
    """The shortest ends of scopes in which names differ, in order of the names here."""
    counts: Counter[tuple[str, str]] = Counter()
    for old, new in names:
        if old == new:
            continue
        before, behind = old.split("/"), new.split("/")
        while len(before) > 1 and len(behind) > 1 and before[-1] == behind[-1]:
            before.pop()
            behind.pop()
        counts["/".join(before), "/".join(behind)] += 1
    return tuple(Renaming(old, new, count) for (old, new), count in sorted(counts.items()))
