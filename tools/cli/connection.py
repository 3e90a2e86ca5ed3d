"""Options by which a command finds a running server."""

from __future__ import annotations

import argparse
from pathlib import Path

from .client import DEFAULT_SERVER, Client, default_data_dir


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", default=DEFAULT_SERVER, metavar="URL", help="the server's address (%(default)s)")
    parser.add_argument(
        "--data-dir", type=Path, default=default_data_dir(), help="where the server wrote its token (%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def connect(arguments: argparse.Namespace) -> Client:
    return Client.from_data_dir(arguments.server, arguments.data_dir)
