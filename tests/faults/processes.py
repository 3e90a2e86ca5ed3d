"""The real processes of a cell: one server, one training job, and files of their own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphdbg.cli.client import ApiError, Client
from graphdbg.cli.errors import CliError

Json = dict[str, Any]
GRAPHDBG = str(Path(sys.executable).parent / "graphdbg")
TRAINING = Path(__file__).parent / "training.py"
JOB = "faults"
# A paused job that has lost its server resumes after this time.
GRACE_SECONDS = 2


class CellFailure(Exception):
    """A promise that was not kept, in one sentence."""


def wait_until(what: str, condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Polls until `condition` returns a true value, and returns that value."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(ApiError, CliError, OSError):
            if value := condition():
                return value
        time.sleep(0.05)
    raise CellFailure(f"{what}: not within {seconds:g} s")


def environment(temporary: Path, **extra: str) -> dict[str, str]:
    """This process's environment without graphdbg's variables, plus the given ones."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GRAPHDBG_", "MS_DEBUGGER"))}
    # Where servers list themselves, until the next one sees that they are gone.
    runtime = temporary.with_name("runtime")
    runtime.mkdir(exist_ok=True)
    return kept | {"TMPDIR": str(temporary), "XDG_RUNTIME_DIR": str(runtime)} | extra


def losses(output: str) -> list[str]:
    return re.findall(r"^step \d+ loss .*$", output, re.MULTILINE)


class Process:
    """A process with a process group of its own, whose output goes to files."""

    def __init__(self, command: list[str], files: Path, env: dict[str, str]) -> None:
        self.out, self.err = files.with_suffix(".out"), files.with_suffix(".err")
        with self.out.open("a") as out, self.err.open("a") as err:
            self._process = subprocess.Popen(
                command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
        self.pid = self._process.pid

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self, seconds: float) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """Kills what is left of the process and of its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def left_children(self) -> bool:
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        return True


class Server:
    """A `graphdbg start` that can be killed and started again on the same ports."""

    def __init__(self, directory: Path, temporary: Path, data: Path | None = None, **extra: str) -> None:
        self._directory = directory
        self._environment = environment(temporary, **extra)
        self.data = data or directory / "data"
        self._ports = (0, 0)
        self.start()

    def start(self) -> None:
        http, debugger = self._ports
        options = [f"--port={http}", f"--debugger-port={debugger}", f"--data-dir={self.data}"]
        files = self._directory / "server"
        files.with_suffix(".out").unlink(missing_ok=True)
        self.process = Process([GRAPHDBG, "start", "--json", *options], files, self._environment)

        def addresses() -> Json | None:
            if self.process.poll() is not None:
                raise CellFailure(f"the server did not start: {self.process.err.read_text().strip()}")
            text = self.process.out.read_text()
            return json.loads(text.splitlines()[0]) if "\n" in text else None

        found: Json = wait_until("the server starts", addresses)
        http, debugger = (int(found[key].rpartition(":")[2]) for key in ("http_address", "debugger_address"))
        self._ports = (http, debugger)
        self.client = Client.from_data_dir(found["http_address"], self.data)

    @property
    def http_port(self) -> int:
        return self._ports[0]

    @property
    def debugger_port(self) -> int:
        return self._ports[1]

    def kill(self) -> None:
        self.process.send(signal.SIGKILL)
        self.process.wait(10)

    def stop(self) -> int | None:
        self.process.send(signal.SIGTERM)
        return self.process.wait(20)

    def job(self) -> Json | None:
        found = [job for job in self.client.get("/jobs")["jobs"] if job["id"] == JOB]
        return found[0] if found else None

    def control(self, command: str, **body: Any) -> Json:
        return self.client.post(f"/jobs/{JOB}/control", {"command": command, **body})

    def wait_for_state(self, *states: str, seconds: float = 60) -> Json:
        def reached() -> Json | None:
            job = self.job()
            return job if job and job["state"] in states else None

        found: Json = wait_until(f"the job is {' or '.join(states)}", reached, seconds)
        return found


def start_job(directory: Path, temporary: Path, port: int, data: Path, *options: str, **extra: str) -> Process:
    env = environment(
        temporary,
        GRAPHDBG_ENABLE="1",
        GRAPHDBG_JOB=JOB,
        GRAPHDBG_PORT=str(port),
        GRAPHDBG_TOKEN_FILE=str(data / "agent_token"),
        GRAPHDBG_GRACE=str(GRACE_SECONDS),
        **extra,
    )
    return Process([sys.executable, str(TRAINING), *options], directory / "job", env)


def undisturbed_losses(directory: Path) -> list[str]:
    """The output of the job without graphdbg."""
    process = Process([sys.executable, str(TRAINING), "--pause=0"], directory / "undisturbed", environment(directory))
    if process.wait(120) != 0:
        raise CellFailure(f"the job fails by itself: {process.err.read_text()}")
    return losses(process.out.read_text())
