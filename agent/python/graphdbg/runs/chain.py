"""A job that was started again from a checkpoint: the runs of all its starts, read as one.

A process counts its steps from 1. Those of a run that resumes another one follow the last step
that was recorded there, so steps that were trained again after a checkpoint occur twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy

from .errors import Damage
from .files import is_url, open_files
from .graph import NodeTable
from .log import Found, Selection
from .packed import Packed
from .protobuf import Values
from .rank import Rank, read_json
from .record import CHANGE, CHANGE_KIND, SAVED, Array
from .run import Hits, Run
from .steps import StepIndex


def chain_of(path: str) -> list[str]:
    """The paths of the runs that the one at a path resumes or is resumed by, and itself, oldest first.

    They are beside each other: JOB, JOB.2, JOB.3. The chain ends where one is missing.
    """
    text = path.rstrip("/") if is_url(path) else str(Path(path).absolute())
    parent, _, name = text.rpartition("/")
    names = open_files(parent or "/").names()
    base = re.sub(r"\.\d+$", "", name)
    family = [each for each in names if each == base or re.fullmatch(rf"{re.escape(base)}\.\d+", each)]
    resumed = {each: read_json(open_files(f"{parent}/{each}"), "run.json", []).get("resumes") for each in family}
    chain = [name]
    while (before := resumed.get(chain[0])) in resumed and before not in chain:
        chain.insert(0, str(before))
    while after := next((each for each in family if resumed[each] == chain[-1] and each not in chain), None):
        chain.append(after)
    return [f"{parent}/{each}" for each in chain]


@dataclass
class _Part:
    """A rank in one of the runs, and where that begins in the chain.

    Attributes:
        steps, mode_steps: The steps before, and those of each mode.
        positions: The records before.
        nodes: The id in the chain of each node, and the inverse.
    """

    rank: Rank
    steps: int
    mode_steps: dict[str, int]
    positions: int = 0
    nodes: dict[int, int] = field(default_factory=dict)
    own_nodes: dict[int, int] = field(default_factory=dict)

    def node(self, own: int) -> int:
        """The id in the chain; that of a node without a message does not change."""
        return self.nodes.get(own, own)


class ChainedRun(Run):
    """The runs of a chain as one, with the id and the end of the last one."""

    def __init__(self, runs: Sequence[Run]) -> None:
        super().__init__(open_files(runs[-1].path))
        self._runs = runs
        self._join()

    def refresh(self) -> None:
        for run in self._runs:
            run.refresh()
        self._join()

    @property
    def ended(self) -> str | None:
        return self._runs[-1].ended

    @property
    def damages(self) -> list[Damage]:
        return [damage for run in self._runs for damage in run.damages]

    @property
    def directory_with_log(self) -> Path | None:
        return None

    def _hits_of(self, conditions: Any, steps: tuple[int | None, int | None], ranks: Sequence[int] | None) -> Hits:
        for rank in ranks or ():
            self.rank(rank)
        found: Hits = []
        for run, before in zip(self._runs, self._steps_before, strict=True):
            own_ranks = [rank for rank in ranks or run.ranks if rank in run.ranks]
            first, last = (None if step is None else step - before for step in steps)
            if not own_ranks or (last is not None and last < 1):
                continue
            own = run._hits_of(conditions, (first if first is None else max(0, first), last), own_ranks)
            found = found or [[] for _ in own]
            for all_hits, hits in zip(found, own, strict=True):
                all_hits += [replace(hit, step=hit.step + before) for hit in hits]
        return found

    def _join(self) -> None:
        parts: dict[int, list[_Part]] = {}
        steps, mode_steps = 0, dict[str, int]()
        self._steps_before = list[int]()
        for run in self._runs:
            self._steps_before.append(steps)
            indices = [run.rank(number).steps for number in run.ranks]
            for number in run.ranks:
                parts.setdefault(number, []).append(_Part(run.rank(number), steps, dict(mode_steps)))
            steps += max((index.last for index in indices), default=0)
            for mode in {mode for index in indices for mode in index.modes()}:
                mode_steps[mode] = mode_steps.get(mode, 0) + max(index.last_of(mode) for index in indices)
        self._ranks = {number: ChainedRank(number, each) for number, each in parts.items()}


class ChainedRank(Rank):
    """A rank over all runs of a chain: its records, with steps and nodes as the chain numbers them.

    The numbers of ids, steps and positions differ from those in the files, and so do the checksums.
    """

    def __init__(self, number: int, parts: Sequence[_Part]) -> None:
        last = parts[-1].rank
        super().__init__(last.files, number)
        self._chain = parts
        self._last = last
        self._packed = Packed(last.files, number)
        self._joined_steps = StepIndex()
        self._joined_hits: list[Values] = []
        self._joined_changes: list[Values] = []
        positions = 0
        for part in parts:
            part.positions = positions
            positions += part.rank.end_position
            _add_nodes(self._nodes, part)
            self._joined_steps.extend(part.rank.steps, part.steps, part.mode_steps)
            self._joined_hits += [_numbered(hit, part) for hit in part.rank.hits]
            self._joined_changes += [_numbered(change, part) for change in part.rank.user_changes]
        self._end = positions

    @property
    def parts(self) -> list[Rank]:
        return [part.rank for part in self._chain]

    @property
    def info(self) -> Values:
        return self._last.info

    @property
    def log(self) -> None:
        """None: the logs are those of the parts."""
        return None

    @property
    def packed(self) -> Packed:
        """Empty: the files are those of the parts."""
        return self._packed

    @property
    def nodes(self) -> NodeTable:
        return self._nodes

    @property
    def hits(self) -> list[Values]:
        return self._joined_hits

    @property
    def user_changes(self) -> list[Values]:
        return self._joined_changes

    @property
    def steps(self) -> StepIndex:
        return self._joined_steps

    @property
    def ended(self) -> str | None:
        return self._last.ended

    @property
    def end_position(self) -> int:
        return self._end

    @property
    def unpacked_count(self) -> int:
        return self._end

    def select(self, selection: Selection) -> Found:
        return Found.join([_selected(part, selection) for part in self._chain])

    def unpacked(self, selection: Selection) -> Found:
        return self.select(selection)

    def read_saved(self, saved: Array) -> Array:
        part = next(each for each in reversed(self._chain) if each.steps < saved["step"])
        own = numpy.array([saved], SAVED)
        own["step"] -= numpy.uint64(part.steps)
        return part.rank.read_saved(own[0])


def _add_nodes(table: NodeTable, part: _Part) -> None:
    """Adds the nodes of a part. One whose graph and name are known is the same node, as it is in the later run."""
    known = {(node.graph, node.name): number for number, node in table.nodes.items()}
    free = max(table.nodes, default=0) + 1
    for own, node in sorted(part.rank.nodes.nodes.items()):
        number = known.get((node.graph, node.name))
        if number is None:
            number, free = free, free + 1
        part.nodes[own], part.own_nodes[number] = number, own
    for own, node in part.rank.nodes.nodes.items():
        values = dict(node.values) | {"id": part.nodes[own]}
        values["forward_node_id"] = part.node(node.values["forward_node_id"])
        values["inputs"] = [each | {"node_id": part.node(each["node_id"])} for each in node.values["inputs"]]
        table.add({"graph": node.graph, "nodes": [values], "scope_types": part.rank.nodes.scope_types})


def _numbered(message: Values, part: _Part) -> Values:
    """A hit or a change of a part, in the chain's numbers."""
    return message | {"step": message["step"] + part.steps, "node_id": part.node(message["node_id"])}


def _selected(part: _Part, selection: Selection) -> Found:
    """The records of a part that a selection matches, both in the chain's numbers."""
    if selection.last_step is not None and selection.last_step <= part.steps:
        return Found.join([])
    own = replace(
        selection,
        first_step=None if selection.first_step is None else max(0, selection.first_step - part.steps),
        last_step=None if selection.last_step is None else selection.last_step - part.steps,
        node=None if selection.node is None else part.own_nodes.get(selection.node, selection.node),
        first_position=max(0, selection.first_position - part.positions),
    )
    found = part.rank.select(own)
    records = found.records.copy()
    records["step"] += numpy.uint64(part.steps)
    nodes, inverse = numpy.unique(records["node"], return_inverse=True)
    records["node"] = numpy.array([part.node(node) for node in nodes.tolist()], "<u4")[inverse]
    changes = records.view(CHANGE)
    compared = (records["kind"] == CHANGE_KIND) & (changes["compared_step"] != 0)
    changes["compared_step"][compared] += numpy.uint64(part.steps)
    return Found(found.positions + numpy.uint64(part.positions), records)
