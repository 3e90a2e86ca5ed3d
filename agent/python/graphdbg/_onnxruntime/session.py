"""One InferenceSession of the program, run in pieces of its model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import control_flow, elements
from .frame import Frame
from .model import Model
from .node_graph import Node, NodeGraph
from .observer import Observer
from .pieces import Pieces
from .values import CannotHandOn, Value

_RANDOM = frozenset(
    ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout")
)

# Nodes of a piece. All of a piece's values are in memory at once; each piece
# costs a call of ONNX Runtime.
PIECE_NODES = 64


class PieceFailed(Exception):
    """A node could not be run by itself."""


class Session:
    def __init__(self, observer: Observer, runtime: Any, model: Model, whole: Any) -> None:
        self._observer = observer
        self._runtime = runtime
        self._graph = model.graph
        self._pieces = Pieces(runtime, model, whole)
        # Nodes whose graphs inside have turned out to be none that can be run.
        self._closed: set[int] = set()
        # Whether pieces give, to the bit, what the whole session does: they do
        # if it runs the model's nodes as they stand. It does not where it
        # merges nodes, where it computes half floats in float (on the CPU,
        # always: the rounding between two nodes is then left out), and where
        # nodes draw random numbers. Half floats between pieces are known once
        # they have been seen.
        level = whole.get_session_options().graph_optimization_level
        self.exact = level == runtime.GraphOptimizationLevel.ORT_DISABLE_ALL and not any(
            declaration["op_type"] in _RANDOM for declaration in model.declarations
        )

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Runs the model in pieces; gives the OrtValues of its outputs by name.

        Not all of them if the session is not `exact`, or if two are one value.
        PieceFailed if a node cannot be run: the program's own session will say
        why.
        """
        frame = Frame(self._graph, {})
        with self._entered(frame, feeds):
            self._run_nodes(frame)
            outputs = {name: frame.values[name].ort for name in self._graph.outputs if name in frame.values}
        # The program may write into each of its outputs.
        return {name: ort for ort, name in {ort: name for name, ort in outputs.items()}.items()}

    @contextlib.contextmanager
    def _entered(self, frame: Frame, given: Mapping[str, Any]) -> Iterator[None]:
        """While a graph is being run, on OrtValues of its inputs."""
        try:
            for argument in frame.graph.inputs:
                if argument.value in given:
                    number = self._observer.number(argument.declaration)
                    frame.values[argument.value] = Value(given[argument.value], number, 0)
                    self._observer.given(frame, argument)
            yield
        finally:
            for value in frame.values.values():
                self._observer.forget(value)

    # ---- pieces

    def _run_nodes(self, frame: Frame) -> None:
        graph, values = frame.graph, frame.values
        done, count = 0, len(graph.nodes)
        while done < count:
            end, marked = self._next_piece(graph, done)
            if graph is self._graph and end == count and not marked and not self.exact:
                # Nobody looks any more, and the program gets its own session's outputs.
                break
            self._run_piece(frame, done, end, marked)
            for name in [name for name in values if graph.last_reader.get(name, -1) < end]:
                self._observer.forget(values.pop(name))
            done = end

    def _next_piece(self, graph: NodeGraph, begin: int) -> tuple[int, bool]:
        """Where the piece that begins there ends, and whether somebody watches it."""
        count = len(graph.nodes)
        for index in range(begin, count):
            node = graph.nodes[index]
            if node.bodies and self._is_opened(node):
                return (index, False) if index > begin else (index + 1, True)
            if self._observer.is_wanted(node):
                border = index - index % PIECE_NODES
                return (border, False) if border > begin else (_end_of_marked(graph, begin), True)
        return count, False

    def _run_piece(self, frame: Frame, begin: int, end: int, marked: bool) -> None:
        nodes = frame.graph.nodes[begin:end]
        if end - begin == 1 and self._is_opened(nodes[0]) and self._run_inside(frame, nodes[0]):
            return
        try:
            made = self._pieces.get(frame.graph, begin, end, marked, frame.values).run(frame.values)
        except Exception as error:
            if end - begin > 1:
                # One of its nodes: those before it are looked at nevertheless.
                for index in range(begin, end):
                    self._run_piece(frame, index, index + 1, True)
                return
            if isinstance(error, CannotHandOn) and frame.graph is not self._graph:
                # Then the node around it runs whole.
                raise
            raise PieceFailed(nodes[0].name) from error
        for node in nodes:
            self._keep(frame, node, [made.get(name) for name in node.outputs])
            if marked:
                self._observer.executed(frame, node)

    def _keep(self, frame: Frame, node: Node, outputs: Sequence[Any]) -> None:
        number = self._observer.number(node.declaration)
        for slot, (name, ort) in enumerate(zip(node.outputs, outputs, strict=False)):
            if name and ort is not None:
                frame.values[name] = Value(ort, number, slot)
                self.exact = self.exact and not _is_small_float(ort)

    # ---- graphs inside nodes

    def _is_opened(self, node: Node) -> bool:
        """Whether its graphs are run node by node, since somebody looks there."""
        return node.declaration not in self._closed and self._observer.is_looked_into(node)

    def _run_inside(self, frame: Frame, node: Node) -> bool:
        """Runs the graphs inside the node; False if it has to run whole."""
        inputs = [self._value(frame, name) for name in node.inputs]
        entered: list[NodeGraph] = []

        def run_body(body: NodeGraph, given: Sequence[Any], iteration: int) -> list[Any]:
            entered.append(body)
            return self._run_body(frame, body, given, iteration or frame.iteration)

        try:
            made = control_flow.run(self._runtime, node, inputs, run_body)
        except CannotHandOn as error:
            self._closed.add(node.declaration)
            self._observer.notify(f"node {node.name} is run whole, without a look inside: {error}")
            return False
        except control_flow.Wrong as error:
            raise PieceFailed(node.name) from error
        if made is None:
            return False
        self._keep(frame, node, made)
        self._observer.executed(frame, node, entered[-1])
        return True

    def _run_body(self, outer: Frame, body: NodeGraph, given: Sequence[Any], iteration: int) -> list[Any]:
        # Values of their own: they are let go when this frame is left.
        around = [(name, outer.values[name]) for name in body.outer_values if name in outer.values]
        frame = Frame(body, {name: Value(v.ort, v.node, v.slot) for name, v in around}, iteration)
        names = (argument.value for argument in body.inputs)
        with self._entered(frame, dict(zip(names, given, strict=True))):
            self._run_nodes(frame)
            return [self._value(frame, name) for name in body.outputs]

    def _value(self, frame: Frame, name: str) -> Any:
        """The OrtValue of that name; None for an input that is left out."""
        if name in frame.values:
            return frame.values[name].ort
        return self._pieces.initializer(frame.graph, name) if name else None


def _end_of_marked(graph: NodeGraph, begin: int) -> int:
    """A node with graphs inside stands alone: only when it is its turn it is known who looks inside."""
    if graph.nodes[begin].bodies:
        return begin + 1
    end = min(begin - begin % PIECE_NODES + PIECE_NODES, len(graph.nodes))
    return next((index for index in range(begin, end) if graph.nodes[index].bodies), end)


def _is_small_float(ort: Any) -> bool:
    return bool(ort.has_value() and ort.is_tensor() and ort.element_type() in elements.SMALL_FLOATS)
