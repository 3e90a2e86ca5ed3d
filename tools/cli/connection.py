"""Options for commands that connect to a running server."""

from __future__ import annotations

import argparse
from pathlib import Path

from .client import DEFAULT_SERVER, Client, default_data_dir
from .errors import USAGE, CliError
from .running_servers import RunningServer, running_servers, server_at, server_of


def add_options(parser: argparse.ArgumentParser, prints_json: bool = True) -> None:
    parser.add_argument(
        "--server",
        metavar="URL",
        help=f"address of the server (default: the only one that runs, or else {DEFAULT_SERVER})",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        help=f"data directory of the server, where its token is stored (default: {default_data_dir()})",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="file with the token to use (default: the file 'token' in the data directory)",
    )
    if prints_json:
        parser.add_argument("--json", action="store_true", help="print JSON")


def connect(arguments: argparse.Namespace, job: str | None = None, *, any_server: bool = False) -> Client:
    """Connects to the server that the options name.

    Args:
        arguments: Those of `add_options`.
        job: Without the options, the server that has this job.
        any_server: Without the options, one of several servers is as good as another.

    Raises:
        CliError: Without the options, several servers run, and not exactly one of them has the job.
    """
    data_dir: Path = arguments.data_dir or default_data_dir()
    address: str | None = arguments.server
    if arguments.data_dir or arguments.token_file:
        running = server_of(data_dir) if address is None else None
    else:
        running = _running_server(job, any_server) if address is None else server_at(address)
    data_dir = running.data_dir if running else data_dir
    address = address or (running.address if running else DEFAULT_SERVER)
    token = token_of(arguments.token_file)
    return Client.from_data_dir(address, data_dir) if token is None else Client(address, token)


def token_of(file: Path | None) -> str | None:
    """The token in a file that the user has named; None if none was named."""
    if file is None:
        return None
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"cannot read the token: {error}", USAGE) from None


def _running_server(job: str | None, any_server: bool) -> RunningServer | None:
    servers = running_servers()[: 1 if any_server else None]
    if len(servers) > 1 and job is not None:
        servers = [server for server in servers if job in _jobs_of(server)] or servers
    if len(servers) > 1:
        listed = "; ".join(f"{server.address} ({', '.join(_jobs_of(server)) or 'no jobs'})" for server in servers)
        raise CliError(f"several servers run; choose one of them with --server: {listed}", USAGE)
    return servers[0] if servers else None


def _jobs_of(server: RunningServer) -> list[str]:
    try:
        jobs = Client.from_data_dir(server.address, server.data_dir).get("/jobs")["jobs"]
    except CliError:
        # It has just ended.
        return []
    return [job["id"] for job in jobs]


def connect_to_all() -> list[Client]:
    """Connects to all servers that run on this machine."""
    return [Client.from_data_dir(server.address, server.data_dir) for server in running_servers()]
