"""Declares the ops of the program's functions as nodes, and tells the compiled adapter which kernels execute them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _c_api
from .._agent import NodeDeclaration, TooLarge
from . import op_types, sources
from .gradients import Gradients
from .names import Scope, Scopes, UniqueNames, without_gradient_scope
from .native import TensorFlowAgent
from .parameters import Parameters
from .variables import VariablePaths

# The output of a node, and 0 for what is not known.
Output = tuple[int, int]
_UNKNOWN: Output = (0, 0)

_CATEGORIES = {"forward": "activation", "backward": "gradient", "optimizer": "optimizer"}


@dataclass
class Variable:
    """A variable as the value of a tensor of type resource."""

    variable: Any


Value = Output | Variable


@dataclass
class _Function:
    """A function while its ops are declared."""

    name: str
    graph: Any
    in_backward: bool
    values: dict[tuple[str, int], Value] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)
    stacks: dict[str, list[_c_api.SourceFrame]] = field(default_factory=dict)

    def value(self, tensor: Any) -> Value:
        return self.values.get((tensor.op.name, tensor.value_index), _UNKNOWN)

    def set_value(self, tensor: Any, value: Value) -> None:
        self.values[(tensor.op.name, tensor.value_index)] = value


def output(value: Value) -> Output:
    return value if isinstance(value, tuple) else _UNKNOWN


class FunctionGraphs:
    """The graphs of all functions, by their names, and the variables that they use."""

    def __init__(self) -> None:
        self._graphs: dict[str, weakref.ref[Any]] = {}
        # By the id of the handle that a graph captures.
        self._variables: dict[int, weakref.ref[Any]] = {}

    def install(self) -> None:
        from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction

        original = AtomicFunction.__init__

        def initialize(self_: Any, *args: Any, **kwargs: Any) -> None:
            original(self_, *args, **kwargs)
            graph = self_._cached_graph
            if graph is not None:
                self._graphs[self_.name.decode()] = weakref.ref(graph)
                # Only the innermost of nested functions knows its variables.
                for variable in graph.variables:
                    self._variables[id(variable.handle)] = weakref.ref(variable)

        AtomicFunction.__init__ = initialize

    def get(self, name: str) -> Any:
        """Null if the function was not made from Python code."""
        reference = self._graphs.get(name)
        return reference() if reference is not None else None

    def variable(self, handle: Any) -> Any:
        """The variable of a handle; None if it is none, or no longer exists."""
        reference = self._variables.get(id(handle))
        variable = reference() if reference is not None else None
        return variable if variable is not None and variable.handle is handle else None


class Declarations:
    """Declares functions when they are called for the first time."""

    def __init__(
        self,
        agent: TensorFlowAgent,
        graphs: FunctionGraphs,
        scopes: Scopes,
        gradients: Gradients,
        variables: VariablePaths,
    ) -> None:
        self._agent = agent
        self._graphs = graphs
        self._scopes = scopes
        self._gradients = gradients
        self._variables = variables
        self._names = UniqueNames()
        # The outputs of the functions that have been declared.
        self._declared: dict[str, list[Value]] = {}
        self.parameters = Parameters(agent, variables)
        # Scopes whose class has been told.
        self._scope_types: set[str] = set()
        self._taken: set[str] = set()
        self._order = 0
        self._full = False

    def declare(self, name: str) -> None:
        """Declares a function that the program calls, and all that it calls."""
        if name in self._declared or self._full:
            return
        self._taken = set()
        try:
            self._declare(name, None)
        except TooLarge as error:
            self._full = True
            self._agent.notify(f"not all functions are followed: {error}")

    def _declare(self, name: str, arguments: Sequence[Value] | None) -> list[Value]:
        """Returns the values of the function's outputs."""
        if name in self._declared:
            return self._declared[name]
        graph = self._graphs.get(name)
        # Without a graph of its own, or because it calls itself.
        self._declared[name] = []
        if graph is None:
            return []
        function = _Function(name, graph, "__backward_" in name)
        self._bind_arguments(function, arguments)
        for number, op in enumerate(graph.get_operations()):
            self._op(function, number, op)
        outputs = [function.value(tensor) for tensor in graph.outputs]
        self._declared[name] = outputs
        return outputs

    def _bind_arguments(self, function: _Function, arguments: Sequence[Value] | None) -> None:
        for tensor, value in zip(function.graph.inputs, arguments or (), strict=False):
            function.set_value(tensor, value)
        for outer, inner in function.graph.captures:
            variable = self._graphs.variable(outer)
            if variable is not None:
                function.set_value(inner, Variable(variable))

    def _op(self, function: _Function, number: int, op: Any) -> None:
        kind = op.type
        if kind in op_types.NOT_REPORTED:
            return
        if kind in op_types.PASSED_ON:
            self._passed_on(function, op)
        elif (bodies := self._bodies(op)) is not None:
            self._call(function, op, bodies)
        elif any(tensor.dtype.is_floating or tensor.dtype.is_complex for tensor in op.outputs):
            self._computation(function, number, op)
        elif kind in op_types.ASSIGNMENTS and self._counts_steps(function, op):
            self._agent.native.add_op(function.name, op.name, 0, 0, True, [])

    def _passed_on(self, function: _Function, op: Any) -> None:
        values = [function.value(tensor) for tensor in op.inputs]
        if op.type == "ReadVariableOp":
            variable = values[0]
            values = [(self.parameters.node_of(variable.variable), 0) if isinstance(variable, Variable) else _UNKNOWN]
        for tensor, value in zip(op.outputs, values, strict=False):
            function.set_value(tensor, value)
        outputs = [output(value) for value in values[: len(op.outputs)]]
        if any(each != _UNKNOWN for each in outputs):
            self._agent.native.add_op(function.name, op.name, 0, 0, False, outputs)

    # ---- functions that an op calls

    def _bodies(self, op: Any) -> list[str] | None:
        """The names of the functions that an op calls; None if it calls none."""
        if op.type in op_types.LOOPS:
            return [op.get_attr("cond").name, op.get_attr("body").name]
        if op.type in op_types.CASES:
            return [branch.name for branch in op.get_attr("branches")]
        attributes = op_types.CALLS.get(op.type) or op_types.BRANCHES.get(op.type)
        return [op.get_attr(name).name for name in attributes] if attributes else None

    def _call(self, function: _Function, op: Any, bodies: Sequence[str]) -> None:
        skips = 1 if op.type in op_types.BRANCHES or op.type in op_types.CASES else 0
        arguments = [function.value(tensor) for tensor in op.inputs[skips:]]
        results: list[Value] = []
        for body in bodies:
            results = self._declare(body, arguments)
        for tensor, value in zip(op.outputs, results, strict=False):
            function.set_value(tensor, value)
        self._agent.native.add_op(function.name, op.name, 0, 0, False, [output(value) for value in results])

    # ---- ops

    def _computation(self, function: _Function, number: int, op: Any) -> None:
        in_backward = function.in_backward or self._gradients.in_backward(function.graph, number)
        name = self._scopes.name_of(function.graph, op.name, in_backward)
        forward = self._forward_op(function, number, op) if name.phase == "backward" else None
        stack = function.stacks.get(forward or "") or sources.stack_of(op)
        function.stacks[op.name] = stack
        line = next(((file, line) for file, line, _, user in stack if user), None)
        full = self._names.make(name.full, (op.type, line), self._taken)
        self._order += 1
        values = [output(function.value(tensor)) for tensor in op.inputs]
        variable = self._gradients.variable_of(function.graph, op.name)
        # The gradient of a parameter belongs to that.
        parameter = self.parameters.node_of(variable) if variable is not None else 0
        self._declare_scope(name.scope)
        node = self._agent.declare(
            NodeDeclaration(
                graph="",
                name=full,
                category=_CATEGORIES[name.phase],
                op_type=op.type,
                stack=stack,
                inputs=[value for value in values if value != _UNKNOWN],
                forward_node=parameter or function.nodes.get(forward or "", 0),
                order=self._order,
                flags=_c_api.NODE_LOSS if self._gradients.is_loss(function.graph, op.name) else 0,
            )
        )
        function.nodes[op.name] = node
        outputs = [(node, slot) for slot in range(len(op.outputs))]
        for tensor, value in zip(op.outputs, outputs, strict=True):
            function.set_value(tensor, value)
        self._agent.native.add_op(function.name, op.name, node, op_types.flags_of(op.type), False, outputs, values)

    def _declare_scope(self, scope: Scope | None) -> None:
        """Tells the class of the layer or loss whose scope this is."""
        if scope is not None and scope.class_name and scope.path not in self._scope_types:
            self._scope_types.add(scope.path)
            self._agent.declare_scope("", f"forward/{scope.path}", scope.class_name)

    def _forward_op(self, function: _Function, number: int, op: Any) -> str | None:
        forward = self._gradients.forward_op(function.graph, number, op)
        if forward in function.nodes:
            return forward
        # TensorFlow puts gradients into scopes that are named after the forward ops.
        outer = without_gradient_scope(op.name).rpartition("/")[0]
        return outer if outer in function.nodes else None

    # ---- variables

    def _counts_steps(self, function: _Function, op: Any) -> bool:
        value = function.value(op.inputs[0])
        return isinstance(value, Variable) and self._variables.counts_steps(value.variable)
