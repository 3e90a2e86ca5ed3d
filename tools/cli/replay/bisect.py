"""Finds where in a tape values go wrong. Needs PyTorch and safetensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from graphdbg._bundle.repro import Replay, counts
from graphdbg._bundle.verdict import BAD_KINDS

from .bundle_file import BundleFile
from .replays import replay_of, reported


@dataclass(frozen=True)
class Stretch:
    """Ops of a tape, in order. Their inputs are finite and the results of the last one are not.

    Attributes:
        ops: The ops, each as tape.json describes it.
        ends: What the results of each have that is not finite, by kind.
        behind: The ops that have taken it from there to the hit.
        given: Leaves that were not finite before any op ran, with the arguments that read them.
    """

    ops: list[Any]
    ends: list[dict[str, int]]
    behind: list[Any]
    given: list[str]


@dataclass
class _Ran:
    op: Any
    # The numbers of the ops that made its inputs that are not finite.
    bad_inputs: list[int]
    # Inputs that are not finite and that no op made.
    bad_leaves: list[str]
    results: dict[str, int]


def bisect(bundle: BundleFile, device: str | None = None) -> Stretch | None:
    """The shortest stretch of a tape whose inputs are finite and whose end is not, on the way to the hit.

    None if everything is finite.

    Raises:
        BadBundle: The bundle is damaged.
        CannotRun: It cannot run here.
    """
    replay = replay_of(bundle, device=device)
    tape = bundle.json("tape.json")
    with reported(bundle):
        ran = _run_all(replay, tape)
    target = int(tape["target"]["op"])
    if not any(ran[target].results.values()):
        return None
    way = _upstream(ran, target)
    # One op whose inputs are all finite, or the first one on the way whose input was not finite when the step began.
    start = next((number for number in way if not ran[number].bad_inputs and not ran[number].bad_leaves), way[0])
    behind = [ran[number].op for number in way if number > start]
    given = ran[start].bad_leaves
    return Stretch([ran[start].op], [ran[start].results], behind, given)


def _upstream(ran: list[_Ran], target: int) -> list[int]:
    """The ops from which what is not finite has come to the target, in order."""
    found = {target}
    pending = [target]
    while pending:
        for number in ran[pending.pop()].bad_inputs:
            if number not in found:
                found.add(number)
                pending.append(number)
    return sorted(found)


def _run_all(replay: Replay, tape: Any) -> list[_Ran]:
    # By storage, the last op that wrote to it.
    writers: dict[int, int] = {}
    ran: list[_Ran] = []
    steps = replay.steps()
    for number, op in enumerate(tape["ops"]):
        bad_inputs, bad_leaves = [], []
        for name, described, tensor in replay.inputs(op):
            if _is_only_written(op, name) or not any(_bad(tensor).values()):
                continue
            storage = described["storage"]
            if storage in writers:
                bad_inputs.append(writers[storage])
            else:
                bad_leaves.append(f"{name} of {op['node']}")
        _, results = next(steps)
        found = dict.fromkeys(BAD_KINDS, 0)
        for described, tensor in _written(replay, op, results):
            writers[described["storage"]] = number
            for kind, count in _bad(tensor).items():
                found[kind] += count
        ran.append(_Ran(op, bad_inputs, bad_leaves, found))
    return ran


def _written(replay: Replay, op: Any, results: list[torch.Tensor | None]) -> list[tuple[Any, torch.Tensor]]:
    """What an op has made or written to."""
    made = [
        (described["tensor"], tensor)
        for described, tensor in zip(op["results"], results, strict=True)
        if described and tensor is not None
    ]
    return made or [
        (described, tensor) for name, described, tensor in replay.inputs(op) if name in replay.written_arguments(op)
    ]


def _is_only_written(op: Any, name: str) -> bool:
    return any(
        argument["name"] == name and argument["keyword"] and name.startswith("out") for argument in op["arguments"]
    )


def _bad(tensor: torch.Tensor) -> dict[str, int]:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return dict.fromkeys(BAD_KINDS, 0)
    found = counts(tensor)
    return {kind: found[kind] for kind in BAD_KINDS}
