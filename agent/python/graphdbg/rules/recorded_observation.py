"""Observations that were recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy
from graphdbg.runs.errors import DataLossError, NotRecorded
from graphdbg.runs.log import Selection
from graphdbg.runs.record import MODES, SAVED, STATISTICS_KIND, Array
from graphdbg.runs.tensor import statistics_of

from .observation import Observation

if TYPE_CHECKING:
    from graphdbg.client.models import Statistics
    from graphdbg.runs.rank import Rank
    from graphdbg.runs.run import Run
    from graphdbg.runs.steps import Mark


# The namespaces of PyTorch's collectives.
_COLLECTIVES = ("c10d::", "_c10d_functional::")
_VIEW = 8
# How many ops behind an observation are looked at.
_MAX_BEHIND = 256


class Place(NamedTuple):
    """Where an observation was made: the arguments of Observation."""

    rank: int
    tensor: str
    step: int
    mode: str
    pass_: int


class Records(NamedTuple):
    """The records of one execution of a tensor's op; None: not recorded."""

    statistics: Array | None = None
    saved: Array | None = None

    @property
    def has_value(self) -> bool:
        return self.saved is not None or (self.statistics is not None and self.statistics["count"] == 1)


class RecordedObservation(Observation):
    """An observation of a recorded run.

    Args:
        run: The run.
        place: Where it was made.
        records: Its records; none for a step.
        collections: Names of collections by tensor.
        steps: The steps of its series so far. The list is the series' own and may grow.
    """

    def __init__(
        self,
        run: Run,
        place: Place,
        records: Records,
        collections: Mapping[str, tuple[str, ...]],
        steps: Sequence[int],
    ) -> None:
        super().__init__(place.rank, place.tensor, place.step, place.mode, place.pass_)
        self._run, self._records = run, records
        self._collections, self._steps = collections, steps

    @property
    def mode_step(self) -> int:
        mark = self._mark()
        return mark.mode_step if mark else 0

    @property
    def time(self) -> float | None:
        mark = self._mark()
        return mark.begin_ns / 1e9 if mark and mark.begin_ns else None

    @property
    def collections(self) -> tuple[str, ...]:
        return self._collections.get(self.tensor, ())

    @property
    def statistics(self) -> Statistics:
        if self._records.statistics is None:
            raise NotRecorded(f"{self.tensor or 'a step'} has no statistics at step {self.step} on rank {self.rank}")
        return statistics_of(self._records.statistics)

    def value(self, step: int | None = None) -> Array:
        if not self.tensor:
            raise NotRecorded("a step has no value")
        tensor = self._run.tensor(self.tensor)
        if self._records.saved is not None and step in (None, self.step):
            saved = numpy.array([self._records.saved]).view(SAVED)[0]
            return _read(lambda: self._run.rank(self.rank).read_saved(saved))
        return _read(lambda: tensor.value(step or self.step, self.rank, self.mode, self.pass_))

    def steps(self) -> list[int]:
        return list(self._steps)

    def inputs(self) -> dict[str, Statistics | None]:
        records = self._records.statistics if self._records.statistics is not None else self._records.saved
        if records is None:
            return {}
        rank = self._run.rank(self.rank)
        node = rank.nodes.nodes.get(self._node(rank, records))
        found: dict[str, Statistics | None] = {}
        for each in node.values["inputs"] if node else ():
            if not each["control"]:
                number, slot = int(each["node_id"]), int(each["slot"])
                name = f"{rank.nodes.name(number)}:{slot}"
                found[name] = self._before(rank, number, slot, int(records["exec_order"]))
        return found

    def collective(self) -> str | None:
        records = self._records.statistics if self._records.statistics is not None else self._records.saved
        if records is None:
            return None
        rank = self._run.rank(self.rank)
        seen: set[int] = set()
        behind = [self._node(rank, records)]
        while behind and len(seen) < _MAX_BEHIND:
            number = behind.pop(0)
            node = rank.nodes.nodes.get(number)
            if node is None or number in seen:
                continue
            # A collective may be recorded before others have sent their values.
            if node.op_type.startswith(_COLLECTIVES):
                return rank.nodes.name(number)
            if not seen or self._passes_on(rank, number, int(records["exec_order"])):
                behind += [int(each["node_id"]) for each in node.values["inputs"] if not each["control"]]
            seen.add(number)
        return None

    def _passes_on(self, rank: Rank, node: int, order: int) -> bool:
        """Whether what the node has read may have come through it: it was not recorded, or it only copies."""
        before = self._records_before(rank, node, 0, order)
        return not len(before) or bool(before[-1]["flags"] & _VIEW)

    def _node(self, rank: Rank, records: Array) -> int:
        """The id of its node in the graph of its rank."""
        return int(records["node"])

    def _before(self, rank: Rank, node: int, slot: int, order: int) -> Statistics | None:
        """The last statistics of a tensor before a place in this step, in the same mode."""
        before = self._records_before(rank, node, slot, order)
        return statistics_of(before[-1]) if len(before) else None

    def _records_before(self, rank: Rank, node: int, slot: int, order: int) -> Array:
        records = rank.select(Selection((STATISTICS_KIND,), self.step, self.step, node, slot)).records
        found: Array = records[(records["exec_order"] < order) & (records["mode"] == MODES.index(self.mode))]
        return found

    def _mark(self) -> Mark | None:
        marks, mode = self._run.rank(self.rank).steps.marks, MODES.index(self.mode)
        # Records outside of passes belong to the step itself.
        return marks.get((self.step, mode, self.pass_)) or marks.get((self.step, mode, 0))


def _read(value: Callable[[], Array]) -> Array:
    """Treats a value that its file lacks as not recorded: of a job whose disk did not keep up, the last ones are lost,
    and those of one that runs come later."""
    try:
        return value()
    except DataLossError as error:
        raise NotRecorded(str(error)) from error
