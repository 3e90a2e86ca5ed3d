"""Runs If, Loop and Scan node by node, as the ONNX operators are defined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .node_graph import Node, NodeGraph
from .values import CannotPassOn, ort_value

# Runs a graph inside a node: takes OrtValues of its inputs and the number of the
# iteration, from 1 (0 outside loops), and reiterations OrtValues of its outputs.
RunBody = Callable[[NodeGraph, Sequence[Any], int], list[Any]]


def run(runtime: Any, node: Node, inputs: Sequence[Any], run_body: RunBody) -> list[Any] | None:
    """Reiterations the OrtValues of the node's outputs.

    Reiterations None if nothing inside the node runs, so that the node can run whole.
    `inputs` contains None for omitted inputs. Raises CannotPassOn or InvalidLoop.
    """
    if node.op_type == "If":
        branch = "then_branch" if _scalar(inputs[0]) else "else_branch"
        return run_body(node.bodies[branch], [], 0)
    body = node.bodies["body"]
    repeat = _loop if node.op_type == "Loop" else _scan
    return repeat(runtime, node, body, inputs, run_body)


def _loop(runtime: Any, node: Node, body: NodeGraph, inputs: Sequence[Any], run_body: RunBody) -> list[Any] | None:
    # Both inputs are optional.
    trips, first_condition = [*inputs, None, None][:2]
    carried = list(inputs[2:])
    limit = None if trips is None else _scalar(trips)
    continues = first_condition is None or bool(_scalar(first_condition))
    condition = ort_value(runtime, np.full([1] * body.inputs[1].rank, continues))
    iterations = _Iterations(node, body, len(carried) + 1, 1)
    done = 0
    while continues and (limit is None or done < limit):
        number = ort_value(runtime, np.full([1] * body.inputs[0].rank, done, np.int64))
        done += 1
        made = run_body(body, [number, condition, *carried], done)
        condition, carried = made[0], made[1 : len(carried) + 1]
        continues = bool(_scalar(condition))
        iterations.add(made)
    return [*carried, *iterations.stacked(runtime, lambda _: (0, False))] if done else None


def _scan(runtime: Any, node: Node, body: NodeGraph, inputs: Sequence[Any], run_body: RunBody) -> list[Any] | None:
    scanned = [_array(value) for value in inputs[len(inputs) - node.numbers["num_scan_inputs"][0] :]]
    states = list(inputs[: len(inputs) - len(scanned)])
    # Each scanned tensor, with the scanned axis moved to the front and in the order
    # of the scan.
    for i, array in enumerate(scanned):
        moved = np.moveaxis(array, _number(node, "scan_input_axes", i), 0)
        scanned[i] = moved[::-1] if _number(node, "scan_input_directions", i) else moved
    if len({len(array) for array in scanned}) != 1:
        raise InvalidLoop("the scanned inputs have different lengths")
    iterations = _Iterations(node, body, len(states), 0)
    shapes = [state.shape() for state in states]
    done = 0
    for done, slices in enumerate(zip(*scanned, strict=True), 1):
        given = [ort_value(runtime, np.asarray(piece)) for piece in slices]
        made = run_body(body, [*states, *given], done)
        states = made[: len(states)]
        if [state.shape() for state in states] != shapes:
            raise InvalidLoop("a state changes its shape")
        iterations.add(made)

    def place(i: int) -> tuple[int, bool]:
        return _number(node, "scan_output_axes", i), bool(_number(node, "scan_output_directions", i))

    return [*states, *iterations.stacked(runtime, place)] if done else None


class InvalidLoop(Exception):
    """ONNX Runtime refuses this loop. Its own error appears when the node runs whole."""


class _Iterations:
    """Collects the outputs that consist of one part per iteration."""

    def __init__(self, node: Node, body: NodeGraph, first: int, offset: int) -> None:
        """Collects the body's outputs from `first` on. The node has `offset` fewer outputs than its body."""
        self._first = first
        # Outputs of the node may be omitted.
        self._wanted = [bool(name) for name in node.outputs[first - offset :]]
        self._wanted += [False] * (len(body.outputs) - first - len(self._wanted))
        self._parts: list[list[Any]] = [[] for _ in self._wanted]

    def add(self, made: Sequence[Any]) -> None:
        for parts, wanted, value in zip(self._parts, self._wanted, made[self._first :], strict=True):
            if wanted:
                parts.append(_array(value).copy())

    def stacked(self, runtime: Any, place: Callable[[int], tuple[int, bool]]) -> list[Any]:
        """Concatenates the parts of each output along the axis that `place` returns, reversed if it requests that."""
        values = []
        for i, parts in enumerate(self._parts):
            axis, reverse = place(i)
            if len({part.shape for part in parts}) > 1:
                raise InvalidLoop("the parts of an output have different shapes")
            ordered = parts[::-1] if reverse else parts
            values.append(ort_value(runtime, np.stack(ordered, axis)) if parts else None)
        return values


def _number(node: Node, attribute: str, index: int) -> int:
    numbers = node.numbers.get(attribute, [])
    return numbers[index] if index < len(numbers) else 0


def _array(ort: Any) -> Any:
    """An array of the value's own memory. Raises CannotPassOn if NumPy cannot represent it."""
    if ort is None or not ort.has_value() or not ort.is_tensor():
        raise CannotPassOn("a loop cannot collect values that are not tensors")
    try:
        array = ort.numpy()
    except RuntimeError:
        raise CannotPassOn(f"NumPy cannot represent values of type {ort.data_type()}") from None
    if array.dtype.kind == "O":
        raise CannotPassOn("a loop cannot collect strings")
    return array


def _scalar(ort: Any) -> Any:
    return _array(ort).reshape(-1)[0]
