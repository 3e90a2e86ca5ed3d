"""`graphdbg show RUN`: prints what a run recorded."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from .last_ops import last_op_json, last_op_lines
from .progress import Progress
from .recorded import add_run, require
from .terminal import visible
from .user_changes import user_change_json

if TYPE_CHECKING:
    from graphdbg.runs import Run

_REASONS = {
    "overhead": "left out, so that recording stays below its share of the time (record.overhead)",
    "not_due": "no collection was due",
}
_NONFINITE = ("nan_count", "pos_inf_count", "neg_inf_count")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "show",
        help="print what a run recorded",
        description="Prints the statistics of all tensors at a step (by default the last complete one), or of one "
        "tensor at all steps.",
    )
    add_run(parser)
    parser.add_argument("--rank", type=int, metavar="R", help="the rank (default: the lowest one)")
    parser.add_argument("--step", type=int, metavar="N", help="the step")
    parser.add_argument("--tensor", metavar="T", help="the tensor, NODE:SLOT")
    parser.add_argument("--collection", metavar="C", help="only tensors that this collection selected")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from graphdbg.runs import open_run
    from graphdbg.runs.loading import load_logs
    from graphdbg.runs.summary import find_run

    require(not (arguments.tensor and arguments.collection), "--tensor and --collection exclude each other")
    recorded = open_run(find_run(arguments.run_name))
    rank = recorded.ranks[0] if arguments.rank is None else arguments.rank
    with Progress("graphdbg: reading the log") as progress:
        load_logs(recorded, progress.of("graphdbg: reading the log"), [rank])
    steps = recorded.steps(rank=rank)
    step = arguments.step
    if step is None and not arguments.tensor:
        step = steps[-1] if steps else 0
    rows = _rows(recorded, rank, step, arguments.tensor, arguments.collection)
    mark = recorded.rank(rank).steps.step(step) if step else None
    reason = mark.reason if mark else ""
    if arguments.json:
        header = {"run": recorded.id, "ended": recorded.ended, "rank": rank, "step": step, "steps": len(steps)}
        header["reason"] = reason
        header["last_ops"] = [last_op_json(op) for op in recorded.last_ops(rank)]
        header["user_changes"] = [user_change_json(change) for change in recorded.user_changes(rank)]
        print(json.dumps({**header, "tensors": rows}))
        return 0
    if arguments.tensor:
        print(visible(f"{arguments.tensor}, rank {rank}"))
        _print(rows, "step")
    else:
        print(
            visible(f"{recorded.id}, rank {rank}, step {step} ({len(steps)} complete, {recorded.ended or 'running'})")
        )
        for line in last_op_lines(recorded, rank):
            print(visible(line))
        for change in recorded.user_changes(rank):
            print(visible(str(change)))
        if reason:
            print(visible(f"step {step}: {_REASONS.get(reason, reason)}"))
        _print(rows, "tensor")
    return 0


def _rows(run: Run, rank: int, step: int | None, tensor: str | None, collection: str | None) -> list[dict[str, Any]]:
    from graphdbg.runs.tensor import statistics_of

    each = run.rank(rank)
    key = each.tensor_key(run.tensor(tensor).name) if tensor else None
    names = set(run.tensors(collection=collection, step=step, rank=rank)) if collection else None
    rows: list[dict[str, Any]] = []
    for record in each.statistics(step, step, key).records:
        name = f"{each.nodes.name(int(record['node']))}:{int(record['slot'])}"
        if names is None or name in names:
            numbers = {"step": int(record["step"]), "pass": int(record["pass"]), "mode": _mode(record)}
            rows.append({"tensor": name, **numbers, **_finite(vars(statistics_of(record)))})
    return rows


def _mode(record: Any) -> str:
    from graphdbg.runs.record import mode_name

    return mode_name(int(record["mode"]))


def _finite(numbers: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinities, which norms of large values may be."""
    return {name: str(value) if value in (float("inf"), float("-inf")) else value for name, value in numbers.items()}


def _print(rows: list[dict[str, Any]], first: str) -> None:
    if not rows:
        print("no statistics")
        return
    width = max(len(first), *(len(visible(row[first])) for row in rows))
    print(
        f"{first:{width}}  {'mode':8} {'count':>10} {'non-finite':>10} {'min':>12} {'max':>12} {'mean':>12} {'l2':>12}"
    )
    for row in rows:
        bad = sum(row[name] for name in _NONFINITE)
        mode = row["mode"] if row["pass"] <= 1 else f"{row['mode']}#{row['pass']}"
        measures = " ".join(_number(row[name]) for name in ("min", "max", "mean", "l2"))
        print(f"{visible(row[first]):{width}}  {mode:8} {row['count']:>10} {bad:>10} {measures}")


def _number(value: Any) -> str:
    return f"{'-' if value is None else value if isinstance(value, str) else format(value, '.5g'):>12}"
