"""Controls a function that is debugged in this process, from another thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from graphdbg.client.errors import ConflictError, GraphdbgError, NotFoundError, WaitTimeoutError
from graphdbg.client.jobs import Job
from graphdbg.client.models import Hit, JobInfo

from . import report
from .break_on import add_watchpoint
from .client import Client, Json, quote

if TYPE_CHECKING:
    from graphdbg.client.arrays import Array

    from .function_run import FunctionOptions

_POLL_SECONDS = 0.1
# Limits the sum of all kept tensors.
_MAX_KEPT_BYTES = 256 << 20


class FunctionControl:
    """Sets the watchpoints, and decides at each stop how the function continues.

    Attributes:
        started: Whether the function has trained anything.
        arrays: The values of hits, by id of the hit.
        error: What went wrong in the thread, if anything.
    """

    def __init__(self, http: Client, job: str, watchpoints: list[Json], options: FunctionOptions) -> None:
        self._http = http
        self._id = job
        self._requested = watchpoints
        self._options = options
        self._returned = threading.Event()
        self._thread = threading.Thread(target=self._guarded, name="graphdbg", daemon=True)
        self._watchpoints: list[int] = []
        self._seen_hits = 0
        self._kept_bytes = 0
        self.started = False
        self.arrays: dict[int, Array] = {}
        self.error: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Waits until the thread has noticed that the job has ended."""
        self._returned.set()
        self._thread.join()

    def final_job(self) -> Json | None:
        """The job as the server reports it; None if it has none."""
        try:
            return self._http.get(f"/jobs/{quote(self._id)}")
        except NotFoundError:
            return None

    def _guarded(self) -> None:
        try:
            job = self._find()
            if job is not None:
                try:
                    self._follow(job)
                finally:
                    job.close()
        except Exception as error:
            self.error = error
            # A paused function must not wait forever.
            self._end_function()

    def _end_function(self) -> None:
        try:
            self._http.post(f"/jobs/{quote(self._id)}/control", {"command": "terminate"})
        except Exception as error:
            report.log(f"cannot end the function: {error}")

    def _find(self) -> Job | None:
        while True:
            job = self.final_job()
            if job is not None:
                return Job(self._http, JobInfo.from_json(job))
            if self._returned.wait(_POLL_SECONDS):
                return None

    def _follow(self, job: Job) -> None:
        while not (info := self._wait(job)).has_ended:
            try:
                self._decide(job, info)
            except ConflictError:
                # A user of the page was faster.
                continue

    def _wait(self, job: Job) -> JobInfo:
        """Waits for the next stop, and ends the function after the last step that it may take."""
        while True:
            try:
                return job.wait_for_stop(None if self._options.steps is None else _POLL_SECONDS)
            except WaitTimeoutError:
                if self._is_over(job.refresh()) and job.state == "running":
                    job.terminate()

    def _decide(self, job: Job, info: JobInfo) -> None:
        if info.pause_reason == "start":
            self._start(job)
        elif info.pause_reason == "watchpoint":
            self._at_hit(job)
        elif info.pause_reason == "error":
            self._at_error(job)
        elif self._is_over(info):
            job.terminate()
        else:
            job.wait_for_resume()

    def _is_over(self, info: JobInfo) -> bool:
        steps = self._options.steps
        return steps is not None and info.step >= steps and not info.node

    def _start(self, job: Job) -> None:
        if self.started:
            job.wait_for_resume()
            return
        self.started = True
        for watchpoint in self._requested:
            body = watchpoint if self._pauses_at_hits() else watchpoint | {"pause": "none"}
            self._watchpoints += add_watchpoint(body, f"/jobs/{quote(self._id)}", self._http)
        if self._options.wait:
            report.log(f"the function is waiting before its first step: press Continue at {job.page()}")
            job.wait_for_resume()
        elif self._options.steps is not None:
            job.step(self._options.steps)
        else:
            job.continue_()

    def _pauses_at_hits(self) -> bool:
        return self._options.on_hit != "continue" or self._can_keep()

    def _at_hit(self, job: Job) -> None:
        new = [hit for hit in job.hits() if hit.id > self._seen_hits and not hit.absorbed]
        self._seen_hits = max([self._seen_hits, *(hit.id for hit in new)])
        for hit in new:
            self._keep(job, hit)
        if self._options.on_hit == "terminate":
            job.terminate()
        elif self._options.on_hit == "continue":
            self._continue(job)
        else:
            report.log(f"the function is paused in step {job.step_number} at {job.node}: inspect it at {job.page()}")
            job.wait_for_resume()

    def _at_error(self, job: Job) -> None:
        # One of the viewers is this thread.
        if self._http.get("/server")["viewers"] > 1:
            report.log(f"the function is paused at an exception: inspect it at {job.page()}")
            job.wait_for_resume()
        else:
            job.continue_()

    def _continue(self, job: Job) -> None:
        if not self._can_keep():
            for watchpoint in self._watchpoints:
                job.change_watchpoint(watchpoint, pause="none")
            self._watchpoints.clear()
        if self._options.steps is None:
            job.continue_()
        elif self._options.steps > job.step_number:
            # Stops at the end of a step; the current one is not over yet.
            job.step(self._options.steps - job.step_number + 1)
        else:
            job.step(1)

    def _can_keep(self) -> bool:
        return len(self.arrays) < self._options.keep_tensors and self._kept_bytes < _MAX_KEPT_BYTES

    def _keep(self, job: Job, hit: Hit) -> None:
        if not self._can_keep():
            return
        try:
            array: Any = job.tensor(hit.name, rank=hit.rank)
        except GraphdbgError:
            # A user of the page has continued, or NumPy does not know the type.
            return
        self.arrays[hit.id] = array
        self._kept_bytes += array.nbytes
