"""Finds the recording of a live job by the job's id or name, on any server that runs on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .client import Client, Json, quote
from .connection import connect_to_all
from .errors import USAGE, CliError


def run_of_job(name: str) -> str | None:
    """The directory of the run that a live job records; None if there is no such job.

    Raises:
        CliError: The job is not recorded, or several jobs have this name.
    """
    found = list(_jobs_called(name))
    if len(found) > 1:
        ids = ", ".join(job["id"] for _, job in found)
        raise CliError(f"several jobs are called {name}: {ids}", USAGE)
    if not found:
        return None
    client, job = found[0]
    directory = directory_of(client, f"/jobs/{quote(job['id'])}")
    if directory is None:
        raise CliError(
            f"job {job['id']} is not recorded; `graphdbg record {job['id']}` begins with the next step", USAGE
        )
    if not Path(directory).is_dir():
        raise CliError(f"job {job['id']} records to {directory} on another machine", USAGE)
    return directory


def directory_of(client: Client, job: str) -> str | None:
    """The directory of the run that a job records; None if there is none. `job` is its path on the server."""
    directories: list[str | None] = [rank["directory"] for rank in client.get(f"{job}/recording")["ranks"]]
    return next(filter(None, directories), None)


def _jobs_called(name: str) -> Iterator[tuple[Client, Json]]:
    """The jobs with this id, or else with this name."""
    jobs = [(client, job) for client in connect_to_all() for job in client.get("/jobs")["jobs"]]
    with_id = [(client, job) for client, job in jobs if job["id"] == name]
    yield from with_id or [(client, job) for client, job in jobs if job["name"] == name]
