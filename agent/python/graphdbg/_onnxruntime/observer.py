"""Who is told what happens while a model is run in pieces."""

from __future__ import annotations

from typing import Protocol

from .frame import Frame
from .node_graph import Input, Node, NodeGraph
from .values import Value


class Observer(Protocol):
    def number(self, declaration: int) -> int:
        """What the observer calls the node that is declared under this number."""

    def is_wanted(self, node: Node) -> bool:
        """Whether it wants to be told of the node's values, at this moment."""

    def is_looked_into(self, node: Node) -> bool:
        """Whether it wants to be told of any inside the node's graphs."""

    def given(self, frame: Frame, argument: Input) -> None:
        """An input of the frame's graph has its value."""

    def executed(self, frame: Frame, node: Node, inside: NodeGraph | None = None) -> None:
        """A node has its outputs. `inside`: of the graphs inside it, the one that was run node by node."""

    def forget(self, value: Value) -> None:
        """Nobody reads the value any more."""

    def notify(self, line: str) -> None:
        """Something that a person should know."""
