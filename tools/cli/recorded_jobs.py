"""Finds the recording of a live job by the job's id or name, on any server that runs on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .client import Client, Json, quote
from .errors import USAGE, CliError
from .running_servers import running_servers


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
    ranks = client.get(f"/jobs/{quote(job['id'])}/recording")["ranks"]
    directory = next((rank["directory"] for rank in ranks if rank["directory"]), None)
    if directory is None:
        raise CliError(
            f"job {job['id']} is not recorded; `graphdbg record {job['id']}` begins with the next step", USAGE
        )
    if not Path(directory).is_dir():
        raise CliError(f"job {job['id']} records to {directory} on another machine", USAGE)
    return str(directory)


def _jobs_called(name: str) -> Iterator[tuple[Client, Json]]:
    """Those with this id, or else with this name."""
    jobs = [(client, job) for client in _clients() for job in client.get("/jobs")["jobs"]]
    with_id = [(client, job) for client, job in jobs if job["id"] == name]
    yield from with_id or [(client, job) for client, job in jobs if job["name"] == name]


def _clients() -> list[Client]:
    return [Client.from_data_dir(server.address, server.data_dir) for server in running_servers()]
