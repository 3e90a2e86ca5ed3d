"""The call stack at a node: the node, its scopes with the lines inside them, and what called the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from graphdbg.client.models import NodeDetail, Source

Kind = Literal["node", "scope", "python", "label"]


@dataclass(frozen=True)
class Frame:
    """One frame; 0 is the innermost.

    Attributes:
        number: From 0.
        name: The node's full name, the scope's, the function's, or what a label says ("end of step 3").
        kind: "node" (always frame 0), "scope" (a module around it), "python" (a function that called the model) or
            "label" (there is no node: before the first step and at the end of each).
        scope: The scope in which names are looked up from here, and that `finish` leaves; "" at the top.
        file, line: The line that is executed in this frame; "" and 0 if unknown.
        function: The qualified name of the Python function; "" if unknown.
        subtle: Whether it is code of a library, which editors show in gray.
    """

    number: int
    name: str
    kind: Kind
    scope: str
    file: str = ""
    line: int = 0
    function: str = ""
    subtle: bool = False


def scope_of(node: str) -> str:
    """The scope that contains a node or scope; "" for the top."""
    return node.rpartition("/")[0]


def label_frame(text: str) -> list[Frame]:
    """The stack where there is no node."""
    return [Frame(0, text, "label", "")]


def users_frame(frames: Sequence[Frame], number: int) -> Frame:
    """The frame that `next` stays in: the selected one, or that of the user's module around a library's.

    A layer of a library is called by a line of the module around it, and has no lines to stop at.
    """
    outwards = (each for each in frames[max(number, 1) :] if each.kind == "scope" and not each.subtle)
    selected = frames[number]
    return next(outwards, selected) if selected.kind in ("node", "scope") else selected


def frames_of(node: NodeDetail) -> list[Frame]:
    """The frames at a node.

    The captured stack has a frame for each call of a module's `forward`; the outermost of them is the model's.
    They are aligned with the node's scopes from the outermost module inwards. A backward node has the stack of its
    forward node.
    """
    scopes = _scopes_outwards(node.name)
    calls = [frame for frame in node.stack if _is_forward(frame)]
    # Wrappers such as DistributedDataParallel are no scopes.
    while len(calls) > len(scopes) and not calls[-1].user:
        calls.pop()
    callers = _callers(node)
    # The model itself is the scope "forward": of "forward/a/b/relu" the scopes are forward/a/b, forward/a, forward.
    lines: list[Source | None] = [None] * len(scopes)
    called = _called(scopes, len(calls))
    for scope_index, call in zip(reversed(called), reversed(calls), strict=False):
        lines[scope_index] = call
    own = node.source or (node.stack[0] if node.stack else None)
    frames = [_frame(0, node.name, "node", scopes[0] if scopes else "", own)]
    for scope, line in zip(scopes, lines, strict=True):
        frames.append(_frame(len(frames), scope, "scope", scope, line))
    for caller in callers:
        frames.append(_frame(len(frames), caller.function or "<module>", "python", "", caller))
    return frames


def _scopes_outwards(name: str) -> list[str]:
    scopes = []
    scope = scope_of(name)
    while scope:
        scopes.append(scope)
        scope = scope_of(scope)
    return scopes


def _called(scopes: list[str], count: int) -> list[int]:
    """The scopes whose `forward` was called, if fewer calls were captured than there are scopes.

    A list of modules is a scope without a `forward`: the outer ones of those with a numbered child are taken for lists.
    """
    missing = max(0, len(scopes) - count)
    numbered = [index for index in range(len(scopes) - 1, 0, -1) if scopes[index - 1].rpartition("/")[2].isdigit()]
    return [index for index in range(len(scopes)) if index not in numbered[:missing]]


def _callers(node: NodeDetail) -> Sequence[Source]:
    """The user's frames outside the model. For an op that no module has made, those outside its own line."""
    calls = [index for index, frame in enumerate(node.stack) if _is_forward(frame)]
    own = next((index for index, frame in enumerate(node.stack) if frame == node.source), -1)
    return [frame for frame in node.stack[(calls[-1] if calls else own) + 1 :] if frame.user]


def _is_forward(frame: Source) -> bool:
    """Whether a frame is a call of a module."""
    return frame.function.rpartition(".")[2] == "forward"


def _frame(number: int, name: str, kind: Kind, scope: str, source: Source | None) -> Frame:
    if source is None:
        return Frame(number, name, kind, scope, subtle=kind == "scope")
    return Frame(number, name, kind, scope, source.file, source.line, source.function, subtle=not source.user)
