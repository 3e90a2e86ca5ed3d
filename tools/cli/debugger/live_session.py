"""A session with a live job."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from graphdbg.client.errors import ApiError, NotFoundError
from graphdbg.client.http import HttpClient, Json, quote
from graphdbg.client.jobs import Job
from graphdbg.client.models import JobInfo

from .errors import DebuggerError
from .frames import Frame, users_frame
from .graph_index import GraphIndex
from .graph_source import GraphSource
from .live_breakpoints import LiveBreakpoints
from .live_events import EventFeed
from .live_state import LiveState
from .passing_over import next_fitting
from .places import is_line, line_of
from .session import Session, sentence_of
from .stops import Event, RankState, Stop
from .tensor_views import JobTensor
from .values import TensorView


class LiveSession(Session):
    """A job of a server. Events move its state on a thread of its own."""

    def __init__(self, http: HttpClient, job: str) -> None:
        super().__init__()
        self.kind = "live"
        self.name = job
        self._http = http
        self._path = f"/jobs/{quote(job)}"
        info = JobInfo.from_json(http.get(self._path))
        self._job = Job(http, info)
        self._state = LiveState(info)
        self._graph = GraphSource(http, self._path)
        self._changed = threading.Condition()
        self._interrupted = False
        # The id of the breakpoint of `until`; 0 if there is none.
        self._temporary = 0
        self._live_breakpoints = LiveBreakpoints(self)
        self.breakpoints = self._live_breakpoints
        self._rank = min((rank.rank for rank in info.ranks), default=0)
        self._feed = EventFeed(http, job, self._on_event, self._on_server)

    @property
    def job(self) -> Job:
        return self._job

    # ---- where it is

    @property
    def info(self) -> JobInfo:
        """The newest report of the server."""
        return self._state.info

    @property
    def state(self) -> str:
        return self._state.info.state

    def stop_of(self, rank: int) -> Stop | None:
        with self._changed:
            return self._named(self._state.stop_of(rank))

    @property
    def knows_all(self) -> bool:
        info = self._state.info
        return info.step > 1 or info.has_ended or (info.step == 1 and info.is_paused and not info.node)

    def ranks(self) -> list[RankState]:
        return [
            RankState(
                each.rank, each.state, each.step, each.node, each.host, each.pid, f"{each.device}:{each.device_id}"
            )
            for each in self._state.info.ranks
        ]

    # ---- moves

    def continue_(self, rank: int | None = None) -> None:
        self._control("continue", rank)

    def step(self, n: int = 1, rank: int | None = None) -> None:
        self._control("step", rank, steps=n)

    def step_node(self, rank: int | None = None) -> None:
        self._control("next_node", self._one(rank))

    def next(self, rank: int | None = None, line: bool = True, frame: int | None = None) -> None:
        number = self._one(rank)
        here = self._frame(number, frame)
        if line:
            here = users_frame(self.frames(number), here.number)
        # At the end of a step there is no scope to stay in.
        fields: Json = {"within": here.scope} if here.kind in ("node", "scope") else {}
        if line and fields:
            fields["other_line"] = True
        self._pass_over(number, fields, here.scope if line else None)

    def finish(self, rank: int | None = None, frame: int | None = None) -> None:
        number = self._one(rank)
        here = self._frame(number, frame)
        if here.kind not in ("node", "scope") or not here.scope:
            raise DebuggerError('"finish" has no scope to leave here; "step" goes to the end of the training step')
        self._pass_over(number, {"outside": here.scope}, here.scope)

    def _pass_over(self, rank: int, fields: Json, scope: str | None) -> None:
        """To the next node that fits, which the agent finds, or else this side in the order of the graph."""
        try:
            self._send("next_node", rank, moved_in=scope, **fields)
        except ApiError as error:
            if error.code != "unsupported_command" or not fields:
                raise sentence_of(error) from None
            # The order of a MindSpore graph does not change while it runs.
            node = next_fitting(self.graph_index(), self._stopped(rank).node, **fields)
            if node is None:
                self._control("step", rank)
            else:
                self._control("continue_to", rank, node=node)

    def until(self, node: str, rank: int | None = None) -> None:
        number = self._one(rank)
        if is_line(node):
            self._temporary = self._live_breakpoints.add_lines(*line_of(node), once=True).id
            self._control("continue", number if len(self._state.info.ranks) > 1 else None)
            return
        self._control("continue_to", number, node=node, **({} if self.knows_all else {"pending": True}))

    def pause(self, rank: int | None = None) -> None:
        self._control("pause", rank)

    def terminate(self) -> None:
        self._control("terminate", None)

    def detach(self, resume: bool = True) -> None:
        self._live_breakpoints.remove_all()
        if resume and self._state.info.is_paused:
            self._control("continue", None)
        self.close()

    def wait(self, timeout: float | None = None) -> Stop | None:
        stop = self._wait(timeout)
        if stop is not None and self._temporary:
            # Of `until`, whether it has stopped there or elsewhere.
            with contextlib.suppress(DebuggerError):
                self._live_breakpoints.remove(self._temporary)
            self._temporary = 0
        return stop

    def _wait(self, timeout: float | None) -> Stop | None:
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            self._interrupted = False
            while True:
                if self._state.refusal:
                    refusal, self._state.refusal = self._state.refusal, ""
                    raise DebuggerError(f"the job refused: {refusal}")
                if self._state.has_settled:
                    return self._named(self._state.job_stop())
                left = None if deadline is None else deadline - time.monotonic()
                if self._interrupted or (left is not None and left <= 0):
                    return None
                self._changed.wait(left)

    def interrupt_wait(self) -> None:
        with self._changed:
            self._interrupted = True
            self._changed.notify_all()

    def _one(self, rank: int | None) -> int:
        return self._rank if rank is None else rank

    def _frame(self, rank: int, number: int | None) -> Frame:
        frames = self.frames(rank)
        if number is None:
            number = self.stop_frame(rank)
        if number >= len(frames):
            raise DebuggerError(f"there is no frame {number}; the outermost one is {len(frames) - 1}")
        return frames[number]

    def _control(self, command: str, rank: int | None, **fields: Any) -> None:
        try:
            self._send(command, rank, **fields)
        except NotFoundError as error:
            if error.code == "unknown_node":
                raise self.unknown_node(str(fields["node"])) from None
            raise sentence_of(error) from None
        except ApiError as error:
            raise sentence_of(error) from None

    def _send(self, command: str, rank: int | None, moved_in: str | None = None, **fields: Any) -> None:
        body: Json = {"command": command, **fields} | ({} if rank is None else {"rank": rank})
        # With the lock, so that the id is known before its events are handled.
        with self._changed:
            answer = self._http.post(f"{self._path}/control", body)
            self._state.sent(str(answer["command_id"]))
            self._forget_moves(rank, moved_in)

    # ---- events

    def _on_event(self, event: Json) -> None:
        if event["type"] == "graph":
            self._graph.has_grown()
        # Before the stop is told.
        told = list(self._live_breakpoints.ended_lines(event))
        with self._changed:
            told += self._state.apply(event)
            if any(each.kind == "continued" and each.text for each in told):
                # Somebody else has moved the job.
                self._forget_moves(None)
            self._changed.notify_all()
        told += self._live_breakpoints.apply(event)
        for each in told:
            self._tell(each if each.stop is None else self._with_names(each))

    def _on_server(self, what: str) -> None:
        texts = {"gone": "the server is gone; waiting", "back": "the server is back"}
        if what in texts:
            self._tell(Event("server", text=texts[what]))
            return
        with self._changed:
            told = self._state.lose()
            self._changed.notify_all()
        for each in told:
            self._tell(each)

    def _with_names(self, event: Event) -> Event:
        return Event(event.kind, event.rank, self._named(event.stop), text=event.text)

    def _named(self, stop: Stop | None) -> Stop | None:
        """A stop with the ids of this session's breakpoints."""
        return stop if stop is None else self._live_breakpoints.named(stop)

    # ---- looking

    def tensor_view(self, name: str, step: str | None = None, rank: int | None = None, slice: str = "") -> TensorView:
        node, _, slot = name.rpartition(":")
        output = next((each for each in self.node(node).outputs if each.slot == int(slot)), None)
        if output is None:
            raise DebuggerError(f"{node} has no output {slot}")
        return JobTensor(self.job, name, output.dtype, output.shape, step, self._one(rank), slice)

    def graph_index(self) -> GraphIndex:
        return self._graph.index()

    def source_text(self, file: str) -> str | None:
        return self._graph.source_text(file)

    def conditions(self) -> dict[str, Json]:
        return self._live_breakpoints.conditions.rows

    def page(self) -> str:
        return self.job.page()

    def catch(self, node: str) -> None:
        try:
            self._http.post(f"{self._path}/tensor/catch", {"node": node, "rank": self._rank})
        except NotFoundError:
            raise self.unknown_node(node) from None
        except ApiError as error:
            raise sentence_of(error) from None

    def capture(self, hit: int) -> bytes:
        try:
            return self._http.download(f"{self._path}/hits/{hit}/bundle")
        except ApiError as error:
            raise sentence_of(error) from None

    def close(self) -> None:
        self._live_breakpoints.remove_all()
        self._feed.close()
        self._job.close()
