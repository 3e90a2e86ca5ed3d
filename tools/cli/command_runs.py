"""`graphdbg runs`: lists recorded runs."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys

from .progress import Progress
from .recorded import size_text
from .terminal import visible


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "runs",
        help="list recorded runs",
        description="Lists recorded runs with their ranks, complete steps and size, how they ended, and the number of "
        "findings. Reads all records; exits with 1 if any file is damaged, and names the file and the offset.",
    )
    parser.add_argument(
        "place",
        metavar="DIR|URL",
        nargs="?",
        default=os.environ.get("GRAPHDBG_RECORD") or "runs",
        help="directory of runs, or one run (default: $GRAPHDBG_RECORD, or runs)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from graphdbg.runs.loading import load_logs
    from graphdbg.runs.summary import open_all, summarize

    opened = open_all(arguments.place)
    runs = []
    with Progress("graphdbg: reading runs") as progress:
        for number, recorded in enumerate(opened, 1):
            load_logs(recorded, progress.of(f"graphdbg: reading run {number} of {len(opened)}"))
            runs.append(summarize(recorded))
    if arguments.json:
        print(json.dumps({"runs": [dataclasses.asdict(each) for each in runs]}))
    for each in () if arguments.json else runs:
        steps = f"steps {each.steps:<8} ranks {each.ranks:<5}"
        findings = f"  findings {each.findings}" if each.findings else ""
        text = (
            f"{each.id:30}  {each.ended or 'running':10}  {steps} {size_text(each.bytes):>9}  {each.program}{findings}"
        )
        print(visible(text.rstrip()))
    if not runs and not arguments.json:
        print("no runs")
    damages = [damage for each in runs for damage in each.damages]
    for damage in damages:
        print(visible(f"graphdbg: {damage}"), file=sys.stderr)
    return 1 if damages else 0
