"""The call stack at a node: the node, its scopes with the lines inside them, and what called the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from graphdbg.client.models import NodeDetail, Source

from .call_site import scopes_inwards
from .module_calls import calls_of, is_call

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


def module_scope(scope: str) -> str:
    """The scope that has a module's parameters and variables: that of the forward pass."""
    is_backward = f"{scope}/".startswith("backward/")
    return f"forward{scope.removeprefix('backward')}" if is_backward else scope


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


def frame_after(frames: Sequence[Frame], scope: str) -> int:
    """The number of the frame in which a user stands who has moved on in the frame of a scope, or out of it.

    It is 0 unless the line there, or the line that is returned to, has called other modules of the user's: the node
    is then inside of those.
    """
    node = frames[0]
    if node.kind != "node" or not node.name.startswith("forward/"):
        return 0
    common = scope
    while common and not f"{node.name}/".startswith(f"{common}/"):
        common = scope_of(common)
    number = next((each.number for each in frames if each.kind == "scope" and each.scope == common), 0)
    found = users_frame(frames, number)
    own = users_frame(frames, 0)
    return found.number if found.kind == "scope" and not found.subtle and found.number > own.number else 0


def frames_of(node: NodeDetail, type_of: Callable[[str], str] = lambda scope: "") -> list[Frame]:
    """The frames at a node. A backward node has the stack of its forward node.

    Args:
        node: The node, with the stack that was captured.
        type_of: Returns the class of a scope's module; "" if it is unknown. Called only if it matters.
    """
    scopes = scopes_inwards(node.name)[::-1]
    calls = _calls_outwards(node.name, node.stack, type_of)
    own = node.source or (node.stack[0] if node.stack else None)
    frames = [_frame(0, node.name, "node", scopes[0] if scopes else "", own)]
    for scope, call in zip(scopes, calls, strict=True):
        frames.append(_frame(len(frames), scope, "scope", scope, None if call is None else node.stack[call]))
    for caller in _callers(node):
        frames.append(_frame(len(frames), caller.function or "<module>", "python", "", caller))
    return frames


def _calls_outwards(name: str, stack: Sequence[Source], type_of: Callable[[str], str]) -> list[int | None]:
    """The place in the stack of the call of each scope of a node; None if there is none."""
    scopes = scopes_inwards(name)
    calls = [frame for frame in stack if is_call(frame)]
    known = len(scopes) == len(calls) and calls[-1].user
    return calls_of(scopes, [("" if known else type_of(scope)) for scope in scopes], stack)[::-1]


def _callers(node: NodeDetail) -> Sequence[Source]:
    """The user's frames outside the model. For an op that no module has made, those outside its own line."""
    calls = [index for index, frame in enumerate(node.stack) if is_call(frame)]
    own = next((index for index, frame in enumerate(node.stack) if frame == node.source), -1)
    return [frame for frame in node.stack[(calls[-1] if calls else own) + 1 :] if frame.user]


def _frame(number: int, name: str, kind: Kind, scope: str, source: Source | None) -> Frame:
    if source is None:
        return Frame(number, name, kind, scope, subtle=kind == "scope")
    return Frame(number, name, kind, scope, source.file, source.line, source.function, subtle=not source.user)
