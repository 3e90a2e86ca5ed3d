"""The servers that one MCP session knows, and those that it runs itself."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from graphdbg.client import Client, GraphdbgError, connect
from graphdbg.client.http import HttpClient
from graphdbg.client.servers import running_servers

from ..run_directory import run_directory
from ..server_process import ServerProcess


class Servers:
    """Connects to servers, each once. Thread-safe."""

    def __init__(self, client: Client | None = None) -> None:
        """
        Args:
            client: The only server of others that is meant. Default: all that run on this machine.
        """
        self._open = contextlib.ExitStack()
        self._lock = threading.Lock()
        self._client = client
        # By address.
        self._clients: dict[str, Client] = {} if client is None else {client.address: client}
        # By what they show.
        self._own: dict[Path, Client] = {}

    def close(self) -> None:
        """Ends the servers of this session."""
        self._open.close()

    def at(self, address: str) -> Client:
        """The server at an address."""
        return self._known(address) or self._kept(connect(address))

    def own(self) -> list[Client]:
        """The servers of this session, which show recorded runs and jobs that have ended."""
        with self._lock:
            return list(self._own.values())

    def others(self) -> Iterator[Client]:
        """The servers that others have started and that answer."""
        if self._client is not None:
            yield self._client
            return
        for server in running_servers():
            with contextlib.suppress(GraphdbgError):
                http = HttpClient.from_data_dir(server.address, server.data_dir)
                yield self._known(server.address) or self._kept(Client(http))

    def of_runs(self, directory: Path) -> Client:
        """A server of this session that shows a recorded run, or the runs in a directory."""
        with self._lock:
            if directory not in self._own:
                data_dir = self._open.enter_context(run_directory())
                self._start(directory, ServerProcess(data_dir, temporary=True, runs=[directory]))
            return self._own[directory]

    def of_ended_job(self, data_dir: Path) -> Client:
        """A server of this session that shows the jobs in a data directory of another server, which has ended."""
        with self._lock:
            if data_dir not in self._own:
                self._start(data_dir, ServerProcess(data_dir))
            return self._own[data_dir]

    def _start(self, directory: Path, process: ServerProcess) -> None:
        self._open.callback(process.stop)
        self._own[directory] = Client(process.client)

    def _known(self, address: str) -> Client | None:
        with self._lock:
            return self._clients.get(address.rstrip("/"))

    def _kept(self, client: Client) -> Client:
        with self._lock:
            return self._clients.setdefault(client.address, client)
