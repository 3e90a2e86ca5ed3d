"""The nodes of the program's variables, and of their gradients outside of functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._agent import NodeDeclaration, TooLarge
from .native import TensorFlowAgent, handle_of
from .variables import VariablePaths


@dataclass
class _Parameter:
    """The nodes of a variable and of its gradient; 0 if there is none, or none yet."""

    path: str = ""
    node: int = 0
    gradient: int = 0


class Parameters:
    def __init__(self, agent: TensorFlowAgent, variables: VariablePaths) -> None:
        self._agent = agent
        self._variables = variables
        # By the unique ids of the variables.
        self._known: dict[str, _Parameter] = {}
        # How many variables have a path.
        self._paths: dict[str, int] = {}
        self._full = False

    def node_of(self, variable: Any) -> int:
        """Declares the variable the first time. 0 if it is none of the model's. Raises TooLarge."""
        return self._find(variable).node

    def declare(self, values: Sequence[Any]) -> None:
        """Declares those of the values that are variables, with which a step outside of functions is made."""
        if self._full:
            return
        try:
            for variable in map(_variable_of, values):
                if variable is not None:
                    self._find(variable)
        except TooLarge as error:
            self._stop(error)

    def report_gradients(self, sources: Sequence[Any], gradients: Sequence[Any]) -> None:
        """Reports the gradients of variables, which the program has computed outside of functions."""
        if self._full:
            return
        try:
            for variable, gradient in _of_variables(sources, gradients):
                node = self._gradient_of(variable)
                if node:
                    self._agent.native.report_gradient(node, gradient)
        except TooLarge as error:
            self._stop(error)

    def _stop(self, error: TooLarge) -> None:
        self._full = True
        self._agent.notify(f"not all variables are followed: {error}")

    def _find(self, variable: Any) -> _Parameter:
        known = self._known.get(variable._unique_id)
        if known is None:
            path = self._variables.path_of(variable)
            known = self._declare(variable, self._unused(path)) if path is not None else _Parameter()
            self._known[variable._unique_id] = known
        return known

    def _unused(self, path: str) -> str:
        """The path, with a number if another variable has it: those without a name have the same."""
        number = self._paths[path] = self._paths.get(path, -1) + 1
        return f"{path}_{number}" if number else path

    def _declare(self, variable: Any, path: str) -> _Parameter:
        node = self._agent.declare(
            NodeDeclaration(
                graph="",
                name=f"forward/{path}",
                kind="parameter" if variable.trainable else "buffer",
                category="weight" if variable.trainable else "other",
                op_type="VarHandleOp",
            )
        )
        self._agent.native.bind_variable(node, variable)
        return _Parameter(path, node)

    def _gradient_of(self, variable: Any) -> int:
        parameter = self._find(variable)
        if parameter.node and not parameter.gradient:
            parameter.gradient = self._agent.declare(
                NodeDeclaration(
                    graph="",
                    name=f"backward/{parameter.path}/gradient",
                    category="gradient",
                    op_type="Gradient",
                    forward_node=parameter.node,
                )
            )
        return parameter.gradient


def _variable_of(value: Any) -> Any:
    """The variable of TensorFlow behind a value; None if it is no variable, or has no value to read."""
    variable = getattr(value, "_value", value)
    return variable if handle_of(getattr(variable, "handle", None)) is not None else None


def _of_variables(sources: Sequence[Any], gradients: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    """Yields the variables among the sources, and the addresses of their gradients' handles."""
    for source, gradient in zip(sources, gradients, strict=False):
        variable, value = _variable_of(source), handle_of(gradient)
        if variable is not None and value is not None:
            yield variable, value
