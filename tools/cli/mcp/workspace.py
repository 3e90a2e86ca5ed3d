"""The servers, jobs and runs that one MCP session knows."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from graphdbg.client import Client, GraphdbgError, NoServerError, connect
from graphdbg.client.http import HttpClient
from graphdbg.client.servers import running_servers

from ..client import Json
from ..kept_jobs import find_kept_job
from ..recorded import run_below
from ..run_directory import run_directory
from ..server_process import ServerProcess
from .processes import Child, Processes
from .subjects import Subject

# Commands that have ended and whose jobs can still be read; each has a server.
_ENDED_COMMANDS = 3
_RUNNING_COMMANDS = 8
_CLOSE_SECONDS = 1.0


class Workspace:
    """Finds the job or run that a tool is about. Thread-safe.

    Attributes:
        closed: Set at the end; tools that wait then return.
    """

    def __init__(self, client: Client | None = None) -> None:
        """
        Args:
            client: The server that is asked first. Default: those of this machine.
        """
        self._open = contextlib.ExitStack()
        self._directory = self._open.enter_context(run_directory())
        self.processes = Processes(self._directory)
        self.closed = threading.Event()
        self._lock = threading.RLock()
        self._client = client
        # By address.
        self._clients: dict[str, Client] = {}
        self._commands: list[Child] = []
        # Servers of recorded runs and of jobs that have ended, by directory.
        self._servers: dict[Path, Client] = {}
        self._current: Subject | None = None

    def close(self) -> None:
        """Ends everything that this session has started."""
        self.closed.set()
        self.processes.close(_CLOSE_SECONDS)
        self._open.close()

    # ---- commands

    def start(self, spec: Json, cwd: str | None) -> Child:
        """Starts the command of a run, which becomes what tools are about."""
        with self._lock:
            self._forget_commands()
            child = self.processes.start_run(spec, cwd)
            self._commands.append(child)
            self._current = None
            return child

    def running_commands(self) -> int:
        """The number of commands that have not ended."""
        with self._lock:
            return sum(child.is_working() for child in self._commands)

    def server_of(self, child: Child) -> Client | None:
        """The server of a command; None if it has none yet, or none any more."""
        address = child.address() if child.is_running() else None
        return None if address is None else self._client_of(address)

    def current(self) -> Subject | None:
        """The job or run that tools are about if they name none."""
        return self._current

    def make_current(self, subject: Subject) -> None:
        """Makes it the one that tools are about if they name none."""
        with self._lock:
            self._current = subject

    def _forget_commands(self) -> None:
        running = [child for child in self._commands if child.is_working()]
        if len(running) >= _RUNNING_COMMANDS:
            raise GraphdbgError(f"{len(running)} commands run already: terminate(job=…) ends one; jobs() lists them")
        ended = [child for child in self._commands if child.is_running() and child.result() is not None]
        for child in ended[: -_ENDED_COMMANDS + 1]:
            child.let_go()
        self._commands = [*ended[-_ENDED_COMMANDS + 1 :], *running]

    # ---- finding

    def subject(self, name: str | None) -> Subject:
        """The job or run of this id or name. Default: the current one, or else the only one there is.

        Raises:
            GraphdbgError: There is none, or several jobs have this name.
        """
        current = self._current
        if current is not None and name in (None, current.id):
            return current
        known = list(self.all())
        matching = [each for each in known if name is None or each.id == name]
        if len(matching) == 1:
            return matching[0]
        raise _not_one(name, known, matching)

    def newest_command(self) -> Child | None:
        """The command that was started last, if tools are about it or its jobs."""
        with self._lock:
            child = self._commands[-1] if self._commands else None
            return child if self._current is None or self._current.child is child else None

    def all(self) -> Iterator[Subject]:
        """All jobs that can be reached, and the runs that are attached, newest server last."""
        seen: set[str] = set()
        for client, child in self._reachable():
            if client.address in seen:
                continue
            seen.add(client.address)
            with contextlib.suppress(GraphdbgError):
                for job in client.http.get("/jobs")["jobs"]:
                    yield Subject(client, job["id"], child=child)
                if client in self._servers.values():
                    for run in client.http.get("/runs")["runs"]:
                        yield Subject(client, run["id"], is_run=True)

    def any_client(self, name: str | None) -> Client:
        """The server of the job of this name; without one, any server, for what all of them know."""
        if name is not None or self._current is not None:
            return self.subject(name).client
        for client, _ in self._reachable():
            return client
        return self._serve(self._directory, runs=self._directory)

    def attach(self, target: str, server: str | None) -> Subject:
        """Finds a job of a server, a job that is kept, or a recorded run, and makes it the current one."""
        subject = self._attached(target, server)
        self.make_current(subject)
        return subject

    def _attached(self, target: str, server: str | None) -> Subject:
        if server is not None:
            client = self._client_of(server)
            return Subject(client, client.job(target).id)
        known = list(self.all())
        found = [each for each in known if each.id == target]
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            raise _not_one(target, known, found)
        directory = run_below(target) or (Path(target) if Path(target).is_dir() else None)
        if directory is not None:
            return self._recorded(directory.resolve())
        kept = find_kept_job(target)
        if kept is not None:
            return Subject(self._serve(kept.directory, runs=None), kept.job)
        raise _not_one(target, known, [])

    def _recorded(self, directory: Path) -> Subject:
        client = self._serve(directory, runs=directory)
        runs = client.http.get("/runs")["runs"]
        if len(runs) != 1:
            ids = ", ".join(run["id"] for run in runs)
            what = f"has several runs: name one of them, {directory}/RUN ({ids})" if runs else "is no recorded run"
            raise GraphdbgError(f"{directory} {what}")
        return Subject(client, runs[0]["id"], is_run=True)

    def _serve(self, directory: Path, runs: Path | None) -> Client:
        """A server of this session that shows a recorded run, or the data directory of a job that has ended."""
        with self._lock:
            if directory not in self._servers:
                if runs is None:
                    process = ServerProcess(directory)
                else:
                    process = ServerProcess(self._open.enter_context(run_directory()), temporary=True, runs=[runs])
                self._open.callback(process.stop)
                self._servers[directory] = Client(process.client)
            return self._servers[directory]

    def _reachable(self) -> Iterator[tuple[Client, Child | None]]:
        with self._lock:
            commands, servers = list(self._commands), list(self._servers.values())
        for child in commands:
            with contextlib.suppress(GraphdbgError):
                client = self.server_of(child)
                if client is not None:
                    yield client, child
        for client in servers:
            yield client, None
        if self._client is not None:
            yield self._client, None
            return
        for server in running_servers():
            with contextlib.suppress(GraphdbgError):
                yield self._client_from(server.address, server.data_dir), None

    def _client_of(self, address: str) -> Client:
        with self._lock:
            if self._client is not None and self._client.address == address.rstrip("/"):
                return self._client
            if address not in self._clients:
                self._clients[address] = connect(address)
            return self._clients[address]

    def _client_from(self, address: str, data_dir: Path) -> Client:
        with self._lock:
            if address not in self._clients:
                self._clients[address] = Client(HttpClient.from_data_dir(address, data_dir))
            return self._clients[address]


def _not_one(name: str | None, known: list[Subject], matching: list[Subject]) -> GraphdbgError:
    if len(matching) > 1:
        servers = ", ".join(f"{each.id} at {each.client.address}" for each in matching[:10])
        return GraphdbgError(f"there are several: {servers}; attach(target=ID, server=ADDRESS) chooses one")
    if not known:
        error: GraphdbgError = NoServerError("there is no job yet" if name is None else f"no job is called '{name}'")
        return error
    ids = ", ".join(each.id for each in known[:10])
    error = GraphdbgError(f"no job or recorded run is called '{name}'; there are: {ids}")
    error.code = "unknown_job"
    return error
