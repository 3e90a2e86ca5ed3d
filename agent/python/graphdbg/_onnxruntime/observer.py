"""The interface through which a run in pieces reports what happens."""

from __future__ import annotations

from typing import Protocol

from .frame import Frame
from .node_graph import Input, Node, NodeGraph
from .values import Value


class Observer(Protocol):
    def number(self, declaration: int) -> int:
        """The observer's number of the node with this declaration."""

    def is_wanted(self, node: Node) -> bool:
        """Whether the node's executions are to be reported now."""

    def is_inside_required(self, node: Node) -> bool:
        """Whether executions of nodes inside this node must be reported."""

    def given(self, frame: Frame, argument: Input) -> None:
        """An input of the frame's graph has its value."""

    def executed(self, frame: Frame, node: Node, inside: NodeGraph | None = None) -> None:
        """A node has its outputs. `inside` is the graph inside it that was run node by node, if any."""

    def forget(self, value: Value) -> None:
        """The value is not read again."""

    def notify(self, line: str) -> None:
        """Shows a line to the user."""
