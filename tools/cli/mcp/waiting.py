"""Waits until a job stops or ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from graphdbg.client import GraphdbgError, Job, JobInfo, WaitTimeoutError

from .processes import Child
from .subjects import Subject
from .workspace import Workspace

# How soon a wait notices that the session is over, or that a command has ended without a job.
_SLICE_SECONDS = 0.25
_POLL_SECONDS = 0.05
# Commands continue their jobs after adding watchpoints.
CONTINUED_AT_START = ("start",)


@dataclass(frozen=True)
class Outcome:
    """What a wait has ended with.

    Attributes:
        subject, info: The job that has stopped or ended, or still runs; None if the command has had none.
        timed_out: Whether it still runs.
    """

    subject: Subject | None
    info: JobInfo | None
    timed_out: bool = False


def after_command(
    workspace: Workspace, subject: Subject, seconds: float, command: Callable[[Job], None] | None
) -> Outcome:
    """Sends a command to a job, and waits for the stop that follows it.

    Args:
        seconds: How long to wait at most.
        command: What to send; None: nothing, so that a job that is paused ends the wait at once.
    """
    deadline = time.monotonic() + seconds
    job = subject.job()
    try:
        if command is not None:
            command(job)
        info = _stopped(workspace, job, deadline)
    finally:
        job.close()
    if info is None:
        return Outcome(subject, subject.info(), timed_out=True)
    if info.has_ended and subject.child is not None:
        # The command may start another job.
        return _of_command(workspace, subject.child, deadline) or Outcome(subject, info)
    return Outcome(subject, info)


def of_command(
    workspace: Workspace, child: Child, seconds: float, passing: Collection[str] = CONTINUED_AT_START
) -> Outcome:
    """Waits for the first stop of a command's jobs, or for its end.

    Args:
        passing: Reasons of pauses that the command itself ends.
    """
    deadline = time.monotonic() + seconds
    found = _of_command(workspace, child, deadline, passing)
    return found or Outcome(None, None, timed_out=child.is_running() and child.result() is None)


def _stopped(workspace: Workspace, job: Job, deadline: float) -> JobInfo | None:
    """The job when it is paused or has ended; None after the deadline."""
    while not workspace.closed.is_set():
        left = deadline - time.monotonic()
        try:
            return job.wait_for_stop(max(0.0, min(left, _SLICE_SECONDS)))
        except WaitTimeoutError:
            if left <= 0:
                return None
    return None


def _of_command(
    workspace: Workspace, child: Child, deadline: float, passing: Collection[str] = CONTINUED_AT_START
) -> Outcome | None:
    """The next stop of a command's jobs, or their state at the end or the deadline. None: it has had none."""
    client = workspace.server_of(child)
    newest: Outcome | None = None
    while client is not None and not workspace.closed.is_set():
        # The result is there when all jobs have reported their ends.
        has_result = child.result() is not None or not child.is_running()
        try:
            jobs = [JobInfo.from_json(each) for each in client.http.get("/jobs")["jobs"]]
        except GraphdbgError:
            if child.is_running():
                raise
            return newest
        for info in sorted(jobs, key=lambda each: each.created_at):
            subject = Subject(client, info.id, child=child)
            newest = Outcome(subject, info, timed_out=not info.has_ended and not has_result)
            if info.is_paused and info.pause_reason not in passing:
                workspace.make_current(subject)
                return Outcome(subject, info)
        if has_result or time.monotonic() > deadline:
            break
        time.sleep(_POLL_SECONDS)
    if newest is not None and newest.subject is not None:
        workspace.make_current(newest.subject)
    return newest
