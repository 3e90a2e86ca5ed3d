"""A graph that is running."""

from __future__ import annotations

from dataclasses import dataclass

from .node_graph import NodeGraph
from .values import Value


@dataclass
class Frame:
    """One run of the model's own graph, or of a graph inside a node."""

    graph: NodeGraph
    # Values by name that may still be read, without initializers.
    values: dict[str, Value]
    # The iteration of the innermost enclosing loop, from 1; 0 outside loops.
    iteration: int = 0
