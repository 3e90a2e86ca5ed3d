"""A session with a recorded run, which moves both ways."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from graphdbg.client.errors import NotFoundError
from graphdbg.client.http import HttpClient, Json, quote
from graphdbg.client.jobs import Job
from graphdbg.client.models import Hit, JobInfo

from .called_lines import find_place
from .errors import DebuggerError
from .frames import Frame, users_frame
from .graph_index import GraphIndex
from .graph_source import GraphSource
from .line_goals import LineGoals
from .places import is_line, line_of
from .recorded_breakpoints import RecordedBreakpoints
from .session import Session
from .stops import Event, RankState, Reason, Stop
from .tensor_views import JobTensor
from .timeline import BEGIN, Position, Timeline
from .values import TensorView


class RunJob(Job):
    """A recorded run as the client sees a job. Only what reads is of use."""

    def __init__(self, http: HttpClient, info: JobInfo) -> None:
        super().__init__(http, info)
        self._path = f"/runs/{quote(info.id)}"


class RecordedSession(Session):
    """A recorded run of a server. Each rank has a place in it; moves change the place at once."""

    def __init__(self, http: HttpClient, run: str) -> None:
        super().__init__()
        self.kind = "recorded"
        self.can_reverse = True
        self.name = run
        self.path = f"/runs/{quote(run)}"
        self._http = http
        try:
            info = JobInfo.from_json(http.get(self.path))
        except NotFoundError as error:
            raise DebuggerError(str(error)) from None
        self._job = RunJob(http, info)
        self._info = info
        self._graph = GraphSource(http, self.path)
        self._lock = threading.RLock()
        self._timelines: dict[int, Timeline] = {}
        self._rank = min((each.rank for each in info.ranks), default=0)
        self._places: dict[int, Position] = {}
        self._stops: dict[int, Stop] = {}
        self._recorded_breakpoints = RecordedBreakpoints(self)
        self.breakpoints = self._recorded_breakpoints
        self.timeline(self._rank)

    @property
    def job(self) -> Job:
        return self._job

    # ---- where it is

    @property
    def state(self) -> str:
        return "paused"

    def stop_of(self, rank: int) -> Stop | None:
        with self._lock:
            if rank not in self._stops:
                self._stops[rank] = self._stop_at(rank, self._place(rank), "entry")
            return self._stops[rank]

    def ranks(self) -> list[RankState]:
        return [
            RankState(each.rank, "paused", stop.step, stop.node, each.host, each.pid, f"{each.device}:{each.device_id}")
            for each in self._info.ranks
            if (stop := self.stop_of(each.rank)) is not None
        ]

    def timeline(self, rank: int) -> Timeline:
        """The steps and nodes of a rank."""
        with self._lock:
            if rank not in self._timelines:
                self._timelines[rank] = Timeline(self._http, self.path, rank, self.graph_index)
            return self._timelines[rank]

    def _place(self, rank: int) -> Position:
        return self._places.get(rank, BEGIN)

    # ---- moves

    def continue_(self, rank: int | None = None) -> None:
        self._to_hit(rank, forwards=True)

    def reverse_continue(self) -> None:
        self._to_hit(None, forwards=False)

    def _to_hit(self, rank: int | None, forwards: bool) -> None:
        number = self._rank if rank is None else rank
        timeline, begin = self.timeline(number), self._not_at_end(number, forwards)
        while True:
            place = self._recorded_breakpoints.next_hit(timeline, number, begin, forwards)
            if place is None:
                self._go(number, timeline.end if forwards else BEGIN, "step", rank is None)
                return
            ids, hits, stops = self._recorded_breakpoints.arrive(timeline, number, place)
            if stops:
                self._go(number, place, "watchpoint", rank is None, tuple(ids), tuple(hits))
                return
            begin = place

    def step(self, n: int = 1, rank: int | None = None) -> None:
        number = self._one(rank)
        timeline, begin = self.timeline(number), self._not_at_end(number, True)
        at_end = begin.place >= len(timeline.nodes(begin.index))
        index = min(begin.index + n - (0 if at_end else 1), len(timeline.steps) - 1)
        self._go(number, timeline.end_of(index), "step", rank is None)

    def reverse_step(self, n: int = 1) -> None:
        begin = self._not_at_end(self._rank, False)
        index = begin.index - n
        timeline = self.timeline(self._rank)
        self._go(self._rank, timeline.end_of(index) if index >= 0 else BEGIN, "step", True)

    def step_node(self, rank: int | None = None) -> None:
        self._to_next(self._one(rank), True, lambda node: True)

    def reverse_step_node(self) -> None:
        self._to_next(self._rank, False, lambda node: True)

    def next(self, rank: int | None = None, line: bool = True, frame: int | None = None) -> None:
        self._over_calls(self._one(rank), True, line, frame)

    def reverse_next(self, line: bool = True) -> None:
        self._over_calls(self._rank, False, line, None)

    def finish(self, rank: int | None = None, frame: int | None = None) -> None:
        self._out_of_scope(self._one(rank), True, frame)

    def reverse_finish(self) -> None:
        self._out_of_scope(self._rank, False, None)

    def until(self, node: str, rank: int | None = None) -> None:
        number = self._one(rank)
        wanted = self._wanted(node)
        timeline, begin = self.timeline(number), self._not_at_end(number, True)
        place = next((each for each in timeline.forwards(begin) if timeline.node_at(each) in wanted), None)
        if place is None:
            raise DebuggerError(f"{node} is not recorded from here on")
        self._go(number, place, "goto", False)

    def _wanted(self, text: str) -> frozenset[int]:
        index = self.graph_index()
        if is_line(text):
            file, line = line_of(text)
            found = find_place(self, file, line)
            if found is None:
                raise DebuggerError(f"no op of the run has been made at {text} or behind it in the same function")
            return frozenset(found.nodes)
        node = index.node_of(text)
        if node is None:
            raise self.unknown_node(text)
        return frozenset([node])

    def _over_calls(self, rank: int, forwards: bool, line: bool, number: int | None) -> None:
        frames = self.frames(rank)
        frame = self._frame(rank, number)
        if line:
            frame = users_frame(frames, frame.number)
        here = self.timeline(rank).node_at(self._place(rank))
        goal = (lambda node: True) if here is None else self._goal(here, frame.scope, line)
        self._to_next(rank, forwards, goal, frame.scope if line else None)

    def _goal(self, here: int, scope: str, line: bool) -> Callable[[int], bool]:
        """Whether `next` stops at a node: on another line of the scope's function, or outside of it."""
        index = self.graph_index()
        number = index.scope_of(scope) or 0
        lines = LineGoals(self, index, here, scope) if line else None

        def is_goal(node: int) -> bool:
            found = lines.find(node) if lines is not None else None
            if found is not None:
                return found
            return not index.is_inside(node, number) or index.scope_number(node) == number

        return is_goal

    def _out_of_scope(self, rank: int, forwards: bool, number: int | None) -> None:
        index = self.graph_index()
        name = self._frame(rank, number).scope
        scope = index.scope_of(name) if name else None
        if scope is None:
            raise DebuggerError('"finish" has no scope to leave here; "step" goes to the end of the training step')
        self._to_next(rank, forwards, lambda node: not index.is_inside(node, scope), name)

    def _frame(self, rank: int, number: int | None) -> Frame:
        frames = self.frames(rank)
        if number is None:
            number = self.stop_frame(rank)
        if number >= len(frames):
            raise DebuggerError(f"there is no frame {number}; the outermost one is {len(frames) - 1}")
        return frames[number]

    def _to_next(self, rank: int, forwards: bool, is_goal: Callable[[int], bool], moved_in: str | None = None) -> None:
        """To the next node that is a goal, or to the end of the step if there is none."""
        timeline, begin = self.timeline(rank), self._not_at_end(rank, forwards)
        walk: Iterator[Position] = timeline.forwards(begin) if forwards else timeline.backwards(begin)
        for place in walk:
            node = timeline.node_at(place)
            if node is None or is_goal(node):
                self._go(rank, place, "step" if node is None else "node", False, moved_in=moved_in)
                return

    def _not_at_end(self, rank: int, forwards: bool) -> Position:
        place = self._place(rank)
        if place == (self.timeline(rank).end if forwards else BEGIN):
            raise DebuggerError(f"the recording {'ends' if forwards else 'begins'} here")
        return place

    def _go(
        self,
        rank: int,
        place: Position,
        reason: Reason,
        together: bool,
        ids: tuple[int, ...] = (),
        hits: tuple[Hit, ...] = (),
        moved_in: str | None = None,
    ) -> None:
        """Moves a rank, and the others to the end of the same step if they move together."""
        with self._lock:
            logged = self._put(rank, place, self._stop_at(rank, place, reason, ids, hits))
            if together:
                logged += self._follow(rank, place)
                self._forget_moves(None)
            self._forget_moves(rank, moved_in)
        for event in logged:
            self._tell(event)
        self._tell(Event("stopped", rank=rank, stop=self._stops[rank]))

    def _put(self, rank: int, place: Position, stop: Stop) -> list[Event]:
        """Moves a rank, and returns what log points print on the way; nothing on the way back."""
        begin, self._places[rank], self._stops[rank] = self._place(rank), place, stop
        return list(self._recorded_breakpoints.logged(self.timeline(rank), rank, begin, place)) if place > begin else []

    def _follow(self, rank: int, place: Position) -> list[Event]:
        step = self.timeline(rank).steps[place.index]
        logged: list[Event] = []
        for each in self._info.ranks:
            if each.rank != rank:
                timeline = self.timeline(each.rank)
                index = next((number for number, other in enumerate(timeline.steps) if other == step), None)
                there = BEGIN if place == BEGIN or index is None else timeline.end_of(index)
                logged += self._put(each.rank, there, self._stop_at(each.rank, there, "step"))
        return logged

    def _stop_at(
        self, rank: int, place: Position, reason: Reason, ids: tuple[int, ...] = (), hits: tuple[Hit, ...] = ()
    ) -> Stop:
        timeline = self.timeline(rank)
        number = timeline.node_at(place)
        step = timeline.steps[place.index]
        if place == BEGIN:
            return Stop("entry", rank, step - 1 if step else 0, "", description="at the begin of the recording")
        node = "" if number is None else self.graph_index().name(number)
        where = f"after {node}, step {step}" if node else f"at the end of step {step}"
        if place == timeline.end:
            where += ", where the recording ends"
        if hits:
            where = f"{hits[0].condition} at {hits[0].name}, step {step}"
        return Stop(reason, rank, step, node, hits, ids, description=where)

    def _one(self, rank: int | None) -> int:
        return self._rank if rank is None else rank

    def pause(self, rank: int | None = None) -> None:
        raise DebuggerError("a recorded run does not run; it stands already")

    def terminate(self) -> None:
        raise DebuggerError("a recorded run has ended already")

    def detach(self, resume: bool = True) -> None:
        self.close()

    def wait(self, timeout: float | None = None) -> Stop | None:
        return self.stop

    def interrupt_wait(self) -> None:
        pass

    # ---- looking

    def tensor_view(self, name: str, step: str | None = None, rank: int | None = None, slice: str = "") -> TensorView:
        number = self._one(rank)
        node, _, slot = name.rpartition(":")
        output = next((each for each in self.node(node).outputs if each.slot == int(slot)), None)
        if output is None:
            raise DebuggerError(f"{node} has no output {slot}")
        return JobTensor(self.job, name, output.dtype, output.shape, self._step(number, step), number, slice)

    def _step(self, rank: int, step: str | None) -> str:
        timeline, place = self.timeline(rank), self._place(rank)
        if step == "previous":
            if place.index == 0:
                raise DebuggerError(f"step {timeline.steps[0]} is the first recorded one")
            return str(timeline.steps[place.index - 1])
        return step or str(timeline.steps[place.index])

    def graph_index(self) -> GraphIndex:
        return self._graph.index()

    def source_text(self, file: str) -> str | None:
        return self._graph.source_text(file)

    def conditions(self) -> dict[str, Json]:
        return self._recorded_breakpoints.conditions.rows

    def page(self) -> str:
        return str(self._http.page(self.path)["url"])

    def close(self) -> None:
        self._recorded_breakpoints.remove_all()
