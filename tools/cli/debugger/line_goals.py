"""Where `next` stops in a recorded run; in a live job the agent decides."""

from __future__ import annotations

from typing import Protocol

from graphdbg.client.models import NodeDetail

from .call_site import CallSite, Relation
from .graph_index import GraphIndex


class Nodes(Protocol):
    """Where the stacks of nodes come from."""

    def known_node(self, name: str) -> NodeDetail: ...

    def type_of(self, scope: str) -> str: ...


class LineGoals:
    """Finds out which nodes another line than the current one executes.

    Stacks are fetched one by one, and only once for what a line makes in a scope.
    """

    def __init__(self, nodes: Nodes, index: GraphIndex, here: int, scope: str) -> None:
        """
        Args:
            here: The node at which the program stands.
            scope: The module whose line counts.
        """
        self._nodes = nodes
        self._index = index
        self._line = index.line(here)
        name = index.name(here)
        self._site = CallSite(nodes.known_node(name), scope, nodes.type_of) if _is_forward(name) else None
        self._known: dict[tuple[int, str, int, str], Relation] = {}

    def find(self, node: int) -> bool | None:
        """Whether a node is on another line; None if that is decided by its scope."""
        if self._site is not None and _is_forward(self._index.name(node)):
            relation = self._relation(self._site, node)
            if relation is not Relation.UNRELATED:
                return relation is Relation.OTHER_LINE
        return False if self._line[1] and self._index.line(node) == self._line else None

    def _relation(self, site: CallSite, node: int) -> Relation:
        # Calls of one module differ in the numbers of its ops.
        number = self._index.label(node).rpartition("_")[2]
        key = (self._index.scope_number(node), *self._index.line(node), number if number.isdigit() else "")
        if key not in self._known:
            self._known[key] = site.relation_of(self._nodes.known_node(self._index.name(node)))
        return self._known[key]


def _is_forward(name: str) -> bool:
    """Backward ops have their forward op's line, or that of the backward pass."""
    return name.startswith("forward/")
