"""Breakpoints of a recorded run: where in it their conditions are met."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphdbg.client.errors import ApiError
from graphdbg.client.http import Json
from graphdbg.client.models import Hit

from .breakpoints import CHANGED, Breakpoint, node_of_tensor, unknown_breakpoint
from .called_lines import find_place
from .conditions import EACH_TENSOR, EXECUTED, Conditions, text_of
from .errors import DebuggerError
from .log_points import check_fields, fields_of, is_output_of_same_op, is_same_run, message_of, needs_values
from .selections import nodes_of, selection_of
from .session import sentence_of
from .source_lines import first_of_runs, forward_ops
from .stops import Event
from .timeline import Position, Timeline

if TYPE_CHECKING:
    from .recorded_session import RecordedSession

_POLL_SECONDS = 0.02


@dataclass
class _Entry:
    """A breakpoint with what it takes to find its hits.

    Attributes:
        nodes: For the condition "executed": the nodes, by number.
        by_run: Of a line: only the first recorded node of each run of it counts.
        selection, parsed: For other conditions: what is checked, and for which condition.
        hits: By rank: what such a check has found; absent while it was not made.
        passed: How many hits it has let pass.
    """

    breakpoint: Breakpoint
    nodes: frozenset[int] | None = None
    by_run: bool = False
    selection: Json = field(default_factory=dict)
    parsed: Json = field(default_factory=dict)
    hits: dict[int, list[tuple[Position, Hit]]] = field(default_factory=dict)
    passed: int = 0


class RecordedBreakpoints:
    """Implements Breakpoints. The server checks conditions on recorded statistics and values."""

    def __init__(self, session: RecordedSession) -> None:
        self._session = session
        self._http = session._http
        self._path = session.path
        self.conditions = Conditions(self._http)
        self._next_id = 1
        self._entries: dict[int, _Entry] = {}

    # ---- adding

    def add_lines(
        self,
        file: str,
        line: int,
        condition: str | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
    ) -> Breakpoint:
        index = self._session.graph_index()
        place = find_place(self._session, file, line)
        if place is None:
            raise DebuggerError(f"no op of the run has been made at {file}:{line} or behind it in the same function")
        made = self._made("line", f"{file}:{line}", condition, ignore_count, once, log)
        made = dataclasses.replace(made, file=file, line=place.line)
        own = index.lines_of(file).get(place.line)
        nodes = forward_ops(index, own) if own else list(place.nodes)
        return self._add(made, nodes, {"nodes": [index.name(node) for node in nodes]}, condition)

    def add_nodes(
        self,
        pattern: str,
        condition: str | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
        regex: bool = False,
    ) -> Breakpoint:
        selection = self._selection(pattern, regex, entry=condition is None)
        made = self._made("node", pattern, condition, ignore_count, once, log)
        return self._add(made, self._nodes_of(selection), selection, condition)

    def add_condition(
        self,
        condition: str,
        nodes: str | None = None,
        params: dict[str, object] | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
    ) -> Breakpoint:
        parsed = self.conditions.parse(condition, params)
        selection = self._selection(nodes, False, entry=False) if nodes else {}
        text = f"{text_of(parsed)} on {nodes}" if nodes else text_of(parsed)
        made = self._made("condition", text, text_of(parsed), ignore_count, once, log)
        return self._add(made, self._nodes_of(selection), selection, condition, parsed)

    def add_data(self, tensor: str, condition: str | None = None) -> Breakpoint:
        name = node_of_tensor(tensor)
        text = condition or CHANGED
        selection = self._selection(name, False, entry=False)
        made = self._made("data", tensor, text, 0, False, None)
        return self._add(made, self._nodes_of(selection), selection, text)

    def _made(
        self, kind: str, text: str, condition: str | None, ignore_count: int, once: bool, log: str | None
    ) -> Breakpoint:
        return Breakpoint(
            0,
            0,
            kind,  # type: ignore[arg-type]
            text,
            condition or EXECUTED,
            True,
            once=once,
            ignore_count=ignore_count,
            log=log,
        )

    def _add(
        self,
        made: Breakpoint,
        nodes: Iterable[int],
        selection: Json,
        condition: str | None,
        parsed: Json | None = None,
    ) -> Breakpoint:
        parsed = parsed or self._condition(condition, made.log)
        covered = frozenset(nodes)
        made = dataclasses.replace(made, id=self._next_id, node_count=len(covered), verified=bool(covered))
        executed = covered if parsed["id"] == EXECUTED else None
        entry = _Entry(made, executed, made.kind == "line", selection, parsed)
        if executed is None:
            # Now rather than at the next move, so that what is wrong with it is said here.
            self._checked(entry, self._session.rank)
        self._entries[made.id] = entry
        self._next_id += 1
        return made

    def _condition(self, text: str | None, log: str | None) -> Json:
        if text:
            return self.conditions.parse(text)
        check_fields(log or "")
        return self.conditions.parse(EACH_TENSOR if log and needs_values(log) else EXECUTED)

    def _selection(self, pattern: str, regex: bool, entry: bool) -> Json:
        selection = selection_of(self._session.graph_index(), pattern, regex, entry)
        if selection is None:
            raise self._session.unknown_node(pattern)
        return selection

    def _nodes_of(self, selection: Json) -> list[int]:
        """The nodes of a selection by number."""
        return nodes_of(self._session.graph_index(), selection)

    # ---- the list

    def list(self) -> list[Breakpoint]:
        return [self._entries[id].breakpoint for id in sorted(self._entries)]

    def get(self, id: int) -> Breakpoint:
        return self._entry(id).breakpoint

    def remove(self, id: int) -> None:
        self._entry(id)
        del self._entries[id]

    def remove_all(self) -> None:
        self._entries.clear()

    def enable(self, id: int, on: bool = True) -> None:
        self._change(id, enabled=on)

    def ignore(self, id: int, count: int) -> None:
        self._change(id, ignore_count=count)
        self._entry(id).passed = 0

    def set_condition(self, id: int, condition: str | None) -> None:
        entry = self._entry(id)
        entry.parsed = self._condition(condition, entry.breakpoint.log)
        entry.hits.clear()
        entry.nodes = None
        if entry.parsed["id"] == EXECUTED:
            entry.nodes = frozenset(self._nodes_of(entry.selection))
        self._change(id, condition=text_of(entry.parsed))

    def _change(self, id: int, **fields: object) -> None:
        entry = self._entry(id)
        entry.breakpoint = dataclasses.replace(entry.breakpoint, **fields)  # type: ignore[arg-type]

    def _entry(self, id: int) -> _Entry:
        if id not in self._entries:
            raise unknown_breakpoint(id, self._entries)
        return self._entries[id]

    # ---- hits

    def next_hit(self, timeline: Timeline, rank: int, begin: Position, forwards: bool) -> Position | None:
        """The first place with a hit after a place, or before it; None if there is none."""
        enabled = [entry for entry in self._stopping() if entry.breakpoint.enabled]
        found = [self._next_of(entry, timeline, rank, begin, forwards) for entry in enabled]
        places = [place for place in found if place is not None]
        return (min if forwards else max)(places, default=None)

    def _next_of(
        self, entry: _Entry, timeline: Timeline, rank: int, begin: Position, forwards: bool
    ) -> Position | None:
        if entry.nodes is None:
            places = [place for place, _ in self._checked(entry, rank)]
            later = [place for place in places if (place > begin if forwards else place < begin)]
            return (min if forwards else max)(later, default=None)
        if not entry.nodes:
            return None
        walk = timeline.forwards(begin) if forwards else timeline.backwards(begin)
        return next((place for place in walk if self._stops_at(entry, timeline, place)), None)

    def _stops_at(self, entry: _Entry, timeline: Timeline, place: Position) -> bool:
        """Whether a breakpoint without a condition stops at a place."""
        node = timeline.node_at(place)
        if entry.nodes is None or node not in entry.nodes:
            return False
        if not entry.by_run:
            return True
        of_line = [each for each in timeline.nodes(place.index) if each in entry.nodes]
        return node in first_of_runs(self._session.graph_index(), of_line)

    def arrive(self, timeline: Timeline, rank: int, place: Position) -> tuple[Sequence[int], Sequence[Hit], bool]:
        """Counts the hits of a place.

        Returns:
            The ids of the breakpoints that stop there, their hits, and whether one stops there.
        """
        ids: Sequence[int] = []
        hits: Sequence[Hit] = []
        for entry in self._stopping():
            here = self._hits_at(entry, timeline, rank, place) if entry.breakpoint.enabled else None
            if here is not None and self._counts(entry):
                ids = [*ids, entry.breakpoint.id]
                hits = [*hits, *here]
        return ids, hits, bool(ids)

    def _counts(self, entry: _Entry) -> bool:
        """Counts a hit; False if it is ignored."""
        if entry.passed < entry.breakpoint.ignore_count:
            entry.passed += 1
            return False
        self._change(entry.breakpoint.id, hit_count=entry.breakpoint.hit_count + 1, enabled=not entry.breakpoint.once)
        return True

    def _stopping(self) -> Sequence[_Entry]:
        return [entry for entry in self._entries.values() if entry.breakpoint.log is None]

    def logged(self, timeline: Timeline, rank: int, begin: Position, end: Position) -> Sequence[Event]:
        """What log points print on the way from a place to a later one, in order."""
        entries = [entry for entry in self._entries.values() if entry.breakpoint.log is not None]
        found = [
            (place, self._output(entry, timeline, rank, place, text))
            for entry in entries
            for place, text in self._messages(entry, timeline, rank, begin, end)
            if entry.breakpoint.enabled and self._counts(entry)
        ]
        return [event for _, event in sorted(found, key=lambda each: each[0])]

    def _messages(
        self, entry: _Entry, timeline: Timeline, rank: int, begin: Position, end: Position
    ) -> Iterator[tuple[Position, str]]:
        log = entry.breakpoint.log or ""
        if entry.nodes is None:
            hits = [(place, hit) for place, hit in self._checked(entry, rank) if begin < place <= end]
            told = _results_of_runs(hits) if entry.breakpoint.kind == "line" else hits
            yield from ((place, message_of(log, fields_of(hit))) for place, hit in told)
            return
        for place in itertools.takewhile(lambda each: each <= end, timeline.forwards(begin)):
            node = timeline.node_at(place)
            if node is not None and self._stops_at(entry, timeline, place):
                name = self._session.graph_index().name(node)
                yield place, message_of(log, {"node": name, "step": timeline.steps[place.index], "rank": rank})

    def _output(self, entry: _Entry, timeline: Timeline, rank: int, place: Position, text: str) -> Event:
        node = timeline.node_at(place)
        file, line = ("", 0) if node is None else self._session.graph_index().line(node)
        id = entry.breakpoint.id
        return Event("output", rank=rank, text=f"{text}\n", file=file, line=line, breakpoint_id=id)

    def _hits_at(self, entry: _Entry, timeline: Timeline, rank: int, place: Position) -> Sequence[Hit] | None:
        """The hits of a breakpoint at a place; None if it is not hit there."""
        if entry.nodes is not None:
            return [] if self._stops_at(entry, timeline, place) else None
        return [hit for each, hit in self._checked(entry, rank) if each == place] or None

    def _checked(self, entry: _Entry, rank: int) -> Sequence[tuple[Position, Hit]]:
        """What a condition has found in the run, in execution order."""
        if rank not in entry.hits:
            timeline = self._session.timeline(rank)
            places = {step: index for index, step in enumerate(timeline.steps)}
            index = self._session.graph_index()
            found = []
            for hit in self._check({"condition": entry.parsed, **entry.selection}, rank):
                if hit.step in places:
                    node = index.node_of(hit.node)
                    place = timeline.place_of(places[hit.step], -1 if node is None else node)
                    found.append((Position(places[hit.step], place), hit))
            entry.hits[rank] = sorted(found, key=lambda each: (each[0], each[1].slot))
        return entry.hits[rank]

    def _check(self, watchpoint: Json, rank: int) -> Sequence[Hit]:
        try:
            check = self._http.post(f"{self._path}/checks", {"watchpoint": watchpoint, "ranks": [rank]})["check_id"]
        except ApiError as error:
            raise sentence_of(error) from None
        path = f"{self._path}/checks/{check}"
        try:
            while (answer := self._http.get(path))["state"] == "running":
                time.sleep(_POLL_SECONDS)
        finally:
            self._http.delete(path)
        if answer["state"] == "failed":
            raise DebuggerError(f"cannot check this condition: {answer['error']}")
        return [Hit.from_json(each) for each in answer["hits"]]


def _results_of_runs(hits: Sequence[tuple[Position, Hit]]) -> Iterator[tuple[Position, Hit]]:
    """Of each run of a line the hit of its last op, which has the result."""
    newest: tuple[Position, Hit] | None = None
    for place, hit in hits:
        if newest is not None and is_output_of_same_op(newest[1], hit):
            continue
        if newest is not None and not is_same_run(newest[1], hit):
            yield newest
        newest = place, hit
    if newest is not None:
        yield newest
