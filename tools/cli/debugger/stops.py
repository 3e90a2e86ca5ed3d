"""Where a job stands, and what happens to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from graphdbg.client.models import ExceptionInfo, Hit

Reason = Literal["entry", "step", "node", "pause", "watchpoint", "error", "goto", "ended"]

# By `pause_reason` of the HTTP API.
REASONS: dict[str, Reason] = {
    "start": "entry",
    "step": "step",
    "node": "node",
    "user": "pause",
    "watchpoint": "watchpoint",
    "error": "error",
}


@dataclass(frozen=True)
class Stop:
    """Where a rank stands. A stop is after a node: its outputs exist, and its inputs unless they were overwritten.

    Attributes:
        reason: "entry" before the first step, "step" at the end of one, "node" after one, "goto" after the node that
            the user ran to, "pause" because somebody asked for it, "watchpoint", "error" at an exception that is
            about to end the job, or "ended".
        rank: The rank that caused the stop.
        step: From 1; 0 before the first one.
        node: The full name; "" at the end of a step.
        hits: What the watchpoints that caused the stop have found.
        breakpoint_ids: Ids of this session's breakpoints among those that caused it.
        watchpoint_ids: Ids of all watchpoints that caused it, also of other users.
        description: One sentence for people. It names who paused the job if that was somebody else.
        exception: What is about to end the job, or has.
        exit_code: How an ended job ended, if known.
    """

    reason: Reason
    rank: int = 0
    step: int = 0
    node: str = ""
    hits: tuple[Hit, ...] = ()
    breakpoint_ids: tuple[int, ...] = ()
    watchpoint_ids: tuple[int, ...] = ()
    description: str = ""
    exception: ExceptionInfo | None = None
    exit_code: int | None = None

    @property
    def has_ended(self) -> bool:
        return self.reason == "ended"


@dataclass(frozen=True)
class RankState:
    """One process of the job. `state`, `step` and `node` are those of the HTTP API."""

    rank: int
    state: str
    step: int
    node: str
    host: str = ""
    pid: int = 0
    device: str = ""


EventKind = Literal[
    "stopped", "continued", "hit", "breakpoint", "breakpoint-removed", "output", "graph", "ended", "refused", "server"
]


@dataclass(frozen=True)
class Event:
    """What subscribers of a session are told.

    Attributes:
        kind: "stopped" and "ended" have `stop`; "continued" says who did it in `text`; "hit" has `hit`; "breakpoint"
            (its counts, whether it was found, or its line have changed) and "breakpoint-removed" (somebody else has
            removed its watchpoint) have `breakpoint_id`; "output" is a line of a log point or of the job's log;
            "graph" says that nodes were added; "refused" says why the job did not execute a command; "server" that
            the server has gone, or is back.
        rank: Which rank it is about; None: all.
        file, line: Where an "output" comes from, if known.
    """

    kind: EventKind
    rank: int | None = None
    stop: Stop | None = None
    hit: Hit | None = None
    breakpoint_id: int | None = None
    text: str = ""
    file: str = ""
    line: int = 0
    details: dict[str, str] = field(default_factory=dict)
