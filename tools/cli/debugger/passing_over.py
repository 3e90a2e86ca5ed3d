"""Finds the node that `next` and `finish` run to, for agents that cannot pass over nodes themselves."""

from __future__ import annotations

from .graph_index import GraphIndex


def next_fitting(
    index: GraphIndex, node: str, within: str | None = None, outside: str | None = None, other_line: bool = False
) -> str | None:
    """The first node after one, in the order of execution, that fits; None if the step has none.

    Args:
        within: It is not in a scope inside this one.
        outside: It is not in this scope.
        other_line: It is on another source line, if lines are known.
    """
    number = index.node_of(node)
    place = -1 if number is None else index.place.get(number, -1)
    line = ("", 0) if number is None else index.line(number)
    scope = index.scope_of(within or outside or "") or 0

    def fits(each: int) -> bool:
        if other_line and line[1] and index.line(each) == line:
            return False
        inside = index.is_inside(each, scope)
        return not inside if outside is not None else not inside or index.scope_number(each) == scope

    found = next((each for each in index.execution[place + 1 :] if fits(each)), None)
    return None if found is None else index.name(found)
