"""Joins a training that runs already, and leaves it again.

A debugger outside of the process has a line of text run here, on the main thread, between two instructions of the
program (`graphdbg attach --pid`). The text calls `join` or `detach`. Neither of them ever raises: what came of it is
answered on a socket, as one line of JSON: `state` is

    busy       nothing was changed, because this is no moment for it: try again
    already    the process is being debugged already
    started    it is debugged now; `message` says when the first step begins
    failed     nothing was changed, or everything was changed back; `message` and `traceback` say why
    detached   everything was changed back; `message` names what had to stay

This module imports nothing that a training process does not have anyway.
"""

from __future__ import annotations

import sys
from types import FrameType

from . import moments, path
from .answer import Answer
from .session import Session
from .settings import Settings
from .started import session_of_start

# Of this process; None unless it has been joined.
_session: Session | None = None


def join(text: str) -> None:
    """Joins the training in this process. `text` is JSON, see Settings."""
    global _session
    settings = Settings.parse(text)
    answer = Answer(settings.answer)
    path.take_out()
    try:
        if _session is not None and not _session.is_over:
            answer.send("already", _session.message)
            return
        problem = _problem()
        if problem:
            answer.send("already" if problem == _DEBUGGED else "failed", problem)
            return
        reason = moments.why_not_now(_caller())
        if reason:
            answer.send("busy", reason)
            return
        _session = Session(settings, answer)
        _session.join()
    except Exception as error:
        answer.fail(error)


def detach(text: str) -> None:
    """Leaves the process, also one that was started under graphdbg. `text` is JSON, see Settings."""
    global _session
    settings = Settings.parse(text)
    answer = Answer(settings.answer)
    path.take_out()
    try:
        if _session is None or _session.is_over:
            _session = session_of_start()
        if _session is None:
            answer.send("failed", "graphdbg has not joined this process")
        else:
            _session.detach(answer)
    except Exception as error:
        answer.fail(error)


_DEBUGGED = "the process has been started under graphdbg"


def _problem() -> str:
    """Why this process cannot be joined at all; "" if it can."""
    if "torch" not in sys.modules:
        return "the process has not imported PyTorch"
    report = sys.modules.get("graphdbg._exit_report")
    return _DEBUGGED if report is not None and report.has_agent() else ""


def _caller() -> FrameType | None:
    """The program's frame in which the text runs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (moments.is_own(frame) or frame.f_code.co_filename == "<string>"):
        frame = frame.f_back
    return frame
