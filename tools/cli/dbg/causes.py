"""What a stop at a condition comes from: the line of the hit, and its likely cause."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from graphdbg.client import GraphdbgError

from ..debugger import Stop
from .frame_verbs import short

if TYPE_CHECKING:
    from .interpreter import Interpreter


def show_cause(debugger: Interpreter, stop: Stop) -> None:
    """Shows what is known of the first hit of a stop; nothing if the job stopped for another reason."""
    hit = next((hit for hit in stop.hits if hit.condition != "executed"), None)
    if hit is None:
        return
    # An infinity is reported by the op that reads it, because that may absorb it.
    if hit.node != stop.node and hit.source is not None:
        debugger.out.line(f"    {hit.node} at {short(hit.source.file)}:{hit.source.line}: {hit.source.text}")
    if debugger.session.kind != "live":
        return
    with contextlib.suppress(GraphdbgError):
        diagnosis = debugger.session.job.diagnosis(hit)
        for sentence in filter(None, (diagnosis.title, diagnosis.text)):
            debugger.out.line(f"    {sentence}", "title" if sentence is diagnosis.title else "")
        if diagnosis.title and diagnosis.next:
            debugger.out.line(f"    Try: {diagnosis.next[0]}")
