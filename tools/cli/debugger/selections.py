"""Which nodes a breakpoint is on, as users write it and as the HTTP API takes it."""

from __future__ import annotations

import re
from collections.abc import Callable

from graphdbg.client.http import Json

from .errors import DebuggerError
from .graph_index import GraphIndex

# "**" also crosses "/".
_PATTERN_PARTS = {"**": ".*", "*": "[^/]*", "?": "[^/]"}


def selection_of(index: GraphIndex, pattern: str, regex: bool, entry: bool) -> Json | None:
    """The selection of a watchpoint.

    Args:
        index: The graph, which may be empty.
        pattern: A full name, a pattern with `*` and `?`, a scope, or the class of a module.
        regex: It is a regular expression instead.
        entry: A scope, or a class of modules, means the first op of each; otherwise all nodes in it.

    Returns:
        None if the graph has no such node.
    """
    if regex:
        return {"regexes": [pattern]}
    if any(character in pattern for character in "*?"):
        return {"patterns": [pattern]}
    if index.node_of(pattern) is not None:
        return {"nodes": [pattern]}
    scope = index.scope_of(pattern) if pattern else None
    scopes = index.scopes_of_type(pattern) if scope is None else [scope]
    if not index.has_executed:
        # Parameters are known, with their scopes. Ops come with the first step.
        return {"scopes": [index.scope_name(each) for each in scopes]} if scopes else {"patterns": [pattern]}
    if not scopes:
        return None
    if not entry:
        return {"scopes": [index.scope_name(each) for each in scopes]}
    firsts = (index.first_in(each) for each in scopes)
    names = [index.name(node) for node in firsts if node is not None]
    return {"nodes": names} if names else None


def nodes_of(index: GraphIndex, selection: Json) -> list[int]:
    """The executing nodes of a selection, by number. All if it names none."""
    if not selection:
        return list(index.execution)
    if "sources" in selection:
        return [node for source in selection["sources"] for node in _at_line(index, source)]
    if "nodes" in selection:
        found = (index.node_of(name) for name in selection["nodes"])
        return [node for node in found if node is not None]
    if "scopes" in selection:
        scopes = [scope for name in selection["scopes"] if (scope := index.scope_of(name)) is not None]
        return [node for node in index.execution if any(index.is_inside(node, scope) for scope in scopes)]
    matches = _matcher(selection)
    return [node for node in index.execution if matches(index.name(node))]


def _at_line(index: GraphIndex, source: str) -> list[int]:
    file, _, line = source.rpartition(":")
    return index.lines_of(file).get(int(line), [])


def _matcher(selection: Json) -> Callable[[str], object]:
    if "regexes" in selection:
        try:
            return re.compile("|".join(selection["regexes"]), re.IGNORECASE).search
        except re.error as error:
            raise DebuggerError(f"{selection['regexes'][0]} is no regular expression: {error}") from None
    patterns = (_regex_of(pattern) for pattern in selection.get("patterns", ()))
    return re.compile("|".join(patterns)).fullmatch


def _regex_of(pattern: str) -> str:
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    return "".join(_PATTERN_PARTS.get(part, re.escape(part)) for part in parts)
