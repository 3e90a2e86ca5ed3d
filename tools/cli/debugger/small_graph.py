"""The graph index of a few ops, for what no server has."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from .graph_index import GraphIndex
from .packed_columns import packed


@dataclass(frozen=True)
class SmallNode:
    """An op. `output` is its first output, such as "float32[2, 3]"; file and line are "" and 0 if unknown."""

    name: str
    op_type: str
    output: str
    file: str
    line: int


def small_graph(nodes: Sequence[SmallNode]) -> GraphIndex:
    """The index of ops that execute in this order. Names are unique."""
    strings: dict[str, int] = {"": 0}
    scopes: dict[str, int] = {"": 0}
    parents, labels = array("I", [0]), array("I", [0])

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    def scope_of(name: str) -> int:
        if name not in scopes:
            outer, _, label = name.rpartition("/")
            parent = scope_of(outer)
            scopes[name] = len(scopes)
            parents.append(parent)
            labels.append(text(label))
        return scopes[name]

    columns: dict[str, array[int] | bytes] = {
        "node_scope": array("I", [scope_of(node.name.rpartition("/")[0]) for node in nodes]),
        "node_label": array("I", [text(node.name.rpartition("/")[2]) for node in nodes]),
        "node_kind": bytes(len(nodes)),
        "node_op_type": array("I", [text(node.op_type) for node in nodes]),
        "node_output": array("I", [text(node.output) for node in nodes]),
        "node_file": array("I", [text(node.file) for node in nodes]),
        "node_line": array("I", [node.line for node in nodes]),
        "scope_parent": parents,
        "scope_label": labels,
        "scope_type": array("I", [0] * len(parents)),
        "execution": array("I", range(len(nodes))),
    }
    encoded = [each.encode() for each in strings]
    ends = array("I")
    for each in encoded:
        ends.append((ends[-1] if ends else 0) + len(each))
    columns |= {"string_end": ends, "string_bytes": b"".join(encoded)}
    return GraphIndex(packed({"node_count": len(nodes), "kinds": ["op"]}, columns))
