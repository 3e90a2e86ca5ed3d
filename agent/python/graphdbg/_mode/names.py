"""Scopes and names of nodes: the same that the compiled adapter gives (node_names.h)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from . import c_agent

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"

# Beyond this many ops of one name in one scope, all are one node.
_MAX_PER_NAME = 4096


class Placement(NamedTuple):
    """Where an op belongs."""

    phase: str
    scope: int = 0
    category: int = c_agent.OTHER
    forward_node: int = 0
    # Outside modules, the backward pass and optimizers.
    outside: bool = False
    # A part of the forward pass that runs again within the backward pass.
    recomputed: bool = False


@dataclass
class _Series:
    """The ops of one name in one scope, in their order within a pass."""

    at_pass: int = 0
    count: int = 0
    nodes: list[int] = field(default_factory=list)


class Names:
    def __init__(self) -> None:
        self._paths: list[str] = []
        self._types: list[str] = []
        self._scope_by_path: dict[str, int] = {}
        self._used: set[str] = set()
        self._reserved: set[str] = set()
        self._series: dict[tuple[str, int, str], _Series] = {}
        self._suffixes: dict[tuple[str, int, str], int] = {}
        self._pass = 1
        self._stretch = 0
        self.scope("", "")

    def scope(self, path: str, type_name: str) -> int:
        scope = self._scope_by_path.get(path)
        if scope is None:
            scope = self._scope_by_path[path] = len(self._paths)
            self._paths.append(path)
            self._types.append(type_name)
        self._types[scope] = self._types[scope] or type_name
        return scope

    def full_name(self, phase: str, scope: int) -> str:
        path = self._paths[scope]
        return f"{phase}/{path}" if path else phase

    def first_use(self, phase: str, scope: int) -> tuple[str, str] | None:
        """Name and type of a scope with a type, when it is used for the first time."""
        name = self.full_name(phase, scope)
        if not self._types[scope] or name in self._used:
            return None
        self._used.add(name)
        return name, self._types[scope]

    def reserve(self, full_name: str) -> None:
        self._reserved.add(full_name)

    def free_for_input(self, full_name: str) -> str:
        """A module or a parameter may be called like the argument."""
        while full_name in self._reserved:
            full_name += "_input"
        return full_name

    def _series_of(self, placement: Placement, op: str) -> _Series:
        # What is outside all modules is counted by stretches between two calls
        # of models; scopes are counted from 0, these from the other end.
        scope = -1 - self._stretch if placement.outside else placement.scope
        return self._series.setdefault((placement.phase, scope, op), _Series())

    def count(self, placement: Placement, op: str) -> tuple[int, int]:
        """Counts an execution: its position, and the node that was there earlier or 0."""
        series = self._series_of(placement, op)
        if series.at_pass != self._pass:
            series.at_pass, series.count = self._pass, 0
        position = min(series.count, _MAX_PER_NAME - 1)
        series.count += 1
        if position == len(series.nodes):
            series.nodes.append(0)
        return position, series.nodes[position]

    def new_name(self, placement: Placement, op: str) -> str:
        key = (placement.phase, placement.scope, op)
        base = f"{self.full_name(placement.phase, placement.scope)}/{op}"
        while True:
            number = self._suffixes.get(key, 0)
            self._suffixes[key] = number + 1
            name = f"{base}_{number}" if number else base
            if name not in self._reserved:
                return name

    def set_node(self, placement: Placement, op: str, position: int, node: int) -> None:
        self._series_of(placement, op).nodes[position] = node

    def new_pass(self, stretch: int) -> None:
        self._pass += 1
        self._stretch = stretch

    def new_stretch(self, stretch: int) -> None:
        self._stretch = stretch
