"""Turns what happens to the job into events of the protocol."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..debugger import Event, Stop
from ..terminal import visible
from .breakpoint_requests import Kind
from .breakpoints import ClientBreakpoints
from .changes import Changes
from .context import Context
from .sources import Sources
from .wire import Json

_REASONS = {"entry": "entry", "step": "step", "node": "step", "goto": "goto", "pause": "pause", "error": "exception"}
_BY_KIND: dict[Kind, str] = {
    "line": "breakpoint",
    "function": "function breakpoint",
    "data": "data breakpoint",
    "instruction": "instruction breakpoint",
    "exception": "exception",
}


class Reporter:
    """Receives the debugger's events on their thread.

    Attributes:
        python_note: A sentence for stops, while the Python code of the job is debugged as well.
    """

    def __init__(
        self,
        context: Context,
        sources: Sources,
        breakpoints: ClientBreakpoints,
        changes: Changes,
        on_end: Callable[[Stop | None], None],
    ) -> None:
        """
        Args:
            on_end: Called when the job has ended.
        """
        self.python_note = ""
        self._context = context
        self._sources = sources
        self._breakpoints = breakpoints
        self._changes = changes
        self._on_end = on_end
        self._lock = threading.Lock()
        # Events wait until the client has configured everything, and while a move is answered.
        self._holders = 1
        self._waiting: list[Event] = []

    def begin(self) -> None:
        """The client is ready. Stops until now are dropped: where the job stands is told next."""
        with self._lock:
            self._waiting = [event for event in self._waiting if event.kind not in ("stopped", "continued")]
        self.release()

    def hold(self) -> None:
        """Events wait until `release`."""
        with self._lock:
            self._holders += 1

    def release(self) -> None:
        while True:
            with self._lock:
                if self._holders > 1 or not self._waiting:
                    self._holders -= 1
                    return
                waiting, self._waiting = self._waiting, []
            for event in waiting:
                self._report(event)

    def take(self, event: Event) -> None:
        """Reports an event, or keeps it."""
        with self._lock:
            if self._holders:
                self._waiting.append(event)
                return
        self._report(event)

    def _report(self, event: Event) -> None:
        if event.kind == "stopped" and event.stop is not None:
            self.stopped(event.stop)
        elif event.kind == "continued":
            self._continued(event)
        elif event.kind in ("breakpoint", "breakpoint-removed") and event.breakpoint_id is not None:
            change = self._breakpoints.update if event.kind == "breakpoint" else self._breakpoints.remove
            change(event.breakpoint_id)
        elif event.kind == "graph":
            self._changes.graph_has_grown()
        elif event.kind == "hit" and event.hit is not None:
            self._changes.hit(event.hit)
        elif event.kind == "output":
            self._output(event)
        elif event.kind == "refused":
            self._refused(event)
        elif event.kind == "server":
            self._context.say(event.text, "important")
        elif event.kind == "ended":
            self._on_end(event.stop)

    def stopped(self, stop: Stop) -> None:
        """Reports a stop. All earlier frames and values are invalid from here on."""
        self._context.references.forget()
        ranks = self._context.need_session().ranks()
        made = self._breakpoints.named(stop.breakpoint_ids)
        body: Json = {
            "reason": _reason(stop, [wanted.kind for _, wanted in made]),
            "description": visible(stop.description),
            "threadId": stop.rank + 1,
            "allThreadsStopped": all(each.state == "paused" for each in ranks),
            "hitBreakpointIds": [number for number, _ in made],
        }
        text = self._text(stop, body["reason"])
        self._context.connection.event("stopped", body | ({"text": text} if text else {}))
        if len(ranks) > 1 and self._context.client.supports("supportsInvalidatedEvent"):
            # Clients keep the stacks of threads that did not move, whose numbers are invalid now.
            self._context.connection.event("invalidated", {"areas": ["stacks"]})
        self._changes.has_stopped()

    def _text(self, stop: Stop, reason: str) -> str:
        parts = [stop.description if reason == "exception" else "", self.python_note]
        return visible(". ".join(filter(None, parts)))

    def _continued(self, event: Event) -> None:
        self._changes.has_continued()
        # The answer to a move of this client has said so already.
        if not event.text:
            return
        self._context.references.forget()
        first = self._context.need_session().rank
        self._context.connection.event("continued", {"threadId": first + 1, "allThreadsContinued": True})
        self._context.say(event.text)

    def _output(self, event: Event) -> None:
        place: Json = {}
        if event.file:
            line = self._context.client.line_to(event.line)
            place = {"source": self._sources.to_client(event.file), "line": line}
        text = "\n".join(map(visible, event.text.split("\n")))
        self._context.connection.event("output", {"category": "console", "output": text, **place})

    def _refused(self, event: Event) -> None:
        """The client takes the job for running."""
        self._context.say(f"the job refused the command: {event.text}", "important")
        stop = self._context.need_session().stop
        if stop is not None and not stop.has_ended:
            self.stopped(stop)


def _reason(stop: Stop, kinds: list[Kind]) -> str:
    if stop.reason != "watchpoint":
        return _REASONS.get(stop.reason, "pause")
    # Watchpoints of others, and those of `breakOn`, look for values.
    return _BY_KIND[kinds[0]] if kinds else "exception"
