"""Stays with an attached job whose server was started for it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

from .. import report
from ..errors import CliError
from ..finding_actions import FindingActions
from ..job_follower import JobFollower, RunOptions
from .attached_job import AttachedJob

_POLL_SECONDS = 0.1


def stay(job: AttachedJob) -> None:
    """Reports the job's hits until it ends, or until Ctrl-C or a signal that ends this process."""
    actions = FindingActions()
    follower = JobFollower(job.server.client, RunOptions(wait=False), [], job.state(), actions)
    try:
        with _ended_by_signals() as ended:
            while not follower.ended and not ended.wait(_POLL_SECONDS):
                follower.update(job.state())
    except CliError as error:
        # Its server is gone.
        report.log(f"{error}; the training continues")
    finally:
        follower.rules.close()
        actions.close()
    if follower.ended:
        report.log(f"job {job.job}: {follower.job['state']} after {follower.job['step']} steps")
    else:
        report.log("detaching; the training continues")


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[threading.Event]:
    """An event that SIGINT, SIGTERM and SIGHUP set meanwhile."""
    ended = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, lambda *_: ended.set()) for number in numbers}
    try:
        yield ended
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
