"""Finds servers that run on this machine by their data directories."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

from .client import default_data_dir
from .run_directory import run_directories


@dataclasses.dataclass(frozen=True)
class RunningServer:
    data_dir: Path
    address: str


def server_of(data_dir: Path) -> RunningServer | None:
    """The server that runs on a data directory, if any."""
    try:
        running = json.loads((data_dir / "server.json").read_text())
        address, pid = str(running["http_address"]), int(running["pid"])
        # A server that was killed leaves its file.
        os.kill(pid, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return RunningServer(data_dir, address)


def running_servers() -> list[RunningServer]:
    """The server of the default data directory, and those of `graphdbg run`."""
    directories = [default_data_dir(), *run_directories()]
    return [server for server in map(server_of, directories) if server is not None]
