"""Breakpoints of a session with a live job: watchpoints of the job that this session has made."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphdbg.client.errors import ApiError, NotFoundError, UnreachableError
from graphdbg.client.http import Json, quote
from graphdbg.client.models import Hit

from .breakpoints import CHANGED, Breakpoint, node_of_tensor, unknown_breakpoint
from .called_lines import find_place
from .conditions import EACH_TENSOR, EXECUTED, Conditions, text_of
from .errors import DebuggerError
from .log_points import LineLogs, check_fields, fields_of, message_of, needs_values
from .selections import selection_of
from .session import sentence_of
from .source_lines import Place, function_name, local_text, next_statement
from .stops import Event, Stop

if TYPE_CHECKING:
    from .live_session import LiveSession


class LiveBreakpoints:
    """Implements Breakpoints. Thread-safe."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._http = session._http
        self._path = f"/jobs/{quote(session.name)}/watchpoints"
        self.conditions = Conditions(self._http)
        self._lock = threading.RLock()
        self._next_id = 1
        self._known: dict[int, Breakpoint] = {}
        self._line_logs = LineLogs()
        # Ids of those on the first op of a scope, while that is not known yet.
        self._entries: set[int] = set()
        # The size of the graph when lines and first ops were last looked for, and whether it has grown since.
        self._seen_nodes = 0
        self._has_grown = False

    # ---- adding

    def add_lines(
        self,
        file: str,
        line: int,
        condition: str | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
    ) -> Breakpoint:
        parsed = self._condition(condition, log)
        place, selection = self._find_line(file, line, parsed)
        made = Breakpoint(0, 0, "line", f"{file}:{line}", condition or EXECUTED, False, file, place, log=log, once=once)
        return self._add(made, selection, parsed, ignore_count)

    def add_nodes(
        self,
        pattern: str,
        condition: str | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
        regex: bool = False,
    ) -> Breakpoint:
        # A condition on a scope is about all of its tensors.
        entry = condition is None
        selection = self._selection(pattern, regex, entry)
        made = Breakpoint(0, 0, "node", pattern, condition or EXECUTED, False, log=log, once=once)
        added = self._add(made, selection, self._condition(condition, log), ignore_count)
        if entry and "scopes" in selection:
            with self._lock:
                self._entries.add(added.id)
        return added

    def add_condition(
        self,
        condition: str,
        nodes: str | None = None,
        params: dict[str, object] | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
    ) -> Breakpoint:
        parsed = self.conditions.parse(condition, params)
        selection = self._selection(nodes, False, entry=False) if nodes else {}
        text = f"{text_of(parsed)} on {nodes}" if nodes else text_of(parsed)
        made = Breakpoint(0, 0, "condition", text, text_of(parsed), False, log=log, once=once)
        return self._add(made, selection, parsed, ignore_count)

    def add_data(self, tensor: str, condition: str | None = None) -> Breakpoint:
        name = node_of_tensor(tensor)
        parsed = self.conditions.parse(condition or CHANGED)
        made = Breakpoint(0, 0, "data", tensor, text_of(parsed), False)
        return self._add(made, self._selection(name, False, entry=False), parsed, 0)

    def _condition(self, text: str | None, log: str | None) -> Json:
        if text is not None:
            return self.conditions.parse(text)
        check_fields(log or "")
        # Without a statistic in its text, a log point reads no tensor.
        return self.conditions.parse(EACH_TENSOR if log and needs_values(log) else EXECUTED)

    def _selection(self, pattern: str, regex: bool, entry: bool) -> Json:
        selection = selection_of(self._session.graph_index(), pattern, regex, entry)
        if selection is None and not self._session.knows_all:
            return {"patterns": [pattern]}
        if selection is None:
            raise self._session.unknown_node(pattern)
        return selection

    def _line_selection(self, file: str, line: int) -> Json:
        """The forward ops of a line, whose backward ops have the same line; of a function `backward` all."""
        text = self._session.source_text(file) or local_text(file)
        is_backward = text is not None and function_name(text, line) == "backward"
        selection: Json = {"sources": [f"{file}:{line}"], "nodes": []}
        return selection | ({} if is_backward else {"exclude": {"patterns": ["backward/**"]}})

    def _find_line(self, file: str, line: int, condition: Json) -> tuple[int, Json]:
        """The line that is meant, with its ops: the next one that makes or calls some.

        Before these are known, it is the next one with a statement.
        """
        index = self._session.graph_index()
        text = self._session.source_text(file) or local_text(file)
        place = find_place(self._session, file, line)
        if place is None:
            place = Place(self._statement(file, text, line), ())
        # When a line runs, agents find what it calls, in each step anew; MindSpore's know no lines.
        by_agent = condition["id"] == EXECUTED and self._session.info.framework != "mindspore"
        if not by_agent and place.nodes and place.line not in index.lines_of(file):
            return place.line, {"sources": [], "nodes": [index.name(each) for each in place.nodes]}
        return place.line, self._line_selection(file, place.line)

    def _statement(self, file: str, text: str | None, line: int) -> int:
        if text is not None and line > len(text.splitlines()):
            raise DebuggerError(f"{file} has {len(text.splitlines())} lines")
        return line if text is None else next_statement(text, line)

    def _add(self, made: Breakpoint, selection: Json, condition: Json, ignore_count: int) -> Breakpoint:
        body: Json = {"condition": condition, **selection, "pause": "none" if made.log is not None else "node"}
        body |= {"once": True} if made.once else {}
        body |= {"ignore_count": ignore_count} if ignore_count else {}
        with self._lock:
            try:
                watchpoint = self._http.post(self._path, body)
            except ApiError as error:
                raise sentence_of(error) from None
            made = _merged(dataclasses.replace(made, id=self._next_id, watchpoint_id=watchpoint["id"]), watchpoint)
            self._known[made.id] = made
            self._next_id += 1
            return made

    # ---- the list

    def list(self) -> list[Breakpoint]:
        with self._lock:
            if self._known:
                watchpoints = {each["id"]: each for each in self._http.get(self._path)["watchpoints"]}
                for each in list(self._known.values()):
                    if each.watchpoint_id in watchpoints:
                        self._known[each.id] = _merged(each, watchpoints[each.watchpoint_id])
            return [self._known[id] for id in sorted(self._known)]

    def get(self, id: int) -> Breakpoint:
        with self._lock:
            if id not in self._known:
                raise unknown_breakpoint(id, self._known)
            return self._known[id]

    def remove(self, id: int) -> None:
        with self._lock:
            found = self.get(id)
            del self._known[id]
        self._delete(found)

    def remove_all(self) -> None:
        """Removes all of this session's, and no others."""
        with self._lock:
            known = list(self._known.values())
            self._known.clear()
        for each in known:
            self._delete(each)

    def _delete(self, breakpoint: Breakpoint) -> None:
        try:
            self._http.delete(f"{self._path}/{breakpoint.watchpoint_id}")
        except (NotFoundError, UnreachableError):
            # Somebody else was faster, the job is forgotten, or its server has ended.
            pass
        except ApiError as error:
            # A job that has ended keeps its watchpoints.
            if error.status != 409:
                raise sentence_of(error) from None

    # ---- changing

    def enable(self, id: int, on: bool = True) -> None:
        self._change(id, enabled=on)

    def ignore(self, id: int, count: int) -> None:
        self._change(id, ignore_count=count)

    def set_condition(self, id: int, condition: str | None) -> None:
        found = self.get(id)
        parsed = self._condition(condition, found.log)
        selection: Json = {}
        if found.kind == "line":
            _, selection = self._find_line(found.file, found.line, parsed)
        self._change(id, condition=parsed, **selection)
        with self._lock:
            self._known[id] = dataclasses.replace(self._known[id], condition=text_of(parsed))

    def _change(self, id: int, **fields: object) -> None:
        found = self.get(id)
        try:
            watchpoint = self._http.patch(f"{self._path}/{found.watchpoint_id}", fields)
        except ApiError as error:
            raise sentence_of(error) from None
        with self._lock:
            if id in self._known:
                self._known[id] = _merged(self._known[id], watchpoint)

    # ---- events, on their thread

    def apply(self, event: Json) -> Sequence[Event]:
        """Takes an event of the server, and returns what it means for this session's breakpoints."""
        if event["type"] == "watchpoint":
            return self._take_watchpoint(event["id"], event["watchpoint"])
        if event["type"] == "hit":
            return self._log(Hit.from_json(event["hit"]))
        if event["type"] == "graph":
            self._has_grown = True
            # Reading a large graph takes time, and it comes in many parts.
            return self._look_again(event["node_count"]) if event["node_count"] > 1.2 * self._seen_nodes else []
        if event["type"] == "state" and self._has_grown:
            return self._look_again(self._seen_nodes)
        return []

    def named(self, stop: Stop) -> Stop:
        """A stop with the ids of the breakpoints whose watchpoints caused it."""
        with self._lock:
            ids = tuple(each.id for each in self._known.values() if each.watchpoint_id in stop.watchpoint_ids)
        return dataclasses.replace(stop, breakpoint_ids=ids)

    def _take_watchpoint(self, watchpoint_id: int, watchpoint: Json | None) -> Sequence[Event]:
        with self._lock:
            found = self._of_watchpoint(watchpoint_id)
            if found is None:
                return []
            if watchpoint is None:
                del self._known[found.id]
                return [Event("breakpoint-removed", breakpoint_id=found.id)]
            changed = _merged(found, watchpoint)
            if changed == found:
                return []
            self._known[found.id] = changed
            return [Event("breakpoint", breakpoint_id=found.id)]

    def _log(self, hit: Hit) -> Sequence[Event]:
        with self._lock:
            found = self._of_watchpoint(hit.watchpoint)
        if found is None or found.log is None:
            return []
        # Without a statistic in its message, the agent tells once for each run of a line.
        if found.kind != "line" or not needs_values(found.log):
            return self._output(found, hit)
        return self._outputs(self._line_logs.add(found.id, hit))

    def _output(self, found: Breakpoint, hit: Hit) -> Sequence[Event]:
        file, line = (hit.source.file, hit.source.line) if hit.source else (found.file, found.line)
        text = f"{message_of(found.log or '', fields_of(hit))}\n"
        return [Event("output", rank=hit.rank, text=text, file=file, line=line, breakpoint_id=found.id)]

    def ended_lines(self, event: Json) -> Sequence[Event]:
        """What log points print about the last runs of their lines, if an event shows that these are over."""
        info = event.get("info")
        if info is None:
            return []
        is_running = info["state"] == "running"
        return self._outputs(self._line_logs.take(lambda hit: not is_running or info["step"] != hit.step))

    def _outputs(self, hits: Sequence[tuple[int, Hit]]) -> Sequence[Event]:
        with self._lock:
            known = [(self._known[id], hit) for id, hit in hits if id in self._known]
        return [event for found, hit in known for event in self._output(found, hit)]

    def _look_again(self, node_count: int) -> Sequence[Event]:
        """Finds what breakpoints are on that were made before their ops were known."""
        self._has_grown = False
        self._seen_nodes = node_count
        self._find_entries()
        return self._move_lines()

    def _move_lines(self) -> Sequence[Event]:
        """Lines that no op has, once it is known which ones have some."""
        with self._lock:
            waiting = [each for each in self._known.values() if each.kind == "line" and not each.verified]
        events: Sequence[Event] = []
        for each in waiting:
            condition = None if each.condition == EXECUTED else each.condition
            line, selection = self._find_line(each.file, each.line, self._condition(condition, each.log))
            if line == each.line and not selection["nodes"]:
                continue
            self._change(each.id, **selection)
            with self._lock:
                if each.id in self._known:
                    self._known[each.id] = dataclasses.replace(self._known[each.id], line=line)
                    events = [*events, Event("breakpoint", breakpoint_id=each.id)]
        return events

    def _find_entries(self) -> None:
        """First ops of scopes, once they are known."""
        with self._lock:
            waiting = [self._known[id] for id in self._entries if id in self._known]
        if not waiting:
            return
        index = self._session.graph_index()
        for each in waiting:
            selection = selection_of(index, each.text, False, entry=True)
            if selection is not None and "nodes" in selection:
                with self._lock:
                    self._entries.discard(each.id)
                self._change(each.id, scopes=[], **selection)

    def _of_watchpoint(self, watchpoint_id: int) -> Breakpoint | None:
        return next((each for each in self._known.values() if each.watchpoint_id == watchpoint_id), None)


def _merged(breakpoint: Breakpoint, watchpoint: Json) -> Breakpoint:
    """A breakpoint with what the server knows of its watchpoint."""
    return dataclasses.replace(
        breakpoint,
        verified=watchpoint["node_count"] > 0,
        node_count=watchpoint["node_count"],
        hit_count=watchpoint["hit_count"],
        enabled=watchpoint["enabled"],
        once=watchpoint["once"],
        ignore_count=watchpoint["ignore_count"],
        error=watchpoint["error"],
    )
