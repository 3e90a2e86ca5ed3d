"""Breakpoints of one session, kept as watchpoints of the job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from .errors import DebuggerError

# The condition of a data breakpoint that has none of its own.
CHANGED = "change_l2 > 0"
Kind = Literal["line", "node", "condition", "data"]


@dataclass(frozen=True)
class Breakpoint:
    """A breakpoint, as it is when it is listed.

    Attributes:
        id: The session's own number, from 1, which is never reused.
        watchpoint_id: That of the job; 0 if there is none, as over a recorded run.
        kind: "line", "node", "condition" or "data" (one tensor).
        text: What the user asked for, such as "model.py:32" or "forward/fc/*".
        condition: The id of a condition or an expression; "executed" for each execution.
        verified: Whether it covers a node. Before the first step nothing is known.
        file, line: Where a line breakpoint is: the line may have moved to the next one with ops. "" and 0 for others.
        hit_count: How often it was hit.
        enabled, once: Whether it is checked, and only until its first hit.
        ignore_count: How many hits do not count.
        log: Of a log point: the message; the job does not stop.
        error: Why it cannot be checked; None if it can.
        node_count: The number of nodes that it covers.
    """

    id: int
    watchpoint_id: int
    kind: Kind
    text: str
    condition: str
    verified: bool
    file: str = ""
    line: int = 0
    hit_count: int = 0
    enabled: bool = True
    once: bool = False
    ignore_count: int = 0
    log: str | None = None
    error: str | None = None
    node_count: int = 0


class Breakpoints(Protocol):
    """The breakpoints of one session. All methods raise DebuggerError for an unknown id and for what is refused."""

    def add_lines(
        self,
        file: str,
        line: int,
        condition: str | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
    ) -> Breakpoint:
        """Stops after each run of a source line, at its first op.

        Args:
            file: The end of a path, such as "model.py".
            line: A line without ops means the next one with ops in the same function.
            condition: A condition id or an expression on the tensors that the line makes, such as "abs_max > 1e3".
            ignore_count: How many hits do not count.
            once: Only until the first hit.
            log: Does not stop, but sends an "output" event; {abs_max} stands for a statistic.
        """

    def add_nodes(
        self,
        pattern: str,
        condition: str | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
        regex: bool = False,
    ) -> Breakpoint:
        """Stops after each execution of some nodes.

        Args:
            pattern: A full name, a pattern with `*` and `?`, a scope (its first op), or the class of a module (the
                first op of each such module); with `regex` a regular expression.
        """

    def add_condition(
        self,
        condition: str,
        nodes: str | None = None,
        params: dict[str, object] | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
    ) -> Breakpoint:
        """Stops at tensors that meet a condition id or an expression. `nodes`: a name or pattern; default: all."""

    def add_data(self, tensor: str, condition: str | None = None) -> Breakpoint:
        """Stops when one tensor, NODE:SLOT, meets a condition; default: when it changes (change_l2 > 0)."""

    def list(self) -> list[Breakpoint]:
        """All breakpoints by id, with their current counts."""

    def get(self, id: int) -> Breakpoint:
        """One breakpoint."""

    def remove(self, id: int) -> None: ...

    def enable(self, id: int, on: bool = True) -> None: ...

    def ignore(self, id: int, count: int) -> None:
        """Lets the next `count` hits pass."""

    def set_condition(self, id: int, condition: str | None) -> None:
        """Replaces the condition; None: each execution."""


def unknown_breakpoint(id: int, known: Iterable[int]) -> DebuggerError:
    """The error for an id that no breakpoint of the session has."""
    return DebuggerError(f"there is no breakpoint {id}; there are: {', '.join(map(str, sorted(known))) or 'none'}")


def node_of_tensor(tensor: str) -> str:
    """The node of NODE:SLOT, or of a node's name alone."""
    node, colon, slot = tensor.rpartition(":")
    return node if colon and slot.isdigit() else tensor
