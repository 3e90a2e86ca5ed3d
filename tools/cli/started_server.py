"""The server of `graphdbg start`, and the rules of a configuration in the jobs that connect to it."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from . import report
from .client import Client, Json, quote
from .errors import CliError
from .finding_actions import FindingActions
from .job_follower import ENDED
from .job_process import signals_to
from .live_rules import LiveRules, RuleSet
from .running_servers import server_of

_POLL_SECONDS = 0.5
# How long the processes of rules in Python may take to end when the server has ended.
_END_SECONDS = 5.0


def serve_with_rules(command: Sequence[str], data_dir: Path, rules: RuleSet) -> int:
    """Runs a server until it ends, and has rules evaluated in its jobs.

    Args:
        command: The server's program and its options.
        data_dir: Its data directory.
        rules: Rules for each of its jobs.

    Returns:
        The exit code of the server, as a shell would report it.
    """
    server = _Server([*command, f"--parent-pid={os.getpid()}"])
    with signals_to(server):
        jobs: _Jobs | None = None
        while not server.has_ended(_POLL_SECONDS):
            if jobs is None:
                jobs = _jobs_of(server, data_dir, rules)
            else:
                jobs.update()
    if jobs is not None:
        jobs.close()
    return server.exit_code()


class _Server:
    """The process of a server, which writes to the terminal itself."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def has_ended(self, seconds: float) -> bool:
        """Waits for the end up to this time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def exit_code(self) -> int:
        code = self._process.returncode
        return 128 - code if code < 0 else code


def _jobs_of(server: _Server, data_dir: Path, rules: RuleSet) -> _Jobs | None:
    """The jobs of the server; None until its port is open."""
    running = server_of(data_dir)
    # The file may be that of an earlier server.
    if running is None or running.pid != server.pid:
        return None
    return _Jobs(Client.from_data_dir(running.address, data_dir), rules)


class _Jobs:
    """Follows the jobs of a server, each in a thread, because rules that end wait for their last steps."""

    def __init__(self, client: Client, rules: RuleSet) -> None:
        self._client = client
        self._rules = rules
        self._server_ended = threading.Event()
        self._threads: dict[str, threading.Thread] = {}
        self._over = {job["id"] for job in self._listed() if job["state"] in ENDED}
        self._reported = False

    def update(self) -> None:
        """Begins to follow jobs that are new."""
        for job in self._listed():
            name = job["id"]
            if name not in self._threads and name not in self._over:
                self._threads[name] = threading.Thread(target=self._follow, args=(name,), daemon=True)
                self._threads[name].start()
        for name in [name for name, thread in self._threads.items() if not thread.is_alive()]:
            del self._threads[name]
            self._over.add(name)

    def close(self) -> None:
        """Called when the server has ended."""
        self._server_ended.set()
        for thread in self._threads.values():
            thread.join(_END_SECONDS)

    def _listed(self) -> list[Json]:
        try:
            jobs: list[Json] = self._client.get("/jobs")["jobs"]
        except CliError as error:
            if not self._reported:
                self._reported = True
                report.log(f"the rules are not evaluated: {error}")
            return []
        return jobs

    def _follow(self, job: str) -> None:
        actions = FindingActions()
        rules = LiveRules(self._rules, self._client, job, actions)
        try:
            while not self._server_ended.is_set():
                state = self._client.get(f"/jobs/{quote(job)}")["state"]
                if state in ENDED:
                    rules.finish()
                    break
                rules.update(state == "paused")
                self._server_ended.wait(_POLL_SECONDS)
        except CliError as error:
            # A user may have removed the job.
            if not self._server_ended.is_set():
                report.log(f"job {job}: its rules are not evaluated any more: {error}")
        finally:
            rules.close()
            actions.close()
