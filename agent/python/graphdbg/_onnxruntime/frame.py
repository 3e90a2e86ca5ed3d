"""A graph that is being run."""

from __future__ import annotations

from dataclasses import dataclass

from .node_graph import NodeGraph
from .values import Value


@dataclass
class Frame:
    """Of the model's own graph, or of one inside a node."""

    graph: NodeGraph
    # All that is known by name in it and may still be read, but initializers.
    values: dict[str, Value]
    # Of the innermost loop around it, from 1; 0: there is none.
    iteration: int = 0
