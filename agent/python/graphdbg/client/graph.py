"""The graph of a job: selects nodes and tensors, and follows edges."""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from .http import HttpClient, Json
from .models import Node, NodeDetail, Source, TensorInfo

_PAGE = 1000


class Graph:
    """One graph of a job, as it is when a method is called.

    Nodes are given as Node or by full name, tensors by the name NODE:SLOT; a node's name
    means its first output.
    """

    def __init__(self, http: HttpClient, job_path: str, graph: str | None) -> None:
        self._http = http
        self._path = f"{job_path}/graph"
        self._graph = graph

    def node(self, name: str) -> NodeDetail:
        """One node with its neighbours and its stack.

        Raises:
            NotFoundError: There is no such node.
        """
        return NodeDetail.from_json(self._http.get(f"{self._path}/node", name=name))

    def select_nodes(
        self,
        pattern: str = "*",
        *,
        stack: str | None = None,
        source: str | None = None,
        category: str | None = None,
        kind: str | None = None,
        op_type: str | None = None,
    ) -> list[Node]:
        """The nodes that match all arguments, in execution order.

        Args:
            pattern: A full name with `*` and `?`, which also match "/".
            stack: A text that any frame of the source stack contains: as "FILE:LINE", in the
                function's name or in the code. Asks the server for each node that matches the other
                arguments, so combine it with them in a large graph.
            source: FILE or FILE:LINE of any frame of the source stack, where FILE is the end of the path.
            category: "weight", "gradient", "activation", "optimizer" or "other".
            kind: "op", "parameter", "buffer", "constant", "input" or "scope".
            op_type: Such as "aten::relu".
        """
        found = self._search(pattern, source=source, category=category, kind=kind, op_type=op_type)
        nodes = [node for node in found if fnmatch.fnmatchcase(node.name, pattern)]
        if stack is not None:
            nodes = [node for node in nodes if any(_mentions(frame, stack) for frame in self.node(node.name).stack)]
        return sorted(nodes, key=lambda node: node.order)

    def select_tensors(self, pattern: str = "*", **selection: str | None) -> list[TensorInfo]:
        """The outputs of the nodes that `select_nodes` finds with these arguments.

        A pattern that ends with ":SLOT" selects only these outputs, such as "*/lstm:1".
        """
        nodes, colon, slot = pattern.rpartition(":")
        numbered = bool(colon) and (slot.isdigit() or slot == "*")
        tensors = [
            tensor for node in self.select_nodes(nodes if numbered else pattern, **selection) for tensor in node.outputs
        ]
        return [tensor for tensor in tensors if not numbered or slot in ("*", str(tensor.slot))]

    def input_nodes(self, node: Node | str) -> list[str]:
        """The names of the nodes whose outputs a node reads."""
        return list(dict.fromkeys(tensor.node for tensor in self.node(_name(node)).inputs))

    def output_nodes(self, node: Node | str) -> list[str]:
        """The names of the nodes that read an output of a node."""
        return list(self.node(_name(node)).consumers)

    def affected_nodes(self, tensor: TensorInfo | Node | str) -> list[str]:
        """The names of all nodes that depend on a tensor, directly or not; nearest first."""
        name, _, slot = _tensor_name(tensor).rpartition(":")
        consumers = self._consumers()
        found = dict.fromkeys(to for to, number in consumers[name] if number == int(slot))
        queue = list(found)
        for node in queue:
            new = [to for to, _ in consumers[node] if to not in found]
            found.update(dict.fromkeys(new))
            queue += dict.fromkeys(new)
        found.pop(name, None)
        return list(found)

    def _consumers(self) -> defaultdict[str, list[tuple[str, int]]]:
        """By node: the nodes that read its outputs, each with the output's slot."""
        exported = self._http.get(f"{self._path}/export", format="json", graph=self._graph)
        consumers: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for edge in exported["edges"]:
            consumers[edge["from"]].append((edge["to"], edge["slot"]))
        return consumers

    def _search(self, pattern: str, **query: str | None) -> Iterator[Node]:
        # The server searches for a part of the name, so it gets the longest one that is literal.
        parts: Iterable[str] = re.split(r"[*?]|\[[^\]]*\]", pattern)
        text = max(parts, key=len) or None
        cursor: str | None = None
        while True:
            # The pattern is one for names, not for code.
            search = {"q": text, "in": "names", "limit": _PAGE, "cursor": cursor, **query}
            page: Json = self._http.get(f"{self._path}/search", **search)
            yield from map(Node.from_json, page["nodes"])
            cursor = page.get("next_cursor")
            if not cursor:
                return


def _name(node: Node | str) -> str:
    return node if isinstance(node, str) else node.name


def _tensor_name(tensor: TensorInfo | Node | str) -> str:
    if isinstance(tensor, TensorInfo):
        return tensor.name
    name = _name(tensor)
    _, colon, slot = name.rpartition(":")
    return name if colon and slot.isdigit() else f"{name}:0"


def _mentions(frame: Source, text: str) -> bool:
    return text in f"{frame.file}:{frame.line}" or text in frame.function or text in frame.text
