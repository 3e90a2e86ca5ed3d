"""Reports executed nodes, with their inputs and outputs, to the agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .. import _c_api
from .._agent import Agent
from .frame import Frame
from .graph import Graph
from .model import Model
from .node_graph import Input, Node, NodeGraph
from .values import Value, empty


class ExecutionReporter:
    """An Observer that reports to the agent."""

    def __init__(self, agent: Agent, model: Model) -> None:
        self._agent = agent
        self._declarations = model.declarations
        # Declares the nodes, and holds the initializers' memory.
        self._graph = Graph(agent, model)
        # The agent's numbers of the nodes inside a node, by that node's declaration.
        self._inside = {
            node.declaration: [self._graph.nodes[number] for number in _declared_inside(node)]
            for graph in model.graph.all_graphs()
            for node in graph.nodes
            if node.bodies
        }

    def number(self, declaration: int) -> int:
        return self._graph.nodes[declaration]

    def is_wanted(self, node: Node) -> bool:
        return self._agent.interest(self._graph.nodes[node.declaration])

    def is_inside_required(self, node: Node) -> bool:
        return any(map(self._agent.requires, self._inside.get(node.declaration, ())))

    def given(self, frame: Frame, argument: Input) -> None:
        number = self._graph.nodes[argument.declaration]
        if not self._agent.interest(number):
            return
        value = frame.values[argument.value]
        # An input of a graph inside a node has the producers of the node's own input.
        producers = self._declarations[argument.declaration]["inputs"]
        inputs = [self._input(producer, value) for producer in producers]
        self._report(frame, number, _c_api.MOVES_VALUES if producers else _c_api.GIVEN, inputs, [value])

    def executed(self, frame: Frame, node: Node, inside: NodeGraph | None = None) -> None:
        number = self._graph.nodes[node.declaration]
        if not self._agent.interest(number):
            return
        outputs = [frame.values.get(name) for name in node.outputs]
        inputs = [*self._inputs_of(frame, node), *self._outputs_of_bodies(node, inside, outputs)]
        moves = node.moves_values or inside is not None
        self._report(frame, number, _c_api.MOVES_VALUES if moves else 0, inputs, outputs)

    def forget(self, value: Value) -> None:
        self._agent.forget(value.handle)

    def notify(self, line: str) -> None:
        self._agent.notify(line)

    def _inputs_of(self, frame: Frame, node: Node) -> Iterator[Any]:
        for name in node.inputs:
            initializer = frame.graph.initializers.get(name)
            if initializer is not None:
                description = self._graph.initializers[initializer.declaration]
                yield _c_api.Input(node=self._graph.nodes[initializer.declaration], slot=0, tensor=description)
            elif name in frame.values:
                value = frame.values[name]
                description = value.description(self._agent)
                if description is not None:
                    yield _c_api.Input(node=value.node, slot=value.slot, tensor=description)

    def _outputs_of_bodies(
        self, node: Node, inside: NodeGraph | None, outputs: Sequence[Value | None]
    ) -> Iterator[Any]:
        """Yields the outputs of the graphs inside a node, as inputs of the node.

        They are the same nodes whether the graphs have run or not, because a node's
        inputs are its edges in the graph that users see.
        """
        # The first output of a loop's body, the condition, is not an output of the loop.
        hidden = 1 if node.op_type == "Loop" else 0
        for body in node.bodies.values():
            for slot, name in enumerate(body.outputs, -hidden):
                producer = body.producer_of(name)
                is_output = body is inside and 0 <= slot < len(outputs)
                if producer is not None:
                    yield self._input(producer, outputs[slot] if is_output else None)

    def _input(self, producer: Sequence[int], value: Value | None) -> Any:
        declaration, slot = producer
        return _c_api.Input(node=self._graph.nodes[declaration], slot=slot, tensor=self._describe(value))

    def _describe(self, value: Value | None) -> Any:
        description = value.description(self._agent) if value is not None else None
        # A slot without a tensor is described as empty, so that slot numbers stay right.
        return description if description is not None else empty()

    def _report(
        self, frame: Frame, number: int, flags: int, inputs: Iterable[Any], outputs: Iterable[Value | None]
    ) -> None:
        tensors = [self._describe(value) for value in outputs]
        self._agent.executed(number, flags, list(inputs), tensors, _c_api.EVAL, frame.iteration)


def _declared_inside(node: Node) -> Iterator[int]:
    for body in node.bodies.values():
        for graph in body.all_graphs():
            yield from (argument.declaration for argument in graph.inputs)
            yield from (inner.declaration for inner in graph.nodes)
