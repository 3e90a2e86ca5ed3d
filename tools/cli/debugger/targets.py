"""Opens what a user names: a live job, a recorded run or a captured hit."""

from __future__ import annotations

from pathlib import Path

from graphdbg.client.errors import UNAVAILABLE, UnreachableError
from graphdbg.client.http import HttpClient, Json
from graphdbg.client.models import ENDED_STATES
from graphdbg.client.servers import default_data_dir, running_servers

from .errors import DebuggerError
from .session import Session

_START = "start the job with: graphdbg dbg -- python train.py"


def find_job(
    name: str | None, server: str | None = None, data_dir: Path | None = None, token: str | None = None
) -> tuple[HttpClient, str]:
    """The server that has a job, and the job's id.

    Args:
        name: The id or name of the job. Default: the only job that runs.
        server: The address of its server. Default: all servers of this machine are asked.
        data_dir: The data directory of that server, which has its token.
        token: The token to use instead.

    Raises:
        DebuggerError: `exit_code` is 3 if there is no server or no such job, 2 if there are several.
    """
    clients = _clients(server, data_dir, token)
    if not clients:
        raise DebuggerError(f"no graphdbg server on this machine; {_START}", UNAVAILABLE)
    jobs = [(http, job) for http in clients for job in _jobs(http, is_named=server is not None)]
    found = [(http, job) for http, job in jobs if job["id"] == name] if name else _running(jobs) or jobs
    if name and not found:
        found = [(http, job) for http, job in jobs if job["name"] == name]
    if not found:
        raise DebuggerError(_no_job(name, jobs), UNAVAILABLE)
    if len(found) > 1:
        listed = ", ".join(f"{job['id']} at {http.address}" for http, job in found)
        raise DebuggerError(f"there are several jobs, name one of them: {listed}")
    http, job = found[0]
    return http, str(job["id"])


def attach(http: HttpClient, job: str) -> Session:
    """A session with a live job, or one that has ended."""
    from .live_session import LiveSession

    return LiveSession(http, job)


def open_recording(http: HttpClient, run: str) -> Session:
    """A session with a recorded run of a server, by its id. It stands before the first recorded step."""
    from .recorded_session import RecordedSession

    return RecordedSession(http, run)


def open_bundle(path: Path) -> Session:
    """A session with a captured hit, whose ops are repeated in this process. It stands at the hit."""
    from .bundle_session import BundleSession

    return BundleSession(path)


def _clients(server: str | None, data_dir: Path | None, token: str | None) -> list[HttpClient]:
    running = running_servers()
    if server is None:
        chosen = [each for each in running if data_dir is None or each.data_dir == data_dir]
        return [HttpClient.from_data_dir(each.address, each.data_dir) for each in chosen]
    if token is not None:
        return [HttpClient(server, token)]
    own = next((each.data_dir for each in running if each.address == server.rstrip("/")), default_data_dir())
    return [HttpClient.from_data_dir(server, data_dir or own)]


def _jobs(http: HttpClient, is_named: bool) -> list[Json]:
    try:
        jobs: list[Json] = http.get("/jobs")["jobs"]
    except UnreachableError:
        if is_named:
            raise DebuggerError(f"no graphdbg server at {http.address}", UNAVAILABLE) from None
        # It has just ended.
        return []
    return jobs


def _running(jobs: list[tuple[HttpClient, Json]]) -> list[tuple[HttpClient, Json]]:
    return [(http, job) for http, job in jobs if job["state"] not in ENDED_STATES]


def _no_job(name: str | None, jobs: list[tuple[HttpClient, Json]]) -> str:
    if name is None:
        return f"no job has connected to the server of this machine; {_START}"
    known = ", ".join(str(job["id"]) for _, job in jobs) or "none"
    return f"there is no job {name}; there are: {known}"
