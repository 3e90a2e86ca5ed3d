"""`graphdbg url`: prints a new address of the page."""

from __future__ import annotations

import argparse
import json

from . import connection
from .client import Client, Json
from .terminal import visible

ROLES = ("view", "control", "admin")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "url",
        help="print a new address of the page",
        description="Prints an address of the running server's page with a one-time code, which works once and for "
        "60 seconds. Without --server and --data-dir, it also finds the servers of `graphdbg run`. Give an address "
        "to another user with --name: the page then shows that name when they control a job.",
    )
    parser.add_argument("--name", help="name of the person who will open the page (default: yours)")
    parser.add_argument(
        "--role", choices=ROLES, help="what the page may do (default: as much as you, or with --name only view)"
    )
    parser.add_argument("--embed", action="store_true", help="an address that views of VS Code may show in a frame")
    connection.add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    holder: Json = {}
    if arguments.name is not None:
        holder["name"] = arguments.name
    if arguments.role is not None or arguments.name is not None:
        holder["role"] = arguments.role or "view"
    pages = [client.page(holder=holder, embed=arguments.embed) for client in _clients(arguments)]
    if arguments.json:
        print(json.dumps(pages[0] | {"pages": pages}))
        return 0
    for page in pages:
        print(visible(page["url"]))
    return 0


def _clients(arguments: argparse.Namespace) -> list[Client]:
    """The server that the options select, or all that run."""
    if arguments.server is None and arguments.data_dir is None and arguments.token_file is None:
        found = connection.connect_to_all()
        if found:
            return found
    return [connection.connect(arguments)]
