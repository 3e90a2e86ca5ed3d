"""The full names of ops in the graphs of functions."""

from __future__ import annotations

import re
import weakref
from dataclasses import dataclass, field
from typing import Any

_NUMBER = re.compile(r"_\d+$")
_GRADIENT_SCOPES = ("gradient_tape/", "gradients/")


@dataclass(frozen=True)
class Scope:
    """A scope that Keras has opened: the path of a layer, an optimizer or a loss.

    `class_name` is that of the layer or loss, "" for others; those of losses end with "Loss".
    """

    path: str
    is_optimizer: bool
    class_name: str = ""


@dataclass(frozen=True)
class OpName:
    """The phase (forward, backward or optimizer), and the rest of the full name."""

    phase: str
    rest: str
    scope: Scope | None = None

    @property
    def full(self) -> str:
        return f"{self.phase}/{self.rest}"


def without_gradient_scope(op: str) -> str:
    """The name of an op without the scope that TensorFlow gives to gradients."""
    for prefix in _GRADIENT_SCOPES:
        # Loops and branches have it after their own scope.
        at = f"/{op}".find(f"/{prefix}")
        if at >= 0:
            op = op[:at] + op[at + len(prefix) :]
    return op


class Scopes:
    """Knows the paths of the scopes in each graph.

    A layer's scope has a number after its name if the layer has been called before in the
    same graph, for example to build it; the path does not.
    """

    def __init__(self) -> None:
        self._scopes: weakref.WeakKeyDictionary[Any, dict[str, Scope]] = weakref.WeakKeyDictionary()

    def add(self, graph: Any, name: str, scope: Scope) -> None:
        self._scopes.setdefault(graph, {})[name] = scope

    def find(self, graph: Any, name: str) -> tuple[Scope, str] | None:
        """The innermost scope that contains the op `name`, and the rest of the name."""
        while graph is not None:
            known = self._scopes.get(graph)
            end = name.rfind("/") if known else -1
            while known and end > 0:
                scope = known.get(name[:end])
                if scope is not None:
                    return scope, name[end + 1 :]
                end = name.rfind("/", 0, end)
            graph = getattr(graph, "outer_graph", None)
        return None

    def name_of(self, graph: Any, op: str, in_backward: bool) -> OpName:
        """`in_backward`: the graph computes gradients."""
        phase, name = "forward", op
        if in_backward:
            phase = "backward"
        name = without_gradient_scope(name)
        if name != op:
            phase = "backward"
        found = self.find(graph, name)
        if found is None:
            return OpName(phase, name)
        scope, rest = found
        if scope.is_optimizer and phase == "forward":
            phase = "optimizer"
        return OpName(phase, f"{scope.path}/{rest}", scope)


@dataclass
class UniqueNames:
    """Gives different names to different ops.

    Ops of different functions are the same node if they have the same name, type and
    line: a function is traced again for other shapes, and to evaluate instead of train.
    """

    _used: dict[str, Any] = field(default_factory=dict)

    def make(self, name: str, identity: Any, taken: set[str]) -> str:
        """`taken` are the names of the function's other ops."""
        number = 0
        candidate = name
        while candidate in taken or self._used.get(candidate, identity) != identity:
            number += 1
            candidate = f"{name}_{number}"
        self._used[candidate] = identity
        taken.add(candidate)
        return candidate
