"""What the events of a job have told: where it stands, and why."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from graphdbg.client.http import Json
from graphdbg.client.models import Hit, JobInfo

from .stops import REASONS, Event, Reason, Stop

_MAX_HITS = 1000
_MAX_OWN = 100
_MOVES = ("continue", "step", "next_node", "continue_to")


@dataclass(frozen=True)
class _Command:
    """A command as an event reports it."""

    id: str
    verb: str
    rank: int | None
    by: str


class LiveState:
    """The state of a live job. Not thread-safe: its user holds a lock, also while it sends a command, so that the
    command's id is known before its events are taken.

    Attributes:
        info: The newest report.
        pending: The id of the own command whose outcome has not been received.
        refusal: Why the last own command was refused; "" if it was not.
    """

    def __init__(self, info: JobInfo) -> None:
        self.info = info
        self.pending: str | None = None
        self.refusal = ""
        self._own: deque[str] = deque(maxlen=_MAX_OWN)
        self._hits: deque[Hit] = deque(maxlen=_MAX_HITS)
        self._last: _Command | None = None
        self._last_move: _Command | None = None

    # ---- own commands

    def sent(self, command_id: str) -> None:
        """The server has accepted a command of this side, none of whose events have been taken yet."""
        self._own.append(command_id)
        self.refusal = ""
        self.pending = command_id

    @property
    def has_settled(self) -> bool:
        """Whether the job is stopped or has ended, and not about to move."""
        return self.pending is None and (self.info.is_paused or self.info.has_ended)

    # ---- events

    def apply(self, event: Json) -> list[Event]:
        """Takes an event of the server, and returns what it means."""
        kind = event["type"]
        if kind == "hit":
            hit = Hit.from_json(event["hit"])
            self._hits.append(hit)
            return [Event("hit", rank=hit.rank, hit=hit)]
        if kind == "command":
            self._take_command(event)
            return []
        if kind == "graph":
            return [Event("graph", rank=event.get("rank"))]
        if kind == "log":
            return [Event("output", rank=event.get("rank"), text=f"{event['message']}\n")]
        if kind == "snapshot":
            self._hits.extend(map(Hit.from_json, event.get("hits", [])))
        if kind in ("state", "job", "snapshot") and event.get("info") is not None:
            refusals = self._take_outcome(event)
            return refusals + self._take_info(self.info.after(event["info"]))
        return []

    def lose(self) -> list[Event]:
        """The server has gone for good."""
        return self._take_info(dataclasses.replace(self.info, state="lost"))

    def _take_command(self, event: Json) -> None:
        command = event["command"]
        by = command.get("user") or command.get("client") or "somebody else"
        by = "a browser" if command.get("client") == "browser" else str(by)
        self._last = _Command(str(event["command_id"]), command["command"], command.get("rank"), by)
        if self._last.verb in _MOVES:
            self._last_move = self._last
            # What these ranks have hit belongs to the stop that they leave.
            self._keep_hits(lambda rank: self._last_move is not None and self._last_move.rank not in (None, rank))

    def _keep_hits(self, of_rank: Callable[[int], bool]) -> None:
        self._hits = deque((hit for hit in self._hits if of_rank(hit.rank)), maxlen=_MAX_HITS)

    def _take_outcome(self, event: Json) -> list[Event]:
        # A snapshot takes the place of events that this client was too slow for.
        if event["type"] == "snapshot":
            self.pending = None
        command_id, error = event.get("command_id"), event.get("error") or ""
        if not command_id or command_id not in self._own:
            return []
        if command_id == self.pending:
            self.pending = None
            self.refusal = error
        return [Event("refused", text=error)] if error else []

    def _take_info(self, info: JobInfo) -> list[Event]:
        before, self.info = self.info, info
        if info.has_ended:
            self.pending = None
            return [] if before.has_ended else [Event("ended", stop=self._end())]
        if not info.is_paused:
            if not before.is_paused:
                return []
            paused = {each.rank for each in info.ranks if each.state == "paused"}
            self._keep_hits(lambda rank: rank in paused)
            return [Event("continued", text=self._mover())]
        if not before.is_paused or _places(before) != _places(info):
            stop = self.job_stop()
            return [Event("stopped", rank=stop.rank, stop=stop)]
        return []

    # ---- stops

    def job_stop(self) -> Stop:
        """The stop of the job as a whole, at the rank that caused it. It is paused, or has ended."""
        if self.info.has_ended:
            return self._end()
        rank = self._cause()
        return self.stop_of(rank) or self._stop_at(rank, self.info.step, self.info.node)

    def _cause(self) -> int:
        """The rank that caused the stop: the one that was moved alone, or the first that hit something."""
        if self._last_move is not None and self._last_move.rank is not None:
            return self._last_move.rank
        if hits := self._hits_of_stop():
            return hits[0].rank
        here = (self.info.step, self.info.node)
        return next((each.rank for each in self.info.ranks if (each.step, each.node) == here), 0)

    def stop_of(self, number: int) -> Stop | None:
        """Where a rank stands; None while it runs."""
        if self.info.has_ended:
            return self._end()
        rank = next((each for each in self.info.ranks if each.rank == number), None)
        if rank is None or rank.state != "paused":
            return None
        return self._stop_at(number, rank.step, rank.node)

    def _stop_at(self, rank: int, step: int, node: str) -> Stop:
        hits = self._hits_of_stop(rank)
        is_cause = self.info.is_paused and (step, node) == (self.info.step, self.info.node)
        if not is_cause and not (self.info.is_paused and hits):
            return Stop("node" if node else "step", rank, step, node, description=_place(step, node))
        reason = REASONS.get(self.info.pause_reason or "", "pause") if is_cause else "watchpoint"
        if reason == "node" and self._last_move and self._last_move.verb == "continue_to":
            reason = "goto"
        causes = self.info.stopped_by
        if hits and len(self.info.ranks) > 1:
            # Other ranks may still stand where others have stopped them.
            causes = tuple(sorted({hit.watchpoint for hit in hits}))
        return Stop(
            reason,
            rank,
            step,
            node,
            hits=tuple(hits if hits else self._hits_of_stop()),
            watchpoint_ids=causes,
            description=self._description(reason, step, node),
            exception=self.info.exception if reason == "error" else None,
        )

    def _hits_of_stop(self, rank: int | None = None) -> list[Hit]:
        """What the watchpoints that stop the job have found. Default: on all ranks."""
        causes = set(self.info.stopped_by)
        steps = {each.rank: each.step for each in self.info.ranks}
        found = (hit for hit in self._hits if hit.watchpoint in causes)
        found = (hit for hit in found if hit.step >= steps.get(hit.rank, self.info.step))
        return [hit for hit in found if rank is None or hit.rank == rank]

    def _description(self, reason: Reason, step: int, node: str) -> str:
        if reason == "entry":
            return "waits before the first step"
        if reason == "error" and self.info.exception:
            return f"{self.info.exception.type}: {self.info.exception.message}"
        if reason == "pause":
            last = self._last
            by = f" by {last.by}" if last and last.verb == "pause" and last.id not in self._own else ""
            return f"paused{by} {_place(step, node)}"
        if reason == "watchpoint" and (hits := self._hits_of_stop()):
            return f"{hits[0].condition} at {hits[0].name}, step {step}"
        mover = self._last_move
        by = f", moved by {mover.by}" if mover and mover.id not in self._own else ""
        return f"{_place(step, node)}{by}"

    def _mover(self) -> str:
        move = self._last_move
        return f"continued by {move.by}" if move and move.id not in self._own else ""

    def _end(self) -> Stop:
        info = self.info
        text = f"the job is {info.state}" if info.state == "lost" else f"the job has {_ENDS[info.state]}"
        if info.exception:
            text += f": {info.exception.type}: {info.exception.message}"
        elif info.exit_code:
            text += f" with exit code {info.exit_code}"
        return Stop("ended", 0, info.step, "", description=text, exception=info.exception, exit_code=info.exit_code)


_ENDS = {"finished": "finished", "terminated": "been terminated", "lost": "been lost"}


def _places(info: JobInfo) -> list[tuple[int, int, str, str]]:
    return [(each.rank, each.step, each.node, each.state) for each in info.ranks]


def _place(step: int, node: str) -> str:
    if node:
        return f"after {node}, step {step}"
    return f"at the end of step {step}" if step else "before the first step"
