"""Options for commands that connect to a running server."""

from __future__ import annotations

import argparse
from pathlib import Path

from .client import DEFAULT_SERVER, Client, default_data_dir


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server", default=DEFAULT_SERVER, metavar="URL", help="address of the server (default: %(default)s)"
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=default_data_dir(),
        help="data directory of the server, where its token is stored (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def connect(arguments: argparse.Namespace) -> Client:
    return Client.from_data_dir(arguments.server, arguments.data_dir)
