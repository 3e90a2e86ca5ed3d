"""Nodes as instructions: the client's view of disassembled code lists the ops in the order of execution."""

from __future__ import annotations

from ..debugger import Frame, Session
from ..debugger.graph_index import GraphIndex
from ..terminal import visible
from . import arguments as read
from .context import Context
from .dispatch import Handler
from .errors import RequestError
from .sources import Sources
from .wire import Json

_MOST = 10_000
# Clients also ask for what is before the first node, and sort by address.
_FIRST_ADDRESS = 0x100000


def address_of(session: Session, frame: Frame) -> str | None:
    """The address of the node of a frame: its place in the order of execution.

    Clients sort instructions by address. It is valid until nodes are added to the graph.
    """
    if frame.kind != "node":
        return None
    index = session.graph_index()
    node = index.node_of(frame.name)
    place = None if node is None else index.place.get(node)
    return None if place is None else _address(place)


def node_at(index: GraphIndex, reference: object, offset: int = 0) -> str:
    """The name of the node at an address, or of the node that is named itself."""
    place = _place(index, reference) + offset
    if not 0 <= place < len(index.execution):
        raise RequestError(f"there is no node at {reference}")
    return index.name(index.execution[place])


class Instructions:
    """Answers `disassemble`."""

    def __init__(self, context: Context, sources: Sources) -> None:
        self._context = context
        self._sources = sources

    def handlers(self) -> dict[str, Handler]:
        return {"disassemble": self._disassemble}

    def _disassemble(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        index = self._context.need_session().graph_index()
        count = read.number(arguments, "instructionCount")
        if count > _MOST:
            raise RequestError(f"instructionCount must be at most {_MOST}")
        first = _place(index, arguments.get("memoryReference"))
        first += _offset(arguments, "offset") + _offset(arguments, "instructionOffset")
        return {"instructions": [self._instruction(index, place) for place in range(first, first + count)]}

    def _instruction(self, index: GraphIndex, place: int) -> Json:
        if not 0 <= place < len(index.execution):
            # Exactly as many as were asked for must be returned.
            return {"address": _address(place), "instruction": "", "presentationHint": "invalid"}
        node = index.execution[place]
        name, (file, line) = index.name(node), index.line(node)
        text = f"{index.op_type(node)} {index.output(node)}".strip()
        body: Json = {"address": _address(place), "instruction": visible(f"{name}  {text}"), "symbol": visible(name)}
        if file:
            body |= {"location": self._sources.to_client(file), "line": self._context.client.line_to(line)}
        return body


def _address(place: int) -> str:
    return hex(_FIRST_ADDRESS + place)


def _place(index: GraphIndex, reference: object) -> int:
    if not isinstance(reference, str):
        raise RequestError("memoryReference must be a text")
    try:
        return int(reference, 0) - _FIRST_ADDRESS
    except ValueError:
        node = index.node_of(reference)
    if node is None or node not in index.place:
        raise RequestError(f"no op is called {visible(reference)}")
    return index.place[node]


def _offset(arguments: Json, name: str) -> int:
    value = arguments.get(name) or 0
    if type(value) is not int:
        raise RequestError(f"{name} must be a whole number")
    return value
