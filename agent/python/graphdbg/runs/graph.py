"""The graph of a recorded rank: its nodes by id and by name, and the verbs of the client's Graph."""

from __future__ import annotations

import fnmatch
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphdbg.client.models import Node, NodeDetail, Source, TensorInfo

from .errors import UnknownTensor
from .protobuf import Values
from .record import dtype_name
from .schema import CATEGORIES, NODE_KINDS

# 4,000,000 nodes a rank; names of 4,096 bytes.
MAX_NODES = 4_000_000


@dataclass(frozen=True)
class RecordedNode:
    """A node as graph.gdbm has it: `values` are the fields of the message Node."""

    graph: str
    values: Values

    @property
    def name(self) -> str:
        return str(self.values["name"])

    @property
    def kind(self) -> str:
        return _word(NODE_KINDS, self.values["kind"])

    @property
    def category(self) -> str:
        return _word(CATEGORIES, self.values["category"])

    @property
    def op_type(self) -> str:
        return str(self.values["op_type"])

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        return tuple(_output(self.name, each) for each in self.values["outputs"])

    @property
    def source(self) -> Source | None:
        """The user's own line that called it."""
        frames = self.values["stack"]
        frame = next((each for each in frames if each["user"]), frames[0] if frames else None)
        return None if frame is None else Source(**frame)


class NodeTable:
    """The nodes of a rank by id. A node without a message has the name "#ID"."""

    def __init__(self) -> None:
        self.nodes: dict[int, RecordedNode] = {}
        self.scope_types: dict[str, str] = {}
        self._ids: dict[str, int] = {}

    def add(self, update: Values) -> None:
        """Adds the nodes of a GraphUpdate; those that are known are replaced."""
        self.scope_types.update(update["scope_types"])
        for values in update["nodes"]:
            if len(self.nodes) >= MAX_NODES and values["id"] not in self.nodes:
                continue
            self.nodes[values["id"]] = RecordedNode(update["graph"], values)
            self._ids.setdefault(values["name"], values["id"])

    def name(self, node: int) -> str:
        found = self.nodes.get(node)
        return found.name if found else f"#{node}"

    def category(self, node: int) -> str:
        found = self.nodes.get(node)
        return found.category if found else CATEGORIES[0]

    def id_of(self, name: str) -> int | None:
        """The id of a node; None if there is none."""
        if name.startswith("#") and name[1:].isdigit() and int(name[1:]) not in self.nodes:
            return int(name[1:])
        return self._ids.get(name)

    def tensor_names(self) -> list[str]:
        """The names of the outputs of all nodes, by id and slot."""
        return [
            f"{node.name}:{output['slot']}"
            for _, node in sorted(self.nodes.items())
            for output in node.values["outputs"]
        ]


def split_tensor(name: str) -> tuple[str, int]:
    """The node and slot of a tensor's name; the slot is 0 if it is not given."""
    node, colon, slot = name.rpartition(":")
    return (node, int(slot)) if colon and slot.isdigit() and slot.isascii() and len(slot) <= 5 else (name, 0)


class Graph:
    """The graph of a recorded rank.

    Nodes are given as Node or by full name, tensors by the name NODE:SLOT; a node's name
    means its first output.
    """

    def __init__(self, table: NodeTable, hit_counts: Mapping[int, int]) -> None:
        self._table = table
        self._hit_counts = hit_counts
        self._readers: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, node in sorted(table.nodes.items()):
            for each in node.values["inputs"]:
                self._readers[each["node_id"]].append((number, each["slot"]))

    def __len__(self) -> int:
        return len(self._table.nodes)

    def node(self, name: str) -> NodeDetail:
        """One node with its neighbours and its stack.

        Raises:
            UnknownTensor: There is no such node.
        """
        number = self._number(name)
        recorded = self._table.nodes[number]
        inputs = [
            TensorInfo(self._table.name(each["node_id"]), each["slot"], *self._type(each["node_id"], each["slot"]))
            for each in recorded.values["inputs"]
            if not each["control"]
        ]
        fields = {field: getattr(self._summary(number), field) for field in Node.__dataclass_fields__}
        return NodeDetail(
            **fields,
            graph=recorded.graph,
            inputs=tuple(inputs),
            consumers=tuple(dict.fromkeys(self._table.name(reader) for reader, _ in self._readers[number])),
            attributes=recorded.values["attributes"],
            stack=tuple(Source(**frame) for frame in recorded.values["stack"]),
        )

    def select_nodes(
        self,
        pattern: str = "*",
        *,
        source: str | None = None,
        category: str | None = None,
        kind: str | None = None,
        op_type: str | None = None,
    ) -> list[Node]:
        """The nodes that match all arguments, in execution order.

        Args:
            pattern: A full name with `*` and `?`, which also match "/".
            source: FILE or FILE:LINE of any frame of the source stack, where FILE is the end of the path.
            category: "weight", "gradient", "activation", "optimizer" or "other".
            kind: "op", "parameter", "buffer", "constant" or "input".
            op_type: Such as "aten::relu".
        """
        found = [
            self._summary(number)
            for number, node in self._table.nodes.items()
            if category in (None, node.category)
            and kind in (None, node.kind)
            and op_type in (None, node.op_type)
            and fnmatch.fnmatchcase(node.name, pattern)
            and (source is None or any(_is_at(frame, source) for frame in node.values["stack"]))
        ]
        return sorted(found, key=lambda node: node.order)

    def select_tensors(self, pattern: str = "*", **selection: str | None) -> list[TensorInfo]:
        """The outputs of the nodes that `select_nodes` finds with these arguments.

        A pattern that ends with ":SLOT" selects only these outputs, such as "*/lstm:1".
        """
        nodes, colon, slot = pattern.rpartition(":")
        numbered = bool(colon) and (slot.isdigit() or slot == "*")
        found = self.select_nodes(nodes if numbered else pattern, **selection)
        tensors = [tensor for node in found for tensor in node.outputs]
        return [tensor for tensor in tensors if not numbered or slot in ("*", str(tensor.slot))]

    def input_nodes(self, node: Node | str) -> list[str]:
        """The names of the nodes whose outputs a node reads."""
        inputs = self._table.nodes[self._number(_name(node))].values["inputs"]
        return list(dict.fromkeys(self._table.name(each["node_id"]) for each in inputs if not each["control"]))

    def output_nodes(self, node: Node | str) -> list[str]:
        """The names of the nodes that read an output of a node."""
        readers = self._readers[self._number(_name(node))]
        return list(dict.fromkeys(self._table.name(reader) for reader, _ in readers))

    def affected_nodes(self, tensor: TensorInfo | Node | str) -> list[str]:
        """The names of all nodes that depend on a tensor, directly or not; nearest first."""
        name, slot = (tensor.node, tensor.slot) if isinstance(tensor, TensorInfo) else split_tensor(_name(tensor))
        start = self._number(name)
        found = dict.fromkeys(reader for reader, read in self._readers[start] if read == slot)
        queue = list(found)
        for node in queue:
            new = [reader for reader, _ in self._readers[node] if reader not in found]
            found.update(dict.fromkeys(new))
            queue += dict.fromkeys(new)
        found.pop(start, None)
        return [self._table.name(node) for node in found]

    def _number(self, name: str) -> int:
        number = self._table.id_of(name)
        if number is None or number not in self._table.nodes:
            raise UnknownTensor(name, [node.name for node in self._table.nodes.values()])
        return number

    def _summary(self, number: int) -> Node:
        node = self._table.nodes[number]
        return Node(
            node.name,
            node.kind,
            node.op_type,
            node.category,
            node.outputs,
            self._hit_counts.get(number, 0),
            node.source,
            node.values["order"],
        )

    def _type(self, node: int, slot: int) -> tuple[str, tuple[int, ...]]:
        outputs: Iterable[TensorInfo] = self._table.nodes[node].outputs if node in self._table.nodes else ()
        return next(((each.dtype, each.shape) for each in outputs if each.slot == slot), ("", ()))


def _output(node: str, values: Values) -> TensorInfo:
    kind = values["type"] or {"dtype": 0, "shape": []}
    return TensorInfo(node, values["slot"], dtype_name(kind["dtype"]), tuple(kind["shape"]))


def _is_at(frame: Mapping[str, Any], source: str) -> bool:
    file, colon, line = source.rpartition(":")
    if colon and line.isdigit():
        return str(frame["file"]).endswith(file) and frame["line"] == int(line)
    return str(frame["file"]).endswith(source)


def _name(node: Node | TensorInfo | str) -> str:
    return node if isinstance(node, str) else node.name


def _word(words: tuple[str, ...], number: int) -> str:
    return words[number] if number < len(words) else words[0]
