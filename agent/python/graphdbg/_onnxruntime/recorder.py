"""Keeps every value that a model makes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .frame import Frame
from .model import Model
from .node_graph import Input, Node, NodeGraph
from .session import Session
from .values import Value, ort_value

Array = Any


@dataclass(frozen=True)
class Made:
    # Its place among all that the run made.
    order: int
    value: Array


def record(runtime: Any, model: Model, whole: Any, inputs: Mapping[str, Array]) -> dict[str, list[Made]]:
    """Runs the model, which the session `whole` has, once, node by node.

    By name, in the order of their first; a tensor inside of a node's graph is
    called as that graph is, with a value for each time that it was made.
    Those that NumPy cannot hold are left out. PieceFailed names a node that
    cannot be run.
    """
    recorder = _Recorder(model)
    feeds = {name: ort_value(runtime, value) for name, value in inputs.items()}
    Session(recorder, runtime, model, whole).run(feeds)
    return recorder.made


class _Recorder:
    """An Observer."""

    def __init__(self, model: Model) -> None:
        self.made: dict[str, list[Made]] = {}
        self._count = 0
        self._scopes = {model.graph: ""}
        self._name_graphs(model.graph)

    def _name_graphs(self, graph: NodeGraph) -> None:
        for node in graph.nodes:
            for attribute, body in node.bodies.items():
                self._scopes[body] = f"{self._scopes[graph]}{node.name or node.outputs[0]}.{attribute}/"
                self._name_graphs(body)

    def number(self, declaration: int) -> int:
        return declaration

    def is_wanted(self, node: Node) -> bool:
        return True

    def is_looked_into(self, node: Node) -> bool:
        return bool(node.bodies)

    def given(self, frame: Frame, argument: Input) -> None:
        pass

    def executed(self, frame: Frame, node: Node, inside: NodeGraph | None = None) -> None:
        for name in node.outputs:
            value = frame.values.get(name)
            array = _array(value) if value is not None else None
            if array is not None:
                self.made.setdefault(self._scopes[frame.graph] + name, []).append(Made(self._count, array))
                self._count += 1

    def forget(self, value: Value) -> None:
        pass

    def notify(self, line: str) -> None:
        print(f"graphdbg: {line}", file=sys.stderr)


def _array(value: Value) -> Array | None:
    """A copy of its numbers; None where there are none."""
    if not value.ort.has_value() or not value.ort.is_tensor():
        return None
    try:
        array = np.array(value.ort.numpy())
    except RuntimeError:
        return None
    return array if array.dtype.kind in "fiub" else None
