"""One InferenceSession of the program, as the agent is told of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._mode import c_agent
from . import elements
from .agent import Agent
from .graph import Graph
from .model import Model, Node
from .pieces import Piece, Pieces
from .values import describe

_RANDOM = frozenset(
    ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout")
)

# Nodes of a piece. All of a piece's values are in memory at once; each piece
# costs a call of ONNX Runtime.
PIECE_NODES = 64


class PieceFailed(Exception):
    """A node could not be run by itself."""


class Value:
    """An OrtValue, with what the agent needs of it."""

    __slots__ = ("_description", "handle", "node", "ort", "slot")

    def __init__(self, ort: Any, node: int, slot: int) -> None:
        self.ort = ort
        self.node = node
        self.slot = slot
        self.handle = 0
        self._description: Any = None

    def data_type(self) -> Any:
        return self.ort.data_type()

    def description(self, agent: Agent) -> Any:
        """Its graphdbg_tensor; None for sequences and what else has no numbers in a row."""
        if self._description is None and self.ort.has_value() and self.ort.is_tensor():
            self.handle = agent.handle_of(self.ort)
            ort = self.ort
            self._description = describe(
                ort.element_type(), ort.shape(), ort.data_ptr(), self.handle, ort.device_name().lower()
            )
        return self._description


class Session:
    def __init__(self, agent: Agent, runtime: Any, model: Model, whole: Any) -> None:
        self._agent = agent
        self._model = model
        self._pieces = Pieces(runtime, model, whole)
        graph = Graph(agent, model)
        self._nodes = graph.nodes
        self._initializers = graph.initializers
        # Which holds the initializers' memory.
        self._graph = graph
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

    # ---- a run

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Runs the model in pieces; gives the OrtValues of its outputs by name.

        Not all of them if the session is not `exact`. PieceFailed if a node
        cannot be run: the program's own session will say why.
        """
        values = {
            name: Value(ort, self._nodes[self._model.inputs[name]], 0)
            for name, ort in feeds.items()
            if name in self._model.inputs
        }
        for value in values.values():
            if self._agent.interest(value.node):
                self._tell(value.node, c_agent.GIVEN, [], [value])
        done, count = 0, len(self._model.nodes)
        while done < count:
            end, marked = self._next_piece(done)
            if end == count and not marked and not self.exact:
                # Nobody looks any more, and the program gets its own session's outputs.
                break
            self._run_piece(done, end, marked, values)
            for name in [name for name in values if self._pieces.last_reader.get(name, -1) < end]:
                self._agent.forget(values.pop(name).handle)
            done = end
        for value in values.values():
            self._agent.forget(value.handle)
        return {name: value.ort for name, value in values.items()}

    def _next_piece(self, begin: int) -> tuple[int, bool]:
        """Where the piece that begins there ends, and whether somebody watches it."""
        count = len(self._model.nodes)
        for index in range(begin, count):
            if self._agent.interest(self._nodes[self._model.nodes[index].declaration]):
                border = index - index % PIECE_NODES
                return (border, False) if border > begin else (min(border + PIECE_NODES, count), True)
        return count, False

    def _run_piece(self, begin: int, end: int, marked: bool, values: dict[str, Value]) -> None:
        try:
            made = _call(self._pieces.get(begin, end, marked, values), values)
        except Exception as error:
            if end - begin > 1:
                # One of its nodes: those before it are looked at nevertheless.
                for index in range(begin, end):
                    self._run_piece(index, index + 1, True, values)
                return
            raise PieceFailed(self._model.nodes[begin].name) from error
        for node in self._model.nodes[begin:end]:
            number = self._nodes[node.declaration]
            for slot, name in enumerate(node.outputs):
                if name in made:
                    values[name] = Value(made[name], number, slot)
                    self.exact = self.exact and not _is_small_float(made[name])
            if marked:
                self._look_at(node, number, values)

    def _look_at(self, node: Node, number: int, values: Mapping[str, Value]) -> None:
        if self._agent.interest(number):
            flags = c_agent.MOVES_VALUES if node.moves_values else 0
            self._tell(number, flags, self._inputs_of(node, values), [values.get(name) for name in node.outputs])

    def _inputs_of(self, node: Node, values: Mapping[str, Value]) -> Iterable[Any]:
        for name in node.inputs:
            if name in self._initializers:
                number, description = self._initializers[name]
                yield c_agent.Input(node=number, slot=0, tensor=description)
            elif name in values:
                value = values[name]
                description = value.description(self._agent)
                if description is not None:
                    yield c_agent.Input(node=value.node, slot=value.slot, tensor=description)

    def _tell(self, number: int, flags: int, inputs: Iterable[Any], outputs: Sequence[Value | None]) -> None:
        described = [value.description(self._agent) if value is not None else None for value in outputs]
        # Slots stand for themselves: one without numbers is one of no elements.
        tensors = [tensor if tensor is not None else describe(0, [0], 0) for tensor in described]
        self._agent.executed(number, flags, list(inputs), tensors)


def _is_small_float(ort: Any) -> bool:
    return bool(ort.has_value() and ort.is_tensor() and ort.element_type() in elements.SMALL_FLOATS)


def _call(piece: Piece, values: Mapping[str, Value]) -> dict[str, Any]:
    if not piece.outputs:
        return {}
    made = piece.session.run_with_ort_values({name: values[name].ort for name in piece.inputs}, piece.outputs, None)
    return dict(zip(piece.outputs, made, strict=True))
