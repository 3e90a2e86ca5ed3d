"""`threads` and `stackTrace`: ranks, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass

from ..debugger import Frame, Stop
from ..terminal import visible
from . import arguments as read
from .context import Context
from .dispatch import Handler
from .instructions import address_of
from .sources import Sources
from .wire import Json

_HINTS = {"label": "label", "python": "normal", "node": "normal", "scope": "normal"}


@dataclass(frozen=True)
class FrameReference:
    """A frame of one stop of a rank."""

    rank: int
    stop: Stop
    frame: Frame


class Stack:
    """Lists ranks and their frames."""

    def __init__(self, context: Context, sources: Sources) -> None:
        self._context = context
        self._sources = sources

    def handlers(self) -> dict[str, Handler]:
        return {"stackTrace": self._stack_trace}

    def _stack_trace(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        rank = self._context.rank(arguments)
        stop = self._context.need_stop(rank)
        session = self._context.need_session()
        frames = session.frames(rank)
        own = session.stop_frame(rank)
        first = read.number(arguments, "startFrame", 0)
        count = read.number(arguments, "levels", 0) or len(frames)
        # Clients select the first frame that is not subtle.
        shown = [
            self._frame(rank, stop, each, each.subtle or each.number < own) for each in frames[first : first + count]
        ]
        return {"stackFrames": shown, "totalFrames": len(frames)}

    def _frame(self, rank: int, stop: Stop, frame: Frame, subtle: bool) -> Json:
        body: Json = {
            "id": self._context.references.add(rank, FrameReference(rank, stop, frame)),
            "name": visible(frame.name),
            "line": self._context.client.line_to(frame.line) if frame.line else 0,
            "column": self._context.client.column_to(1) if frame.line else 0,
            "presentationHint": "subtle" if subtle else _HINTS[frame.kind],
        }
        if frame.file:
            body["source"] = self._sources.to_client(frame.file, subtle=subtle)
        address = address_of(self._context.need_session(), frame)
        return body | ({"instructionPointerReference": address} if address else {})
