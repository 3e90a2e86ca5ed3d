"""The resources of one cell of the matrix, and the facts that it has to remember."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

from graphdbg.cli.client import ApiError
from graphdbg.cli.errors import CliError
from processes import JOB, Process, Server, start_job, wait_until
from proxy import Proxy

# Matches every step at one node; the job continues.
ALWAYS = {"condition": {"id": "max_gt", "params": {"value": -1e9}}, "patterns": ["forward/0/*"], "pause": "none"}
NEVER = {"condition": {"id": "max_gt", "params": {"value": 1e30}}, "patterns": ["forward/2/*"], "pause": "none"}


@dataclass
class Cell:
    directory: Path
    seed: int
    steps: int = 60
    # Set by the fault before anything starts.
    data: Path | None = None
    job_options: list[str] = field(default_factory=list)
    job_environment: dict[str, str] = field(default_factory=dict)
    server_environment: dict[str, str] = field(default_factory=dict)
    # Acknowledged items: ids of watchpoints and hits.
    watchpoints: set[int] = field(default_factory=set)
    hits: set[int] = field(default_factory=set)
    # Events that may end the job before its last step.
    job_was_killed: bool = False
    terminate_was_sent: bool = False

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.temporary = self.directory / "tmp"
        self.temporary.mkdir(parents=True)
        self.job: Process | None = None
        self._activity: list[threading.Thread] = []
        self.activity_ends = threading.Event()

    def start_server(self) -> None:
        self.server = Server(self.directory, self.temporary, self.data, **self.server_environment)
        self.proxy = Proxy(self.server.debugger_port, self.seed)

    def start_job(self) -> None:
        self.job = start_job(
            self.directory,
            self.temporary,
            self.proxy.port,
            self.server.data,
            f"--steps={self.steps}",
            *self.job_options,
            **self.job_environment,
        )

    def run_until_paused_at(self, step: int) -> None:
        self.start_job()
        self.server.wait_for_state("paused")
        if step:
            self.server.control("step", steps=step)
            wait_until(f"the job stops after step {step}", lambda: self._is_paused_at(step))

    def _is_paused_at(self, step: int) -> bool:
        job = self.server.job()
        return bool(job and job["state"] == "paused" and job["step"] == step)

    def watch(self, body: dict[str, Any]) -> None:
        """Sets a watchpoint, and remembers it if that was acknowledged."""
        made = self.server.client.post(f"/jobs/{JOB}/watchpoints", body)
        self.watchpoints.add(made["id"])

    def see_hits(self) -> int:
        """Remembers the hits that the server shows."""
        self.hits |= {hit["id"] for hit in self.server.client.hits(JOB)}
        return len(self.hits)

    def in_background(self, work: Callable[[], object]) -> None:
        """Runs `work`, which may fail as clients of a failing server do."""

        def run() -> None:
            with contextlib.suppress(ApiError, CliError, OSError, HTTPException):
                work()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self._activity.append(thread)

    def end_activity(self) -> None:
        self.activity_ends.set()
        for thread in self._activity:
            thread.join(60)

    def close(self) -> None:
        for process in (self.job, getattr(getattr(self, "server", None), "process", None)):
            if process:
                process.send(signal.SIGCONT)
                process.end()
        if hasattr(self, "proxy"):
            self.proxy.close()
