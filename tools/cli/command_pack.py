"""`graphdbg pack RUN`: packs a run's log into Parquet."""

from __future__ import annotations

import argparse
import json
import sys

from .errors import CliError
from .progress import Progress
from .recorded import add_run, size_text
from .terminal import visible


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "pack",
        help="pack a recorded run into Parquet",
        description="Packs the log of a run into Parquet files, in the run or elsewhere, about a third as large and "
        "without loss. Each file is read back and its checksums are compared before the log is removed. Needs "
        "`graphdbg[analysis]`.",
    )
    add_run(parser)
    parser.add_argument("--to", metavar="URL", help="directory or URL for a copy of the run; its log stays here")
    parser.add_argument(
        "--follow", action="store_true", help="continue until all ranks have ended; start one on each host"
    )
    parser.add_argument("--keep-log", action="store_true", help="do not remove the log")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from graphdbg.runs.pack_run import pack_run
    from graphdbg.runs.summary import find_run

    try:
        with Progress("graphdbg: packing") as progress:

            def show(what: str, done: int, total: int) -> None:
                progress.show(f"graphdbg: {what}", done, total)

            report = pack_run(find_run(arguments.run_name), arguments.to, arguments.follow, arguments.keep_log, show)
    except OSError as error:
        raise CliError(f"cannot pack {arguments.run_name}: {error}") from None
    for line in report.lost:
        print(visible(f"graphdbg: {line}"), file=sys.stderr)
    if arguments.json:
        fields = ("rows", "bytes", "files", "ended", "lost")
        print(json.dumps({name: getattr(report, name) for name in fields}))
    else:
        rest = "" if report.ended else "; the run has not ended"
        print(f"{report.rows} records packed into {report.files} files, {size_text(report.bytes)}{rest}")
    return 0
