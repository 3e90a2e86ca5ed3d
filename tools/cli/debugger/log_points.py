"""What log points print."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping

from graphdbg.client.models import Hit, Statistics

from .errors import DebuggerError

_FIELD = re.compile(r"\{([a-z0-9_]+)\}")
# What is known of each execution; all else is measured.
_PLACES = frozenset({"node", "step", "rank"})
_OF_TENSORS = ("node", "slot", "name", "step", "rank")


def check_fields(message: str) -> None:
    """Raises DebuggerError if a message without a condition has a field that is not known then."""
    known = [*_OF_TENSORS, *(each.name for each in dataclasses.fields(Statistics) if each.name != "quantiles")]
    for name in _FIELD.findall(message):
        if name not in known:
            raise DebuggerError(f"a message cannot have {{{name}}}; there are {', '.join(known)}")


def needs_values(message: str) -> bool:
    """Whether a message has a field for what is measured of a tensor, such as {abs_max}."""
    return not _PLACES.issuperset(_FIELD.findall(message))


def message_of(message: str, fields: Mapping[str, object]) -> str:
    """A message with its fields filled in; "?" for what is not known."""
    return _FIELD.sub(lambda match: _text(fields.get(match[1])), message)


def fields_of(hit: Hit) -> dict[str, object]:
    """What a message about a hit can name."""
    known = {"node": hit.node, "step": hit.step, "rank": hit.rank, "name": hit.name, "slot": hit.slot}
    return {**measured(hit.statistics), **hit.actual, **known}


def measured(statistics: Statistics | None) -> dict[str, object]:
    """Statistics by their names."""
    return {} if statistics is None else {**dataclasses.asdict(statistics), **statistics.quantiles}


class LineLogs:
    """The hits that log points on lines print: of each run of a line that of its last op, which has the result.

    A line makes several ops, and ops have several outputs. As for breakpoints, ops that execute directly after each
    other are one run, if the scope of one contains the other's.
    """

    def __init__(self) -> None:
        # By log point and rank.
        self._newest: dict[tuple[int, int], Hit] = {}

    def add(self, id: int, hit: Hit) -> list[tuple[int, Hit]]:
        """Adds a hit of a log point. Returns those whose runs are over now, with their log points, in order."""
        over = self.take(lambda each: each.rank == hit.rank and not _may_continue(each, hit))
        before = self._newest.get((id, hit.rank))
        if before is None or not is_output_of_same_op(before, hit):
            if before is not None and not is_same_run(before, hit):
                over.append((id, before))
            self._newest[id, hit.rank] = hit
        return over

    def take(self, is_over: Callable[[Hit], bool] = lambda hit: True) -> list[tuple[int, Hit]]:
        """Removes and returns those whose runs have ended, with their log points."""
        over = [key for key, hit in self._newest.items() if is_over(hit)]
        found = [(key[0], self._newest.pop(key)) for key in over]
        return sorted(found, key=lambda each: (each[1].step, each[1].order))


def _may_continue(before: Hit, hit: Hit) -> bool:
    return before.step == hit.step and hit.order <= before.order + 1


def is_output_of_same_op(before: Hit, hit: Hit) -> bool:
    """Whether this is a further output: the first one is the result."""
    return (before.step, before.order, before.node) == (hit.step, hit.order, hit.node)


def is_same_run(before: Hit, hit: Hit) -> bool:
    """Whether an op continues the run of a line that the one before belongs to."""
    scopes = [f"{each.node.rpartition('/')[0]}/" for each in (before, hit)]
    nested = scopes[0].startswith(scopes[1]) or scopes[1].startswith(scopes[0])
    return before.step == hit.step and hit.order == before.order + 1 and nested


def _text(value: object) -> str:
    return "?" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
