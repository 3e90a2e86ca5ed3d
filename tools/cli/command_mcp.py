"""`graphdbg mcp`: the debugger's verbs as tools for coding agents, by the Model Context Protocol."""

from __future__ import annotations

import argparse

from . import connection
from .errors import USAGE, CliError

# What the extra `mcp` of the wheel installs, as modules.
_NEEDED = ("anyio", "mcp", "mcp_types", "pydantic")
_MIN_LIMIT = 1000


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "mcp",
        help="serve coding agents (Model Context Protocol)",
        description="Speaks the Model Context Protocol on standard input and output: coding agents run programs under "
        "the debugger, and read and control its jobs. What they have started ends when they disconnect. "
        "Needs the package mcp: pip install 'graphdbg[mcp]'.",
    )
    parser.add_argument(
        "--limit",
        type=_limit,
        default=None,
        metavar="N",
        help="characters of an answer at most (default: 4096, about 1,000 tokens)",
    )
    connection.add_options(parser, prints_json=False)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    try:
        from .mcp.server import serve
    except ImportError as error:
        # A part of the package is missing in its earlier versions.
        package = (error.name or "").partition(".")[0]
        if package not in _NEEDED:
            raise
        raise CliError(f"an MCP server needs the package {package}: pip install 'graphdbg[mcp]'", USAGE) from None
    given = arguments.server or arguments.data_dir or arguments.token_file
    serve(connection.connect(arguments) if given else None, arguments.limit)
    return 0


def _limit(text: str) -> int:
    if not text.isdigit() or int(text) < _MIN_LIMIT:
        raise argparse.ArgumentTypeError(f"expected a number of characters of at least {_MIN_LIMIT}, not '{text}'")
    return int(text)
