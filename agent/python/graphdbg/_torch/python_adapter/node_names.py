"""Scopes and names of nodes, equal to those of the compiled adapter (node_names.h)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ... import _c_api

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"

# If a scope contains more ops of one name, all further ones share one node.
_MAX_PER_NAME = 4096


class Placement(NamedTuple):
    """The place of an op in the graph."""

    phase: str
    scope: int = 0
    category: int = _c_api.OTHER
    forward_node: int = 0
    # The op runs outside modules, the backward pass and optimizers.
    outside: bool = False
    # The op is a part of the forward pass that runs again during the backward pass.
    recomputed: bool = False


@dataclass
class _Series:
    """The ops of one name in one scope, in their order within a pass."""

    at_pass: int = 0
    count: int = 0
    nodes: list[int] = field(default_factory=list)


class NodeNames:
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
        """The name and type of a scope when it is used for the first time; None if it has no type."""
        name = self.full_name(phase, scope)
        if not self._types[scope] or name in self._used:
            return None
        self._used.add(name)
        return name, self._types[scope]

    def reserve(self, full_name: str) -> None:
        self._reserved.add(full_name)

    def unused_input_name(self, full_name: str) -> str:
        """A name for an input that no module or parameter has."""
        while full_name in self._reserved:
            full_name += "_input"
        return full_name

    def _series_of(self, placement: Placement, op: str) -> _Series:
        # Ops outside all modules are counted separately for each stretch between two
        # calls of models. Stretches use negative numbers, since scopes start at 0.
        scope = -1 - self._stretch if placement.outside else placement.scope
        return self._series.setdefault((placement.phase, scope, op), _Series())

    def count(self, placement: Placement, op: str) -> tuple[int, int]:
        """Counts an execution. Returns its position and the node at that position, or 0 if it has none yet."""
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
