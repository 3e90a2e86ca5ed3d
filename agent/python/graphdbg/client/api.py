"""Connects to a server."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import NoServerError, NotFoundError, WaitTimeoutError
from .http import HttpClient, quote
from .jobs import Job
from .models import Advice, Hit, JobInfo
from .servers import RunningServer, default_data_dir, running_servers, server_at, server_of

_POLL_SECONDS = 0.1


def connect(url: str | None = None, token: str | None = None, *, data_dir: str | Path | None = None) -> Client:
    """Connects to a server of this machine, or to the one at `url`.

    Args:
        url: The server's address, such as http://127.0.0.1:8080. Default: the server of
            `graphdbg start` on the default data directory, or else the newest one of this user.
        token: The token to use. Default: the one in the server's data directory.
        data_dir: The server's data directory. Default: that of `graphdbg start`.

    Returns:
        A client, which can be used in a `with` statement.

    Raises:
        NoServerError: There is no `url`, and no server runs on this machine.
        UnreachableError: The server does not answer.
        AccessDeniedError: The token is missing or invalid.
    """
    if url is None:
        server = _find(None if data_dir is None else Path(data_dir))
        http = HttpClient.from_data_dir(server.address, server.data_dir)
    else:
        http = HttpClient.from_data_dir(url, Path(data_dir) if data_dir is not None else _data_dir_of(url))
    if token is not None:
        http = HttpClient(http.address, token)
    return Client(http)


def _find(data_dir: Path | None) -> RunningServer:
    if data_dir is not None:
        server = server_of(data_dir)
        if server is None:
            raise NoServerError(f"no graphdbg server runs on the data directory {data_dir}")
        return server
    servers = running_servers()
    if not servers:
        raise NoServerError("no graphdbg server runs on this machine: start one with 'graphdbg start', or pass its url")
    own = [server for server in servers if server.data_dir == default_data_dir()]
    return own[0] if own else max(servers, key=_started_at)


def _started_at(server: RunningServer) -> float:
    try:
        return (server.data_dir / "server.json").stat().st_mtime
    except OSError:
        return 0.0


def _data_dir_of(url: str) -> Path:
    """The data directory of the server of this machine that has this address."""
    running = server_at(url)
    return running.data_dir if running else default_data_dir()


class Client:
    """A connection to a server.

    Attributes:
        http: The HTTP interface itself, for routes that have no method here.
    """

    def __init__(self, http: HttpClient) -> None:
        self.http = http
        self._jobs: list[Job] = []
        # Fails here rather than at the first use.
        self.version = str(http.get("/server")["version"])

    def __repr__(self) -> str:
        return f"<graphdbg client of {self.address}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def address(self) -> str:
        return self.http.address

    def jobs(self) -> list[Job]:
        """All jobs of the server, also those that have ended."""
        return [self._made(Job(self.http, JobInfo.from_json(each))) for each in self.http.get("/jobs")["jobs"]]

    def job(self, name: str | None = None, *, timeout: float = 0.0) -> Job:
        """One job.

        Args:
            name: Its id. Default: the only job of the server.
            timeout: How long to wait for it to connect, in seconds.

        Raises:
            NotFoundError: There is no such job; or without a name: not exactly one.
            WaitTimeoutError: It has not connected in time.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                return self._job(name)
            except NotFoundError:
                if timeout <= 0:
                    raise
            if time.monotonic() > deadline:
                raise WaitTimeoutError(f"no job '{name or ''}' at {self.address} within {timeout:g} s")
            time.sleep(_POLL_SECONDS)

    def _job(self, name: str | None) -> Job:
        if name is not None:
            return self._made(Job(self.http, JobInfo.from_json(self.http.get(f"/jobs/{quote(name)}"))))
        jobs = self.jobs()
        if len(jobs) == 1:
            return jobs[0]
        ids = ", ".join(job.id for job in jobs) or "none"
        detail = f"the server at {self.address} does not have exactly one job: name one of them ({ids})"
        raise NotFoundError(404, {"detail": detail, "code": "unknown_job"})

    def conditions(self) -> list[dict[str, Any]]:
        """The conditions of watchpoints, with their parameters, as the HTTP interface describes them."""
        conditions: list[dict[str, Any]] = self.http.get("/conditions")["conditions"]
        return conditions

    def advice(self, hit: Hit) -> Advice:
        """Likely causes of a hit, and what to look at next."""
        fields = {"condition": hit.condition, "op_type": hit.op_type, "dtype": hit.dtype}
        return Advice.from_json(self.http.advice(fields))

    def page(self) -> str:
        """A new address of the page. It works once and for 60 seconds."""
        return str(self.http.page()["url"])

    def close(self) -> None:
        """Closes the connections for events."""
        for job in self._jobs:
            job.close()
        self._jobs.clear()

    def _made(self, job: Job) -> Job:
        self._jobs.append(job)
        return job
