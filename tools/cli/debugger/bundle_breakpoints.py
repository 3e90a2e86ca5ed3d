"""Breakpoints among the ops of a bundle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .array_statistics import statistics_of
from .breakpoints import Breakpoint, Kind, node_of_tensor, unknown_breakpoint
from .conditions import EXECUTED
from .errors import DebuggerError
from .log_points import check_fields, measured, message_of, needs_values
from .selections import nodes_of, selection_of
from .source_lines import find_line
from .statistic_conditions import StatisticCondition
from .stops import Event

if TYPE_CHECKING:
    from .bundle_session import BundleSession


@dataclass(frozen=True)
class _Entry:
    """A breakpoint with the ops that it is on.

    Attributes:
        condition: What an output must meet; None: each execution counts.
    """

    breakpoint: Breakpoint
    nodes: frozenset[int]
    condition: StatisticCondition | None


class BundleBreakpoints:
    """Implements Breakpoints. Conditions are checked here, on the results of the replay."""

    def __init__(self, session: BundleSession) -> None:
        self._session = session
        self._next_id = 1
        self._known: dict[int, _Entry] = {}

    def add_lines(
        self,
        file: str,
        line: int,
        condition: str | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
    ) -> Breakpoint:
        place = find_line(self._session.graph_index(), self._session.source_text(file), file, line)
        if place is None:
            raise DebuggerError(f"no captured op was made at {file}:{line}")
        made = self._add("line", f"{file}:{line}", place.nodes, condition, ignore_count, once, log)
        return self._replace(made.id, file=file, line=place.line)

    def add_nodes(
        self,
        pattern: str,
        condition: str | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
        regex: bool = False,
    ) -> Breakpoint:
        nodes = self._nodes(pattern, regex, entry=condition is None)
        return self._add("node", pattern, nodes, condition, ignore_count, once, log)

    def add_condition(
        self,
        condition: str,
        nodes: str | None = None,
        params: dict[str, object] | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
    ) -> Breakpoint:
        if params:
            raise DebuggerError("conditions of a bundle have no parameters; write an expression, such as abs_max > 1e3")
        covered = self._nodes(nodes) if nodes else list(self._session.graph_index().execution)
        text = f"{condition} on {nodes}" if nodes else condition
        return self._add("condition", text, covered, condition, ignore_count, once, log)

    def add_data(self, tensor: str, condition: str | None = None) -> Breakpoint:
        if condition is None:
            raise DebuggerError("a bundle has the values of one step, in which a tensor does not change")
        return self._add("data", tensor, self._nodes(node_of_tensor(tensor)), condition, 0, False, None)

    def _nodes(self, pattern: str, regex: bool = False, entry: bool = False) -> Sequence[int]:
        index = self._session.graph_index()
        selection = selection_of(index, pattern, regex, entry)
        if selection is None:
            raise self._session.unknown_node(pattern)
        return nodes_of(index, selection)

    def _add(
        self,
        kind: Kind,
        text: str,
        nodes: Sequence[int],
        condition: str | None,
        ignore_count: int,
        once: bool,
        log: str | None,
    ) -> Breakpoint:
        if not condition:
            check_fields(log or "")
        made = Breakpoint(
            self._next_id,
            0,
            kind,
            text,
            condition or EXECUTED,
            bool(nodes),
            once=once,
            ignore_count=ignore_count,
            log=log,
            node_count=len(nodes),
        )
        self._known[made.id] = _Entry(made, frozenset(nodes), _parsed(condition))
        self._next_id += 1
        return made

    def hits_at(self, place: int) -> Sequence[int]:
        """The ids of the breakpoints that stop at an op."""
        entries = [each for each in self._known.values() if each.breakpoint.log is None]
        return [each.breakpoint.id for each in entries if self._is_hit(each, place)]

    def _is_hit(self, entry: _Entry, place: int) -> bool:
        if not entry.breakpoint.enabled or place not in entry.nodes:
            return False
        condition = entry.condition
        return condition is None or any(
            condition.is_met(statistics_of(each)) for each in self._session.outputs_at(place) if each is not None
        )

    def logged_at(self, place: int) -> list[Event]:
        """What log points print at an op."""
        entries = [each for each in self._known.values() if each.breakpoint.log is not None]
        return [self._output(each, place) for each in entries if self._is_hit(each, place)]

    def _output(self, entry: _Entry, place: int) -> Event:
        index, made = self._session.graph_index(), entry.breakpoint
        (file, line), stop = index.line(place), self._session.stop_at(place)
        fields: dict[str, object] = {"node": stop.node, "step": stop.step, "rank": stop.rank}
        if needs_values(made.log or ""):
            first = next((each for each in self._session.outputs_at(place) if each is not None), None)
            fields |= {} if first is None else measured(statistics_of(first))
        self._replace(made.id, hit_count=made.hit_count + 1)
        text = f"{message_of(made.log or '', fields)}\n"
        return Event("output", rank=stop.rank, text=text, file=file, line=line, breakpoint_id=made.id)

    def count(self, ids: Sequence[int]) -> None:
        """Notes a stop by these breakpoints."""
        for id in ids:
            found = self.get(id)
            self._replace(id, hit_count=found.hit_count + 1, enabled=not found.once)

    def list(self) -> list[Breakpoint]:
        return [self._known[id].breakpoint for id in sorted(self._known)]

    def get(self, id: int) -> Breakpoint:
        if id not in self._known:
            raise unknown_breakpoint(id, self._known)
        return self._known[id].breakpoint

    def remove(self, id: int) -> None:
        self.get(id)
        del self._known[id]

    def remove_all(self) -> None:
        self._known.clear()

    def enable(self, id: int, on: bool = True) -> None:
        self._replace(id, enabled=on)

    def ignore(self, id: int, count: int) -> None:
        raise DebuggerError("each op of a bundle is executed once")

    def set_condition(self, id: int, condition: str | None) -> None:
        self.get(id)
        self._known[id] = dataclasses.replace(self._known[id], condition=_parsed(condition))
        self._replace(id, condition=condition or EXECUTED)

    def _replace(self, id: int, **fields: object) -> Breakpoint:
        changed = dataclasses.replace(self.get(id), **fields)  # type: ignore[arg-type]
        self._known[id] = dataclasses.replace(self._known[id], breakpoint=changed)
        return changed


def _parsed(condition: str | None) -> StatisticCondition | None:
    return None if condition in (None, EXECUTED) else StatisticCondition.of(condition or "")
