"""Finds the functions in which an optimizer updates variables."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

from . import op_types
from .functions import FunctionGraphs


class Updates:
    def __init__(self, graphs: FunctionGraphs) -> None:
        self._graphs = graphs
        # By graph, how often each optimizer, by its id, adds its ops to it.
        self._updating: weakref.WeakKeyDictionary[Any, Counter[int]] = weakref.WeakKeyDictionary()
        # Of the functions that have been called: whether they contain such a graph, and
        # whether an optimizer updates several times in a call.
        self._found: dict[str, tuple[bool, bool]] = {}

    def add(self, graph: Any, optimizer: Any) -> None:
        """Called when an optimizer adds its ops to a graph."""
        self._updating.setdefault(graph, Counter())[id(optimizer)] += 1

    def find(self, function: str) -> tuple[bool, bool]:
        """Whether a function updates variables, and whether one optimizer does several times: in a loop or unrolled."""
        known = self._found.get(function)
        if known is None:
            updates, in_loop = self.search(function, self._updating.__contains__)
            repeated = in_loop or (updates and max(self._count(function, frozenset()).values(), default=0) > 1)
            known = self._found[function] = (updates, repeated)
        return known

    def _count(self, function: str, callers: frozenset[str]) -> Counter[int]:
        """How often each optimizer updates variables in a call of the function, if each loop runs once."""
        graph = self._graphs.get(function)
        if graph is None or function in callers:
            return Counter()
        counted = Counter(self._updating.get(graph, {}))
        for op in graph.get_operations():
            for body, _ in _called(op):
                counted += self._count(body, callers | {function})
        return counted

    def search(self, function: str, holds: Callable[[Any], bool]) -> tuple[bool, bool]:
        """Whether something holds for the graph of a function or of one that it calls, and whether in a loop."""
        return self._search(function, holds, False, set())

    def _search(self, function: str, holds: Callable[[Any], bool], in_loop: bool, seen: set[str]) -> tuple[bool, bool]:
        graph = self._graphs.get(function)
        if graph is None or function in seen:
            return False, False
        seen.add(function)
        if holds(graph):
            return True, in_loop
        for op in graph.get_operations():
            for body, loops in _called(op):
                found = self._search(body, holds, in_loop or loops, seen)
                if found[0]:
                    return found
        return False, False


def _called(op: Any) -> list[tuple[str, bool]]:
    """The functions that an op calls, and whether in a loop."""
    if op.type in op_types.LOOPS:
        return [(op.get_attr("body").name, True)]
    if op.type in op_types.CASES:
        return [(branch.name, False) for branch in op.get_attr("branches")]
    attributes = op_types.CALLS.get(op.type) or op_types.BRANCHES.get(op.type) or ()
    return [(op.get_attr(name).name, False) for name in attributes]
