"""The trainings of this user on this machine."""

from __future__ import annotations

import datetime
import os
import socket
from pathlib import Path

from ..client import Client, Json
from ..errors import CliError
from ..job_follower import ENDED
from ..running_servers import running_servers
from .processes import LAUNCHERS, Process, own_processes
from .ranks import rank_of
from .torch_version import torch_version


def trainings() -> list[Json]:
    """Processes that have PyTorch loaded and are no helpers of others, the oldest first.

    Each has `pid`, `script`, `rank` if a launcher has set one, `torch`, the version, `since` and `started_at`, the time
    of its start for users and for programs, and `job` and `server` if it is attached to one.
    """
    jobs = attached_jobs()
    found = [each for each in own_processes() if _trains(each)]
    rows = []
    for process in sorted(found, key=lambda each: each.start_ticks):
        client, job = jobs.get(process.pid, (None, None))
        began = _start_time(process)
        rows.append(
            {
                "pid": process.pid,
                "script": process.script,
                "rank": rank_of(process),
                "torch": torch_version(process),
                "since": began.astimezone().replace(tzinfo=None).isoformat(" ", "seconds"),
                "started_at": began.isoformat(timespec="seconds").replace("+00:00", "Z"),
                "job": job,
                "server": client.address if client else None,
            }
        )
    return rows


def attached_jobs() -> dict[int, tuple[Client, str]]:
    """The live jobs of the servers on this machine, by their processes."""
    found: dict[int, tuple[Client, str]] = {}
    host = socket.gethostname()
    for server in running_servers():
        client = Client.from_data_dir(server.address, server.data_dir)
        try:
            jobs = client.get("/jobs")["jobs"]
        except CliError:
            # It has just ended.
            continue
        for job in jobs:
            if job["state"] not in ENDED:
                ranks = (rank for rank in job["ranks"] if rank["host"] == host)
                found.update({int(rank["pid"]): (client, str(job["id"])) for rank in ranks})
    return found


def _trains(process: Process) -> bool:
    is_helper = process.name == "pt_data_worker" or process.script in LAUNCHERS
    return process.torch is not None and not is_helper


def _start_time(process: Process) -> datetime.datetime:
    """In UTC."""
    up = float(Path("/proc/uptime").read_text().split()[0])
    age = up - process.start_ticks / os.sysconf("SC_CLK_TCK")
    return datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=age)
