"""What the client wants to stop at, read from its requests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ..debugger import Breakpoint, Breakpoints
from . import arguments as read
from .errors import RequestError
from .wire import Json

Kind = Literal["line", "function", "data", "instruction", "exception"]

_HITS = re.compile(r"\s*(==|=|>=|>)?\s*(\d{1,9})\s*")


@dataclass(frozen=True)
class Wanted:
    """One breakpoint as the client describes it.

    Attributes:
        kind: Which request it is from.
        place: The file, the node or pattern, the tensor, or the condition of an exception filter.
        line: The line in the file, from 1.
        condition: A condition id or an expression; None: each execution, or the default.
        nodes: Of an exception filter: the patterns of the nodes that it is for; None: all nodes.
        ignore_count: How many hits do not count.
        once: Only the first hit that counts stops the job.
        log: The message of a log point.
        error: Why it cannot be made.
    """

    kind: Kind
    place: str
    line: int = 0
    condition: str | None = None
    nodes: str | None = None
    ignore_count: int = 0
    once: bool = False
    log: str | None = None
    error: str = ""

    def is_same_but_condition(self, other: Wanted) -> bool:
        """Whether a breakpoint can become another one and keep its place."""
        return self._unchangeable == other._unchangeable

    @property
    def _unchangeable(self) -> tuple[object, ...]:
        return (self.kind, self.place, self.line, self.nodes, self.once, self.log, self.error)

    def make(self, breakpoints: Breakpoints) -> Breakpoint:
        """Makes it in the job."""
        ignore, once, log = self.ignore_count, self.once, self.log
        if self.kind == "line":
            return breakpoints.add_lines(self.place, self.line, self.condition, ignore, once, log)
        if self.kind == "exception":
            return breakpoints.add_condition(self.place, self.nodes)
        if self.kind == "data":
            made = breakpoints.add_data(self.place, self.condition)
            if ignore:
                breakpoints.ignore(made.id, ignore)
            return made
        return breakpoints.add_nodes(self.place, self.condition, ignore, once, log)


def wanted(kind: Kind, place: str, given: Json, line: int = 0) -> Wanted:
    """Reads `condition`, `hitCondition` and `logMessage`; what is wrong with them becomes `error`."""
    try:
        ignore_count, once = _hits(read.optional_text(given, "hitCondition"))
        condition, log = read.optional_text(given, "condition"), read.optional_text(given, "logMessage")
        return Wanted(kind, place, line, condition, None, ignore_count, once, log)
    except RequestError as error:
        return Wanted(kind, place, line, error=str(error))


def _hits(text: str | None) -> tuple[int, bool]:
    """How many hits are ignored, and whether only one counts: "3" and ">= 3" from the third on, "== 3" only that."""
    if text is None:
        return 0, False
    match = _HITS.fullmatch(text)
    if match is None:
        raise RequestError(f"hitCondition must be a number, or one after ==, >= or >, not '{text}'")
    operator, number = match[1] or ">=", int(match[2])
    if operator == ">":
        return number, False
    if number < 1:
        raise RequestError("hitCondition counts from 1")
    return number - 1, operator in ("=", "==")
