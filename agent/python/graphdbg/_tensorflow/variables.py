"""The names of the program's variables."""

from __future__ import annotations

import weakref
from typing import Any


class VariablePaths:
    """Knows the paths that Keras gives its variables, which are unique, unlike TensorFlow's names."""

    def __init__(self) -> None:
        # By the unique id of the variable of TensorFlow.
        self._paths: dict[str, str] = {}
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()

    def add(self, variable: Any) -> None:
        """Adds a variable of Keras that has just been initialized."""
        value = variable._value
        if hasattr(value, "_unique_id"):
            self._paths[value._unique_id] = variable.path

    def add_optimizer(self, optimizer: Any) -> None:
        self._optimizers.add(optimizer)

    def counts_steps(self, variable: Any) -> bool:
        """Whether an optimizer counts its steps with this variable of TensorFlow."""
        counters = (getattr(optimizer.iterations, "_value", None) for optimizer in self._optimizers)
        return any(getattr(counter, "_unique_id", None) == variable._unique_id for counter in counters)

    def path_of(self, variable: Any) -> str | None:
        """None if the variable has no floating-point values, or is an optimizer's."""
        if not variable.dtype.is_floating:
            return None
        path = self._paths.get(variable._unique_id)
        if path is None:
            return str(variable.name).removesuffix(":0")
        first = path.split("/")[0]
        return None if any(first == optimizer.name for optimizer in self._optimizers) else path
