"""Runs one InferenceSession of the program in pieces."""

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
from .values import CannotPassOn, Value

_RANDOM = frozenset(
    ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout")
)

# The size of a piece is a compromise: all values of a piece are in memory at once,
# but each piece costs a call of ONNX Runtime.
PIECE_NODES = 64


class PieceFailed(Exception):
    """A node could not be run on its own. The message is its name."""


class Session:
    def __init__(self, observer: Observer, runtime: Any, model: Model, whole: Any) -> None:
        self._observer = observer
        self._runtime = runtime
        self._graph = model.graph
        self._pieces = Pieces(runtime, model, whole)
        # Declarations of nodes whose inner graphs cannot be run node by node.
        self._opaque: set[int] = set()
        # Whether pieces produce bit for bit the same values as the whole session.
        # They do if the session runs the model's nodes unchanged. It does not if it
        # merges nodes, if nodes draw random numbers, or if it computes half floats
        # in float32, as it always does on the CPU: the rounding between two nodes is
        # then omitted. Half floats are only recognized when a piece returns them.
        level = whole.get_session_options().graph_optimization_level
        self.exact = level == runtime.GraphOptimizationLevel.ORT_DISABLE_ALL and not any(
            declaration["op_type"] in _RANDOM for declaration in model.declarations
        )

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Runs the model in pieces. Returns the OrtValues of its outputs by name.

        Outputs may be missing if the session is not `exact`, or if two of them are
        the same value. Raises PieceFailed if a node cannot be run; running the
        program's own session then yields ONNX Runtime's error.
        """
        frame = Frame(self._graph, {})
        with self._entered(frame, feeds):
            self._run_nodes(frame)
            outputs = {name: frame.values[name].ort for name in self._graph.outputs if name in frame.values}
        # Each output gets its own value, since the program may write into it.
        return {name: ort for ort, name in {ort: name for name, ort in outputs.items()}.items()}

    @contextlib.contextmanager
    def _entered(self, frame: Frame, given: Mapping[str, Any]) -> Iterator[None]:
        """Reports the inputs of a graph on entry, and forgets its values on exit."""
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
            end, watched = self._next_piece(graph, done)
            if graph is self._graph and end == count and not watched and not self.exact:
                # Nothing else is watched, and the program gets its own session's outputs.
                break
            self._run_piece(frame, done, end, watched)
            for name in [name for name in values if graph.last_reader.get(name, -1) < end]:
                self._observer.forget(values.pop(name))
            done = end

    def _next_piece(self, graph: NodeGraph, begin: int) -> tuple[int, bool]:
        """The end of the piece that starts at `begin`, and whether it is watched."""
        count = len(graph.nodes)
        for index in range(begin, count):
            node = graph.nodes[index]
            if node.bodies and self._runs_inside(node):
                return (index, False) if index > begin else (index + 1, True)
            if self._observer.is_wanted(node):
                border = index - index % PIECE_NODES
                return (border, False) if border > begin else (_end_of_watched_piece(graph, begin), True)
        return count, False

    def _run_piece(self, frame: Frame, begin: int, end: int, watched: bool) -> None:
        nodes = frame.graph.nodes[begin:end]
        if end - begin == 1 and self._runs_inside(nodes[0]) and self._run_bodies(frame, nodes[0]):
            return
        try:
            made = self._pieces.get(frame.graph, begin, end, watched, frame.values).run(frame.values)
        except Exception as error:
            if end - begin > 1:
                # Run the nodes one by one, so that those before the failing one are
                # reported.
                for index in range(begin, end):
                    self._run_piece(frame, index, index + 1, True)
                return
            if isinstance(error, CannotPassOn) and frame.graph is not self._graph:
                # The enclosing node then runs whole.
                raise
            raise PieceFailed(nodes[0].name) from error
        for node in nodes:
            self._store(frame, node, [made.get(name) for name in node.outputs])
            if watched:
                self._observer.executed(frame, node)

    def _store(self, frame: Frame, node: Node, outputs: Sequence[Any]) -> None:
        number = self._observer.number(node.declaration)
        for slot, (name, ort) in enumerate(zip(node.outputs, outputs, strict=False)):
            if name and ort is not None:
                frame.values[name] = Value(ort, number, slot)
                self.exact = self.exact and not _is_small_float(ort)

    # ---- graphs inside nodes

    def _runs_inside(self, node: Node) -> bool:
        """Whether the graphs inside the node are run node by node, because nodes there are required."""
        return node.declaration not in self._opaque and self._observer.is_inside_required(node)

    def _run_bodies(self, frame: Frame, node: Node) -> bool:
        """Runs the graphs inside the node; False if the node must run whole."""
        inputs = [self._value(frame, name) for name in node.inputs]
        entered: list[NodeGraph] = []

        def run_body(body: NodeGraph, given: Sequence[Any], iteration: int) -> list[Any]:
            entered.append(body)
            return self._run_body(frame, body, given, iteration or frame.iteration)

        try:
            made = control_flow.run(self._runtime, node, inputs, run_body)
        except CannotPassOn as error:
            self._opaque.add(node.declaration)
            self._observer.notify(f"node {node.name} runs whole, and the nodes inside it are not shown: {error}")
            return False
        except control_flow.InvalidLoop as error:
            raise PieceFailed(node.name) from error
        if made is None:
            return False
        self._store(frame, node, made)
        self._observer.executed(frame, node, entered[-1])
        return True

    def _run_body(self, outer: Frame, body: NodeGraph, given: Sequence[Any], iteration: int) -> list[Any]:
        # Copies, because a frame's values are forgotten when it ends.
        around = [(name, outer.values[name]) for name in body.outer_values if name in outer.values]
        frame = Frame(body, {name: Value(v.ort, v.node, v.slot) for name, v in around}, iteration)
        names = (argument.value for argument in body.inputs)
        with self._entered(frame, dict(zip(names, given, strict=True))):
            self._run_nodes(frame)
            return [self._value(frame, name) for name in body.outputs]

    def _value(self, frame: Frame, name: str) -> Any:
        """The OrtValue of that name; None for an omitted input."""
        if name in frame.values:
            return frame.values[name].ort
        return self._pieces.initializer(frame.graph, name) if name else None


def _end_of_watched_piece(graph: NodeGraph, begin: int) -> int:
    """The end of a watched piece.

    A node with graphs inside is a piece of its own, because whether nodes inside it
    are required is only known when it runs.
    """
    if graph.nodes[begin].bodies:
        return begin + 1
    end = min(begin - begin % PIECE_NODES + PIECE_NODES, len(graph.nodes))
    return next((index for index in range(begin, end) if graph.nodes[index].bodies), end)


def _is_small_float(ort: Any) -> bool:
    return bool(ort.has_value() and ort.is_tensor() and ort.element_type() in elements.SMALL_FLOATS)
