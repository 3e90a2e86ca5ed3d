"""Runs every fault at every moment on real processes, and reports what survived.

Each cell has a server, a training job that reaches the server through a proxy, and a
data directory of its own. `tools/dev faults --help` shows the options.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cell import Cell
from faults import FAULTS, Fault
from graphdbg.cli.errors import CliError
from invariants import bring_to_end, check
from moments import MOMENTS
from processes import CellFailure, undisturbed_losses

SURVIVED, FAILED, NOT_APPLICABLE = "survived", "FAILED", "not applicable"

# One cell for each way in which processes, network and disk can fail.
SHORT = (("F1", "M4"), ("F2", "M7"), ("F8", "M3"), ("F17", "M4"), ("F18", "M5"))


@dataclass
class Outcome:
    fault: Fault
    moment: str
    verdict: str
    detail: str = ""
    seconds: float = 0


def run_cell(fault: Fault, moment: str, seed: int, undisturbed: list[str], directory: Path) -> Outcome:
    if reason := fault.not_applicable.get(moment) or fault.why_not_here():
        return Outcome(fault, moment, NOT_APPLICABLE, reason)
    cell = Cell(directory / f"{fault.id}-{moment}-{seed}", seed)
    begin = time.monotonic()
    verdict, detail = SURVIVED, ""
    fault.prepare(cell)
    try:
        cell.start_server()
        MOMENTS[moment][1](cell)
        time.sleep(cell.random.uniform(0, 0.05))
        fault.strike(cell)
        cell.proxy.heal()
        fault.heal(cell)
        cell.end_activity()
        bring_to_end(cell)
        check(cell, undisturbed)
    except (CellFailure, CliError, OSError) as failure:
        verdict, detail = FAILED, f"{failure} (files: {cell.directory})"
    finally:
        cell.end_activity()
        cell.close()
        fault.clean_up(cell)
    if verdict == SURVIVED:
        shutil.rmtree(cell.directory)
    return Outcome(fault, moment, verdict, detail, time.monotonic() - begin)


def selected(arguments: argparse.Namespace) -> list[tuple[Fault, str]]:
    cells = [(fault, moment) for fault in FAULTS for moment in MOMENTS]
    if arguments.short:
        cells = [(f, m) for f, m in cells if (f.id, m) in SHORT and not f.slow]
    if arguments.only:
        cells = [(f, m) for f, m in cells if f"{f.id}/{m}".startswith(tuple(arguments.only))]
    if not arguments.slow:
        cells = [(f, m) for f, m in cells if not f.slow]
    return cells


def report(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.verdict == NOT_APPLICABLE:
            print(f"{outcome.fault.id}/{outcome.moment} {outcome.fault.name}: not applicable: {outcome.detail}")
    for outcome in outcomes:
        if outcome.verdict == FAILED:
            print(f"{outcome.fault.id}/{outcome.moment} {outcome.fault.name}: {outcome.detail}")
    counts = Counter(outcome.verdict for outcome in outcomes)
    tried = counts[SURVIVED] + counts[FAILED]
    lost = sum("acknowledged items" in outcome.detail for outcome in outcomes)
    print(
        f"{tried} cells tried, {counts[SURVIVED]} survived, {counts[FAILED]} failed, "
        f"{counts[NOT_APPLICABLE]} not applicable; {lost} cells lost acknowledged items"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/dev faults", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a handful of representative cells")
    parser.add_argument("--slow", action="store_true", help="also faults that last 20 s")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="how often each cell runs (default: 1)")
    parser.add_argument("--only", action="append", metavar="F[/M]", help="only these cells, such as F2 or F2/M7")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="graphdbg-faults-"))
    undisturbed = undisturbed_losses(directory)
    outcomes = []
    for fault, moment in selected(arguments):
        for seed in range(arguments.seeds):
            outcome = run_cell(fault, moment, seed, undisturbed, directory)
            if outcome.verdict != NOT_APPLICABLE:
                name = f"{fault.id}/{moment} {fault.name}, {MOMENTS[moment][0]}"
                print(f"{outcome.verdict:8} {outcome.seconds:5.1f} s  {name}", flush=True)
            outcomes.append(outcome)
    report(outcomes)
    failed = any(outcome.verdict == FAILED for outcome in outcomes)
    if not failed:
        with contextlib.suppress(OSError):
            shutil.rmtree(directory)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
