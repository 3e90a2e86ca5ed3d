"""A running training as a job of a server."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .. import report
from ..break_on import add_watchpoint, watchpoints_of
from ..client import Client, Json, quote
from ..errors import UNAVAILABLE, CliError
from ..job_follower import ENDED
from .attaching import Joined, detach, join
from .injection import Method
from .target_server import TargetServer, target_server

# How long the job of a process that has joined may take to appear.
_APPEAR_SECONDS = 10.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class AttachOptions:
    """How processes are attached to.

    Attributes:
        server: The address of the server; None: the only one of this machine, or else one that is started.
        token_file: The token for it.
        break_on: Conditions to watch on all tensors, as of `--break-on`.
        method: How the processes are made to run the text.
        may_compile: Compile an adapter if there is none.
    """

    server: str | None = None
    token_file: Path | None = None
    break_on: Sequence[str] = ()
    method: Method = "auto"
    may_compile: bool = False
    say: Callable[[str], None] = report.log


@dataclass
class AttachedJob:
    """A job whose processes were joined.

    Attributes:
        job: Its id.
        joined: Its processes.
    """

    server: TargetServer
    job: str
    joined: list[Joined]

    @property
    def path(self) -> str:
        return f"/jobs/{quote(self.job)}"

    def state(self) -> Json:
        """What the server says about the job."""
        return self.server.client.get(self.path)

    def leave(self, method: Method) -> None:
        """Takes the agent out of all processes that still run."""
        _leave(self.joined, method)


@contextlib.contextmanager
def attached_job(pids: Sequence[int], options: AttachOptions) -> Iterator[AttachedJob]:
    """Joins processes, the ranks of one job. A server that is started for this leaves them, and ends, at the end.

    Raises:
        CliError: One of them cannot be joined; all others were left again.
    """
    with target_server(options.server, options.token_file) as server:
        watchpoints = watchpoints_of(options.break_on, "node", server.client) if options.break_on else []
        job = join_job(pids, server, options)
        try:
            for each in watchpoints:
                add_watchpoint(each, job.path, server.client)
            yield job
        finally:
            if server.own is not None:
                job.leave(options.method)


def join_job(pids: Sequence[int], server: TargetServer, options: AttachOptions) -> AttachedJob:
    """Joins processes, the ranks of one job, to a server; none of them if one cannot be joined."""
    joined = _join_all(pids, server, options)
    return AttachedJob(server, _await_job(server.client, pids[0]), joined)


def _join_all(pids: Sequence[int], server: TargetServer, options: AttachOptions) -> list[Joined]:
    def join_one(pid: int) -> Joined | CliError:
        try:
            return join(
                pid,
                server.environment,
                method=options.method,
                may_compile=options.may_compile,
                say=options.say,
            )
        except CliError as error:
            return error

    with ThreadPoolExecutor(len(pids)) as threads:
        results = list(threads.map(join_one, pids))
    joined = [each for each in results if isinstance(each, Joined)]
    for error in results:
        if isinstance(error, CliError):
            _leave(joined, options.method)
            raise error
    return joined


def _leave(joined: Sequence[Joined], method: Method) -> None:
    for each in joined:
        with contextlib.suppress(CliError):
            detach(each.target.process.pid, method=method)


def _await_job(client: Client, pid: int) -> str:
    deadline = time.monotonic() + _APPEAR_SECONDS
    while time.monotonic() < deadline:
        for job in client.get("/jobs")["jobs"]:
            if job["state"] not in ENDED and any(rank["pid"] == pid for rank in job["ranks"]):
                return str(job["id"])
        time.sleep(_POLL_SECONDS)
    raise CliError(f"the job of process {pid} has not appeared at {client.address}", UNAVAILABLE)
