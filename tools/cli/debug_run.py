"""Runs a command with a server that runs only for it, and follows all jobs that it starts."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from urllib.parse import quote

from . import report
from .actions import Actions
from .break_on import watchpoints_of
from .captured_bundles import CapturedBundles, with_capture
from .client import ApiError, Json
from .configuration import watchpoint_bodies
from .errors import CliError
from .finding_actions import FindingActions
from .job_follower import JobFollower, OnHit, RunOptions, job_summary, overhead_of, split_absorbed
from .job_process import JobProcess, job_name, script_name, signals_to
from .kept_jobs import keep_job
from .page_hold import hold_page
from .recorded_run import RecordedRun
from .run_directory import run_directory
from .server_process import ServerProcess

__all__ = ["OnHit", "RunOptions", "debug"]

_POLL_SECONDS = 0.05
# How long the exit reports of the jobs may arrive after the command has ended.
_EXIT_REPORT_SECONDS = 5.0


def debug(command: Sequence[str], options: RunOptions) -> Json:
    """Runs `command` to its end and returns the result object."""
    with run_directory() as directory:
        recorded = RecordedRun(options.record, os.environ | _environment(options), needed=_has_rules(options))
        server = ServerProcess(directory, options.port, temporary=True, runs=recorded.for_rules())
        try:
            result = _Run(command, options, server, recorded).follow()
            options.on_result(result)
            if options.hold:
                hold_page(server)
        finally:
            server.stop()
        keep_job(directory, job_name(command), result)
        return result


class _Run:
    def __init__(
        self, command: Sequence[str], options: RunOptions, server: ServerProcess, recorded: RecordedRun
    ) -> None:
        self._options = options
        self._server = server
        self._client = server.client
        pause = "none" if options.on_hit == "continue" else "node"
        watchpoints = watchpoints_of(options.break_on, pause, self._client) if options.break_on else []
        self._watchpoints = [(each, Actions()) for each in watchpoints]
        self._watchpoints += watchpoint_bodies(options.configuration, pause, self._client)
        self._bundles = CapturedBundles(options.capture, os.environ | _environment(options))
        if options.capture:
            self._watchpoints = [(with_capture(body), actions) for body, actions in self._watchpoints]
        options.announce(self._client.page(f"/starting/{quote(script_name(command), safe='')}")["url"])
        self._began = time.monotonic()
        self._recorded = recorded
        self._actions = FindingActions()
        variables = _environment(options) | recorded.variables() | self._bundles.variables()
        self._process = JobProcess(command, server, variables)
        # By id, in the order in which the jobs appeared.
        self._jobs: dict[str, JobFollower] = {}
        self._server_lost = False

    def follow(self) -> Json:
        with signals_to(self._process):
            while self._process.poll() is None:
                self._poll_jobs()
                if any(job.ignores_termination for job in self._jobs.values()):
                    self._process.end()
                time.sleep(_POLL_SECONDS)
        return self._result(time.monotonic() - self._began)

    def _poll_jobs(self) -> None:
        for job in self._fetch_jobs():
            follower = self._jobs.get(job["id"])
            if follower is None:
                follower = self._jobs[job["id"]] = JobFollower(
                    self._client, self._options, self._watchpoints, job, self._actions
                )
            try:
                follower.update(job)
            except ApiError:
                raise
            except CliError:
                if not self._check_server():
                    return

    def _fetch_jobs(self) -> list[Json]:
        if self._server_lost:
            return []
        try:
            # The newest job comes first.
            jobs: list[Json] = self._client.get("/jobs")["jobs"]
        except ApiError:
            raise
        except CliError:
            self._check_server()
            return []
        return sorted(jobs, key=lambda job: str(job["created_at"]))

    def _check_server(self) -> bool:
        """Whether the server is still running. Logs a line if it is not."""
        if not self._server.alive() and not self._server_lost:
            self._server_lost = True
            report.log("the debugger server has exited; the job continues without debugging")
        return not self._server_lost

    def _result(self, seconds: float) -> Json:
        exit_code = self._process.exit_code()
        self._await_exit_reports()
        followers = list(self._jobs.values())
        jobs = [follower.job for follower in followers]
        self._finish_rules(followers)
        if not jobs:
            report.log_not_debugged(exit_code)
        killed = self._process.killed_by()
        if killed:
            report.log(f"the job was killed by {killed}")
        terminated = any(follower.was_terminated for follower in followers)
        return {
            "status": "terminated" if terminated else "finished" if exit_code == 0 else "failed",
            "exit_code": exit_code,
            "exception": self._exception(jobs),
            "steps": sum(job["step"] for job in jobs),
            "wall_seconds": round(seconds, 3),
            "overhead": overhead_of(jobs),
            **split_absorbed([] if self._server_lost else [hit for follower in followers for hit in follower.hits()]),
            "incidents": [] if self._server_lost else [each for follower in followers for each in follower.incidents()],
            "stages": [],
            "run": self._recorded.directory(),
            "metrics": {name: value for job in jobs for name, value in job.get("metrics", {}).items()},
            "artifacts": self._bundles.files(),
            "debugged": bool(jobs),
            "findings": [finding for follower in followers for finding in follower.rules.findings],
            "jobs": [job_summary(job) for job in jobs],
        }

    def _finish_rules(self, followers: Sequence[JobFollower]) -> None:
        for follower in followers:
            try:
                if not self._server_lost:
                    follower.rules.finish()
            except ApiError:
                raise
            except CliError:
                self._check_server()
            finally:
                follower.rules.close()
        self._actions.close()

    def _exception(self, jobs: Sequence[Json]) -> Json | None:
        """The first exception that ended a job, or else the command."""
        reported = (job.get("exception") for job in jobs)
        exception: Json | None = next(filter(None, reported), None) or self._process.exception()
        if exception is not None:
            exception.setdefault("node", None)
        return exception

    def _await_exit_reports(self) -> None:
        """Has the server report the jobs as they are after their agents' exit reports."""
        deadline = time.monotonic() + _EXIT_REPORT_SECONDS
        self._poll_jobs()
        while not all(job.ended for job in self._jobs.values()) and time.monotonic() < deadline:
            if self._server_lost:
                return
            time.sleep(_POLL_SECONDS)
            self._poll_jobs()


def _has_rules(options: RunOptions) -> bool:
    return bool(options.configuration.rules.rules)


def _environment(options: RunOptions) -> dict[str, str]:
    # The agent counts, so that the number holds whatever a user does at a pause.
    steps = {"GRAPHDBG_STEPS": str(options.steps)} if options.steps is not None else {}
    on_error = {"GRAPHDBG_ON_ERROR": options.on_error} if options.on_error else {}
    return options.environment | options.configuration.environment | steps | on_error
