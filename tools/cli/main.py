"""Entry point of the `graphdbg` program."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from graphdbg import __version__

from .errors import CliError
from .terminal import visible

# In the order of the help; each is added by the module command_NAME.
COMMANDS = (
    "start",
    "relay",
    "run",
    "check",
    "attach",
    "dbg",
    "dap",
    "conditions",
    "config",
    "url",
    "token",
    "jobs",
    "ctl",
    "record",
    "open",
    "runs",
    "show",
    "recheck",
    "rules",
    "rulehost",
    "diff",
    "pack",
    "unpack",
    "export",
    "replay",
    "bundle",
    "mcp",
    "doctor",
)
# What the module of another command adds besides.
_ADDED_BY = {"detach": "attach"}


class _Parser(argparse.ArgumentParser):
    """Takes no abbreviations: `--to` must not become the `--token-file` of a command without `--to`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})


def make_parser(only: str = "") -> argparse.ArgumentParser:
    """The parser of all commands.

    Args:
        only: The command that is wanted: the modules of others are not imported. All if there is no such command.
    """
    parser = _Parser(
        prog="graphdbg",
        description="A debugger for deep-learning training.",
        epilog="Exit codes: 0 success, 1 job failed or a check found a problem, 2 wrong usage, "
        "3 no server or no job, 4 nothing was debugged.",
    )
    parser.add_argument("--version", action="version", version=f"graphdbg {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = _ADDED_BY.get(only, only)
    for command in (wanted,) if wanted in COMMANDS else COMMANDS:
        importlib.import_module(f".command_{command}", __package__).add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    try:
        # Imports take time, too.
        arguments = make_parser(words[0] if words else "").parse_args(words)
        code: int = arguments.run(arguments)
        return code
    except CliError as error:
        print(f"graphdbg: {visible(error)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of the output (such as `| head`) has exited, which is not a failure.
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
