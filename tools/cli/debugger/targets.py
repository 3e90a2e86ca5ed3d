"""Opens what a user names: a live job, a recorded run or a captured hit."""

from __future__ import annotations

from pathlib import Path

from graphdbg.client.http import HttpClient

from .session import Session


def find_job(name: str | None, server: str | None = None, data_dir: Path | None = None) -> tuple[HttpClient, str]:
    """The server that has a job, and the job's id.

    Args:
        name: The id or name of the job. Default: the only job that runs.
        server: The address of its server. Default: all servers of this machine are asked.
        data_dir: The data directory of that server, which has its token.

    Raises:
        DebuggerError: `exit_code` is 3 if there is no server or no such job, 2 if there are several.
    """
    raise NotImplementedError


def attach(http: HttpClient, job: str) -> Session:
    """A session with a live job, or one that has ended."""
    raise NotImplementedError


def open_recording(http: HttpClient, run: str) -> Session:
    """A session with a recorded run of a server, by its id. It stands before the first recorded step."""
    raise NotImplementedError


def open_bundle(path: Path) -> Session:
    """A session with a captured hit, whose ops are repeated in this process. It stands at the hit."""
    raise NotImplementedError
