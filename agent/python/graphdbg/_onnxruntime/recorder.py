"""Records every value that a model produces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._log import log
from .frame import Frame
from .model import Model
from .node_graph import Input, Node, NodeGraph
from .session import Session
from .values import Value, ort_value

Array = Any


@dataclass(frozen=True)
class Recorded:
    # The position among all values of the run.
    order: int
    value: Array


def record(runtime: Any, model: Model, whole: Any, inputs: Mapping[str, Array]) -> dict[str, list[Recorded]]:
    """Runs the model of the session `whole` once, node by node.

    Returns the values by tensor, ordered by the first value of each. The name of a
    tensor in a graph inside a node starts with that graph's name, and it has one
    value per execution. Values that NumPy cannot represent are omitted. Raises
    PieceFailed, which names a node that cannot be run.
    """
    recorder = _Recorder(model)
    feeds = {name: ort_value(runtime, value) for name, value in inputs.items()}
    Session(recorder, runtime, model, whole).run(feeds)
    return recorder.values


class _Recorder:
    """An Observer that records."""

    def __init__(self, model: Model) -> None:
        self.values: dict[str, list[Recorded]] = {}
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

    def is_inside_required(self, node: Node) -> bool:
        return bool(node.bodies)

    def given(self, frame: Frame, argument: Input) -> None:
        pass

    def executed(self, frame: Frame, node: Node, inside: NodeGraph | None = None) -> None:
        for name in node.outputs:
            value = frame.values.get(name)
            array = _array(value) if value is not None else None
            if array is not None:
                self.values.setdefault(self._scopes[frame.graph] + name, []).append(Recorded(self._count, array))
                self._count += 1

    def forget(self, value: Value) -> None:
        pass

    def notify(self, line: str) -> None:
        log(line)


def _array(value: Value) -> Array | None:
    """A copy of the value's numbers; None if it has none."""
    if not value.ort.has_value() or not value.ort.is_tensor():
        return None
    try:
        array = np.array(value.ort.numpy())
    except RuntimeError:
        return None
    return array if array.dtype.kind in "fiub" else None
