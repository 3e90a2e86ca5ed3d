"""Graphs of a model that was taken apart: its own, and those inside nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Bytes that the splitter wrote, by where they lie.
Part = Callable[[list[int]], bytes]


@dataclass(frozen=True)
class Input:
    value: str
    # Its number among the declarations.
    declaration: int
    # 0 if it is not known.
    rank: int


@dataclass(frozen=True)
class Initializer:
    value: str
    declaration: int
    # A number of onnx.TensorProto.DataType.
    element: int
    shape: list[int]
    # Where its values lie; None for strings.
    file: str | None
    offset: int
    part: bytes


@dataclass(frozen=True)
class Node:
    """An op."""

    name: str
    op_type: str
    declaration: int
    # Values in slot order, "" for those left out.
    inputs: list[str]
    outputs: list[str]
    # All that it reads, also inside of subgraphs.
    reads: list[str]
    part: bytes
    moves_values: bool
    # The graphs inside it, by attribute, if control_flow.py can run them; and
    # then its attributes that are whole numbers.
    bodies: dict[str, NodeGraph] = field(default_factory=dict)
    numbers: dict[str, list[int]] = field(default_factory=dict)


class NodeGraph:
    """Nodes in executable order, with all that is known by name where they stand."""

    def __init__(self, found: dict[str, Any], part: Part, outer: NodeGraph | None = None) -> None:
        self.inputs = [Input(i["value"], i["node"], i["rank"]) for i in found["inputs"]]
        self.outputs: list[str] = found["outputs"]
        self.own_initializers = [_initializer(item, part) for item in found["initializers"]]
        own = {i.value: i for i in self.own_initializers}
        # Where values are made: number of the declaration, and output.
        self._makers = {i.value: (i.declaration, 0) for i in self.inputs}
        self._makers |= {i.value: (i.declaration, 0) for i in self.own_initializers}
        for node in found["nodes"]:
            self._makers |= {name: (node["node"], slot) for slot, name in enumerate(node["outputs"])}
        self._outer = outer
        reads = {name for node in found["nodes"] for name in node["reads"]}.union(self.outputs)
        taken = reads - self._makers.keys()
        outer_initializers = outer.initializers if outer is not None else {}
        # Those that its nodes may read.
        self.initializers: dict[str, Initializer] = {
            name: outer_initializers[name] for name in taken if name in outer_initializers
        } | own
        # What it reads of the values around it.
        self.outer_values = taken - self.initializers.keys()
        self.nodes = [self._node(item, part) for item in found["nodes"]]
        # The last node that reads a value; the graph's outputs are read after
        # the last node.
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

    def maker_of(self, value: str) -> tuple[int, int] | None:
        """The declaration, and which of its outputs; here or around it."""
        if value in self._makers or self._outer is None:
            return self._makers.get(value)
        return self._outer.maker_of(value)

    def all_graphs(self) -> Iterator[NodeGraph]:
        """This one and those inside its nodes."""
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
