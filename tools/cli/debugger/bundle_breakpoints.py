"""Breakpoints among the ops of a bundle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .breakpoints import Breakpoint, Kind, unknown_breakpoint
from .errors import DebuggerError
from .selections import nodes_of, selection_of
from .source_lines import find_line

if TYPE_CHECKING:
    from .bundle_session import BundleSession


class BundleBreakpoints:
    """Implements Breakpoints for each execution of an op. A bundle has too few ops for conditions."""

    def __init__(self, session: BundleSession) -> None:
        self._session = session
        self._next_id = 1
        self._known: dict[int, tuple[Breakpoint, frozenset[int]]] = {}

    def add_lines(
        self,
        file: str,
        line: int,
        condition: str | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
    ) -> Breakpoint:
        place = find_line(self._session.graph_index(), self._session.source_text(file), file, line)
        if place is None:
            raise DebuggerError(f"no captured op was made at {file}:{line}")
        made = self._add("line", f"{file}:{line}", place.nodes, condition, ignore_count, once, log)
        return self._replace(made.id, file=file, line=place.line)

    def add_nodes(
        self,
        pattern: str,
        condition: str | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
        regex: bool = False,
    ) -> Breakpoint:
        index = self._session.graph_index()
        selection = selection_of(index, pattern, regex, entry=True)
        if selection is None:
            raise self._session.unknown_node(pattern)
        return self._add("node", pattern, nodes_of(index, selection), condition, ignore_count, once, log)

    def add_condition(
        self,
        condition: str,
        nodes: str | None = None,
        params: dict[str, object] | None = None,
        ignore_count: int = 0,
        once: bool = False,
        log: str | None = None,
    ) -> Breakpoint:
        raise _no_conditions()

    def add_data(self, tensor: str, condition: str | None = None) -> Breakpoint:
        raise _no_conditions()

    def _add(
        self,
        kind: Kind,
        text: str,
        nodes: Sequence[int],
        condition: str | None,
        ignore_count: int,
        once: bool,
        log: str | None,
    ) -> Breakpoint:
        if condition is not None or log is not None:
            raise _no_conditions()
        made = Breakpoint(
            self._next_id,
            0,
            kind,
            text,
            "executed",
            bool(nodes),
            once=once,
            ignore_count=ignore_count,
            node_count=len(nodes),
        )
        self._next_id += 1
        self._known[made.id] = (made, frozenset(nodes))
        return made

    def hits_at(self, place: int) -> Sequence[int]:
        """The ids of the breakpoints that stop at an op."""
        return [each.id for each, nodes in self._known.values() if each.enabled and place in nodes]

    def count(self, ids: Sequence[int]) -> None:
        """Notes a stop by these breakpoints."""
        for id in ids:
            found = self.get(id)
            self._replace(id, hit_count=found.hit_count + 1, enabled=not found.once)

    def list(self) -> list[Breakpoint]:
        return [self._known[id][0] for id in sorted(self._known)]

    def get(self, id: int) -> Breakpoint:
        if id not in self._known:
            raise unknown_breakpoint(id, self._known)
        return self._known[id][0]

    def remove(self, id: int) -> None:
        self.get(id)
        del self._known[id]

    def remove_all(self) -> None:
        self._known.clear()

    def enable(self, id: int, on: bool = True) -> None:
        self._replace(id, enabled=on)

    def ignore(self, id: int, count: int) -> None:
        raise DebuggerError("each op of a bundle is executed once")

    def set_condition(self, id: int, condition: str | None) -> None:
        if condition is not None:
            raise _no_conditions()

    def _replace(self, id: int, **fields: object) -> Breakpoint:
        changed = dataclasses.replace(self.get(id), **fields)  # type: ignore[arg-type]
        self._known[id] = (changed, self._known[id][1])
        return changed


def _no_conditions() -> DebuggerError:
    return DebuggerError("a bundle has few ops, and its breakpoints have no conditions; stepi and print show all")
