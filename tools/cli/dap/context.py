"""What the parts of one debug session share."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

from graphdbg.client.errors import GraphdbgError

from ..debugger import Session, Stop
from ..terminal import visible
from .client_info import ClientInfo
from .connection import Connection
from .dispatch import LaterAnswer
from .errors import EARLIER_STOP, NOT_ATTACHED, RequestError, sentence
from .references import References
from .wire import Json


class HeldEvents(Protocol):
    """Events of the job that wait until the answer to a move is sent."""

    def hold(self) -> None: ...

    def release(self) -> None: ...


class Context:
    """The connection, the client, and the job once there is one.

    Attributes:
        connection: Sends to the client.
        client: What the client has said in `initialize`.
        references: The numbers of frames and values.
        session: The job; None before it has connected.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.client = ClientInfo()
        self.references = References()
        self.session: Session | None = None
        self._rank_lock = threading.RLock()

    def need_session(self) -> Session:
        if self.session is None:
            raise RequestError(NOT_ATTACHED)
        return self.session

    def rank(self, arguments: Json) -> int:
        """The rank of `threadId`; the current one if there is none."""
        session = self.need_session()
        thread = arguments.get("threadId")
        if thread is None:
            return session.rank
        if type(thread) is not int or thread - 1 not in {each.rank for each in session.ranks()}:
            raise RequestError(f"there is no thread {thread}; rank R is thread R + 1")
        return thread - 1

    def need_stop(self, rank: int) -> Stop:
        """Where a rank stands, which must not be running."""
        stop = self.need_session().stop_of(rank)
        if stop is None:
            raise RequestError(f"rank {rank} is running; pause it first")
        return stop

    def say(self, text: str, category: str = "console") -> None:
        """Prints a line in the client's console."""
        self.connection.event("output", {"category": category, "output": f"{visible(text)}\n"})

    @contextlib.contextmanager
    def on_rank(self, rank: int) -> Iterator[Session]:
        """Evaluates on a rank. The debugger has one current rank, so that others wait meanwhile."""
        session = self.need_session()
        with self._rank_lock:
            if session.rank != rank:
                session.select_rank(rank)
            yield session

    @contextlib.contextmanager
    def within_stop(self, reference: object) -> Iterator[None]:
        """Refuses what was found if the rank has moved meanwhile: it may be a value of the next stop."""
        self.references.get(reference)
        yield
        if type(reference) is int and not self.references.is_valid(reference):
            raise RequestError(EARLIER_STOP)


def answer_move(
    context: Context, events: HeldEvents, request: Json, rank: int | None, move: Callable[[], None], body: Json | None
) -> None:
    """Moves the job, and answers before the stop that follows is reported, as the protocol demands.

    Args:
        rank: The rank that moves; None: all.

    Raises:
        LaterAnswer: Always, because the request is answered then.
    """
    events.hold()
    try:
        try:
            move()
        except GraphdbgError as error:
            # Nobody looks at the answer to a click on a button.
            raise RequestError(sentence(error), show=True) from None
        context.references.forget(rank)
        context.connection.respond(request, body)
    finally:
        events.release()
    raise LaterAnswer
