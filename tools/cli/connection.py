"""Options for commands that connect to a running server."""

from __future__ import annotations

import argparse
from pathlib import Path

from .client import DEFAULT_SERVER, Client, default_data_dir
from .errors import USAGE, CliError
from .running_servers import running_servers, server_of


def add_options(parser: argparse.ArgumentParser, prints_json: bool = True) -> None:
    parser.add_argument(
        "--server",
        metavar="URL",
        help=f"address of the server (default: the one that runs on the data directory, or else {DEFAULT_SERVER})",
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


def connect(arguments: argparse.Namespace) -> Client:
    data_dir: Path = arguments.data_dir or default_data_dir()
    address: str | None = arguments.server
    if address is None:
        running = server_of(data_dir)
        address = running.address if running else DEFAULT_SERVER
    if arguments.token_file is None:
        return Client.from_data_dir(address, data_dir)
    try:
        token = arguments.token_file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"cannot read the token: {error}", USAGE) from None
    return Client(address, token)


def connect_to_all() -> list[Client]:
    """Connects to all servers that run on this machine."""
    return [Client.from_data_dir(server.address, server.data_dir) for server in running_servers()]
