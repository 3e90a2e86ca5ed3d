"""Graphs of a split model: its own graph, and those inside nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Returns bytes of parts.bin by [offset, size].
Part = Callable[[list[int]], bytes]


@dataclass(frozen=True)
class Input:
    value: str
    # The index of its declaration.
    declaration: int
    # 0 if it is unknown.
    rank: int


@dataclass(frozen=True)
class Initializer:
    value: str
    declaration: int
    # A number of onnx.TensorProto.DataType.
    element: int
    shape: list[int]
    # The file that contains its values, and the offset there; None for strings.
    file: str | None
    offset: int
    part: bytes


@dataclass(frozen=True)
class Node:
    """An op."""

    name: str
    op_type: str
    declaration: int
    # Values in slot order; "" for omitted ones.
    inputs: list[str]
    outputs: list[str]
    # All values that it reads, including those that its subgraphs read.
    reads: list[str]
    part: bytes
    moves_values: bool
    # If control_flow.py can run the graphs inside the node: these graphs by
    # attribute, and the node's integer attributes.
    bodies: dict[str, NodeGraph] = field(default_factory=dict)
    numbers: dict[str, list[int]] = field(default_factory=dict)


class NodeGraph:
    """Nodes in executable order, with the values and initializers that they can refer to."""

    def __init__(self, found: dict[str, Any], part: Part, outer: NodeGraph | None = None) -> None:
        self.inputs = [Input(i["value"], i["node"], i["rank"]) for i in found["inputs"]]
        self.outputs: list[str] = found["outputs"]
        self.own_initializers = [_initializer(item, part) for item in found["initializers"]]
        own = {i.value: i for i in self.own_initializers}
        # The producer of each value: a declaration and the number of its output.
        self._producers = {i.value: (i.declaration, 0) for i in self.inputs}
        self._producers |= {i.value: (i.declaration, 0) for i in self.own_initializers}
        for node in found["nodes"]:
            self._producers |= {name: (node["node"], slot) for slot, name in enumerate(node["outputs"])}
        self._outer = outer
        reads = {name for node in found["nodes"] for name in node["reads"]}.union(self.outputs)
        taken = reads - self._producers.keys()
        outer_initializers = outer.initializers if outer is not None else {}
        # Initializers that its nodes may read, including those of enclosing graphs.
        self.initializers: dict[str, Initializer] = {
            name: outer_initializers[name] for name in taken if name in outer_initializers
        } | own
        # Values of enclosing graphs that it reads.
        self.outer_values = taken - self.initializers.keys()
        self.nodes = [self._node(item, part) for item in found["nodes"]]
        # The last node that reads each value. The graph's outputs are read after the
        # last node.
        self.last_reader: dict[str, int] = {}
        for index, node in enumerate(self.nodes):
            self.last_reader.update(dict.fromkeys(node.reads, index))
        self.last_reader.update(dict.fromkeys(self.outputs, len(self.nodes)))

    def _node(self, item: dict[str, Any], part: Part) -> Node:
        return Node(
            name=item["name"],
            op_type=item["op_type"],
            declaration=item["node"],
            inputs=item["inputs"],
            outputs=item["outputs"],
            reads=item["reads"],
            part=part(item["part"]),
            moves_values=item["moves_values"],
            bodies={name: NodeGraph(body, part, self) for name, body in item.get("bodies", {}).items()},
            numbers=item.get("numbers", {}),
        )

    def producer_of(self, value: str) -> tuple[int, int] | None:
        """The declaration and output that produces a value, in this graph or an enclosing one."""
        if value in self._producers or self._outer is None:
            return self._producers.get(value)
        return self._outer.producer_of(value)

    def all_graphs(self) -> Iterator[NodeGraph]:
        """Yields this graph and those inside its nodes."""
        yield self
        for node in self.nodes:
            for body in node.bodies.values():
                yield from body.all_graphs()


def _initializer(item: dict[str, Any], part: Part) -> Initializer:
    return Initializer(
        value=item["value"],
        declaration=item["node"],
        element=item["element"],
        shape=item["shape"],
        file=item.get("file"),
        offset=item.get("offset", 0),
        part=part(item["part"]),
    )
