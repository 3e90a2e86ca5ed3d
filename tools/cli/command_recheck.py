"""`graphdbg recheck RUN CONDITION...`: checks conditions over what a run recorded."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path

from . import report
from .client import Json
from .progress import Progress
from .recorded import add_ranks, add_run, steps_range
from .run_check import check_run, run_to_check
from .terminal import visible


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "recheck",
        help="check conditions over what a run recorded",
        description="Lists every recorded tensor that matches a condition, in execution order, as a job under "
        "`graphdbg run --break-on` would have reported it. Exits with 1 if there is any.",
    )
    add_run(parser)
    parser.add_argument(
        "conditions", metavar="CONDITION", nargs="+", help="as for --break-on: nan, inf, abs_max_gt:1e3, 'expr:l2 > 10'"
    )
    add_ranks(parser)
    parser.add_argument(
        "--steps",
        type=steps_range,
        metavar="A:B",
        default=(None, None),
        help="only steps A to B, both inclusive; either may be missing",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    with Progress("graphdbg: checking") as progress:

        def show(condition: str, hits: int, done: int, total: int) -> None:
            progress.show(f"{condition}: {hits} hits", done, total)

        directory = _directory(arguments, progress.of("graphdbg: fetching the run"))
        checks = check_run(directory, arguments.conditions, arguments.rank, arguments.steps, show)
    _print(checks, arguments.json)
    return 1 if any(check["hit_count"] for check in checks) else 0


def _directory(arguments: argparse.Namespace, progress: Callable[[int, int], None]) -> Path:
    from graphdbg.runs import RunNotFoundError, open_run
    from graphdbg.runs.errors import MindSporeDumpError
    from graphdbg.runs.summary import find_run

    place = find_run(arguments.run_name)
    try:
        return run_to_check(open_run(place), arguments.rank, arguments.steps, progress)
    except (MindSporeDumpError, RunNotFoundError):
        # The server knows dumps of more releases.
        if not Path(place).is_dir():
            raise
        return Path(place)


def _print(checks: list[Json], as_json: bool) -> None:
    if as_json:
        keys = ("condition", "hit_count", "not_recorded", "hits")
        print(json.dumps({"checks": [{key: check[key] for key in keys} for check in checks]}))
        return
    for check in checks:
        for hit in check["hits"]:
            print(visible(_line(hit)))
    for check in checks:
        report.log(_summary(check))


def _line(hit: Json) -> str:
    place = f"step {hit['step']}  rank {hit['rank']}  {hit['node']}:{hit['slot']}"
    return f"{place}  {hit['condition']}  {report.describe_statistics(hit['statistics'])}  {_source(hit)}".rstrip()


def _source(hit: Json) -> str:
    return report.describe_source(hit["source"]) if hit["source"] else ""


def _summary(check: Json) -> str:
    count, listed = check["hit_count"], len(check["hits"])
    text = f"{check['condition']['id']}: {count} hit{'' if count == 1 else 's'} in {check['total']} steps"
    if listed < count:
        text += f", the first {listed} listed"
    if check["not_recorded"]:
        text += f"; {_missing(check['condition']['params'])} was not recorded of {check['not_recorded']} tensors"
    return text


def _missing(params: Json) -> str:
    """What of a tensor is missing if a condition could not be checked."""
    quantiles = dict.fromkeys(re.findall(r"\bp\d\d\b", params.get("expression", "")))
    if quantiles:
        return f"{', '.join(quantiles)} (computed from values, which collections at `level: tensors` record)"
    if "axis" in params:
        return "what its channels are computed from (values, which collections at `level: tensors` record)"
    return "what it needs"
