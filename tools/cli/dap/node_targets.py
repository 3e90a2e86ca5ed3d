"""Nodes that a client can have the job run to: `gotoTargets` and `stepInTargets`."""

from __future__ import annotations

from dataclasses import dataclass

from ..debugger.graph_index import GraphIndex
from . import arguments as read
from .context import Context
from .dispatch import Handler
from .errors import RequestError
from .sources import Sources
from .stack import FrameReference
from .wire import Json

# Nodes after the current one that are offered.
_AHEAD = 20


@dataclass(frozen=True)
class NodeTarget:
    """A node that can be run to."""

    node: str


def node_of(context: Context, target: object) -> str:
    """The node of a target's number."""
    value = context.references.get(target)
    if not isinstance(value, NodeTarget):
        raise RequestError(f"{target} is not a target")
    return value.node


class NodeTargets:
    """Answers which nodes a line has, and which ones follow."""

    def __init__(self, context: Context, sources: Sources) -> None:
        self._context = context
        self._sources = sources

    def handlers(self) -> dict[str, Handler]:
        return {"gotoTargets": self._goto_targets, "stepInTargets": self._step_in_targets}

    def _goto_targets(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        file = self._sources.file_of(arguments.get("source"))
        line = self._context.client.line_from(arguments.get("line"))
        session = self._context.need_session()
        index = session.graph_index()
        rank = session.rank
        targets = [self._target(index, node, rank) for node in index.lines_of(file).get(line, [])]
        return {"targets": [target | {"line": self._context.client.line_to(line)} for target in targets]}

    def _step_in_targets(self, request: Json) -> Json:
        reference = self._context.references.get(read.number(request.get("arguments", {}), "frameId"))
        if not isinstance(reference, FrameReference):
            raise RequestError("frameId is not the number of a frame")
        index = self._context.need_session().graph_index()
        node = index.node_of(reference.stop.node) if reference.stop.node else None
        place = -1 if node is None else index.place.get(node, -1)
        ahead = index.execution[place + 1 : place + 1 + _AHEAD]
        return {"targets": [self._target(index, each, reference.rank) for each in ahead]}

    def _target(self, index: GraphIndex, node: int, rank: int) -> Json:
        name = index.name(node)
        _, line = index.line(node)
        place = {"line": self._context.client.line_to(line)} if line else {}
        return {"id": self._context.references.add(rank, NodeTarget(name)), "label": name, **place}
