"""Writes the run that `tools/dev bench analysis` asks about, packed as `graphdbg pack` packs a job's.

Each rank is recorded into a log, which pack_rank turns into Parquet and which is then removed, so that the
disk never has more than the logs of a few ranks beside the packed run.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy
from graphdbg.runs.crc32c import crcs_at
from graphdbg.runs.files import open_files
from graphdbg.runs.pack import pack_rank
from graphdbg.runs.rank import Rank
from graphdbg.runs.record import BEGIN_KIND, END_KIND

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "agent" / "python" / "tests"))
from analysis_facts import GRADIENT, LOSS, WEIGHT, Facts, Size  # noqa: E402
from synthetic_run import (  # noqa: E402
    START_NS,
    Array,
    Node,
    SyntheticRank,
    mark,
    statistics_records,
    write_run_json,
)

_SEED = 20261124
_STEPS_OF_SEGMENT = 100
_NOISE_ROWS = 6
# The random stream of the weights; each rank has its own, from 0 on.
_SHARED_STREAM = 1 << 20
_OP, _PARAMETER = 1, 2
_LOUD, _VANISHED, _PARTED = 45.0, 1e-9, 1 + 1e-4
_NANS = 3


class Values:
    """The statistics that one rank records."""

    def __init__(self, facts: Facts, rank: int) -> None:
        tensors = facts.tensors
        self._facts = facts
        self._rank = rank
        self._count = 64 * (1 + numpy.arange(len(tensors)) % 100)
        self._count[facts.index(LOSS)] = 1
        self._is_weight = numpy.array([each.category == WEIGHT for each in tensors])
        scales = numpy.exp(numpy.random.default_rng(_SEED).normal(-3, 2, len(tensors)))
        # Neither vanishing gradients nor large activations, except those that are planted.
        self._scale = numpy.clip(scales, 1e-3, 5.0)
        self._loss, self._loud, self._parting, self._vanishing, self._divergence, self._nonfinite = (
            facts.index(node)
            for node in (
                LOSS, facts.loud_node, facts.parting_node, facts.vanishing_node, facts.divergence_node,
                facts.nonfinite_node,
            )
        )  # fmt: skip

    def at(self, step: int) -> dict[str, Any]:
        """Fields of the records of a step, each of shape (tensors,)."""
        noise = self._noise(step)
        scale = self._scale * (1 + 1e-4 * step)
        if self._vanishes(step):
            scale[self._vanishing] = _VANISHED
        low, high = ((scale * (2.5 + 1.5 * part)).astype("f4") for part in noise[:2])
        if self._facts.is_loud(step):
            high[self._loud] = _LOUD
        mean = 0.05 * scale * (noise[2] - 0.5)
        variance = scale**2 * (0.98 + 0.04 * noise[3])
        absolute = 0.8 * scale * (0.98 + 0.04 * noise[4])
        l2 = numpy.sqrt((variance + mean**2) * self._count)
        if self._rank == self._facts.size.ranks - 1 and step >= self._facts.parting_step:
            l2[self._parting] *= _PARTED
        measures = {"min": -low, "max": high, "mean": mean, "abs_mean": absolute, "abs_max": numpy.maximum(low, high)}
        measures |= {"variance": variance, "l1": absolute * self._count, "l2": l2}
        for name, values in measures.items():
            values[self._loss] = 0 if name == "variance" else self._facts.loss(step)
        return measures | self._counts(step, noise[5])

    def _noise(self, step: int) -> Array:
        """Random numbers in [0, 1), of shape (_NOISE_ROWS, tensors)."""
        noise = self._stream(step, 0 if self._rank == 1 else self._rank)
        if self._rank == 1 and step >= self._facts.divergence_step:
            noise[:, self._divergence :] = self._stream(step, 1)[:, self._divergence :]
        shared = self._is_weight.copy()
        shared[self._loss] = True
        noise[:, shared] = self._stream(step, _SHARED_STREAM)[:, shared]
        return noise

    def _stream(self, step: int, stream: int) -> Array:
        return numpy.random.default_rng((_SEED, step, stream)).random((_NOISE_ROWS, len(self._count)))

    def _vanishes(self, step: int) -> bool:
        first = self._facts.vanishing_step
        is_last = self._rank == self._facts.size.ranks - 1
        return is_last and first <= step < first + self._facts.vanishing_hold + 2

    def _counts(self, step: int, noise: Array) -> dict[str, Array]:
        negative = (self._count * (0.4 + 0.2 * noise)).astype("i8")
        positive, nans = self._count - negative, numpy.zeros_like(negative)
        if self._rank == self._facts.nonfinite_rank and step == self._facts.nonfinite_step:
            nans[self._nonfinite :] = _NANS
        return {
            "count": self._count,
            "nan_count": nans,
            "negative_count": negative,
            "positive_count": positive - nans,
        }


def write_run(directory: Path, size: Size, processes: int | None = None) -> None:
    """Writes a packed run.

    Args:
        directory: The run's directory, which does not exist.
        size: Its size.
        processes: How many ranks are written at a time; default: one for each processor.
    """
    facts = Facts(size)
    if processes == 1:
        for rank in range(size.ranks):
            _write_rank(directory, facts, rank)
    else:
        with ProcessPoolExecutor(processes) as pool:
            list(pool.map(_write_rank, *zip(*((directory, facts, rank) for rank in range(size.ranks)), strict=True)))
    # Last, so that a run with this file is complete.
    write_run_json(directory, size.ranks)


def _write_rank(directory: Path, facts: Facts, number: int) -> None:
    rank = SyntheticRank(directory, number, facts.size.ranks, directory.name, nodes=_nodes(facts))
    _add_collections(rank, facts)
    values = Values(facts, number)
    position = 0
    for first in range(1, facts.size.steps + 1, _STEPS_OF_SEGMENT):
        records = _records(values, range(first, min(first + _STEPS_OF_SEGMENT, facts.size.steps + 1)))
        records["crc"] = crcs_at(records, numpy.arange(position, position + len(records), dtype="<u8"))
        rank.write_segment(position, records)
        position += len(records)
    rank.write_messages()
    ended = {"unix_ns": START_NS, "reason": "exit", "exit_code": 0, "exception": None, "steps": facts.size.steps}
    rank.write_json(ended)
    files = open_files(directory)
    pack_rank(Rank(files, number), files, whole=True)
    shutil.rmtree(rank.path / "log")


def _nodes(facts: Facts) -> list[Node]:
    nodes: list[Node] = []
    for each in facts.tensors:
        kind = _PARAMETER if each.category == WEIGHT else _OP
        # Node ids are numbered from 1; each op reads the output before it.
        inputs = [(len(nodes), 0)] if nodes and kind == _OP else []
        nodes.append(Node(each.node, each.category, kind, each.op_type, inputs))
    return nodes


def _add_collections(rank: SyntheticRank, facts: Facts) -> None:
    members = {"losses": [facts.index(LOSS)]}
    for name, category in (("weights", WEIGHT), ("gradients", GRADIENT)):
        members[name] = [index for index, each in enumerate(facts.tensors) if each.category == category]
    rank.collections |= {name: [(index + 1, 0) for index in indices] for name, indices in members.items()}


def _records(values: Values, steps: range) -> Array:
    parts: list[Array] = []
    for step in steps:
        fields = values.at(step)
        nodes = numpy.arange(1, len(fields["count"]) + 1)
        parts += [
            mark(BEGIN_KIND, step),
            statistics_records(nodes, step, fields),
            mark(END_KIND, step, records=len(nodes)),
        ]
    return numpy.concatenate(parts)


def link_run(directory: Path, source: Path, ranks: int) -> None:
    """Makes a run whose ranks are hard links to those of another, again and again.

    Args:
        directory: The new run's directory, on the same file system.
        source: A packed run.
        ranks: The number of ranks of the new run.
    """
    sources = sorted(source.glob("rank-*"))
    for rank in range(ranks):
        original = rank % len(sources)
        _link(sources[original], directory / f"rank-{rank:05d}")
        for view in (source / "parquet").iterdir():
            _link(view / f"rank={original}", directory / "parquet" / view.name / f"rank={rank}")
        information = json.loads((sources[original] / "rank.json").read_text())
        file = directory / f"rank-{rank:05d}" / "rank.json"
        file.unlink()
        file.write_text(json.dumps(information | {"run": directory.name, "rank": rank, "world_size": ranks}))
    write_run_json(directory, ranks)


def _link(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for file in source.iterdir():
        os.link(file, target / file.name)
