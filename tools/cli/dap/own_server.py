"""The server of one debug session."""

from __future__ import annotations

import contextlib
from pathlib import Path

from ..client import Json
from ..run_directory import run_directory
from ..server_process import ServerProcess


class OwnServer:
    """Started with the session, because exception filters are its conditions; jobs that are launched use it."""

    def __init__(self) -> None:
        self._open = contextlib.ExitStack()
        self.process = self._start([])

    def conditions(self) -> list[Json]:
        """The conditions of this version, as the HTTP interface describes them."""
        found: list[Json] = self.process.client.get("/conditions")["conditions"]
        return found

    def show(self, run: Path) -> str:
        """Replaces the server by one that shows a recorded run, and returns the run's id there; "" if there is none."""
        self.close()
        self.process = self._start([run])
        runs = self.process.client.get("/runs")["runs"]
        return str(runs[0]["id"]) if runs else ""

    def close(self) -> None:
        self._open.close()

    def _start(self, runs: list[Path]) -> ServerProcess:
        directory = self._open.enter_context(run_directory())
        server = ServerProcess(directory, temporary=True, runs=runs)
        self._open.callback(server.stop)
        return server
