"""Biases that an adaptive optimizer moves by rounding errors, and what is computed from them.

Adam divides a gradient by its own size. Where an element of a gradient is zero in theory, as for the key's part of a
joint bias in attention, the optimizer makes whole steps of its rounding errors, which differ from run to run. The
statistics of a tensor do not show which of its elements these are. The elements of a bias with an adaptive optimizer
may therefore differ by twice what they have moved. What ops compute from such a bias may differ by _SLACK times the
relative difference of the bias: a softmax, or a normalization, cancels it out. server/runs/noisy_updates.cc does the
same.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy

from .graph import NodeTable, RecordedNode
from .measures_apart import relative_differences
from .record import Array, tensor_keys
from .updates import Updates

# What an element may move in the first step, as a part of the largest one.
_FIRST_MOVE = 2.0**-4
_SLACK = 16.0
# How many ops behind a bias are looked at.
_DEPTH = 16
_EXTREMES = ("min", "max", "abs_max")


@dataclass
class _Moved:
    """A tensor so far.

    Attributes:
        last: The extremes of its last record, here and there, shape (2, 3).
        sum: How far its elements have moved.
    """

    last: Array
    sum: float


class NoisyUpdates:
    """What such biases allow."""

    def __init__(self, nodes: NodeTable, updates: Updates) -> None:
        self._nodes = nodes
        # By tensor: the bias that it is, or that an op of the optimizer has written.
        self._biases: dict[int, int] = {}
        # By node: the biases that it is computed from.
        self._behind: dict[int, list[int]] = {}
        self._moved: dict[int, _Moved] = {}
        # By bias: its largest relative difference so far.
        self._spreads: dict[int, float] = {}
        readers: dict[int, list[int]] = {}
        for number, node in nodes.nodes.items():
            for producer in {each["node_id"] for each in node.values["inputs"] if not each["control"]}:
                readers.setdefault(producer, []).append(number)
        for number, node in nodes.nodes.items():
            if _is_bias(node) and not updates.adaptive.isdisjoint(readers.get(number, ())):
                self._add(number, node, readers)

    def _add(self, number: int, bias: RecordedNode, readers: dict[int, list[int]]) -> None:
        self._biases[number << 16] = number
        shape = bias.outputs[0].shape
        for writer in readers[number]:
            for each in self._nodes.nodes[writer].outputs if self._is_of_optimizer(writer) else ():
                if each.shape == shape:
                    self._biases.setdefault(writer << 16 | each.slot, number)
        seen, waiting = {number}, deque([(number, 0)])
        while waiting:
            node, depth = waiting.popleft()
            for reader in readers.get(node, ()) if depth < _DEPTH else ():
                if reader not in seen and not self._is_of_optimizer(reader):
                    seen.add(reader)
                    self._behind.setdefault(reader, []).append(number)
                    waiting.append((reader, depth + 1))

    def _is_of_optimizer(self, node: int) -> bool:
        return self._nodes.category(node) == "optimizer"

    def of(self, here: Array, there: Array) -> tuple[Array, Array]:
        """The least relative tolerances of pairs of records, and the least absolute ones of single elements.

        Args:
            here, there: Records of statistics, by step. Call it with one range of steps after the other.
        """
        relative, elements = numpy.zeros(len(here)), numpy.zeros(len(here))
        if not self._biases:
            return relative, elements
        spreads: dict[int, list[tuple[Array, Array]]] = {}
        keys = tensor_keys(here)
        for key in [key for key in numpy.unique(keys).tolist() if key in self._biases]:
            at = numpy.flatnonzero(keys == key)
            elements[at] = 2 * self._movement(key, here[at], there[at])
            spread = numpy.nan_to_num(relative_differences(here[at], there[at]))
            spreads.setdefault(self._biases[key], []).append((here["step"][at], spread))
        steps = numpy.unique(here["step"])
        by_bias = {bias: self._spread(bias, steps, found) for bias, found in spreads.items()}
        numbers, inverse = numpy.unique(here["node"], return_inverse=True)
        for place, number in enumerate(numbers.tolist()):
            behind = [bias for bias in self._behind.get(number, ()) if bias in by_bias or bias in self._spreads]
            if behind:
                at = numpy.flatnonzero(inverse == place)
                found = [by_bias.get(bias, numpy.full(len(steps), self._spreads[bias])) for bias in behind]
                relative[at] = _SLACK * numpy.maximum.reduce(found)[numpy.searchsorted(steps, here["step"][at])]
        return relative, elements

    def _movement(self, key: int, here: Array, there: Array) -> Array:
        """How far elements of a tensor have moved up to each record on the side where they have moved less."""
        sides = numpy.array([[numpy.nan_to_num(side[name]) for name in _EXTREMES] for side in (here, there)])
        known = self._moved.get(key)
        if known is None:
            first = float(numpy.fmax(sides[0, 2, 0], sides[1, 2, 0]))
            known = self._moved[key] = _Moved(sides[:, :, 0], _FIRST_MOVE * first)
        steps = numpy.diff(sides, axis=2, prepend=known.last[:, :, None])
        moved: Array = known.sum + numpy.cumsum(numpy.abs(steps).max(axis=1).min(axis=0))
        known.last, known.sum = sides[:, :, -1], float(moved[-1])
        return moved

    def _spread(self, bias: int, steps: Array, found: list[tuple[Array, Array]]) -> Array:
        """The largest relative difference of a bias before each step, in which ops read it before it is updated."""
        spread = numpy.zeros(len(steps) + 1)
        spread[0] = self._spreads.get(bias, 0.0)
        for at, each in found:
            numpy.maximum.at(spread, numpy.searchsorted(steps, at) + 1, each)
        largest: Array = numpy.maximum.accumulate(spread)
        self._spreads[bias] = float(largest[-1])
        return largest[:-1]


def _is_bias(node: RecordedNode) -> bool:
    """Whether the node is a parameter with one dimension."""
    return node.kind == "parameter" and bool(node.outputs) and len(node.outputs[0].shape) == 1
