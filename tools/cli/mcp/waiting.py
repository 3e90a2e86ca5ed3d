"""Waits until a job stops or ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from graphdbg.client import GraphdbgError, Job, JobInfo, WaitTimeoutError

from .processes import Child
from .subjects import Subject
from .workspace import Workspace

# How soon a wait notices that the session is over, or that a command has ended without a job.
_SLICE_SECONDS = 0.25
_POLL_SECONDS = 0.05
_END_SECONDS = 3.0


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


def of_command(workspace: Workspace, child: Child, seconds: float) -> Outcome:
    """Waits for the first stop of a command's jobs, or for its end."""
    found = _of_command(workspace, child, time.monotonic() + seconds)
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


def _of_command(workspace: Workspace, child: Child, deadline: float) -> Outcome | None:
    """The next stop of a command's jobs, or their state at the end or the deadline. None: it has had none."""
    newest: Outcome | None = None
    while not workspace.closed.is_set():
        # The result is there when all jobs have reported their ends.
        is_over = child.result() is not None or not child.is_running()
        for subject, info in _jobs_of(workspace, child):
            newest = Outcome(subject, info, timed_out=not info.has_ended and not is_over)
            if info.is_paused and info.pause_reason not in child.passing:
                workspace.make_current(subject)
                return Outcome(subject, info)
        if is_over or time.monotonic() > deadline:
            break
        time.sleep(_POLL_SECONDS)
    if newest is not None and newest.subject is not None:
        workspace.make_current(newest.subject)
    return newest


def _jobs_of(workspace: Workspace, child: Child) -> list[tuple[Subject, JobInfo]]:
    """The jobs of a command, in the order in which they have begun."""
    try:
        client = workspace.server_of(child)
        jobs = [] if client is None else [JobInfo.from_json(each) for each in client.http.get("/jobs")["jobs"]]
    except GraphdbgError:
        # A command that cannot be started takes its server with it.
        if child.has_ended(_END_SECONDS):
            return []
        raise
    return [(Subject(client, each.id, child=child), each) for each in sorted(jobs, key=_begin) if client is not None]


def _begin(info: JobInfo) -> str:
    return info.created_at
