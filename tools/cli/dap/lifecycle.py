"""The requests that give a session its job, and that end it."""

from __future__ import annotations

import contextlib
import hmac
import threading
from collections.abc import Callable

from graphdbg.client.errors import GraphdbgError

from ..break_on import watchpoints_of
from ..terminal import visible
from . import arguments as read
from .attaching import Attached, attached
from .context import Context
from .current_job import CurrentJob
from .dispatch import Handler, LaterAnswer
from .errors import NOT_ATTACHED, RequestError, sentence
from .launch_arguments import LaunchArguments, launch_arguments
from .launching import Launcher
from .own_server import OwnServer
from .python_debugger import free_port
from .wire import Json

_ENDED = ("finished", "terminated", "lost")


class Lifecycle:
    """`launch`, `attach` and what ends them. One job at a time.

    Attributes:
        server: The server of the session; None before `initialize` and at the end.
    """

    def __init__(self, context: Context, job: CurrentJob, token: str | None) -> None:
        """
        Args:
            token: What `launch` and `attach` must contain, if anything.
        """
        self.server: OwnServer | None = None
        self._context = context
        self._job = job
        self._token = token
        self._launcher = Launcher(context, job, self._terminated)
        self._launched: LaunchArguments | None = None
        self._is_attached = False
        # Takes the agent out of a process that the session has attached to.
        self._leave: Callable[[], None] = lambda: None
        self._has_terminated = False
        self._lock = threading.Lock()

    def handlers(self) -> dict[str, Handler]:
        return {
            "launch": self._launch,
            "attach": self._attach,
            "configurationDone": self._configuration_done,
            "threads": self._threads,
            "restart": self._restart,
            "terminate": self._terminate,
            "disconnect": self._disconnect,
        }

    def end(self, *, terminate: bool | None = None, resume: bool = True) -> None:
        """Ends the session: nothing of it is left in a job that goes on. May be called twice.

        Args:
            terminate: Whether the job ends as well. Default: if the session has launched it.
            resume: Whether a job that goes on and is paused continues.
        """
        with self._lock:
            self._has_terminated = True
            program, self._launcher.program = self._launcher.program, None
        ends = terminate if terminate is not None else program is not None
        session = self._job.leave()
        self._job.configured.set()
        if session is not None:
            with contextlib.suppress(GraphdbgError):
                if ends and session.kind == "live" and session.state not in _ENDED:
                    session.terminate()
                    session.close()
                else:
                    session.detach(resume)
        if program is not None and ends:
            program.end()
        leave, self._leave = self._leave, lambda: None
        leave()
        if self.server is not None:
            self.server.close()
            self.server = None

    # ---- begin

    def _launch(self, request: Json) -> Json | None:
        given = request.get("arguments", {})
        self._check(given)
        arguments = launch_arguments(given, free_port())
        server = self._need_server()
        # A typing error is reported before minutes of start, rather than after them.
        watchpoints_of(arguments.break_on, "node", server.process.client)
        self._launched = arguments
        # Clients expect this soon, and a job may take long to come.
        self._context.connection.event("initialized")
        self._launcher.start(arguments, server.process, request)
        raise LaterAnswer

    def _attach(self, request: Json) -> Json | None:
        given = request.get("arguments", {})
        self._check(given)
        server = self._need_server()
        found = attached(given, server)
        if found.http is not server.process.client:
            # Nothing uses it any more.
            server.close()
        self._is_attached = True
        self._leave = found.leave
        self._context.connection.event("process", {"name": visible(found.session.name), "startMethod": "attach"})
        threading.Thread(target=self._follow, args=(found,), daemon=True).start()
        self._context.connection.event("initialized")
        return None

    def _follow(self, found: Attached) -> None:
        """Waits for the end of the job that the session is attached to, on a thread of its own."""
        try:
            self._job.begin(found, None).wait()
        except GraphdbgError as error:
            self._context.say(sentence(error))
        self._terminated()

    def _check(self, given: Json) -> None:
        if self._launched is not None or self._is_attached:
            raise RequestError("this session has a job already")
        if self._token is not None:
            token = given.get("token")
            if not isinstance(token, str) or not hmac.compare_digest(token.encode(), self._token.encode()):
                raise RequestError("token: this is not the token of `graphdbg dap --token`", show=True)

    def _need_server(self) -> OwnServer:
        if self.server is None:
            raise RequestError("the session has ended")
        return self.server

    def _configuration_done(self, request: Json) -> Json | None:
        # The stop that is reported next must not come before the answer.
        self._context.connection.respond(request, None)
        self._job.configured.set()
        raise LaterAnswer

    def _threads(self, request: Json) -> Json:
        session = self._context.session
        if session is None:
            if self._launched is None:
                raise RequestError(NOT_ATTACHED)
            return {"threads": []}
        return {"threads": [{"id": each.rank + 1, "name": f"rank {each.rank}"} for each in session.ranks()]}

    # ---- end

    def _restart(self, request: Json) -> Json | None:
        given = request.get("arguments", {}).get("arguments")
        before = self._launcher.program
        if before is None or self._launched is None:
            raise RequestError("only a program that was launched can be restarted")
        if isinstance(given, dict):
            self._launched = launch_arguments(given, free_port())
        # Its end is not the end of the session.
        self._launcher.program = None
        before.end()
        session = self._job.leave()
        if session is not None:
            with contextlib.suppress(GraphdbgError):
                session.close()
        self._launcher.start(self._launched, self._need_server().process, request)
        raise LaterAnswer

    def _terminate(self, request: Json) -> Json | None:
        session, program = self._context.session, self._launcher.program
        if session is not None and session.kind == "live":
            session.terminate()
            if program is not None:
                program.end_later()
        elif program is not None:
            program.end()
        elif session is not None:
            self._terminated()
        else:
            raise RequestError(NOT_ATTACHED)
        return None

    def _disconnect(self, request: Json) -> Json | None:
        arguments, program = request.get("arguments", {}), self._launcher.program
        ends = read.flag(arguments, "terminateDebuggee", default=program is not None)
        resume = not read.flag(arguments, "suspendDebuggee")
        self.end(terminate=ends or (program is not None and program.needs_session), resume=resume)
        return None

    def _terminated(self) -> None:
        with self._lock:
            if self._has_terminated:
                return
            self._has_terminated = True
        self._context.connection.event("terminated")
