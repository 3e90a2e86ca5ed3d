"""The server that an agent connects to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..client import Client
from ..connection import token_of
from ..errors import USAGE, CliError
from ..run_directory import run_directory
from ..running_servers import RunningServer, running_servers
from ..server_process import ServerProcess


@dataclass(frozen=True)
class TargetServer:
    """A server, and how an agent reaches it.

    Attributes:
        environment: The agent's variables.
        own: The process of a server that was started for this; None if it runs anyway.
    """

    client: Client
    environment: dict[str, str]
    own: ServerProcess | None = None


@contextlib.contextmanager
def target_server(address: str | None, token_file: Path | None) -> Iterator[TargetServer]:
    """The server at an address, the only one of this machine, or one that is started.

    Servers of `graphdbg run` end with their jobs, so they are taken only by their address.
    """
    running = [each for each in running_servers() if address or not _is_temporary(each)]
    if address is None and len(running) > 1:
        listed = ", ".join(each.address for each in running)
        raise CliError(f"several servers run; choose one of them with --server: {listed}", USAGE)
    if address is None and not running:
        with run_directory() as directory:
            server = ServerProcess(directory, temporary=True)
            try:
                yield own_server(server)
            finally:
                server.stop()
        return
    found = next((each for each in running if address is None or each.address == address.rstrip("/")), None)
    yield _existing(address, found, token_file)


def own_server(server: ServerProcess) -> TargetServer:
    """A server that this process has started."""
    host, _, port = server.debugger_address.rpartition(":")
    environment = {
        "GRAPHDBG_HOST": host,
        "GRAPHDBG_PORT": port,
        "GRAPHDBG_TOKEN_FILE": str(server.data_dir / "agent_token"),
    }
    if server.debugger_socket:
        environment["GRAPHDBG_SOCKET"] = str(server.debugger_socket)
    return TargetServer(server.client, environment, server)


def _existing(address: str | None, found: RunningServer | None, token_file: Path | None) -> TargetServer:
    token = token_of(token_file)
    if found is not None and token is None:
        client = Client.from_data_dir(found.address, found.data_dir)
    else:
        client = Client(address or (found.address if found else ""), token)
    host, _, port = str(client.get("/server")["debugger_address"]).rpartition(":")
    environment = {"GRAPHDBG_HOST": host, "GRAPHDBG_PORT": port}
    if found is not None:
        return TargetServer(client, environment | {"GRAPHDBG_TOKEN_FILE": str(found.data_dir / "agent_token")})
    # The token for agents of a server elsewhere is set as it is for its jobs.
    names = ("GRAPHDBG_TOKEN", "GRAPHDBG_TOKEN_FILE", "GRAPHDBG_TLS_CA")
    return TargetServer(client, environment | {name: os.environ[name] for name in names if name in os.environ})


def _is_temporary(server: RunningServer) -> bool:
    from graphdbg.client.servers import RUN_LOCK

    return (server.data_dir / RUN_LOCK).exists()
