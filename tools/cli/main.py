"""Entry point of the `graphdbg` program."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from graphdbg import __version__

from . import (
    command_attach,
    command_bundle,
    command_check,
    command_conditions,
    command_config,
    command_ctl,
    command_dap,
    command_dbg,
    command_diff,
    command_doctor,
    command_export,
    command_jobs,
    command_mcp,
    command_open,
    command_pack,
    command_recheck,
    command_record,
    command_replay,
    command_rulehost,
    command_rules,
    command_run,
    command_runs,
    command_show,
    command_start,
    command_token,
    command_unpack,
    command_url,
)
from .errors import CliError
from .terminal import visible

COMMANDS = (
    command_start,
    command_run,
    command_check,
    command_attach,
    command_dbg,
    command_dap,
    command_conditions,
    command_config,
    command_url,
    command_token,
    command_jobs,
    command_ctl,
    command_record,
    command_open,
    command_runs,
    command_show,
    command_recheck,
    command_rules,
    command_rulehost,
    command_diff,
    command_pack,
    command_unpack,
    command_export,
    command_replay,
    command_bundle,
    command_mcp,
    command_doctor,
)


class _Parser(argparse.ArgumentParser):
    """Takes no abbreviations: `--to` must not become the `--token-file` of a command without `--to`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})


def make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="graphdbg",
        description="A debugger for deep-learning training.",
        epilog="Exit codes: 0 success, 1 job failed or a check found a problem, 2 wrong usage, "
        "3 no server or no job, 4 nothing was debugged.",
    )
    parser.add_argument("--version", action="version", version=f"graphdbg {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    arguments = make_parser().parse_args(argv)
    try:
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
