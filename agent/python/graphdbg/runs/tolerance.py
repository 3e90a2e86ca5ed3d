"""The tolerance within which measures of a tensor in two runs are equal.

server/runs/tolerance.cc does the same. If none is given, it follows from the data type and from how many elements an op
reduces. A sum of n products in a format with unit roundoff u has a relative error of at most about n u (Higham,
Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1), and with high probability of a small constant
times sqrt(n) u, because errors of both signs cancel out (Higham and Mary, A new approach to probabilistic rounding
error analysis, 2019). Ops on formats of 16 and 8 bits sum in float32 and round the result once (Blanchard, Higham,
Lopez, Mary and Pranesh, Mixed precision block fused multiply-add, 2020). The errors of training steps add up in the
same way, which makes

    rtol = 16 sqrt(steps) (u(result) + u(sum) sqrt(n)).

Gradients that cancel out, such as that of a bias before a normalization, consist of rounding errors of larger numbers.
Elements of gradients may therefore differ by 16 sqrt(steps) u(result) times the largest element of all gradients of
parameters in the step, and those of weights in the same way with the largest weight. Adaptive optimizers make whole
steps of such errors: what an optimizer computes from a gradient that is no larger than its error, and the parameter
from then on, are not compared; and `noisy_updates` widens the tolerances of biases of which a part may be moved so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy
from graphdbg.client.errors import USAGE, GraphdbgError

from .graph import NodeTable, RecordedNode
from .noisy_updates import NoisyUpdates
from .record import DTYPES, Array, tensor_keys
from .updates import Updates

_SCALE = 16.0
# Half the distance from 1 to the next number; that of float64 counts for everything, since statistics are sums in it.
_ROUNDOFF = {"float8_e5m2": 2**-3, "float8_e4m3fn": 2**-4, "bfloat16": 2**-8, "float16": 2**-11}
_ROUNDOFF |= {"float32": 2**-24, "complex64": 2**-24}
_FLOAT64 = 2.0**-53
_FLOAT32 = _ROUNDOFF["float32"]
# Ops that multiply two tensors and sum, by a part of their names.
_CONTRACTIONS = ("mm", "matmul", "linear", "conv", "dot", "mv", "einsum", "attention", "lstm", "gru", "rnn")
# How far behind an op that reduces, such as a `sum`, there may be a `view` of its result.
_STEPS_BACK = 4
# The kinds of tensors: others, intermediate gradients, gradients of parameters, and parameters.
_OTHER, _GRADIENT, _OF_PARAMETER, _WEIGHT = range(4)


@dataclass(frozen=True)
class Tolerance:
    """Values are equal if |here - there| <= atol + rtol * size.

    The size is the larger absolute value of the two; of means, which may cancel out, the larger mean of absolute
    values, and of variances the larger mean of squares. Counts must be equal.

    Attributes:
        rtol: None: it follows from the data type and the op.
    """

    rtol: float | None = None
    atol: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise GraphdbgError(f"{name} is {value}, not a number from 0 on", USAGE)


def roundoff(dtype: str) -> float:
    """The unit roundoff of a data type, and at least that of float64."""
    return _ROUNDOFF.get(dtype, _FLOAT64)


_ROUNDOFFS: Array = numpy.array([roundoff(name) for name in DTYPES])


class Reductions:
    """How many elements are summed for those of one rank's tensors, which follows from its graph."""

    def __init__(self, nodes: NodeTable, updates: Updates) -> None:
        self._nodes, self._updates = nodes, updates
        # By node and slot.
        self._reduced: dict[tuple[int, int], float] = {}
        self._known_behind: dict[tuple[int, int, int], float] = {}

    def reduced(self, node: int, slot: int) -> float:
        """An estimate of how many elements are summed for one of a tensor, or of what it is a view of.

        Of a parameter and of what an optimizer computes: for one of the gradient.
        """
        key = (node, slot)
        if key not in self._reduced:
            behind = self._updates.gradients_of.get(node, ())
            self._reduced[key] = max([self._behind(node, slot, 0), *(self._behind(each, 0, 0) for each in behind)])
        return self._reduced[key]

    def _behind(self, node: int, slot: int, steps: int) -> float:
        # There may be many ways to the same node.
        if (node, slot, steps) not in self._known_behind:
            self._known_behind[node, slot, steps] = self._find_behind(node, slot, steps)
        return self._known_behind[node, slot, steps]

    def _find_behind(self, node: int, slot: int, steps: int) -> float:
        found = self._nodes.nodes.get(node)
        if found is None:
            return 1.0
        inputs = [each for each in found.values["inputs"] if not each["control"]]
        largest = self._by(found, slot, [self._size(each["node_id"], each["slot"]) for each in inputs])
        if steps < _STEPS_BACK and largest <= 1:
            for each in inputs:
                largest = max(largest, self._behind(each["node_id"], each["slot"], steps + 1))
        return largest

    def _by(self, node: RecordedNode, slot: int, inputs: list[float]) -> float:
        """How many elements the op itself sums."""
        sizes = {each.slot: _elements(each.shape) for each in node.outputs}
        if not inputs or slot not in sizes:
            return 1.0
        result = max(1.0, sizes[slot])
        first, second = (*sorted(inputs, reverse=True), 1.0)[:2]
        if any(part in node.op_type.lower() for part in _CONTRACTIONS) and len(inputs) > 1:
            # For (m, n) times (n, k): m n * n k / (m k) = n^2.
            return max(1.0, first / result, float(numpy.sqrt(first * second / result)))
        if "softmax" in node.op_type.lower():
            shape = next(each.shape for each in node.outputs if each.slot == slot)
            return float(max(1, shape[-1])) if shape else 1.0
        # The smallest result of a normalization is its mean.
        return max(1.0, first / max(1.0, min(sizes.values())))

    def _size(self, node: int, slot: int) -> float:
        found = self._nodes.nodes.get(node)
        outputs = found.outputs if found else ()
        return next((_elements(each.shape) for each in outputs if each.slot == slot), 1.0)


def _elements(shape: tuple[int, ...]) -> float:
    return float(numpy.prod([max(0, size) for size in shape], dtype=float))


class DerivedTolerances:
    """The tolerances of pairs of records, from both graphs."""

    def __init__(self, here: NodeTable, there: NodeTable, pairs: Iterable[tuple[int, int]]) -> None:
        """`pairs` are the nodes of both sides that are the same."""
        self._nodes = here
        self._updates = Updates(here)
        self._noisy = NoisyUpdates(here, self._updates)
        self._here, self._there = Reductions(here, self._updates), Reductions(there, Updates(there))
        self._least = _roundoff_of_coarser(here, there, pairs)
        # Parameters that a gradient of rounding errors has moved, and the first step in which.
        self._moved: dict[int, int] = {}

    def of(self, here: Array, there: Array, steps: Array) -> tuple[Array, Array]:
        """The relative tolerances of pairs of records, and the absolute ones of single elements.

        Args:
            here, there: Records of statistics, by step. Call it with one range of steps after the other.
            steps: How many steps have been compared with that of the record.
        """
        dtypes = numpy.maximum(_of_dtypes(here), _of_dtypes(there))
        result = numpy.where(dtypes <= _FLOAT64, dtypes, numpy.maximum(dtypes, self._least))
        scale = _SCALE * numpy.sqrt(steps)
        reduced = numpy.maximum(_reduced(self._here, here), _reduced(self._there, there))
        # Statistics are sums of float64 over all elements.
        measured = _SCALE * _FLOAT64 * numpy.sqrt(here["count"].astype("f8"))
        relative = scale * (result + numpy.minimum(result, _FLOAT32) * numpy.sqrt(reduced)) + measured
        kinds = self._kinds(here["node"])
        largest = _largest(here, kinds)
        floor = numpy.where(kinds == _OTHER, 0, scale * result * largest)
        size = numpy.fmax(here["abs_max"], there["abs_max"])
        noise = (kinds == _OF_PARAMETER) & (size > 0) & (size <= relative * largest)
        floor[self._moved_by_noise(here, noise)] = numpy.inf
        spread, moved = self._noisy.of(here, there)
        return numpy.maximum(relative, spread), numpy.maximum(floor, moved)

    def _kinds(self, nodes: Array) -> Array:
        """For each node one of _OTHER, _GRADIENT, _OF_PARAMETER and _WEIGHT."""
        numbers, inverse = numpy.unique(nodes, return_inverse=True)
        return numpy.array([self._kind(number) for number in numbers.tolist()], "i8")[inverse]

    def _kind(self, node: int) -> int:
        if node in self._updates.parameter_of:
            return _OF_PARAMETER
        return {"gradient": _GRADIENT, "weight": _WEIGHT}.get(self._nodes.category(node), _OTHER)

    def _moved_by_noise(self, here: Array, noise: Array) -> Array:
        """Which records are of tensors that follow from gradients that consist of rounding errors."""
        moved = numpy.zeros(len(here), bool)
        if not noise.any() and not self._moved:
            return moved
        by_step: dict[int, set[int]] = {}
        for record in here[noise]:
            step, gradient = int(record["step"]), int(record["node"])
            by_step.setdefault(step, set()).add(gradient)
            self._moved.setdefault(self._updates.parameter_of[gradient], step)
        for number in numpy.unique(here["node"]).tolist():
            gradients = set(self._updates.gradients_of.get(number, ()))
            own = here["node"] == number
            if number in self._moved:
                moved |= own & (here["step"] >= self._moved[number])
            elif gradients:
                steps = [step for step, found in by_step.items() if gradients <= found]
                moved |= own & numpy.isin(here["step"], numpy.array(steps, "<u8"))
        return moved


def _roundoff_of_coarser(here: NodeTable, there: NodeTable, pairs: Iterable[tuple[int, int]]) -> float:
    """The largest unit roundoff of ops that return another data type there; it leaves its traces in all tensors."""
    largest = 0.0
    for node, other in pairs:
        dtypes = {each.slot: each.dtype for each in there.nodes[other].outputs}
        for each in here.nodes[node].outputs:
            both = {each.dtype, dtypes.get(each.slot, each.dtype)}
            if len(both) > 1:
                largest = max(largest, *map(roundoff, both))
    return largest


def _largest(here: Array, kinds: Array) -> Array:
    """The largest element of the gradients of parameters, or of the weights, of the record's step."""
    groups = here["step"] * numpy.uint64(2) + (kinds == _WEIGHT).astype("<u8")
    numbers, inverse = numpy.unique(groups, return_inverse=True)
    largest = numpy.zeros(len(numbers))
    counted = (kinds >= _OF_PARAMETER) & numpy.isfinite(here["abs_max"])
    numpy.maximum.at(largest, inverse[counted], here["abs_max"][counted])
    found: Array = largest[inverse]
    return found


def _of_dtypes(records: Array) -> Array:
    found: Array = _ROUNDOFFS[numpy.minimum(records["dtype"], len(_ROUNDOFFS) - 1)]
    return found


def _reduced(side: Reductions, records: Array) -> Array:
    tensors, inverse = numpy.unique(tensor_keys(records), return_inverse=True)
    found = [side.reduced(key >> 16, key & 0xFFFF) for key in tensors.tolist()]
    return numpy.array(found, "f8")[inverse] if found else numpy.empty(0)
