"""Compares the ops that the agent captured with those that a dispatch mode saw.

Programs mark the parts to compare, such as a sample or a training step, by mark(): the
result of that op has no elements, and the number of the part in its shape.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

# The kind of a node in agent.h.
OP = 1

MARK = [3, 0, 7]

# Later results are auxiliary data for the op's own backward, which the agent leaves out.
FIRST_RESULT_ONLY = {"_ctc_loss", "_scaled_dot_product_flash_attention_for_cpu"}

# Their results are memory that nothing has written yet, which differs between runs.
UNINITIALIZED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize"}

# Results that are scratch memory of the op and its own backward.
WORKSPACES = {("mkldnn_rnn_layer", 3)}

# A dispatch mode changes what PyTorch runs, because the results of some ops might be
# subclasses of tensors then: gradients are computed out of place by ops that such
# classes can override, and copies that share memory are ops, too.
SAME_UNDER_A_MODE = {
    "new_zeros": "zeros",
    "zeros_like": "zeros",
    "new_ones": "ones",
    "_index_put_impl": "index_put",
    "_reshape_alias": "view",
}
ONLY_UNDER_A_MODE = {"detach"}


@dataclass(frozen=True)
class Op:
    """One execution of an op."""

    name: str
    outputs: list[Json]

    @property
    def stem(self) -> str:
        """The same name for an op, its variant in place, and what takes its place under a dispatch mode."""
        in_place = self.name.endswith("_") and not self.name.endswith("__")
        stem = self.name[:-1] if in_place else self.name
        return SAME_UNDER_A_MODE.get(stem, stem)


Parts = dict[int, list[Op]]


def mark(number: int, end: bool) -> None:
    """Marks the beginning or end of a part; for the programs under test."""
    import torch

    torch.empty(*MARK, number, int(end))


def _parts(ops: Iterator[Op]) -> Parts:
    parts: Parts = {}
    current: list[Op] | None = None
    for op in ops:
        shape = op.outputs[0]["shape"] if op.name == "empty" and op.outputs else []
        if shape[:3] == MARK:
            current = None if shape[4] else parts.setdefault(shape[3], [])
        elif current is not None:
            current.append(op)
    return parts


def seen(file: Path) -> Parts:
    """The ops that a dispatch mode saw (seen_ops.py)."""

    def ops() -> Iterator[Op]:
        with file.open() as lines:
            for line in lines:
                call = json.loads(line)
                yield Op(call["op"], call["outputs"])

    return _parts(ops())


def captured(trace: Path) -> Parts:
    """The ops that the tracing agent captured."""
    types: dict[str, str] = {}

    def ops() -> Iterator[Op]:
        with trace.open() as lines:
            for line in lines:
                call = json.loads(line)
                if call["call"] == "node" and call["kind"] == OP:
                    types[call["name"]] = call["op_type"].removeprefix("aten::")
                elif call["call"] == "executed" and not call["failed"] and call["name"] in types:
                    yield Op(types[call["name"]], call["outputs"])

    return _parts(ops())


def _statistics_differ(actual: Json, expected: Json) -> bool:
    exact: tuple[str, ...] = ("dtype", "shape")
    if 0 not in expected["shape"]:
        exact += ("nan", "inf", "zero", "min", "max")
    if any(actual.get(name) != expected.get(name) for name in exact):
        return True
    largest = max(abs(expected.get("min", 0.0)), abs(expected.get("max", 0.0)))
    return any(
        # The agent's sums of the largest float64 numbers overflow.
        (actual.get(name) is not None or largest < 1e290)
        and not math.isclose(actual.get(name, math.nan), expected[name], rel_tol=1e-11, abs_tol=1e-11 * largest)
        for name in ("mean", "abs_mean")
        if name in expected
    )


def _outputs_differ(actual: Op, expected: Op, same_run: bool) -> str:
    results = expected.outputs[:1] if expected.name in FIRST_RESULT_ONLY else expected.outputs
    if len(actual.outputs) != len(results):
        return f"{expected.name} has {len(results)} results, not {len(actual.outputs)}"
    for slot, (mine, theirs) in enumerate(zip(actual.outputs, results, strict=True)):
        written = expected.stem not in UNINITIALIZED and (expected.name, slot) not in WORKSPACES
        if (same_run or written) and _statistics_differ(mine, theirs):
            return f"result {slot} of {expected.name} is {theirs}, not {mine}"
        if (mine["dtype"], mine["shape"]) != (theirs["dtype"], theirs["shape"]):
            return f"result {slot} of {expected.name} is a {theirs['dtype']} {theirs['shape']}, not {mine}"
    return ""


def _first_difference(actual: list[str], expected: list[str]) -> str:
    if actual == expected:
        return ""
    same = next((i for i, (a, b) in enumerate(zip(actual, expected, strict=False)) if a != b), None)
    start = min(len(actual), len(expected)) if same is None else same
    return f"after {start} ops, captured {actual[start : start + 5]}, seen {expected[start : start + 5]}"


def difference_within_a_run(actual: list[Op], expected: list[Op]) -> str:
    """How the ops that the agent captured differ from those that a mode saw in the same process; "" if they do not."""

    def names(ops: list[Op]) -> list[str]:
        # The names of nodes do not distinguish these two in the backward pass.
        return ["add" if op.name == "add_" else op.name for op in ops]

    different = _first_difference(names(actual), names(expected))
    pairs = zip(actual, expected, strict=False)
    return different or next(filter(None, (_outputs_differ(a, b, same_run=True) for a, b in pairs)), "")


def difference_between_runs(actual: list[Op], expected: list[Op], ignored: Collection[str] = ()) -> str:
    """Like `difference`, but the mode was active in the other of two runs of a program. Ignores `ignored` ops."""
    actual = [op for op in actual if op.stem not in ONLY_UNDER_A_MODE and op.name not in ignored]
    expected = [op for op in expected if op.stem not in ONLY_UNDER_A_MODE and op.name not in ignored]
    different = _first_difference([op.stem for op in actual], [op.stem for op in expected])
    pairs = zip(actual, expected, strict=False)
    return different or next(filter(None, (_outputs_differ(a, b, same_run=False) for a, b in pairs)), "")
