"""The job that the client debugs: from its connection to its end."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from ..debugger import Session, Stop
from .attaching import Attached
from .breakpoints import ClientBreakpoints
from .capabilities import changed_capabilities
from .context import Context
from .errors import NOT_ATTACHED, RequestError
from .launch_arguments import LaunchArguments
from .page import Page
from .python_debugger import NOTE
from .reporter import Reporter

MakeReporter = Callable[[Callable[[Stop | None], None]], Reporter]
_POLL_SECONDS = 0.5


class CurrentJob:
    """Begins with a job once the client has configured everything, and forgets it at its end.

    Attributes:
        configured: Set when the client has set its breakpoints.
    """

    def __init__(self, context: Context, breakpoints: ClientBreakpoints, reporter: MakeReporter, page: Page) -> None:
        """
        Args:
            reporter: Makes the receiver of a job's events, given what is called at its end.
        """
        self.configured = threading.Event()
        self._context = context
        self._breakpoints = breakpoints
        self._make_reporter = reporter
        self._page = page
        self._reporter: Reporter | None = None
        self._is_attached = False
        self._ended = threading.Event()
        self._lock = threading.Lock()

    # ---- events of the job wait while a move is answered

    def hold(self) -> None:
        if self._reporter is None:
            raise RequestError(NOT_ATTACHED)
        self._reporter.hold()

    def release(self) -> None:
        if self._reporter is not None:
            self._reporter.release()

    # ---- begin and end

    def begin(self, found: Attached, launched: LaunchArguments | None) -> threading.Event:
        """Makes the client's breakpoints, and starts or shows the job once the client has configured everything.

        Args:
            launched: How the job was launched; None for one that runs anyway.

        Returns:
            Set when the job has ended, or the client has left it.
        """
        session = found.session
        ended = self._connect(found, launched)
        changed = changed_capabilities(session, found.unsupported, launched is not None)
        if changed:
            self._context.connection.event("capabilities", {"capabilities": changed})
        for each in session.ranks():
            self._context.connection.event("thread", {"reason": "started", "threadId": each.rank + 1})
        self._breakpoints.apply(session)
        _import_numpy()
        self.configured.wait()
        # A job that was launched waits before its first step until all of its ranks are there.
        while launched and self._context.session is session and session.wait(_POLL_SECONDS) is None:
            pass
        if self._context.session is session:
            self._show(session, launched is not None and not launched.stop_on_entry)
        return ended

    def leave(self) -> Session | None:
        """Forgets the job, and returns its session, which the caller closes."""
        with self._lock:
            session, self._context.session, self._reporter = self._context.session, None, None
        self._breakpoints.detach()
        self._context.references.forget()
        self._ended.set()
        return session

    def _connect(self, found: Attached, launched: LaunchArguments | None) -> threading.Event:
        reporter = self._make_reporter(self._job_ended)
        reporter.python_note = NOTE if launched and launched.python_port else ""
        found.session.subscribe(reporter.take)
        with self._lock:
            self._context.session, self._page.http, self._reporter = found.session, found.http, reporter
            self._is_attached = launched is None
            self._ended = threading.Event()
            return self._ended

    def _show(self, session: Session, starts: bool) -> None:
        """Reports where the job stands, or starts it."""
        if self._reporter is None:
            return
        self._reporter.begin()
        stop = session.stop
        if stop is None:
            return
        if stop.has_ended:
            self._job_ended(stop)
        elif stop.reason == "entry" and starts:
            session.continue_()
        else:
            self._reporter.stopped(stop)

    def _job_ended(self, stop: Stop | None) -> None:
        session = self._context.session
        self._context.references.forget()
        for each in session.ranks() if session else []:
            self._context.connection.event("thread", {"reason": "exited", "threadId": each.rank + 1})
        if stop is not None:
            self._context.say(stop.description, "stderr" if stop.exception else "console")
            # Of a program that was launched, its process knows.
            if self._is_attached and stop.exit_code is not None:
                self._context.connection.event("exited", {"exitCode": stop.exit_code})
        self._breakpoints.detach()
        self._ended.set()


def _import_numpy() -> None:
    """Takes the time of the import before the first value is looked at."""
    with contextlib.suppress(ImportError):
        import numpy  # noqa: F401
