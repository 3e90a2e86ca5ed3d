"""The requests that set breakpoints. Each replaces what an earlier one of its kind has set, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from graphdbg.client.errors import GraphdbgError

from ..debugger import Breakpoint, Session
from . import arguments as read
from .breakpoint_requests import Kind, Wanted, wanted
from .context import Context
from .dispatch import Handler
from .errors import RequestError, sentence
from .instructions import node_at
from .sources import Sources
from .wire import Json


@dataclass
class _Entry:
    """A breakpoint of the client.

    Attributes:
        id: Its number in the protocol, which it keeps when the job is restarted.
        wanted: What the client has asked for.
        made: The debugger's breakpoint; None before the job has connected, or if it was refused.
        error: Why it was refused.
    """

    id: int
    wanted: Wanted
    made: Breakpoint | None = None
    error: str = ""


class ClientBreakpoints:
    """Keeps what the client has asked for, also while there is no job."""

    def __init__(self, context: Context, sources: Sources) -> None:
        self._context = context
        self._sources = sources
        self._newest = 0
        # By request, and for lines by file.
        self._sets: dict[tuple[Kind, str], list[_Entry]] = {}
        # Events about a breakpoint wait until its number is known.
        self._lock = threading.RLock()

    def handlers(self) -> dict[str, Handler]:
        return {
            "setBreakpoints": self._set_lines,
            "setFunctionBreakpoints": self._set_functions,
            "setDataBreakpoints": self._set_data,
            "setInstructionBreakpoints": self._set_instructions,
            "setExceptionBreakpoints": self._set_exceptions,
        }

    def apply(self, session: Session) -> None:
        """Makes all of them in a job that has just connected, and reports what has become of them."""
        with self._lock:
            for entry in self._entries():
                # A request that came in between has made it already.
                if entry.made is None:
                    self._make(session, entry)
                self._context.connection.event("breakpoint", {"reason": "changed", "breakpoint": self._body(entry)})

    def detach(self) -> None:
        """The job has gone; its breakpoints with it."""
        with self._lock:
            for entry in self._entries():
                entry.made = None

    def update(self, id: int) -> None:
        """The debugger reports a change of one of its breakpoints."""
        with self._lock:
            entry = self._find(id)
            if entry is None:
                return
            try:
                entry.made = self._context.need_session().breakpoints.get(id)
            except GraphdbgError:
                return
            self._context.connection.event("breakpoint", {"reason": "changed", "breakpoint": self._body(entry)})

    def remove(self, id: int) -> None:
        """Somebody else has removed a breakpoint from the job."""
        with self._lock:
            entry = self._find(id)
            if entry is None:
                return
            for entries in self._sets.values():
                if entry in entries:
                    entries.remove(entry)
            self._context.connection.event("breakpoint", {"reason": "removed", "breakpoint": self._body(entry)})

    def named(self, ids: Sequence[int]) -> list[tuple[int, Wanted]]:
        """The client's numbers of the debugger's breakpoints, and what they are."""
        with self._lock:
            found = [entry for entry in map(self._find, ids) if entry is not None]
        return [(entry.id, entry.wanted) for entry in found]

    # ---- requests

    def _set_lines(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        file = self._sources.file_of(arguments.get("source"))
        given = read.objects(arguments, "breakpoints")
        given = given or [{"line": line} for line in arguments.get("lines") or []]
        lines = [(self._context.client.line_from(each.get("line")), each) for each in given]
        return self._replace(("line", file), [wanted("line", file, each, line) for line, each in lines])

    def _set_functions(self, request: Json) -> Json:
        given = read.objects(request.get("arguments", {}), "breakpoints")
        return self._replace(("function", ""), [wanted("function", read.text(each, "name"), each) for each in given])

    def _set_data(self, request: Json) -> Json:
        given = read.objects(request.get("arguments", {}), "breakpoints")
        return self._replace(("data", ""), [wanted("data", read.text(each, "dataId"), each) for each in given])

    def _set_instructions(self, request: Json) -> Json:
        given = read.objects(request.get("arguments", {}), "breakpoints")
        # The places of nodes change when the graph grows; their names do not.
        return self._replace(("instruction", ""), [wanted("instruction", self._node(each), each) for each in given])

    def _node(self, given: Json) -> str:
        offset = given.get("offset") or 0
        if type(offset) is not int:
            raise RequestError("offset must be a whole number")
        return node_at(self._context.need_session().graph_index(), given.get("instructionReference"), offset)

    def _set_exceptions(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        asked = [Wanted("exception", name) for name in read.texts(arguments, "filters")]
        for each in read.objects(arguments, "filterOptions"):
            nodes = read.optional_text(each, "condition")
            asked.append(Wanted("exception", read.text(each, "filterId"), nodes=nodes))
        return self._replace(("exception", ""), asked)

    # ---- replacing

    def _replace(self, key: tuple[Kind, str], asked: Sequence[Wanted]) -> Json:
        with self._lock:
            old = list(self._sets.get(key, []))
            entries = [_take(old, each) for each in asked]
            for entry in old:
                self._unmake(entry)
            found = [
                self._changed(entry, each) if entry else self._added(each)
                for entry, each in zip(entries, asked, strict=True)
            ]
            self._sets[key] = found
            return {"breakpoints": [self._body(entry) for entry in found]}

    def _added(self, asked: Wanted) -> _Entry:
        self._newest += 1
        entry = _Entry(self._newest, asked, error=asked.error)
        if self._context.session is not None:
            self._make(self._context.session, entry)
        return entry

    def _changed(self, entry: _Entry, asked: Wanted) -> _Entry:
        """An entry that keeps its breakpoint, which would forget the values of the step before."""
        before, entry.wanted = entry.wanted, asked
        if before == asked:
            return entry
        session = self._context.session
        if session is None or entry.made is None:
            entry.error = ""
            if session is not None:
                self._make(session, entry)
            return entry
        try:
            if before.condition != asked.condition:
                session.breakpoints.set_condition(entry.made.id, asked.condition)
            if before.ignore_count != asked.ignore_count:
                session.breakpoints.ignore(entry.made.id, asked.ignore_count)
            entry.made = session.breakpoints.get(entry.made.id)
        except GraphdbgError as error:
            self._unmake(entry)
            entry.error = sentence(error)
        return entry

    def _make(self, session: Session, entry: _Entry) -> None:
        entry.error = entry.wanted.error
        if entry.error:
            return
        try:
            entry.made = entry.wanted.make(session.breakpoints)
        except GraphdbgError as error:
            entry.error = sentence(error)

    def _unmake(self, entry: _Entry) -> None:
        session, made = self._context.session, entry.made
        entry.made = None
        if session is None or made is None:
            return
        try:
            session.breakpoints.remove(made.id)
        except GraphdbgError:
            # The job has ended, or somebody has removed it already.
            return

    # ---- looking

    def _entries(self) -> list[_Entry]:
        return [entry for entries in self._sets.values() for entry in entries]

    def _find(self, id: int) -> _Entry | None:
        return next((entry for entry in self._entries() if entry.made is not None and entry.made.id == id), None)

    def _body(self, entry: _Entry) -> Json:
        made, asked = entry.made, entry.wanted
        body: Json = {"id": entry.id, "verified": made is not None and made.verified}
        if asked.kind == "line":
            line = made.line if made is not None and made.line else asked.line
            body |= {"line": self._context.client.line_to(line), "source": self._sources.to_client(asked.place)}
        if body["verified"]:
            return body
        message = entry.error or (made.error if made is not None else None)
        if message:
            return body | {"message": message, "reason": "failed"}
        waiting = "the job has not connected yet" if made is None else "no node is known here yet"
        return body | {"message": waiting, "reason": "pending"}


def _take(old: list[_Entry], asked: Wanted) -> _Entry | None:
    """Takes the entry out of `old` that a breakpoint is, or can become."""
    found = next((entry for entry in old if entry.wanted == asked), None)
    found = found or next((entry for entry in old if entry.wanted.is_same_but_condition(asked)), None)
    if found is not None:
        old.remove(found)
    return found
