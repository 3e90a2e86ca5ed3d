"""The whole graph of a job as packed columns: names, lines and order of its nodes (proto/docs/graph-index.md).

100,000 nodes take about a tenth of a second to read, once for each version of the graph; names are decoded when they
are asked for. Needs nothing besides the standard library.
"""

from __future__ import annotations

import functools
import heapq
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .edit_distance import distance_within
from .packed_columns import PackedColumns, packed

# The number of names that an error offers.
_NEAREST = 3
# Among all names of a graph, those that differ more are not what was meant.
_MAX_DISTANCE = 3


class GraphIndex:
    """The names of a graph. Nodes and scopes are numbered from 0, and keep their numbers while the graph grows."""

    def __init__(self, data: bytes) -> None:
        """
        Args:
            data: The body of `/graph/index`, not compressed.
        """
        self._packed = PackedColumns(data)
        self.node_count: int = self._packed.header["node_count"]
        self._kinds: list[str] = self._packed.header["kinds"]
        self._scope_names: dict[int, str] = {0: ""}

    @classmethod
    def empty(cls) -> GraphIndex:
        """Of a job that has no graph yet."""
        return cls(packed({"node_count": 0, "kinds": []}))

    # ---- names

    def name(self, node: int) -> str:
        """The full name of a node."""
        return _joined(self.scope_name(self._node_scope[node]), self._string(self._node_label[node]))

    def scope_name(self, scope: int) -> str:
        """The full name of a scope; "" for the root, 0."""
        name = self._scope_names.get(scope)
        if name is None:
            name = _joined(self.scope_name(self._scope_parent[scope]), self._string(self._scope_label[scope]))
            self._scope_names[scope] = name
        return name

    def node_of(self, name: str) -> int | None:
        """The number of a node; None if there is none of this name."""
        scope_name, _, label = name.rpartition("/")
        scope = self.scope_of(scope_name)
        if scope is None:
            return None
        return next((node for node in self.nodes_in(scope) if self._string(self._node_label[node]) == label), None)

    def scope_of(self, name: str) -> int | None:
        """The number of a scope; None if there is none of this name."""
        scope = 0
        for label in name.split("/") if name else ():
            found = (each for each in self.scopes_in(scope) if self._string(self._scope_label[each]) == label)
            scope = next(found, -1)
            if scope < 0:
                return None
        return scope

    def scopes_in(self, scope: int) -> Sequence[int]:
        """The scopes directly in a scope."""
        return self._children_scopes.get(scope, ())

    def nodes_in(self, scope: int) -> Sequence[int]:
        """The nodes directly in a scope."""
        return self._children_nodes.get(scope, ())

    def label(self, node: int) -> str:
        return self._string(self._node_label[node])

    def scope_label(self, scope: int) -> str:
        return self._string(self._scope_label[scope])

    def scope_type(self, scope: int) -> str:
        """The class of the module."""
        return self._string(self._scope_type[scope])

    def scopes_of_type(self, name: str) -> list[int]:
        """The scopes of modules of a class."""
        return [scope for scope in range(len(self._scope_type)) if scope and self.scope_type(scope) == name]

    def kind(self, node: int) -> str:
        """ "op", "parameter", "buffer", "constant", "input" or "aggregate"."""
        return self._kinds[self._node_kind[node]]

    def op_type(self, node: int) -> str:
        return self._string(self._node_op_type[node])

    def output(self, node: int) -> str:
        """The first output, such as "float32[2, 3]"."""
        return self._string(self._node_output[node])

    def names(self) -> Iterator[str]:
        """The full names of all nodes."""
        return map(self.name, range(self.node_count))

    def nearest(self, name: str, limit: int = _NEAREST) -> list[str]:
        """The full names most like a name, at most 3; those of the same scope come first."""
        return self.nearest_in(name, limit) or _nearest(name, self._similar(name), limit, _MAX_DISTANCE)

    def _similar(self, name: str) -> Iterator[str]:
        """The names whose last segment is much like that of a name. Segments are fewer than names."""
        label = name.rpartition("/")[2]
        labels = [self._string(each) for each in set(self._node_label)]
        near = set(_nearest(label, labels, len(labels), _MAX_DISTANCE))
        return (self.name(node) for node in range(self.node_count) if self.label(node) in near)

    def nearest_in(self, name: str, limit: int = _NEAREST) -> list[str]:
        """The same among the nodes and scopes of the scope that the name has; none if there is no such scope."""
        scope_name, _, label = name.rpartition("/")
        scope = self.scope_of(scope_name)
        if scope is None:
            return []
        prefix = self.scope_name(scope)
        labels = [self.label(node) for node in self.nodes_in(scope)]
        labels += [self.scope_label(each) for each in self.scopes_in(scope)]
        return [_joined(prefix, each) for each in _nearest(label, labels, limit, max(2, len(label) // 3))]

    # ---- execution and lines

    @functools.cached_property
    def execution(self) -> array[int]:
        """The nodes that execute, in order."""
        return self._column("execution")

    @property
    def has_executed(self) -> bool:
        """Whether ops are known. Before the first step parameters are."""
        return len(self.execution) > 0

    @functools.cached_property
    def place(self) -> dict[int, int]:
        """By node: its place in the order of execution."""
        return {node: place for place, node in enumerate(self.execution)}

    def is_inside(self, node: int, scope: int) -> bool:
        """Whether a node is in a scope or one inside it."""
        each = self._node_scope[node]
        while True:
            if each == scope:
                return True
            if each == 0:
                return False
            each = self._scope_parent[each]

    def scope_number(self, node: int) -> int:
        """The scope that contains a node."""
        return self._node_scope[node]

    @functools.cached_property
    def first_of_scopes(self) -> dict[int, int]:
        """By scope: its first node that executes, in it or in a scope inside."""
        first: dict[int, int] = {}
        for node in self.execution:
            scope = self._node_scope[node]
            while scope not in first:
                first[scope] = node
                scope = self._scope_parent[scope]
        return first

    def first_in(self, scope: int) -> int | None:
        """The first node in a scope that executes; None if there is none."""
        return self.first_of_scopes.get(scope)

    def files(self) -> list[str]:
        """The files of the user's lines that made ops."""
        return sorted(self._string(number) for number in self._lines if number)

    def line(self, node: int) -> tuple[str, int]:
        """The user's line that made a node; "" and 0 if unknown."""
        return self._string(self._node_file[node]), self._node_line[node]

    def lines_of(self, file: str) -> dict[int, list[int]]:
        """By line of a file: the nodes whose user's line it is, in execution order. `file`: the end of a path."""
        found: dict[int, list[int]] = {}
        for number, lines in self._lines.items():
            if is_file(self._string(number), file):
                for line, nodes in lines.items():
                    found.setdefault(line, []).extend(nodes)
        return found

    @functools.cached_property
    def _lines(self) -> dict[int, dict[int, list[int]]]:
        """By file and line: the nodes that execute."""
        lines: dict[int, dict[int, list[int]]] = {}
        for node in self.execution:
            if line := self._node_line[node]:
                lines.setdefault(self._node_file[node], {}).setdefault(line, []).append(node)
        return lines

    # ---- columns

    def _column(self, name: str) -> array[int]:
        return self._packed.column(name)

    @functools.cached_property
    def _node_scope(self) -> array[int]:
        return self._column("node_scope")

    @functools.cached_property
    def _node_label(self) -> array[int]:
        return self._column("node_label")

    @functools.cached_property
    def _node_kind(self) -> array[int]:
        return self._column("node_kind")

    @functools.cached_property
    def _node_op_type(self) -> array[int]:
        return self._column("node_op_type")

    @functools.cached_property
    def _node_output(self) -> array[int]:
        return self._column("node_output")

    @functools.cached_property
    def _node_file(self) -> array[int]:
        return self._column("node_file")

    @functools.cached_property
    def _node_line(self) -> array[int]:
        return self._column("node_line")

    @functools.cached_property
    def _scope_parent(self) -> array[int]:
        return self._column("scope_parent")

    @functools.cached_property
    def _scope_label(self) -> array[int]:
        return self._column("scope_label")

    @functools.cached_property
    def _scope_type(self) -> array[int]:
        return self._column("scope_type")

    @functools.cached_property
    def _string_end(self) -> array[int]:
        return self._column("string_end")

    @functools.cached_property
    def _text(self) -> bytes:
        return self._packed.bytes_of("string_bytes")

    def _string(self, number: int) -> str:
        begin = self._string_end[number - 1] if number else 0
        return self._text[begin : self._string_end[number]].decode(errors="replace")

    @functools.cached_property
    def _children_nodes(self) -> dict[int, list[int]]:
        return _grouped(self._node_scope, 0)

    @functools.cached_property
    def _children_scopes(self) -> dict[int, list[int]]:
        # The root is its own parent.
        return _grouped(self._scope_parent, 1)


def is_file(path: str, end: str) -> bool:
    """Whether `end` is the end of a path, by whole segments."""
    return path == end or path.endswith("/" + end.removeprefix("./"))


def _grouped(parents: array[int], start: int) -> dict[int, list[int]]:
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number in range(start, len(parents)):
        groups[parents[number]].append(number)
    return dict(groups)


def _joined(scope: str, label: str) -> str:
    return f"{scope}/{label}" if scope else label


def _nearest(name: str, names: Iterable[str], limit: int, most: int) -> list[str]:
    """The names that differ in at most so many characters, the nearest ones."""
    # Most names differ in their numbers only: add_1, add_2 and so on are looked at once.
    is_near: dict[str, bool] = {}
    own = _without_number(name)
    near: list[tuple[int, str]] = []
    for each in names:
        base = _without_number(each)
        if base not in is_near:
            is_near[base] = distance_within(own, base, most) is not None
        if is_near[base] and (distance := distance_within(name, each, most)) is not None:
            near.append((distance, each))
    return [each for _, each in heapq.nsmallest(limit, near)]


def _without_number(name: str) -> str:
    return name.rstrip("0123456789").rstrip("_")
