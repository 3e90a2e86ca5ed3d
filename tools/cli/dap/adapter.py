"""One debug session of a client."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future
from typing import BinaryIO

from graphdbg.client.errors import GraphdbgError

from . import arguments as read
from .breakpoints import ClientBreakpoints
from .capabilities import capabilities
from .changes import Changes
from .client_info import ClientInfo
from .connection import Connection
from .context import Context
from .current_job import CurrentJob
from .data_breakpoints import DataBreakpoints
from .dispatch import Dispatcher, Handler
from .errors import RequestError
from .evaluation import Evaluation
from .exceptions import Exceptions
from .hovered import Hovered
from .instructions import Instructions
from .lifecycle import Lifecycle
from .line_values import LineValues
from .memory import Memory
from .moves import Moves
from .node_targets import NodeTargets
from .own_server import OwnServer
from .page import Page
from .reporter import Reporter
from .scopes import Scopes
from .sources import Sources
from .stack import Stack
from .wire import Json

# They read values, of which there may be many.
_LONG = frozenset({"variables", "readMemory", "evaluate", "graphdbg/lineValues"})
_UNCHANGEABLE = ("setVariable", "setExpression", "writeMemory")


class Adapter:
    """Connects the parts, and answers `initialize` and `cancel` itself."""

    def __init__(self, connection: Connection, server: Future[OwnServer], token: str | None = None) -> None:
        """
        Args:
            server: The server of the session, which may still be starting. It ends with the session.
            token: What `launch` and `attach` must contain, if anything.
        """
        self._context = context = Context(connection)
        self._server = server
        self._initialized = False
        sources, page, memory = Sources(context), Page(context), Memory(context)
        breakpoints = ClientBreakpoints(context, sources)
        changes = Changes(context, sources, memory)
        job = CurrentJob(context, breakpoints, lambda end: Reporter(context, sources, breakpoints, changes, end), page)
        self._lifecycle = Lifecycle(context, job, token)
        parts = (
            *(sources, page, breakpoints, self._lifecycle, Moves(context, job), Stack(context, sources)),
            *(Scopes(context), Evaluation(context), memory, Exceptions(context), DataBreakpoints(context)),
            *(Instructions(context, sources), NodeTargets(context, sources), LineValues(context, sources, page)),
            Hovered(context, sources),
        )
        handlers: dict[str, Handler] = {"initialize": self._initialize, "cancel": self._cancel}
        for part in parts:
            handlers |= part.handlers()
        handlers |= dict.fromkeys(_UNCHANGEABLE, _refuse_change)
        self._dispatcher = Dispatcher(connection, {name: self._guarded(name, each) for name, each in handlers.items()})

    def run(self, stream: BinaryIO) -> None:
        """Answers requests until the client disconnects.

        Raises:
            MalformedMessageError: The client sent what cannot be answered.
        """
        self._dispatcher.run(stream, _LONG)

    def close(self) -> None:
        """Ends what is left of the session. May be called twice."""
        self._lifecycle.end()
        # Without `initialize` nobody has taken it.
        with contextlib.suppress(GraphdbgError):
            self._server.result().close()

    def _guarded(self, name: str, handler: Handler) -> Handler:
        def handle(request: Json) -> Json | None:
            if not self._initialized and name not in ("initialize", "disconnect"):
                raise RequestError("the first request must be initialize")
            body = handler(request)
            if name == "disconnect":
                self._dispatcher.stop()
            return body

        return handle

    def _initialize(self, request: Json) -> Json:
        if self._initialized:
            raise RequestError("this session is initialized already")
        self._context.client = ClientInfo.from_arguments(request.get("arguments", {}))
        try:
            server = self._server.result()
        except GraphdbgError as error:
            raise RequestError(str(error), show=True) from None
        self._lifecycle.server = server
        self._initialized = True
        return capabilities(server.conditions())

    def _cancel(self, request: Json) -> None:
        number = request.get("arguments", {}).get("requestId")
        if number is not None:
            self._dispatcher.cancel(number)


def _refuse_change(request: Json) -> Json:
    name = read.optional_text(request.get("arguments", {}), "name") or "the value"
    raise RequestError(f"{name} cannot be changed: values of a job can only be read")
