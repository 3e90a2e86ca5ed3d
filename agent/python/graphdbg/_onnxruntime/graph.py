"""Declares a model's graph to the agent."""

from __future__ import annotations

from typing import Any

from .agent import Agent
from .model import Model
from .values import Files, describe


class Graph:
    def __init__(self, agent: Agent, model: Model) -> None:
        """Declares all nodes of the model as a graph of the job. Raises TooLarge."""
        self._files = Files()
        # The agent's numbers of the nodes, by declaration.
        self.nodes: list[int] = []
        # Descriptions of initializers, by declaration.
        self.initializers: dict[int, Any] = {}
        for name, type_name in model.scopes.items():
            agent.declare_scope(model.name, name, type_name)
        for declaration in model.declarations:
            self.nodes.append(agent.declare(model.name, declaration, self.nodes, _outputs_of(declaration)))
        for initializer in (i for graph in model.graph.all_graphs() for i in graph.own_initializers):
            description = describe(initializer.element, initializer.shape, self._files.address(initializer))
            self.initializers[initializer.declaration] = description
            agent.bind(self.nodes[initializer.declaration], description)


def _outputs_of(declaration: dict[str, Any]) -> list[Any]:
    """Descriptions of a node's outputs; [] if a size is only known when the model runs."""
    outputs = []
    for output in declaration["outputs"]:
        if output is None or not all(size.isdigit() for size in output[1]):
            return []
        outputs.append(describe(output[0], [int(size) for size in output[1]], 0))
    return outputs
