"""Finds servers that run on this machine."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import stat
import tempfile
from pathlib import Path

DEFAULT_SERVER = "http://127.0.0.1:8080"

# Temporary data directories begin with this, and contain a file of this name.
RUN_PREFIX = "graphdbg-"
RUN_LOCK = "run.lock"


def default_data_dir() -> Path:
    """The data directory of `graphdbg start`."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "graphdbg"


def run_directories() -> list[Path]:
    """The temporary data directories of this user, also of processes that have been killed."""
    return [path for path in sorted(Path(tempfile.gettempdir()).glob(f"{RUN_PREFIX}*")) if _is_ours(path)]


def _is_ours(path: Path) -> bool:
    """Whether the path is a directory of this user, and no link, with the mark of `graphdbg run`."""
    try:
        return _is_private(path) and stat.S_ISREG((path / RUN_LOCK).lstat().st_mode)
    except OSError:
        return False


def _is_private(path: Path) -> bool:
    """Whether the path is a directory of this user alone, and no link."""
    try:
        info = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid() and not info.st_mode & 0o077


@dataclasses.dataclass(frozen=True)
class RunningServer:
    """A server that runs on this machine.

    Attributes:
        data_dir: Its data directory, which contains its token.
        address: The address of its page and HTTP interface.
        pid: The id of its process.
    """

    data_dir: Path
    address: str
    pid: int


def server_of(data_dir: Path) -> RunningServer | None:
    """The server that runs on a data directory, if any."""
    try:
        running = json.loads((data_dir / "server.json").read_text())
        address, pid = str(running["http_address"]), int(running["pid"])
        # A server that was killed leaves its file.
        os.kill(pid, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return RunningServer(data_dir, address, pid)


def running_servers() -> list[RunningServer]:
    """All servers of this user: that of the default data directory first, and each once."""
    directories = [default_data_dir(), *run_directories(), *_listed_directories()]
    servers = [server for server in map(server_of, directories) if server is not None]
    return list({server.pid: server for server in reversed(servers)}.values())[::-1]


def server_at(address: str) -> RunningServer | None:
    """The server of this user with an address, if any."""
    return next((each for each in running_servers() if each.address == address.rstrip("/")), None)


def runtime_dir() -> Path:
    """Where servers list themselves while they run."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "graphdbg" if runtime else Path(tempfile.gettempdir()) / f".graphdbg-{os.getuid()}"


def _listed_directories() -> list[Path]:
    """The data directories of the servers that list themselves, also of some that have been killed."""
    directory = runtime_dir()
    if not _is_private(directory):
        return []
    listed = []
    for file in sorted(directory.glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            listed.append(Path(json.loads(file.read_text())["data_dir"]))
    return listed
