"""Starts programs, and follows the jobs in them."""

from __future__ import annotations

import contextlib
import sys
import threading
import traceback
from collections.abc import Callable, Iterator

from graphdbg.client.errors import GraphdbgError

from ..break_on import add_watchpoint, watchpoints_of
from ..client import quote
from ..server_process import ServerProcess
from .attaching import Attached, live
from .context import Context
from .current_job import CurrentJob
from .errors import report_defect, sentence
from .launch_arguments import LaunchArguments
from .program import Program
from .progress import progress
from .python_debugger import debug_python
from .wire import Json


class Launcher:
    """Runs one program at a time.

    Attributes:
        program: The program; None before the first one, and when the session has left it.
    """

    def __init__(self, context: Context, job: CurrentJob, on_end: Callable[[], None]) -> None:
        """
        Args:
            on_end: Called when the program has ended, unless the session has left it.
        """
        self.program: Program | None = None
        self._context = context
        self._job = job
        self._on_end = on_end

    def start(self, arguments: LaunchArguments, server: ServerProcess, request: Json) -> None:
        """Starts a program, and follows it on a thread of its own.

        Args:
            request: Answered when the program runs, or cannot be started.
        """
        program = Program(arguments, None if arguments.no_debug else server, self._context.connection)
        self.program = program
        threading.Thread(target=self._run, args=(program, server, request), daemon=True).start()

    def _run(self, program: Program, server: ServerProcess, request: Json) -> None:
        try:
            self._start(program)
        except Exception as error:
            # Whatever it is, the client waits for an answer.
            report_defect(error)
            self._context.connection.fail(request, error)
            self._on_end()
            return
        self._context.connection.respond(request, None)
        self._report(program)
        try:
            self._follow(program, server)
        except GraphdbgError as error:
            # A server that has ended with the session is no news.
            if self.program is program:
                self._context.say(sentence(error))
        except Exception as error:
            traceback.print_exception(error, file=sys.stderr)
            self._context.say(sentence(error))
        if self.program is program:
            code = program.exit_code()
            if code is not None:
                self._context.connection.event("exited", {"exitCode": code})
            self._on_end()

    def _start(self, program: Program) -> None:
        if program.arguments.console == "internalConsole":
            program.start()
        elif self._context.client.supports("supportsRunInTerminalRequest"):
            program.start_in_terminal()
        else:
            self._context.say("the client has no terminal for programs; the output appears here")
            program.start()

    def _report(self, program: Program) -> None:
        name, port = " ".join(program.arguments.command), program.arguments.python_port
        body: Json = {"name": name, "isLocalProcess": True, "startMethod": "launch"}
        self._context.connection.event("process", body | ({"systemProcessId": program.pid} if program.pid else {}))
        if port:
            debug_python(self._context, port, name, program.has_ended)

    def _follow(self, program: Program, server: ServerProcess) -> None:
        """Debugs the jobs that a program starts, one after the other."""
        found: Attached | None = None
        while True:
            with self._waiting(program):
                job = program.next_job()
            if job is None:
                break
            if found is not None:
                found.session.close()
            found = live(server.client, job)
            self._add_conditions(program.arguments, found, server)
            self._job.begin(found, program.arguments).wait()
            program.job_has_ended()
        if found is None and not program.arguments.no_debug and self.program is program:
            self._context.say("the program has ended, and nothing in it was debugged")

    @contextlib.contextmanager
    def _waiting(self, program: Program) -> Iterator[None]:
        if program.arguments.no_debug:
            yield
            return
        with progress(self._context, "Waiting for the job"):
            yield

    def _add_conditions(self, arguments: LaunchArguments, found: Attached, server: ServerProcess) -> None:
        for body in watchpoints_of(arguments.break_on, "node", server.client) if arguments.break_on else []:
            add_watchpoint(body, f"/jobs/{quote(found.session.name)}", server.client)
