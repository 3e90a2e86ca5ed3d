"""Requests that move the job."""

from __future__ import annotations

from collections.abc import Callable

from ..debugger import Session
from . import arguments as read
from .context import Context, HeldEvents, answer_move
from .dispatch import Handler
from .errors import RequestError
from .node_targets import node_of
from .wire import Json

Move = Callable[[Session, int | None], None]


class Moves:
    """`continue`, `pause` and the steps."""

    def __init__(self, context: Context, events: HeldEvents) -> None:
        self._context = context
        self._events = events

    def handlers(self) -> dict[str, Handler]:
        return {
            "continue": self._continue,
            "reverseContinue": self._reverse_continue,
            "next": self._next,
            "stepIn": self._step_in,
            "stepOut": self._step_out,
            "stepBack": self._step_back,
            "goto": self._goto,
            "pause": self._pause,
        }

    def _continue(self, request: Json) -> Json | None:
        arguments = request.get("arguments", {})
        rank = self._context.rank(arguments) if read.flag(arguments, "singleThread") else None
        session = self._context.need_session()
        return self._move(request, rank, lambda: session.continue_(rank), {"allThreadsContinued": rank is None})

    def _reverse_continue(self, request: Json) -> Json | None:
        return self._move(request, None, self._context.need_session().reverse_continue)

    def _next(self, request: Json) -> Json | None:
        arguments = request.get("arguments", {})
        session, rank = self._context.need_session(), self._context.rank(arguments)
        line = _granularity(arguments) != "instruction"
        return self._move(request, rank, lambda: session.next(rank, line=line, frame=None if line else 0))

    def _step_in(self, request: Json) -> Json | None:
        arguments = request.get("arguments", {})
        session, rank = self._context.need_session(), self._context.rank(arguments)
        if "targetId" not in arguments:
            line = _granularity(arguments) != "instruction"
            return self._move(request, rank, lambda: _into(session, rank, line))
        node = node_of(self._context, arguments["targetId"])
        return self._move(request, rank, lambda: session.until(node, rank))

    def _step_out(self, request: Json) -> Json | None:
        session, rank = self._context.need_session(), self._context.rank(request.get("arguments", {}))
        return self._move(request, rank, lambda: session.finish(rank))

    def _step_back(self, request: Json) -> Json | None:
        arguments = request.get("arguments", {})
        session = self._context.need_session()
        if _granularity(arguments) == "instruction":
            return self._move(request, None, session.reverse_step_node)
        return self._move(request, None, session.reverse_next)

    def _goto(self, request: Json) -> Json | None:
        arguments = request.get("arguments", {})
        session, rank = self._context.need_session(), self._context.rank(arguments)
        node = node_of(self._context, arguments.get("targetId"))
        return self._move(request, rank, lambda: session.until(node, rank))

    def _pause(self, request: Json) -> Json | None:
        # Ranks wait for each other, so that all are asked.
        self._context.need_session().pause()
        return None

    def _move(self, request: Json, rank: int | None, move: Callable[[], None], body: Json | None = None) -> Json | None:
        answer_move(self._context, self._events, request, rank, move, body)
        return None


def _into(session: Session, rank: int, line: bool) -> None:
    """Into the module that the line calls at which the user stands, or to the next node."""
    if not line or not session.enter(rank):
        session.step_node(rank)


def _granularity(arguments: Json) -> str:
    value = read.optional_text(arguments, "granularity") or "statement"
    if value not in ("statement", "line", "instruction"):
        raise RequestError("granularity must be statement, line or instruction")
    return value
