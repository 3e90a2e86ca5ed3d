"""Declares a model's graph to the agent."""

from __future__ import annotations

from typing import Any

from .._agent import Agent, NodeDeclaration
from .model import Model
from .values import Files, describe

_EXECUTED = frozenset(("op", "input"))


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
            self.nodes.append(agent.declare(self._declaration(model.name, declaration)))
        for initializer in (i for graph in model.graph.all_graphs() for i in graph.own_initializers):
            description = describe(initializer.element, initializer.shape, self._files.address(initializer))
            self.initializers[initializer.declaration] = description
            agent.bind(self.nodes[initializer.declaration], description)

    def _declaration(self, graph: str, declaration: dict[str, Any]) -> NodeDeclaration:
        """Of the next node; declarations of the model are in executable order."""
        return NodeDeclaration(
            graph=graph,
            name=declaration["name"],
            kind=declaration["kind"],
            category=declaration["category"],
            op_type=declaration["op_type"],
            stack=declaration["stack"],
            inputs=[(self.nodes[node], slot) for node, slot in declaration["inputs"]],
            outputs=_outputs_of(declaration),
            attributes=declaration["attributes"],
            order=len(self.nodes) + 1 if declaration["kind"] in _EXECUTED else 0,
        )


def _outputs_of(declaration: dict[str, Any]) -> list[Any]:
    """Descriptions of a node's outputs; [] if a size is only known when the model runs."""
    outputs = []
    for output in declaration["outputs"]:
        if output is None or not all(size.isdigit() for size in output[1]):
            return []
        outputs.append(describe(output[0], [int(size) for size in output[1]], 0))
    return outputs
