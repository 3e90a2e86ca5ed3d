"""`graphdbg unpack RUN`: restores a run's log from Parquet."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from .errors import CliError
from .progress import Progress
from .recorded import add_ranks, add_run, steps_range
from .terminal import visible


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "unpack",
        help="restore a packed run's log",
        description="Restores the log of a packed run, to the byte. The Parquet files stay.",
    )
    add_run(parser)
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="directory for the unpacked run (default: the run itself)"
    )
    add_ranks(parser)
    parser.add_argument(
        "--steps",
        type=steps_range,
        metavar="A:B",
        default=(None, None),
        help="only the files that contain steps A to B",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from graphdbg.runs.summary import find_run
    from graphdbg.runs.unpack import unpack_run

    try:
        with Progress("graphdbg: unpacking") as progress:
            written = unpack_run(
                find_run(arguments.run_name),
                arguments.to,
                progress.of("graphdbg: unpacking"),
                arguments.rank,
                arguments.steps,
            )
    except (OSError, ValueError) as error:
        raise CliError(f"cannot unpack {arguments.run_name}: {error}", 1) from None
    if arguments.json:
        print(json.dumps({"rows": written}))
    else:
        print(visible(f"{written} records restored"))
    return 0
