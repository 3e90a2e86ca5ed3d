"""The order of what a recorded run has executed, and places in it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from graphdbg.client.errors import ApiError
from graphdbg.client.http import HttpClient

from .errors import DebuggerError
from .graph_index import GraphIndex
from .packed_columns import PackedColumns

_PAGE = 10_000


@dataclass(frozen=True, order=True)
class Position:
    """A place in the recording of one rank.

    Attributes:
        index: The number of the step among the recorded ones, from 0.
        place: The number of the node in the step, from 0; -1 before the first one (of the first step only), and the
            number of nodes at the step's end.
    """

    index: int
    place: int


BEGIN = Position(0, -1)


class Timeline:
    """The recorded steps of one rank, each with its nodes in the order of their execution.

    If a step's record has no order, as one that contains weights only, the order is that of the graph.
    """

    def __init__(self, http: HttpClient, run: str, rank: int, graph: Callable[[], GraphIndex]) -> None:
        """
        Args:
            run: The path of the run below the API.
            graph: Returns the run's graph.
        """
        self._http = http
        self._run = run
        self._rank = rank
        self._graph = graph
        self.steps: list[int] = self._recorded_steps()
        if not self.steps:
            raise DebuggerError(f"rank {rank} has recorded no step")
        self._nodes_of = functools.lru_cache(maxsize=64)(self._read_nodes)

    def nodes(self, index: int) -> tuple[int, ...]:
        """The nodes of a step, by their numbers in the graph."""
        return self._nodes_of(self.steps[index])

    def place_of(self, index: int, node: int) -> int:
        """The place of a node in a step; the step's end if it was not executed there."""
        nodes = self.nodes(index)
        return nodes.index(node) if node in nodes else len(nodes)

    @property
    def end(self) -> Position:
        """The end of the last step."""
        return self.end_of(len(self.steps) - 1)

    def end_of(self, index: int) -> Position:
        return Position(index, len(self.nodes(index)))

    def node_at(self, position: Position) -> int | None:
        """The node of a place; None at the begin and the ends of steps."""
        nodes = self.nodes(position.index)
        return nodes[position.place] if 0 <= position.place < len(nodes) else None

    def after(self, position: Position) -> Position | None:
        """The next place; None at the end."""
        if position.place < len(self.nodes(position.index)):
            return Position(position.index, position.place + 1)
        return Position(position.index + 1, 0) if position.index + 1 < len(self.steps) else None

    def before(self, position: Position) -> Position | None:
        """The place before; None at the begin."""
        if position.place > 0:
            return Position(position.index, position.place - 1)
        if position.index > 0:
            return self.end_of(position.index - 1)
        return BEGIN if position != BEGIN else None

    def forwards(self, position: Position) -> Iterator[Position]:
        """All later places."""
        later = self.after(position)
        while later is not None:
            yield later
            later = self.after(later)

    def backwards(self, position: Position) -> Iterator[Position]:
        """All earlier places, the last one first."""
        earlier = self.before(position)
        while earlier is not None:
            yield earlier
            earlier = self.before(earlier)

    def _recorded_steps(self) -> list[int]:
        steps: dict[int, bool] = {}
        cursor: str | None = None
        while True:
            page = self._http.get(f"{self._run}/steps", rank=self._rank, limit=_PAGE, cursor=cursor)
            for each in page["steps"]:
                steps[each["step"]] = steps.get(each["step"], False) or each["records"] > 0
            cursor = page.get("next_cursor")
            if not cursor:
                break
        return [step for step, recorded in steps.items() if recorded] or list(steps)

    def _read_nodes(self, step: int) -> tuple[int, ...]:
        try:
            packed = PackedColumns(self._http.download(f"{self._run}/statistics", step=step, rank=self._rank))
        except ApiError as error:
            if error.status != 404:
                raise
            return tuple(self._graph().execution)
        records = zip(packed.column("exec_order"), packed.column("node"), strict=True)
        ordered = sorted((order, node) for order, node in records if order)
        # Parameters are recorded with the op that has changed them.
        executed = self._graph().place
        return tuple(dict.fromkeys(node for _, node in ordered if node in executed)) or tuple(executed)
