"""Where a function of the program stands; the agent's `call_site.cc` decides in the same way."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence

from graphdbg.client.models import NodeDetail, Source

from .module_calls import calls_of, is_list

# Adapters capture at least so many frames.
_COMPLETE_BELOW = 32


class Relation(enum.Enum):
    """How an op relates to a line of a function."""

    SAME_LINE = "the line executes it"
    OTHER_LINE = "the function is on another line, or has been left"
    UNRELATED = "nothing is known: there is no stack, or it is another thread's"


class CallSite:
    """A line of a function that is being executed, with the calls that led there.

    Ops that the line executes, in whatever function or module it calls, have a stack that contains it.
    """

    def __init__(self, node: NodeDetail, scope: str, type_of: Callable[[str], str]) -> None:
        """The function is that of a module, or else the function, but of no other module, that it has called.

        Args:
            node: Where the program stands.
            scope: The module. If it is not being called, the function is the innermost one of the user's.
            type_of: Returns the class of a scope's module; "" if it is unknown.
        """
        self._frames: Sequence[Source] = ()
        self._scope = scope
        self._list = self._member = ""
        if not node.stack:
            return
        scopes = scopes_inwards(node.name)
        types = [type_of(each) for each in scopes]
        self._frames = node.stack[_frame_of(scopes, types, node.stack, scope) :]
        self._incomplete = len(node.stack) >= _COMPLETE_BELOW
        inner = scopes.index(scope) + 1 if scope in scopes else len(scopes)
        # Lists may have lists as members.
        while inner + 1 < len(scopes) and is_list(types[inner]):
            self._list = self._list or scopes[inner]
            self._member = scopes[inner + 1]
            inner += 1

    def relation_of(self, node: NodeDetail) -> Relation:
        """How an op relates to the line. Of a loop over a list of modules each round counts as another line."""
        stack, frames = node.stack, self._frames
        if not frames or not stack:
            return Relation.UNRELATED
        if self._scope and not node.name.startswith(f"{self._scope}/"):
            return Relation.OTHER_LINE
        incomplete = self._incomplete or len(stack) >= _COMPLETE_BELOW
        if not incomplete and _function(frames[-1]) != _function(stack[-1]):
            return Relation.UNRELATED
        for begin in range(len(stack)):
            if not incomplete and len(stack) - begin != len(frames):
                continue
            if all(map(_is_line, frames, stack[begin:])):
                return Relation.OTHER_LINE if self._is_next_round(node.name) else Relation.SAME_LINE
        return Relation.OTHER_LINE

    def _is_next_round(self, name: str) -> bool:
        return bool(self._list) and name.startswith(f"{self._list}/") and not name.startswith(f"{self._member}/")


def scopes_inwards(name: str) -> list[str]:
    """The scopes of a node: of "forward/a/relu" forward, which is the model itself, and forward/a."""
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _frame_of(scopes: Sequence[str], types: Sequence[str], stack: Sequence[Source], scope: str) -> int:
    """The frame of a module, or of what it has called outside other modules."""
    calls = calls_of(scopes, types, stack)
    number = scopes.index(scope) if scope in scopes else -1
    outermost, innermost = len(stack) - 1, 0
    if number >= 0 and (call := calls[number]) is not None:
        outermost = call
        innermost = next((each + 1 for each in calls[number + 1 :] if each is not None), 0)
    return next((each for each in range(innermost, outermost) if stack[each].user), outermost)


def _is_line(a: Source, b: Source) -> bool:
    return a.line == b.line and _function(a) == _function(b)


def _function(frame: Source) -> tuple[str, str]:
    return frame.file, frame.function
