"""`graphdbg diff RUN [RUN]`: finds the first op at which two recorded runs, or two ranks of one, diverge."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .client import Json
from .errors import USAGE, CliError
from .progress import Progress
from .recorded import require
from .recorded_jobs import run_of_job
from .terminal import visible

if TYPE_CHECKING:
    from graphdbg.runs import CallDifference, ComparedInput, Difference, Divergence

_NAMES_SHOWN = 20
_INPUTS_SHOWN = 8
# How often two jobs are compared while they are recorded.
_FOLLOW_SECONDS = 1.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "diff",
        help="find where two recorded runs or ranks diverge",
        description="Compares the recorded statistics of two runs, or of two ranks of one, step by step in order of "
        "execution. Prints the first tensor that differs, the next 20, and names that only one of them has. Exits "
        "with 1 if any differs.",
    )
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        help="one run (with two --rank) or two: directory, URL, id in $GRAPHDBG_RECORD or ./runs, or id or name of a "
        "live job that is recorded",
    )
    parser.add_argument(
        "--rank", type=int, action="append", metavar="R", help="the rank; again for that of the other side (default: 0)"
    )
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="a node or scope of the first side has another name on the second (again for more)",
    )
    parser.add_argument(
        "--rtol",
        type=float,
        metavar="X",
        help="relative tolerance (default: what rounding explains, by data type and by the number of elements summed)",
    )
    parser.add_argument("--atol", type=float, default=0.0, metavar="X", help="absolute tolerance (default: 0)")
    parser.add_argument(
        "--by",
        choices=("statistics", "digest"),
        default="statistics",
        help="compare statistics (default), or all bits of the tensors that have digests",
    )
    parser.add_argument(
        "--calibrate",
        metavar="RUN",
        help="a run that counts as equal to the first, such as the same program with its input changed in the last "
        "bit, or with other threads: a tensor may differ 8 times as much as there",
    )
    parser.add_argument(
        "--sum-ranks",
        action="store_true",
        help="the first run is one process, the second one a sharded job: tensors of which its ranks have parts are "
        "compared as a whole",
    )
    parser.add_argument(
        "--follow",
        action="store_true",
        help="compare two jobs while they are recorded: until they diverge, or both have ended",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    require(len(arguments.runs) <= 2, "two runs are compared, not more")
    require(len(arguments.rank or ()) <= 2, "two ranks are compared, not more")
    arguments.runs = [_find(name) for name in arguments.runs]
    found, ended = _compare(arguments)
    while arguments.follow and not ended and found.first is None:
        time.sleep(_FOLLOW_SECONDS)
        found, ended = _compare(arguments)
    what = "no tensor was recorded on both sides in the same step; --map translates names"
    require(found.matched > 0, f"nothing to compare: {what}")
    if arguments.json:
        print(json.dumps(_json(found)))
    else:
        _print(found)
    return 1 if found.first else 0


def _compare(arguments: argparse.Namespace) -> tuple[Divergence, bool]:
    """The differences so far, and whether nothing more will be recorded."""
    from graphdbg.runs import open_run
    from graphdbg.runs.loading import load_logs

    ranks = arguments.rank or [0]
    here, there = open_run(arguments.runs[0]), open_run(arguments.runs[-1])
    equal = [open_run(_find(arguments.calibrate))] if arguments.calibrate else []
    ended = here.ended is not None and there.ended is not None
    with Progress("graphdbg: comparing") as progress:
        for each in {run.path: run for run in (here, there, *equal)}.values():
            load_logs(each, progress.of("graphdbg: reading the log"), ranks)
        found = here.diff(
            there if len(arguments.runs) == 2 else None,
            rank=ranks[0],
            other_rank=None if arguments.sum_ranks and len(ranks) == 1 else ranks[-1],
            rename=dict(map(_renaming, arguments.map)),
            rtol=arguments.rtol,
            atol=arguments.atol,
            by=arguments.by,
            calibrate=equal[0] if equal else None,
            sum_ranks=arguments.sum_ranks,
            progress=progress.of("graphdbg: comparing"),
        )
    return found, ended


def _find(name: str) -> str:
    """The path or URL of a run, given as such, or by id, or as a live job."""
    from graphdbg.runs.summary import find_run

    path = find_run(name)
    return path if "://" in path or Path(path).exists() else run_of_job(name) or path


def _renaming(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not old or not equals or not new:
        raise CliError(f"expected --map OLD=NEW, not {text}", USAGE)
    return old, new


def _json(found: Divergence) -> Json:
    """The same JSON as the response to GET /runs/{run}/divergence."""
    return {
        **{name: getattr(found, name) for name in ("steps", "matched", "only_here", "only_there")},
        **{name: getattr(found, name) for name in ("only_here_count", "only_there_count")},
        "first": _json_of(found.first) if found.first else None,
        "next": [_json_of(each) for each in found.next],
        "renamings": [{"from": each.old, "to": each.new, "nodes": each.nodes} for each in found.renamings],
    }


def _json_of(difference: Difference) -> Json:
    fields: Json = {"pass" if name == "pass_" else name: value for name, value in _values(difference).items()}
    calls = [vars(each) | {"here": each.here or None, "there": each.there or None} for each in difference.calls]
    return fields | {"inputs": [_values(each) for each in difference.inputs], "calls": calls}


def _values(compared: Difference | ComparedInput) -> Json:
    fields = {name: value for name, value in vars(compared).items() if name != "calls"}
    return fields | {side: _value(compared, getattr(compared, side)) for side in ("here", "there")}


def _value(compared: Difference | ComparedInput, value: float | None) -> float | str | None:
    """JSON has neither infinities nor NaN, and its readers no 64-bit integers."""
    if value is None:
        return None
    if compared.measure == "digest":
        return f"{value:016x}"
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _print(found: Divergence) -> None:
    if found.first:
        print(visible(f"first difference: {_line(found.first)}"))
        for line in _input_lines(found.first):
            print(visible(f"                  {line}"))
    for each in found.next:
        print(visible(f"             then: {_line(each)}"))
    for side, names, count in (
        ("first", found.only_here, found.only_here_count),
        ("second", found.only_there, found.only_there_count),
    ):
        for name in names[:_NAMES_SHOWN]:
            print(visible(f"only on the {side} side: {name}"))
        if count > _NAMES_SHOWN:
            print(f"only on the {side} side: {count - _NAMES_SHOWN} more")
    for renaming in found.renamings[:_NAMES_SHOWN]:
        print(visible(f"taken as the same: {renaming.old} -> {renaming.new} ({renaming.nodes} nodes)"))
    if len(found.renamings) > _NAMES_SHOWN:
        print(f"taken as the same: {len(found.renamings) - _NAMES_SHOWN} more")
    if found.partial:
        print(f"not compared: {found.partial} tensors of which each rank has a part of a sum")
    result = "differ" if found.first else "agree"
    print(f"{found.matched} tensors in {found.steps} steps {result}")


def _line(each: Difference) -> str:
    place = f"step {each.step} {each.mode}" + (f"#{each.pass_}" if each.pass_ > 1 else "")
    name = f"{each.node}:{each.slot}" + (f" ({each.there_node})" if each.there_node != each.node else "")
    return f"{place}  {name}  {_measured(each)}"


def _input_lines(difference: Difference) -> Iterator[str]:
    yield from map(_call_line, difference.calls)
    # As they were before they were changed.
    changed = {each.subject for each in difference.calls if each.what == "in_place"}
    inputs = [each for each in difference.inputs if f"{each.node}:{each.slot}" not in changed]
    for state, words in (("equal", "equal inputs"), ("not_recorded", "inputs that were not recorded")):
        names = [f"{each.node}:{each.slot}" for each in inputs if each.state == state]
        if names:
            others = f" and {len(names) - _INPUTS_SHOWN} others" if len(names) > _INPUTS_SHOWN else ""
            yield f"{words}: {', '.join(names[:_INPUTS_SHOWN])}{others}"
    if inputs and not difference.calls and all(each.state == "not_recorded" for each in inputs):
        yield "which may differ already, as parameters do that begin with other values"
    for each in inputs:
        if each.state == "differs":
            yield f"input that differs: {each.node}:{each.slot}  {_measured(each)}"


def _call_line(call: CallDifference) -> str:
    if call.what == "attribute":
        return f"another argument: {call.subject} {call.here or 'none'}, {call.there or 'none'}"
    if call.what == "input":
        return f"another input: {call.here}, {call.there}"
    side, by = ("first", call.here) if call.here else ("second", call.there)
    return f"input that only the {side} side changes in place: {call.subject}, by {by}"


def _measured(each: Difference | ComparedInput) -> str:
    return f"{each.measure} {_text(each, each.here)}, {_text(each, each.there)}"


def _text(each: Difference | ComparedInput, value: float | None) -> str:
    shown = _value(each, value)
    return f"{shown:.9g}" if isinstance(shown, float) else str(shown)
