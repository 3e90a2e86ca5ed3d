"""How a session gets its job, and how it ends."""

from __future__ import annotations

import contextlib
import hmac
import sys
import threading
import traceback
from collections.abc import Callable, Iterator

from graphdbg.client.errors import GraphdbgError

from ..break_on import add_watchpoint, watchpoints_of
from ..client import quote
from ..debugger import Stop
from ..terminal import visible
from . import arguments as read
from .attaching import Attached, attached, live
from .breakpoints import ClientBreakpoints
from .capabilities import changed_capabilities
from .context import Context
from .dispatch import Handler, LaterAnswer
from .errors import NOT_ATTACHED, RequestError, sentence
from .launch_arguments import LaunchArguments, launch_arguments
from .own_server import OwnServer
from .page import Page
from .program import Program
from .progress import progress
from .python_debugger import NOTE, debug_python, free_port
from .reporter import Reporter
from .wire import Json

_POLL_SECONDS = 0.5


class Lifecycle:
    """`launch`, `attach` and what ends them. One job at a time."""

    def __init__(
        self,
        context: Context,
        breakpoints: ClientBreakpoints,
        reporter: Callable[[Callable[[Stop | None], None]], Reporter],
        page: Page,
        token: str | None,
    ) -> None:
        """
        Args:
            reporter: Makes the receiver of a job's events, given what is called at its end.
            token: What `launch` and `attach` must contain, if anything.
        """
        self.server: OwnServer | None = None
        self._context = context
        self._breakpoints = breakpoints
        self._make_reporter = reporter
        self._page = page
        self._token = token
        self._program: Program | None = None
        self._launched: LaunchArguments | None = None
        self._is_attached = False
        self._stop_on_entry = False
        self._configured = threading.Event()
        self._reporter: Reporter | None = None
        self._ended = threading.Event()
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

    # ---- events of the job wait while a move is answered

    def hold(self) -> None:
        if self._reporter is None:
            raise RequestError(NOT_ATTACHED)
        self._reporter.hold()

    def release(self) -> None:
        if self._reporter is not None:
            self._reporter.release()

    # ---- launch

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
        self._start(arguments, request)
        raise LaterAnswer

    def _start(self, arguments: LaunchArguments, request: Json) -> None:
        debugged = not arguments.no_debug
        program = Program(arguments, self._need_server().process if debugged else None, self._context.connection)
        self._program = program
        threading.Thread(target=self._run, args=(program, request), daemon=True).start()

    def _run(self, program: Program, request: Json) -> None:
        """Follows a program to its end, on a thread of its own."""
        arguments = program.arguments
        try:
            if arguments.console == "integratedTerminal" and self._can_use_terminal():
                program.start_in_terminal()
            else:
                program.start()
        except (GraphdbgError, RequestError) as error:
            self._context.connection.fail(request, error)
            self._terminated()
            return
        self._context.connection.respond(request, None)
        self._report_process(program)
        if arguments.python_port:
            debug_python(self._context, arguments.python_port, _name(arguments), program.has_ended)
        try:
            self._follow(program)
        except GraphdbgError as error:
            if not self._has_terminated:
                self._say(sentence(error))
        except Exception as error:
            traceback.print_exception(error, file=sys.stderr)
            self._say(sentence(error))
        if self._program is program:
            code = program.exit_code()
            if code is not None:
                self._context.connection.event("exited", {"exitCode": code})
            self._terminated()

    def _follow(self, program: Program) -> None:
        """Debugs the jobs that a program starts, one after the other."""
        found: Attached | None = None
        while True:
            with self._waiting_for_job(program):
                job = program.next_job()
            if job is None:
                break
            if found is not None:
                found.session.close()
            found = live(self._need_server().process.client, job)
            self._add_conditions(program.arguments, found)
            self._begin(found, program.arguments).wait()
            program.job_has_ended()
        if found is None and not program.arguments.no_debug and self._program is program:
            self._say("the program has ended, and nothing in it was debugged")

    @contextlib.contextmanager
    def _waiting_for_job(self, program: Program) -> Iterator[None]:
        if program.arguments.no_debug:
            yield
            return
        with progress(self._context, "Waiting for the job"):
            yield

    def _add_conditions(self, arguments: LaunchArguments, found: Attached) -> None:
        client = self._need_server().process.client
        for body in watchpoints_of(arguments.break_on, "node", client) if arguments.break_on else []:
            add_watchpoint(body, f"/jobs/{quote(found.session.name)}", client)

    def _can_use_terminal(self) -> bool:
        if self._context.client.supports("supportsRunInTerminalRequest"):
            return True
        self._say("the client has no terminal for programs; the output appears here")
        return False

    def _report_process(self, program: Program) -> None:
        name = _name(program.arguments)
        body: Json = {"name": name, "isLocalProcess": True, "startMethod": "launch"}
        self._context.connection.event("process", body | ({"systemProcessId": program.pid} if program.pid else {}))

    # ---- attach

    def _attach(self, request: Json) -> Json | None:
        given = request.get("arguments", {})
        self._check(given)
        server = self._need_server()
        found = attached(given, server)
        if found.http is not server.process.client:
            # Nothing uses it any more.
            server.close()
        self._is_attached = True
        name = found.session.name
        self._context.connection.event("process", {"name": visible(name), "startMethod": "attach"})
        threading.Thread(target=self._follow_attached, args=(found,), daemon=True).start()
        self._context.connection.event("initialized")
        return None

    def _follow_attached(self, found: Attached) -> None:
        try:
            self._begin(found, None).wait()
        except GraphdbgError as error:
            self._say(sentence(error))
        if self._is_attached:
            self._terminated()

    # ---- a job has connected

    def _begin(self, found: Attached, launched: LaunchArguments | None) -> threading.Event:
        """Makes the client's breakpoints, and starts or shows the job once the client has configured everything.

        Args:
            launched: How the job was launched; None for one that runs anyway.

        Returns:
            Set when the job has ended, or the session leaves it.
        """
        session = found.session
        ended = self._ended = threading.Event()
        reporter = self._make_reporter(self._job_ended)
        reporter.python_note = NOTE if self._launched and self._launched.python_port else ""
        session.subscribe(reporter.take)
        with self._lock:
            self._context.session, self._page.http, self._reporter = session, found.http, reporter
        changed = changed_capabilities(session, found.unsupported, self._program is not None)
        if changed:
            self._context.connection.event("capabilities", {"capabilities": changed})
        for each in session.ranks():
            self._context.connection.event("thread", {"reason": "started", "threadId": each.rank + 1})
        self._breakpoints.apply(session)
        _import_numpy()
        self._configured.wait()
        # A job that was launched waits before its first step until all of its ranks are there.
        while launched and not self._has_terminated and session.wait(_POLL_SECONDS) is None:
            pass
        if self._has_terminated:
            return ended
        reporter.begin()
        stop = session.stop
        if stop is not None and stop.has_ended:
            self._job_ended(stop)
        elif stop is not None and stop.reason == "entry" and launched and not launched.stop_on_entry:
            session.continue_()
        elif stop is not None:
            reporter.stopped(stop)
        return ended

    def _job_ended(self, stop: Stop | None) -> None:
        session = self._context.session
        self._context.references.forget()
        for each in session.ranks() if session else []:
            self._context.connection.event("thread", {"reason": "exited", "threadId": each.rank + 1})
        if stop is not None:
            self._say(stop.description, "stderr" if stop.exception else "console")
            if self._is_attached and stop.exit_code is not None:
                self._context.connection.event("exited", {"exitCode": stop.exit_code})
        self._breakpoints.detach()
        self._ended.set()

    # ---- requests

    def _configuration_done(self, request: Json) -> Json | None:
        # The stop that is reported next must not come before the answer.
        self._context.connection.respond(request, None)
        self._configured.set()
        raise LaterAnswer

    def _threads(self, request: Json) -> Json:
        session = self._context.session
        if session is None:
            if self._launched is None:
                raise RequestError(NOT_ATTACHED)
            return {"threads": []}
        return {"threads": [{"id": each.rank + 1, "name": f"rank {each.rank}"} for each in session.ranks()]}

    def _restart(self, request: Json) -> Json | None:
        given = request.get("arguments", {}).get("arguments")
        before = self._program
        if before is None or self._launched is None:
            raise RequestError("only a program that was launched can be restarted")
        if isinstance(given, dict):
            self._launched = launch_arguments(given, free_port())
        # Its end is not the end of the session.
        self._program = None
        self._leave(before)
        self._start(self._launched, request)
        raise LaterAnswer

    def _leave(self, program: Program) -> None:
        """Ends a program, and forgets its job."""
        program.end()
        self._breakpoints.detach()
        with self._lock:
            session, self._context.session, self._reporter = self._context.session, None, None
        self._context.references.forget()
        self._ended.set()
        if session is not None:
            with contextlib.suppress(GraphdbgError):
                session.close()

    def _terminate(self, request: Json) -> Json | None:
        session, program = self._context.session, self._program
        if session is None and program is None:
            raise RequestError(NOT_ATTACHED)
        if session is None or session.kind != "live":
            if program is not None:
                program.end()
            else:
                self._terminated()
            return None
        session.terminate()
        if program is not None:
            program.end_later()
        return None

    def _disconnect(self, request: Json) -> Json | None:
        arguments = request.get("arguments", {})
        ends = read.flag(arguments, "terminateDebuggee", default=self._program is not None)
        ends = ends or (self._program is not None and self._program.needs_session)
        resume = not read.flag(arguments, "suspendDebuggee")
        self.end(terminate=ends, resume=resume)
        return None

    def end(self, *, terminate: bool | None = None, resume: bool = True) -> None:
        """Ends the session: nothing of it is left in a job that goes on. May be called twice.

        Args:
            terminate: Whether the job ends as well. Default: if the session has launched it.
            resume: Whether a job that goes on and is paused continues.
        """
        self._has_terminated = True
        self._configured.set()
        with self._lock:
            session, self._context.session, self._reporter = self._context.session, None, None
            program, self._program = self._program, None
        ends = terminate if terminate is not None else program is not None
        if session is not None:
            with contextlib.suppress(GraphdbgError):
                if ends and session.kind == "live" and session.state not in ("finished", "terminated", "lost"):
                    session.terminate()
                    session.close()
                else:
                    session.detach(resume)
        if program is not None and ends:
            program.end()
        self._ended.set()
        if self.server is not None:
            self.server.close()
            self.server = None

    # ---- helpers

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

    def _say(self, text: str, category: str = "console") -> None:
        self._context.connection.event("output", {"category": category, "output": f"{visible(text)}\n"})

    def _terminated(self) -> None:
        with self._lock:
            if self._has_terminated:
                return
            self._has_terminated = True
        self._context.connection.event("terminated")


def _import_numpy() -> None:
    """Takes the time of the import before the first value is looked at."""
    with contextlib.suppress(ImportError):
        import numpy  # noqa: F401


def _name(arguments: LaunchArguments) -> str:
    return " ".join(arguments.command)
