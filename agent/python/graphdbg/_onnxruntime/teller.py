"""Tells the agent which nodes were executed, and with what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .._mode import c_agent
from .agent import Agent
from .frame import Frame
from .graph import Graph
from .model import Model
from .node_graph import Input, Node, NodeGraph
from .values import Value, nothing


class Teller:
    """The agent as an Observer."""

    def __init__(self, agent: Agent, model: Model) -> None:
        self._agent = agent
        self._declarations = model.declarations
        # Declares the nodes, and holds the initializers' memory.
        self._graph = Graph(agent, model)
        # The agent's numbers of what stands inside nodes, by these nodes'.
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

    def is_looked_into(self, node: Node) -> bool:
        return any(map(self._agent.is_looked_at, self._inside.get(node.declaration, ())))

    def given(self, frame: Frame, argument: Input) -> None:
        number = self._graph.nodes[argument.declaration]
        if not self._agent.interest(number):
            return
        value = frame.values[argument.value]
        # The value that a node hands to a graph inside it was made elsewhere.
        makers = self._declarations[argument.declaration]["inputs"]
        inputs = [self._input(maker, value) for maker in makers]
        self._tell(frame, number, c_agent.MOVES_VALUES if makers else c_agent.GIVEN, inputs, [value])

    def executed(self, frame: Frame, node: Node, inside: NodeGraph | None = None) -> None:
        number = self._graph.nodes[node.declaration]
        if not self._agent.interest(number):
            return
        outputs = [frame.values.get(name) for name in node.outputs]
        inputs = [*self._inputs_of(frame, node), *self._made_inside(node, inside, outputs)]
        moves = node.moves_values or inside is not None
        self._tell(frame, number, c_agent.MOVES_VALUES if moves else 0, inputs, outputs)

    def forget(self, value: Value) -> None:
        self._agent.forget(value.handle)

    def notify(self, line: str) -> None:
        self._agent.notify(line)

    def _inputs_of(self, frame: Frame, node: Node) -> Iterator[Any]:
        for name in node.inputs:
            initializer = frame.graph.initializers.get(name)
            if initializer is not None:
                description = self._graph.initializers[initializer.declaration]
                yield c_agent.Input(node=self._graph.nodes[initializer.declaration], slot=0, tensor=description)
            elif name in frame.values:
                value = frame.values[name]
                description = value.description(self._agent)
                if description is not None:
                    yield c_agent.Input(node=value.node, slot=value.slot, tensor=description)

    def _made_inside(self, node: Node, inside: NodeGraph | None, outputs: Sequence[Value | None]) -> Iterator[Any]:
        """What the graphs inside give to the node: the same nodes whether they were run or not.

        A node's inputs are its edges in the graph that people see.
        """
        # A loop keeps the first output, the condition, to itself.
        kept = 1 if node.op_type == "Loop" else 0
        for body in node.bodies.values():
            for slot, name in enumerate(body.outputs, -kept):
                maker = body.maker_of(name)
                came_out = body is inside and 0 <= slot < len(outputs)
                if maker is not None:
                    yield self._input(maker, outputs[slot] if came_out else None)

    def _input(self, maker: Sequence[int], value: Value | None) -> Any:
        declaration, slot = maker
        return c_agent.Input(node=self._graph.nodes[declaration], slot=slot, tensor=self._described(value))

    def _described(self, value: Value | None) -> Any:
        description = value.description(self._agent) if value is not None else None
        # Slots stand for themselves: one without numbers is one of no elements.
        return description if description is not None else nothing()

    def _tell(
        self, frame: Frame, number: int, flags: int, inputs: Iterable[Any], outputs: Iterable[Value | None]
    ) -> None:
        tensors = [self._described(value) for value in outputs]
        self._agent.executed(number, flags, list(inputs), tensors, frame.iteration)


def _declared_inside(node: Node) -> Iterator[int]:
    for body in node.bodies.values():
        for graph in body.all_graphs():
            yield from (argument.declaration for argument in graph.inputs)
            yield from (inner.declaration for inner in graph.nodes)
