"""Which ops the ranks of a recorded run were in when they died, in the output of commands."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdbg.runs import LastOp, Run


def last_op_lines(run: Run, rank: int | None = None) -> list[str]:
    """A line for each unfinished op, and for each rank that has none, its last op."""
    lines = []
    for number in run.ranks if rank is None else [rank]:
        ops = run.last_ops(number)
        lines += [str(op) for op in ops if op.unfinished] or [str(op) for op in ops[:1]]
    return lines


def last_op_json(op: LastOp) -> dict[str, Any]:
    return {**dataclasses.asdict(op), "began": op.began.isoformat()}
