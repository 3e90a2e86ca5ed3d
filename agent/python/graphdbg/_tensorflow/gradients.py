"""Which op each gradient belongs to."""

from __future__ import annotations

import bisect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .op_types import PASSED_ON


class Gradients:
    """Watches the functions that add gradients of ops to a graph, or compute them.

    Attributes:
        around_eager: Called with the op's scope and an output before its gradient is computed
            outside of functions, if it is not None. Returns a function to call afterwards.
    """

    def __init__(self) -> None:
        self.around_eager: Callable[[str, Any], Callable[[], None] | None] | None = None
        # For each graph, the ranges of op numbers with the op that they are the gradient of.
        self._ranges: weakref.WeakKeyDictionary[Any, list[tuple[int, int, str]]] = weakref.WeakKeyDictionary()

        # For each graph, the variables by the names of the ops that make their gradients.
        self._variables: weakref.WeakKeyDictionary[Any, dict[str, weakref.ref[Any]]] = weakref.WeakKeyDictionary()
        # For each graph, the ops that compute losses, and those ops by the ones that scale their results.
        self._losses: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()
        self._unscaled: weakref.WeakKeyDictionary[Any, dict[str, str]] = weakref.WeakKeyDictionary()
        # For each graph, the ranges of op numbers that compute gradients.
        self._backward: weakref.WeakKeyDictionary[Any, list[tuple[int, int]]] = weakref.WeakKeyDictionary()

    def add_range(self, graph: Any, start: int, end: int) -> None:
        """The ops of a graph with these numbers, from 0, compute gradients."""
        self._backward.setdefault(graph, []).append((start, end))

    def add_results(self, graph: Any, sources: Sequence[Any], results: Sequence[Any]) -> None:
        """The gradients of variables, and of other values, have been added to a graph."""
        for source, result in zip(sources, results, strict=False):
            op = _maker_of(result)
            variable = getattr(source, "_value", source)
            if op is not None and hasattr(variable, "handle"):
                self._variables.setdefault(graph, {})[op.name] = weakref.ref(variable)

    def add_losses(self, graph: Any, targets: Sequence[Any]) -> None:
        """The program asks for the gradients of these tensors of a graph."""
        for target in targets:
            op = _maker_of(target)
            if op is not None:
                scaled = self._unscaled.get(graph, {}).get(op.name)
                self._losses.setdefault(graph, set()).add(scaled or op.name)

    def add_scaled(self, graph: Any, scaled: Any, loss: Any) -> None:
        """A tensor of a graph is a loss that was multiplied for mixed precision."""
        op, made = _maker_of(loss), _maker_of(scaled)
        if op is not None and made is not None:
            self._unscaled.setdefault(graph, {})[made.name] = op.name

    def is_loss(self, graph: Any, op: str) -> bool:
        return op in self._losses.get(graph, ())

    def variable_of(self, graph: Any, op: str) -> Any:
        """The variable whose gradient the op makes; None if there is none."""
        found = self._variables.get(graph, {}).get(op)
        return found() if found is not None else None

    def in_backward(self, graph: Any, number: int) -> bool:
        """Whether the graph's `number`-th op computes gradients."""
        return any(start <= number < end for start, end in self._backward.get(graph, ()))

    def are_in(self, graph: Any) -> bool:
        """Whether the graph computes gradients."""
        return graph in self._backward or graph in self._ranges

    def install(self) -> None:
        from tensorflow.python import pywrap_tfe
        from tensorflow.python.eager import backprop, context
        from tensorflow.python.framework import ops

        original = backprop._gradient_function
        current = ops.get_default_graph

        def gradient(
            op_name: str,
            attributes: Any,
            input_count: int,
            inputs: Any,
            outputs: Any,
            output_gradients: Any,
            skipped: Any,
            scope: Any = None,
        ) -> Any:
            arguments = (op_name, attributes, input_count, inputs, outputs, output_gradients, skipped, scope)
            graph = None if context.executing_eagerly() else current()
            if graph is None:
                leave = self.around_eager(scope or "", _first(outputs)) if self.around_eager else None
                try:
                    return original(*arguments)
                finally:
                    if leave is not None:
                        leave()
            before = graph.version
            result = original(*arguments)
            forward = _forward_op(graph, op_name, inputs, outputs)
            if forward is not None and graph.version > before:
                self._ranges.setdefault(graph, []).append((before, graph.version, forward))
            return result

        # TensorFlow passes all arguments by position.
        pywrap_tfe.TFE_Py_RegisterGradientFunction(gradient)

    def forward_op(self, graph: Any, number: int, op: Any) -> str | None:
        """The name of the op whose gradient `op` computes, which is the graph's `number`-th, from 0."""
        original = getattr(op, "_original_op", None)
        if original is not None:
            return str(original.name)
        ranges = self._ranges.get(graph, [])
        at = bisect.bisect_right(ranges, number, key=lambda each: each[0]) - 1
        return ranges[at][2] if at >= 0 and number < ranges[at][1] else None


def _maker_of(tensor: Any) -> Any:
    """The op of a graph that has computed a tensor's values; None outside of functions."""
    op = getattr(tensor, "op", None)
    while op is not None and op.type in PASSED_ON and op.inputs:
        op = op.inputs[0].op
    return op


def _first(tensors: Any) -> Any:
    return next((each for each in tensors or () if each is not None), None)


def _forward_op(graph: Any, op_type: str, inputs: Any, outputs: Any) -> str | None:
    for output in outputs or ():
        op = getattr(output, "op", None)
        if op is not None and op.graph is graph:
            return str(op.name)
    # Outputs that the gradient does not need are not kept.
    for tensor in inputs or ():
        if tensor is None or not hasattr(tensor, "consumers"):
            continue
        for consumer in tensor.consumers():
            if consumer.type == op_type:
                return str(consumer.name)
    return None
