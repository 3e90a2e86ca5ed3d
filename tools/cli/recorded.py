"""Functions that the commands for recorded runs share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from .errors import USAGE, CliError

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def add_run(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    parser.add_argument(
        "run_name",
        nargs="?" if optional else None,
        metavar="RUN",
        help="directory or URL of a run, or its id in $GRAPHDBG_RECORD or ./runs (see `graphdbg runs`)",
    )


def add_ranks(parser: argparse.ArgumentParser, where: str = "") -> None:
    """Adds options that set `rank` to a list of ranks, or None. `where` is a prefix of their help: when they apply."""
    parser.add_argument(
        "--rank", type=int, action="append", metavar="R", help=f"{where}only this rank (again for more)"
    )
    parser.add_argument(
        "--ranks",
        dest="rank",
        type=ranks_list,
        action="extend",
        metavar="A:B,…",
        help=f"{where}only these ranks: numbers and ranges, both ends inclusive, such as 0:7,12",
    )


def ranks_list(text: str) -> list[int]:
    """The ranks of an option such as 0:7,12."""
    found: list[int] = []
    try:
        for part in text.split(","):
            first, colon, last = part.partition(":")
            found += range(int(first), int(last if colon else first) + 1)
    except ValueError:
        found = []
    if not found:
        raise argparse.ArgumentTypeError(f"expected ranks such as 0:7,12, not {text}")
    return found


def add_ranks_and_steps(parser: argparse.ArgumentParser) -> None:
    add_ranks(parser)
    parser.add_argument(
        "--steps", type=steps_range, metavar="A:B", help="only steps A to B, both inclusive; either may be missing"
    )
    parser.add_argument("--tensors", metavar="REGEX", help="only tensors in whose name REGEX is found")
    parser.add_argument("--collection", metavar="C", help="only tensors that this collection selected")


def steps_range(text: str) -> tuple[int | None, int | None]:
    """The steps of an option A:B, or of a single number."""
    first, colon, last = text.partition(":")
    try:
        begin = int(first) if first else None
        return begin, ((int(last) if last else None) if colon else begin)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected steps as A:B, not {text}") from None


def run_below(name: str) -> Path | None:
    """The directory of a run, given as path or as id in $GRAPHDBG_RECORD or ./runs; None if there is none."""
    places = [Path(name), *(Path(each) / name for each in (os.environ.get("GRAPHDBG_RECORD"), "runs") if each)]
    return next((place for place in places if any(place.glob("rank-[0-9]*"))), None)


def size_text(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} {_UNITS[-1]}"


def require(condition: bool, message: str) -> None:
    """Ends the command as wrong usage unless a condition holds."""
    if not condition:
        raise CliError(message, USAGE)
