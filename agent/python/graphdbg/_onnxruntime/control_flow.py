"""What If, Loop and Scan do with the graphs inside them, as ONNX's operators are defined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .node_graph import Node, NodeGraph
from .values import CannotHandOn, ort_value

# Runs a graph inside a node on OrtValues of its inputs and gives those of its
# outputs. The number is that of the iteration, from 1; 0: it is none of a loop.
RunBody = Callable[[NodeGraph, Sequence[Any], int], list[Any]]


def run(runtime: Any, node: Node, inputs: Sequence[Any], run_body: RunBody) -> list[Any] | None:
    """The OrtValues of the node's outputs; None if nothing inside runs, and the node may run whole.

    `inputs` has None for those left out.
    """
    if node.op_type == "If":
        branch = "then_branch" if _scalar(inputs[0]) else "else_branch"
        return run_body(node.bodies[branch], [], 0)
    body = node.bodies["body"]
    repeat = _loop if node.op_type == "Loop" else _scan
    return repeat(runtime, node, body, inputs, run_body)


def _loop(runtime: Any, node: Node, body: NodeGraph, inputs: Sequence[Any], run_body: RunBody) -> list[Any] | None:
    # Both may be left out.
    trips, first_condition = [*inputs, None, None][:2]
    carried = list(inputs[2:])
    limit = None if trips is None else _scalar(trips)
    goes_on = first_condition is None or bool(_scalar(first_condition))
    condition = ort_value(runtime, np.full([1] * body.inputs[1].rank, goes_on))
    turns = _Turns(node, body, len(carried) + 1, 1)
    done = 0
    while goes_on and (limit is None or done < limit):
        number = ort_value(runtime, np.full([1] * body.inputs[0].rank, done, np.int64))
        done += 1
        made = run_body(body, [number, condition, *carried], done)
        condition, carried = made[0], made[1 : len(carried) + 1]
        goes_on = bool(_scalar(condition))
        turns.add(made)
    return [*carried, *turns.stacked(runtime, lambda _: (0, False))] if done else None


def _scan(runtime: Any, node: Node, body: NodeGraph, inputs: Sequence[Any], run_body: RunBody) -> list[Any] | None:
    scanned = [_array(value) for value in inputs[len(inputs) - node.numbers["num_scan_inputs"][0] :]]
    states = list(inputs[: len(inputs) - len(scanned)])
    # Each scanned tensor with the axis that is walked along first, in order.
    for i, array in enumerate(scanned):
        walked = np.moveaxis(array, _number(node, "scan_input_axes", i), 0)
        scanned[i] = walked[::-1] if _number(node, "scan_input_directions", i) else walked
    if len({len(array) for array in scanned}) != 1:
        raise Wrong("the scanned inputs are not of one length")
    turns = _Turns(node, body, len(states), 0)
    shapes = [state.shape() for state in states]
    done = 0
    for done, slices in enumerate(zip(*scanned, strict=True), 1):
        given = [ort_value(runtime, np.asarray(piece)) for piece in slices]
        made = run_body(body, [*states, *given], done)
        states = made[: len(states)]
        if [state.shape() for state in states] != shapes:
            raise Wrong("a state changes its shape")
        turns.add(made)

    def place(i: int) -> tuple[int, bool]:
        return _number(node, "scan_output_axes", i), bool(_number(node, "scan_output_directions", i))

    return [*states, *turns.stacked(runtime, place)] if done else None


class Wrong(Exception):
    """The model asks for what ONNX Runtime refuses; it says so itself where the node runs whole."""


class _Turns:
    """What the iterations make of those outputs that hold a part of each."""

    def __init__(self, node: Node, body: NodeGraph, first: int, offset: int) -> None:
        """Of the body's outputs from `first` on; the node has `offset` fewer outputs than its body."""
        self._first = first
        # Nobody may want it.
        self._wanted = [bool(name) for name in node.outputs[first - offset :]]
        self._wanted += [False] * (len(body.outputs) - first - len(self._wanted))
        self._parts: list[list[Any]] = [[] for _ in self._wanted]

    def add(self, made: Sequence[Any]) -> None:
        for parts, wanted, value in zip(self._parts, self._wanted, made[self._first :], strict=True):
            if wanted:
                parts.append(_array(value).copy())

    def stacked(self, runtime: Any, place: Callable[[int], tuple[int, bool]]) -> list[Any]:
        """Along the axis that `place` gives for each, the last part first if it says so."""
        values = []
        for i, parts in enumerate(self._parts):
            axis, reverse = place(i)
            if len({part.shape for part in parts}) > 1:
                raise Wrong("an output's parts are not of one shape")
            ordered = parts[::-1] if reverse else parts
            values.append(ort_value(runtime, np.stack(ordered, axis)) if parts else None)
        return values


def _number(node: Node, attribute: str, index: int) -> int:
    numbers = node.numbers.get(attribute, [])
    return numbers[index] if index < len(numbers) else 0


def _array(ort: Any) -> Any:
    """Its memory, not a copy; CannotHandOn if NumPy cannot hold it."""
    if ort is None or not ort.has_value() or not ort.is_tensor():
        raise CannotHandOn("of values that are no tensors a loop makes no outputs of all iterations")
    try:
        array = ort.numpy()
    except RuntimeError:
        raise CannotHandOn(f"NumPy cannot hold values of type {ort.data_type()}") from None
    if array.dtype.kind == "O":
        raise CannotHandOn("strings cannot be put together again")
    return array


def _scalar(ort: Any) -> Any:
    return _array(ort).reshape(-1)[0]
