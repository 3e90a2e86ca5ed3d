"""Opens what `graphdbg dbg` is given, with the servers and processes that it takes."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO
from urllib.parse import unquote

from ..attach.attached_job import AttachOptions, attached_job
from ..attach.trainings import attached_jobs
from ..client import Client
from ..debugger import Session, attach, find_job, open_bundle, open_recording
from ..errors import UNAVAILABLE, CliError
from ..job_follower import ENDED
from ..job_process import JobProcess
from ..recorded import run_below
from ..run_directory import run_directory
from ..served_run import served_run
from ..server_process import ServerProcess

_POLL_SECONDS = 0.02
# How long a program whose job has ended may take for its own end.
_EXIT_SECONDS = 5.0


@contextlib.contextmanager
def launched(command: Sequence[str], environment: dict[str, str]) -> Iterator[Session]:
    """Starts a job with a server of its own. The session begins at its first stop; in the end the job is killed.

    Raises:
        CliError: The command ended without a job.
    """
    with run_directory() as directory, _exits_on_signals(), contextlib.ExitStack() as open_things:
        server = ServerProcess(directory, temporary=True)
        open_things.callback(server.stop)
        process = JobProcess(command, server, {"PYTHONUNBUFFERED": "1"} | environment, apart=True)
        open_things.callback(_end, process)
        for stream in process.outputs:
            threading.Thread(target=_copy, args=(stream,), daemon=True).start()
        session = attach(server.client, _await_job(server, process))
        open_things.callback(session.close)
        yield session
        if session.state in ENDED:
            process.wait(_EXIT_SECONDS)


def _await_job(server: ServerProcess, process: JobProcess) -> str:
    """The id of the first job, once all of its ranks stand before their first step."""
    while True:
        # Looked at first, so that a job that has come and gone is not missed.
        ended = process.poll() is not None
        for job in server.client.get("/jobs")["jobs"]:
            if job["state"] == "paused" and len(job["ranks"]) >= job["world_size"]:
                return str(job["id"])
        if ended:
            raise CliError(
                f"the program ended with exit code {process.exit_code()} before it could be debugged: no process of it "
                "has trained with PyTorch or TensorFlow, or run ONNX Runtime, or an error is reported above",
                UNAVAILABLE,
            )
        time.sleep(_POLL_SECONDS)


@contextlib.contextmanager
def _exits_on_signals() -> Iterator[None]:
    """A terminal that is closed ends this process in good order, and the job with it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    previous = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _copy(stream: IO[bytes]) -> None:
    """Copies the job's output to what is sys.stdout now: a prompt puts lines above itself."""
    for line in stream:
        with contextlib.suppress(ValueError, OSError):
            sys.stdout.write(line.decode(errors="replace"))
            sys.stdout.flush()


def _end(process: JobProcess) -> None:
    if process.poll() is None:
        process.end()


@contextlib.contextmanager
def opened(target: str | None, server: str | None, pid: int | None, token: str | None) -> Iterator[Session]:
    """A session with a bundle, a recorded run, or a job of a server that runs.

    Args:
        target: A file that ends in .graphdbg, the directory or id of a run, the id or name of a job, or the address
            of a server. Default: the only job that runs.
        server: The address of the job's server.
        pid: Instead of a target: a process of the job.
        token: The token for the server.
    """
    if target is not None and target.startswith(("http://", "https://")):
        server, target = target, None
    with _session(target, server, pid, token) as session:
        try:
            yield session
        finally:
            session.close()


@contextlib.contextmanager
def _session(target: str | None, server: str | None, pid: int | None, token: str | None) -> Iterator[Session]:
    if pid is not None:
        with _job_of_process(pid, server) as (http, job):
            yield attach(http, job)
        return
    path = Path(target) if target else None
    if path is not None and path.is_file():
        yield open_bundle(path)
        return
    run = run_below(target) if target and not server else None
    if run is not None:
        with served_run(run) as (client, place):
            yield open_recording(client, unquote(place.rpartition("/")[2]))
        return
    http, job = find_job(target, server, token=token)
    yield attach(http, job)


@contextlib.contextmanager
def _job_of_process(pid: int, server: str | None) -> Iterator[tuple[Client, str]]:
    """The job that a process belongs to; if there is none, the process is attached to."""
    found = attached_jobs().get(pid)
    if found is not None:
        yield found
        return
    with attached_job([pid], AttachOptions(server)) as joined:
        yield joined.server.client, joined.job
