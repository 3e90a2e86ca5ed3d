"""Stays with an attached job whose server was started for it."""

from __future__ import annotations

import threading

from .. import report
from ..errors import CliError
from ..finding_actions import FindingActions
from ..job_follower import JobFollower, RunOptions
from .attached_job import AttachedJob

_POLL_SECONDS = 0.1


def stay(job: AttachedJob, ended: threading.Event) -> None:
    """Reports the job's hits until it ends, or until the event is set."""
    actions = FindingActions()
    follower = JobFollower(job.server.client, RunOptions(wait=False), [], job.state(), actions)
    try:
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
