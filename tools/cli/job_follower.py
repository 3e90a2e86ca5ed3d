"""Steers one of the jobs that run under `graphdbg run`."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from . import report
from .actions import Actions
from .break_on import add_watchpoint
from .client import ApiError, Client, Json, quote
from .configuration import JobConfiguration
from .finding_actions import FindingActions
from .hit_actions import HitActions
from .live_rules import LiveRules

OnHit = Literal["pause", "continue", "terminate"]
OnError = Literal["pause", "continue"]

ENDED = ("finished", "terminated", "lost")
# The time that a terminated job has for its `finally` blocks and exit handlers. Then
# it gets SIGTERM.
_TERMINATE_SECONDS = 15.0


@dataclasses.dataclass
class RunOptions:
    """The options of `graphdbg run`. Those that steer apply to each job."""

    wait: bool = True
    steps: int | None = None
    break_on: Sequence[str] = ()
    on_hit: OnHit = "pause"
    # The reaction to an uncaught exception that is about to end a job. None: it pauses if its page is open.
    on_error: OnError | None = None
    # Keeps the page after the end while a browser shows it.
    hold: bool = False
    port: int = 0
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    # The directory of runs to record to.
    record: str | Path | None = None
    # The directory for bundles of the first hits.
    capture: str | Path | None = None
    configuration: JobConfiguration = dataclasses.field(default_factory=JobConfiguration)
    # Called once with the page's address.
    announce: Callable[[str], None] = report.log_page
    # Called with the result object, while the page is still there.
    on_result: Callable[[Json], None] = lambda _: None


class JobFollower:
    """Starts a job with its watchpoints, reports its hits, and terminates it when that is due."""

    def __init__(
        self,
        client: Client,
        options: RunOptions,
        watchpoints: Sequence[tuple[Json, Actions]],
        job: Json,
        actions: FindingActions,
    ) -> None:
        """Follows a job that has appeared.

        Args:
            watchpoints: Requests to make them, and what is done about their hits.
            job: The job as the server has reported it first.
        """
        self.job = job
        self._hit_actions = HitActions(client, job["id"], actions)
        self.rules = LiveRules(options.configuration.rules, client, job["id"], actions)
        self._client = client
        self._options = options
        self._watchpoints = watchpoints
        self._path = f"/jobs/{quote(job['id'])}"
        self._started = False
        self._hits_logged = 0
        # Ids of incidents.
        self._incidents_logged: set[int] = set()
        self._terminate_deadline: float | None = None
        # How often the job was seen paused at an exception.
        self._seen_failed = 0

    @property
    def ended(self) -> bool:
        return self.job["state"] in ENDED

    @property
    def was_terminated(self) -> bool:
        """Whether this follower or a user has terminated the job."""
        return self._terminate_deadline is not None or bool(self.job["state"] == "terminated")

    @property
    def ignores_termination(self) -> bool:
        """Whether the job has had its time to end and still runs."""
        return self._terminate_deadline is not None and not self.ended and time.monotonic() > self._terminate_deadline

    def update(self, job: Json) -> None:
        """Handles the job's newest state."""
        self.job = job
        self._log_new_hits()
        self._hit_actions.update(job)
        self.rules.update(job["state"] == "paused")
        if not self._started and "control" not in job.get("allowed", ["control"]):
            self._started = True
            report.log("GRAPHDBG_ALLOW lacks control: the job can only be looked at, without --break-on and --steps")
        if self._terminate_deadline is not None or job["state"] != "paused":
            return
        if job["pause_reason"] == "error":
            self._log_failure()
            return
        if not self._started and job["pause_reason"] == "start":
            self._start()
        elif self._is_over():
            self._terminate()

    def incidents(self) -> list[Json]:
        """The incidents of the job, each with the job's id as `job`."""
        return [each | {"job": self.job["id"]} for each in self._client.incidents(self.job["id"])]

    def hits(self) -> list[Json]:
        """All hits of the job, each with the job's id as `job`."""
        return [hit | {"job": self.job["id"]} for hit in self._client.hits(self.job["id"])]

    def _is_over(self) -> bool:
        if self.job["pause_reason"] == "watchpoint" and self._options.on_hit == "terminate":
            return True
        return self._options.steps is not None and self.job["step"] >= self._options.steps

    def _start(self) -> None:
        self._started = True
        for watchpoint, actions in self._watchpoints:
            for made in add_watchpoint(watchpoint, self._path, self._client):
                if actions.elsewhere:
                    self._hit_actions.watch(made, actions)
        if self.job["framework"] == "onnx":
            report.log(f"model {self.job['name']} is shown and not run; Ctrl-C ends")
        elif self._options.wait and self._options.steps is None:
            report.log(f"job {self.job['id']} is waiting before its first step: press Continue at {self._page()}")
        elif self._options.steps is not None:
            self._control({"command": "step", "steps": self._options.steps})
        else:
            self._control({"command": "continue"})

    def _page(self) -> str:
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

    def _log_failure(self) -> None:
        self._seen_failed += 1
        # Where nobody looks, the server lets the job end at once.
        if self._seen_failed == 2:
            report.log_failure(self.job, self._page())

    def _log_new_hits(self) -> None:
        if self.job["hit_count"] <= self._hits_logged:
            return
        first = self._hits_logged == 0
        if not first and (self.job["state"] != "paused" or self.job["pause_reason"] != "watchpoint"):
            return
        self._hits_logged = self.job["hit_count"]
        incidents = self._client.incidents(self.job["id"])
        if not incidents:
            return
        self._log_incident(incidents, first)
        if self.job["state"] == "paused" and self._options.on_hit == "pause":
            report.log(f"job {self.job['id']} is paused there: inspect it at {self._page()}")

    def _log_incident(self, incidents: Sequence[Json], first: bool) -> None:
        """Logs the first incident, then the newest one that is new, or else the one that goes on."""
        new = [each for each in incidents if each["id"] not in self._incidents_logged]
        self._incidents_logged.update(each["id"] for each in incidents)
        if first:
            report.log_incident(incidents[0], self.job)
        elif new:
            report.log_incident(new[-1], self.job)
        else:
            report.log_spread(max(incidents, key=lambda each: int(each["steps"][-1]["last"])))


def split_absorbed(hits: Iterable[Json]) -> Json:
    """The fields `hits` and `absorbed_hits` of the result object."""
    parts: dict[str, list[Json]] = {"hits": [], "absorbed_hits": []}
    for hit in hits:
        parts["absorbed_hits" if hit.get("absorbed") else "hits"].append(hit)
    return parts


def overhead_of(jobs: Iterable[Json]) -> float | None:
    """The share of their time that jobs have spent in graphdbg's code: that of the one that spent most."""
    return max((job["overhead"] for job in jobs if job.get("overhead") is not None), default=None)


def job_summary(job: Json) -> Json:
    """A job as it appears in the result object."""
    return {
        "id": job["id"],
        "state": job["state"],
        "steps": job["step"],
        "world_size": job["world_size"],
        "hit_count": job["hit_count"],
        "overhead": job.get("overhead"),
    }
