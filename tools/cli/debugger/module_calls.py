"""Which frames of a source stack are the calls of which modules; the agent's `module_calls.cc` decides in the same way.

Scopes and calls are in the same order, but either may have members that the other lacks: lists of modules are not
called, nor is a model of which the program calls parts, and wrappers such as DistributedDataParallel are no scopes.
Names of classes decide where they are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphdbg.client.models import Source


@dataclass(frozen=True)
class _Call:
    """A frame that is a call of a module.

    Attributes:
        frame: Its place in the stack.
        owner: The class that defines the function; "" if it is unknown, as before Python 3.11.
        outermost_library: No code of the user's has called it, as is usual for wrappers.
    """

    frame: int
    owner: str
    outermost_library: bool


def is_call(frame: Source) -> bool:
    """Whether a frame is a call of a module."""
    return frame.function.rpartition(".")[2] == "forward"


def is_list(type_name: str) -> bool:
    """Whether a module of this class has no function of its own: programs call its members."""
    return type_name in ("ModuleList", "ModuleDict")


def calls_of(scopes: Sequence[str], types: Sequence[str], stack: Sequence[Source]) -> list[int | None]:
    """For each scope the place of its call in the stack; None if there is none.

    Args:
        scopes: Full names, outermost first.
        types: Their classes; "" if unknown.
        stack: Innermost frame first.
    """
    return _Alignment(scopes, types, _calls(stack)).frames()


def _calls(stack: Sequence[Source]) -> list[_Call]:
    """Outermost first."""
    calls = []
    library = True
    for place in range(len(stack) - 1, -1, -1):
        frame = stack[place]
        if is_call(frame):
            library = library and not frame.user
            calls.append(_Call(place, frame.function.rpartition(".")[0].rpartition(".")[2], library))
    return calls


class _Alignment:
    def __init__(self, scopes: Sequence[str], types: Sequence[str], calls: Sequence[_Call]) -> None:
        self._scopes, self._types, self._calls = scopes, types, calls
        # The score of the best alignment of the scopes and calls from a pair of them on.
        self._best = [[0] * (len(calls) + 1) for _ in range(len(scopes) + 1)]
        for scope in range(len(scopes), -1, -1):
            for call in range(len(calls) - 1, -1, -1):
                self._best[scope][call] = self._best_of(scope, call)

    def frames(self) -> list[int | None]:
        found: list[int | None] = [None] * len(self._scopes)
        scope = call = 0
        while scope < len(self._scopes) and call < len(self._calls):
            best = self._best[scope][call]
            if best == self._paired(scope, call):
                found[scope] = self._calls[call].frame
                scope, call = scope + 1, call + 1
            elif best == self._best[scope + 1][call]:
                scope += 1
            else:
                call += 1
        return found

    def _best_of(self, scope: int, call: int) -> int:
        skipped = self._best[scope][call + 1] - (0 if self._calls[call].outermost_library else 1)
        if scope == len(self._scopes):
            return skipped
        return max(self._paired(scope, call), self._best[scope + 1][call], skipped)

    def _paired(self, scope: int, call: int) -> int:
        return self._score(scope, call) + self._best[scope + 1][call + 1]

    def _score(self, scope: int, call: int) -> int:
        owner = self._calls[call].owner
        if owner and owner == self._types[scope]:
            return 8
        return 1 if self._is_list(scope) else 2

    def _is_list(self, scope: int) -> bool:
        """Also if its type is unknown: it has a member with a number."""
        if is_list(self._types[scope]):
            return True
        return scope + 1 < len(self._scopes) and self._scopes[scope + 1].rpartition("/")[2].isdigit()
