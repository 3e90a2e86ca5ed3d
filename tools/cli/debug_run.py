"""Runs one job with a server that runs only for it, until the job ends."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Literal

from . import report
from .break_on import conditions_of
from .client import ApiError, Json, quote
from .configuration import JobConfiguration, watchpoint_bodies
from .errors import CliError
from .job_process import JobProcess, signals_to
from .run_directory import run_directory
from .server_process import ServerProcess

OnHit = Literal["pause", "continue", "terminate"]

_POLL_SECONDS = 0.05
# The time that a terminated job has for its `finally` blocks and exit handlers. Then
# it gets SIGTERM.
_TERMINATE_SECONDS = 15.0


@dataclasses.dataclass
class RunOptions:
    """The options of `graphdbg run`."""

    wait: bool = True
    steps: int | None = None
    break_on: Sequence[str] = ()
    on_hit: OnHit = "pause"
    port: int = 0
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    configuration: JobConfiguration = dataclasses.field(default_factory=JobConfiguration)
    # Called once with the page's address.
    announce: Callable[[str], None] = report.log_page


def debug(command: Sequence[str], options: RunOptions) -> Json:
    """Runs `command` to its end and returns the result object."""
    with run_directory() as directory:
        server = ServerProcess(directory, options.port, temporary=True)
        try:
            return _Follower(command, options, server).follow()
        finally:
            server.stop()


class _Follower:
    def __init__(self, command: Sequence[str], options: RunOptions, server: ServerProcess) -> None:
        self._options = options
        self._server = server
        self._client = server.client
        pause = "none" if options.on_hit == "continue" else "node"
        conditions = conditions_of(options.break_on, self._client) if options.break_on else []
        self._watchpoints = [{"condition": condition, "pause": pause} for condition in conditions]
        self._watchpoints += watchpoint_bodies(options.configuration, pause, self._client)
        options.announce(server.url)
        self._began = time.monotonic()
        self._process = JobProcess(command, server, options.environment | options.configuration.environment)
        self._path = f"/jobs/{quote(self._process.id)}"
        self._started = False
        self._hits_logged = 0
        self._terminate_deadline: float | None = None
        self._server_lost = False
        # The job as the server last reported it, for the result.
        self._job: Json | None = None

    def follow(self) -> Json:
        with signals_to(self._process):
            while self._process.poll() is None:
                self._poll_job()
                time.sleep(_POLL_SECONDS)
        return self._result(time.monotonic() - self._began)

    def _poll_job(self) -> None:
        job = self._fetch_job()
        if job is None:
            return
        self._log_new_hits(job)
        if not self._started and "control" not in job.get("allowed", ["control"]):
            self._started = True
            report.log("GRAPHDBG_ALLOW lacks control: the job can only be looked at, without --break-on and --steps")
        if self._terminate_deadline is not None:
            if time.monotonic() > self._terminate_deadline:
                self._process.end()
            return
        if job["state"] != "paused":
            return
        if not self._started and job["pause_reason"] == "start":
            self._start()
        elif self._is_over(job):
            self._terminate()

    def _is_over(self, job: Json) -> bool:
        if job["pause_reason"] == "watchpoint" and self._options.on_hit == "terminate":
            return True
        return self._options.steps is not None and job["step"] >= self._options.steps

    def _fetch_job(self) -> Json | None:
        if self._server_lost:
            return None
        try:
            self._job = self._client.get(self._path)
        except ApiError as error:
            if error.status != 404:
                raise
            return None
        except CliError:
            if self._server.alive():
                return None
            self._server_lost = True
            report.log("the debugger server has exited; the job continues without debugging")
            return None
        return self._job

    def _start(self) -> None:
        self._started = True
        for watchpoint in self._watchpoints:
            self._client.post(f"{self._path}/watchpoints", watchpoint)
        if self._options.wait and self._options.steps is None:
            report.log(f"the job is waiting before its first step: press Continue at {self._job_page()}")
        elif self._options.steps is not None:
            self._control({"command": "step", "steps": self._options.steps})
        else:
            self._control({"command": "continue"})

    def _job_page(self) -> str:
        """The address of the job's page, with a new one-time code."""
        return str(self._client.page(self._path)["url"])

    def _terminate(self) -> None:
        self._terminate_deadline = time.monotonic() + _TERMINATE_SECONDS
        self._control({"command": "terminate"})

    def _control(self, body: Json) -> None:
        try:
            self._client.post(f"{self._path}/control", body)
        except ApiError as error:
            # The job has ended, or a user of the page has sent a command first.
            if error.status != 409:
                raise

    def _log_new_hits(self, job: Json) -> None:
        if job["hit_count"] <= self._hits_logged:
            return
        first = self._hits_logged == 0
        self._hits_logged = job["hit_count"]
        if not first and job["state"] != "paused":
            return
        hits = self._client.hits(self._process.id)
        if not hits:
            return
        report.log_hit(hits[0] if first else hits[-1])
        if job["state"] == "paused" and self._options.on_hit == "pause":
            report.log(f"the job is paused there: inspect it at {self._job_page()}")

    def _result(self, seconds: float) -> Json:
        exit_code = self._process.exit_code()
        job = self._final_job()
        hits: list[Json] = []
        if job is not None and not self._server_lost:
            hits = self._client.hits(self._process.id)
        exception = (job or {}).get("exception") or self._process.exception()
        if exception is not None:
            exception.setdefault("node", None)
        if job is None:
            report.log(
                "nothing was debugged: the program used neither PyTorch nor ONNX Runtime, or an error is reported above"
                if exit_code == 0
                else "the program ended before it could be debugged"
            )
        killed = self._process.killed_by()
        if killed:
            report.log(f"the job was killed by {killed}")
        return {
            "status": self._status(job, exit_code),
            "exit_code": exit_code,
            "exception": exception,
            "steps": job["step"] if job else 0,
            "wall_seconds": round(seconds, 3),
            "hits": hits,
            "stages": [],
            "run": None,
            "metrics": {},
            "artifacts": [],
        }

    def _final_job(self) -> Json | None:
        """The job as the server reports it after the agent's exit report."""
        deadline = time.monotonic() + 5
        job = self._fetch_job()
        while job and job["state"] not in ("finished", "terminated", "lost") and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            job = self._fetch_job()
        return job or self._job

    def _status(self, job: Json | None, exit_code: int) -> str:
        if self._terminate_deadline is not None or (job and job["state"] == "terminated"):
            return "terminated"
        return "finished" if exit_code == 0 else "failed"
