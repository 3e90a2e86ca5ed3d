"""Which nodes a breakpoint is on, as users write it and as the HTTP API takes it."""

from __future__ import annotations

from graphdbg.client.http import Json

from .graph_index import GraphIndex


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
    if index.node_count == 0:
        # The node or scope may come with the first step.
        return {"nodes": [pattern]}
    if index.node_of(pattern) is not None:
        return {"nodes": [pattern]}
    scope = index.scope_of(pattern) if pattern else None
    scopes = index.scopes_of_type(pattern) if scope is None else [scope]
    if not scopes:
        return None
    if not entry:
        return {"scopes": [index.scope_name(each) for each in scopes]}
    firsts = (index.first_in(each) for each in scopes)
    names = [index.name(node) for node in firsts if node is not None]
    return {"nodes": names} if names else None
