"""Keeps the jobs of `graphdbg run` and of `run_local` after they have ended.

Each is a data directory of its own, with the result object, below
$XDG_STATE_HOME/graphdbg/jobs (~/.local/state/graphdbg/jobs). GRAPHDBG_KEEP_JOBS=0 keeps none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

from . import report
from .client import Json
from .errors import CliError
from .running_servers import server_of
from .scratch import scratch_directory

MAX_AGE = timedelta(days=7)
MAX_JOBS = 50
MAX_BYTES = 2 << 30

_SUMMARY = "kept.json"
_RESULT = "result.json"
# Belongs to the server that has ended: credentials, addresses, locks and sockets.
_NOT_KEPT = ("token", "agent_token", "credentials.json", "server.json", "run.lock", "lock", "agent.sock")


@dataclasses.dataclass(frozen=True)
class KeptJob:
    """A job that has ended.

    Attributes:
        id: Its name here, such as train-20260102-030405.
        job: Its id on the server.
        status: "finished", "failed" or "terminated".
        steps, hit_count: The numbers of steps and hits.
        ended_at: ISO 8601, UTC.
        directory: The data directory, which a server can open.
    """

    id: str
    job: str
    status: str
    steps: int
    hit_count: int
    ended_at: str
    directory: Path

    def result(self) -> Json:
        """The result object."""
        result: Json = json.loads((self.directory / _RESULT).read_text())
        return result

    def as_json(self) -> Json:
        return dataclasses.asdict(self) | {
            "directory": str(self.directory),
            "result": str(self.directory / _RESULT),
        }


def kept_jobs_dir() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "graphdbg" / "jobs"


def keep_job(data_dir: Path, job: str, result: Json) -> None:
    """Moves the data directory of a server that has ended to the jobs that are kept.

    A failure is reported and is no error, because the job itself is not concerned.
    """
    if os.environ.get("GRAPHDBG_KEEP_JOBS") == "0":
        return
    try:
        _keep(data_dir, job, result)
        prune()
    except OSError as error:
        report.log(f"cannot keep the job in {kept_jobs_dir()}: {error}")


def _keep(data_dir: Path, job: str, result: Json) -> None:
    root = kept_jobs_dir()
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    # It gets its name when it is complete.
    with scratch_directory(".part-", root) as part:
        for file in data_dir.iterdir():
            if file.name not in _NOT_KEPT and not file.is_socket():
                shutil.move(str(file), part / file.name)
        ended = datetime.now(timezone.utc)
        summary = {
            "job": job,
            "status": result["status"],
            "steps": result["steps"],
            "hit_count": len(result["hits"]),
            "ended_at": ended.isoformat(timespec="seconds"),
        }
        (part / _RESULT).write_text(json.dumps(result, indent=2) + "\n")
        (part / _SUMMARY).write_text(json.dumps(summary) + "\n")
        _rename_to_free_name(part, root, f"{job}-{ended:%Y%m%d-%H%M%S}")


def _rename_to_free_name(part: Path, root: Path, name: str) -> None:
    number = 1
    target = root / name
    while True:
        try:
            # Fails if the target exists, since it is not empty.
            part.rename(target)
            return
        except OSError:
            if not target.exists():
                raise
        number += 1
        target = root / f"{name}-{number}"


def kept_jobs() -> list[KeptJob]:
    """The jobs that are kept, newest first."""
    return sorted(_read_all(), key=lambda job: (job.ended_at, job.id), reverse=True)


def _read_all() -> Iterator[KeptJob]:
    root = kept_jobs_dir()
    for directory in root.iterdir() if root.is_dir() else ():
        with contextlib.suppress(OSError, ValueError, TypeError):
            summary = json.loads((directory / _SUMMARY).read_text())
            yield KeptJob(id=directory.name, directory=directory, **summary)


def find_kept_job(name: str) -> KeptJob | None:
    """The job with this id, or else the newest one that had this id on its server."""
    jobs = kept_jobs()
    return next((job for job in jobs if job.id == name), next((job for job in jobs if job.job == name), None))


def prune() -> None:
    """Removes jobs that are too old, or too many or too large in all, oldest first."""
    oldest = datetime.now(timezone.utc) - MAX_AGE
    size = 0
    for number, job in enumerate(kept_jobs()):
        size += _size_of(job.directory)
        is_old = datetime.fromisoformat(job.ended_at) < oldest
        # A server may show it at the moment.
        if (is_old or number >= MAX_JOBS or size > MAX_BYTES) and server_of(job.directory) is None:
            shutil.rmtree(job.directory, ignore_errors=True)


def _size_of(directory: Path) -> int:
    return sum(file.lstat().st_size for file in directory.rglob("*") if file.is_file())


def no_such_job(name: str) -> CliError:
    return CliError(f"no such model and no such job: {name}; 'graphdbg jobs --all' lists the jobs that are kept")
