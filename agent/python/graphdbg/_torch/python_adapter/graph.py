"""Reports the graph to the agent: scopes, nodes, parameters and executions."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ... import _c_api
from ..._c_api import SourceStack
from .node_names import BACKWARD, FORWARD, NodeNames, Placement
from .operators import Op, is_intentional_nonfinite
from .step_state import StepContext
from .tensors import Producers, describe, is_floating, is_plain, plain_tensors, storage_of


@dataclass
class Bound:
    """A parameter, buffer or input."""

    tensor: weakref.ref[Any]
    node: int
    scope: int
    # The node is an input, which is another tensor in each step.
    is_input: bool = False


@dataclass
class Execution:
    """An op that has started and not ended yet."""

    op: Op
    node: int
    interested: bool
    # Tensors, each with the node and slot that produced it.
    inputs: list[tuple[Any, tuple[int, int]]]
    outputs: list[Any]
    intentional_nonfinite: bool


class Graph:
    """The graph of the thread that is followed.

    `bound` and `storages` are also read by callbacks of the agent on other threads.
    """

    def __init__(self, library: ctypes.CDLL, agent: ctypes.c_void_p) -> None:
        self._library = library
        self._agent = agent
        self.names = NodeNames()
        self._producers = Producers()
        self._stacks: dict[int, SourceStack] = {}
        self._scopes: dict[int, int] = {}
        # Nodes of inputs by full name, and the id of the last tensor by node.
        self._inputs: dict[str, int] = {}
        self._given: dict[int, int] = {}
        self.bound: dict[int, Bound] = {}
        # Storages and their use counts by the handles that were passed to the agent:
        # outputs of the op that is being reported, and storages that the agent
        # retains.
        self.storages: dict[int, Any] = {}
        self._next_handle = 1

    # ---- scopes and parameters

    def declare_scope(self, path: str, type_name: str, now: bool) -> int:
        scope = self.names.scope(path, type_name)
        for phase in (FORWARD, BACKWARD):
            self.names.reserve(self.names.full_name(phase, scope))
        if now:
            self._declare_scope_on_first_use(FORWARD, scope)
        return scope

    def _declare_scope_on_first_use(self, phase: str, scope: int) -> None:
        first = self.names.first_use(phase, scope)
        if first is not None:
            self._library.graphdbg_declare_scope(self._agent, first[0].encode(), first[1].encode())

    def bind(self, scope: int, name: str, kind: int, tensor: Any) -> None:
        """Declares a parameter or buffer."""
        known = self.bound.get(id(tensor))
        if known is not None and known.tensor() is tensor:
            return
        full_name = f"{self.names.full_name(FORWARD, scope)}/{name}"
        is_parameter = kind == _c_api.PARAMETER
        info = _c_api.sized(
            _c_api.NodeInfo,
            name=full_name.encode(),
            kind=kind,
            category=_c_api.WEIGHT if is_parameter else _c_api.OTHER,
            op_type=b"Parameter" if is_parameter else b"Buffer",
        )
        if is_plain(tensor):
            description = describe(tensor)
            info.outputs, info.output_count = ctypes.pointer(description), 1
        node = self._declare(info)
        self.names.reserve(full_name)
        self._scopes[node] = scope
        self.bound[id(tensor)] = Bound(weakref.ref(tensor), node, scope)
        if node:
            self._library.graphdbg_bind_tensor(self._agent, node, id(tensor))
        self._record_parameter(tensor, node)

    def release_tensor(self, tensor: Any) -> int:
        """Releases a tensor whose object will hold another value. Returns its node, or 0."""
        known = self.bound.get(id(tensor))
        if known is None or known.tensor() is not tensor:
            return 0
        del self.bound[id(tensor)]
        return known.node

    def hold_tensor(self, node: int, tensor: Any) -> None:
        self.bound[id(tensor)] = Bound(weakref.ref(tensor), node, self.scope_of(node))
        self._record_parameter(tensor, node)

    def bind_input(self, scope: int, name: str, tensor: Any, capture: Callable[[], SourceStack]) -> int:
        """The node of a model's input; 0 for the model's own parameters and for tensors that cannot be read."""
        known = self.bound.get(id(tensor))
        is_own = known is not None and known.tensor() is tensor and not known.is_input
        if is_own or not is_plain(tensor):
            return 0
        full_name = f"{self.names.full_name(FORWARD, scope)}/{name}"
        if full_name not in self._inputs:
            self._inputs[full_name] = self._declare_input(
                scope, self.names.unused_input_name(full_name), tensor, capture()
            )
        node = self._inputs[full_name]
        self.bound.pop(self._given.get(node, 0), None)
        self._given[node] = id(tensor)
        self.bound[id(tensor)] = Bound(weakref.ref(tensor), node, scope, is_input=True)
        self._library.graphdbg_bind_tensor(self._agent, node, id(tensor))
        return node

    def _declare_input(self, scope: int, full_name: str, tensor: Any, stack: SourceStack) -> int:
        description = describe(tensor)
        info = _c_api.sized(
            _c_api.NodeInfo,
            name=full_name.encode(),
            kind=_c_api.INPUT,
            category=_c_api.OTHER,
            op_type=b"Input",
            stack=_c_api.make_frames(stack),
            stack_depth=len(stack),
            outputs=ctypes.pointer(description),
            output_count=1,
        )
        node = self._declare(info)
        self.names.reserve(full_name)
        self._stacks[node], self._scopes[node] = stack, scope
        return node

    def report_input(self, node: int, tensor: Any, context: StepContext) -> int:
        """Reports that a model is called with the tensor. Returns the agent's status; may wait for the user."""
        self._library.graphdbg_end_op(self._agent)
        origin = self._producers.find(tensor)
        # The output of an op of this step keeps that op as its producer.
        if origin[0] == 0:
            self._producers.record_output(tensor, node, 0, False)
        if not self._library.graphdbg_interest(self._agent, node):
            return _c_api.OK
        inputs = [(tensor, origin)] if origin[0] else []
        flags = _c_api.MOVES_VALUES | _c_api.GIVEN
        return self._report(node, flags, self._describe_inputs(inputs), [tensor], context)

    def node_of_tensor(self, tensor: Any) -> int:
        """The node of a parameter, buffer or input, or the one that produced the tensor in this step; 0 if unknown."""
        known = self.bound.get(id(tensor))
        if known is not None and known.tensor() is tensor:
            return known.node
        return self._producers.find(tensor)[0] if is_plain(tensor) else 0

    def _record_parameter(self, tensor: Any, node: int) -> None:
        if is_plain(tensor):
            self._producers.record_parameter(tensor, node)

    def _declare(self, info: Any) -> int:
        node = ctypes.c_uint32()
        failed = self._library.graphdbg_declare_node(self._agent, info, node)
        return 0 if failed else node.value

    # ---- ops

    def stack_of(self, node: int) -> SourceStack:
        return self._stacks.get(node, ())

    def scope_of(self, node: int) -> int:
        return self._scopes.get(node, 0)

    def node_of(self, op: Op, placement: Placement, capture: Callable[[], SourceStack]) -> int:
        """The node of an op that starts; 0 if it could not be declared."""
        name = op.backward_name if placement.phase == BACKWARD else op.name
        position, node = self.names.count(placement, name)
        if node:
            return max(node, 0)
        self._declare_scope_on_first_use(placement.phase, placement.scope)
        stack = capture()
        info = _c_api.sized(
            _c_api.NodeInfo,
            name=self.names.new_name(placement, name).encode(),
            kind=_c_api.OP,
            category=placement.category,
            op_type=op.full_name.encode(),
            stack=_c_api.make_frames(stack),
            stack_depth=len(stack),
            forward_node=placement.forward_node,
            flags=_c_api.NODE_RECOMPUTED if placement.recomputed else 0,
        )
        node = self._declare(info)
        self._stacks[node], self._scopes[node] = stack, placement.scope
        self.names.set_node(placement, name, position, node or -1)
        return node

    def begin(self, op: Op, node: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Execution:
        interested = self._library.graphdbg_interest(self._agent, node) != 0
        execution = Execution(op, node, interested, [], [], False)
        for value, written, only_written in op.arguments(args, kwargs):
            for tensor in plain_tensors(value):
                if op.returns_nothing and written:
                    execution.outputs.append(tensor)
                if interested and not only_written:
                    execution.inputs.append((tensor, self._producers.find(tensor)))
        if interested and op.fills:
            execution.intentional_nonfinite = is_intentional_nonfinite(v for v, _, _ in op.arguments(args, kwargs))
        self._library.graphdbg_begin_op(self._agent, node)
        return execution

    def end(self, execution: Execution, context: StepContext, result: Any) -> int:
        """Reports an op that has ended. Returns the agent's status; may wait for the user."""
        if not execution.op.returns_nothing:
            execution.outputs = list(plain_tensors(result[0] if execution.op.saves_for_backward else result))
        for slot, tensor in enumerate(execution.outputs):
            self._producers.record_output(tensor, execution.node, slot, execution.op.in_place)
        if not execution.interested:
            return _c_api.OK
        inputs = self._describe_inputs(execution.inputs)
        flags = _flags(execution, [i.tensor for i in inputs])
        return self._report(execution.node, flags, inputs, execution.outputs, context)

    def fail(self, execution: Execution, message: str) -> None:
        """Reports an op that has raised an error, which may end the program."""
        self._library.graphdbg_end_op(self._agent)
        inputs = self._describe_inputs(execution.inputs)
        failed = _c_api.make_execution(execution.node, 0, inputs, [], error=message.encode(errors="replace"))
        self._library.graphdbg_executed(self._agent, failed)

    def _describe_inputs(self, inputs: Sequence[tuple[Any, tuple[int, int]]]) -> Sequence[Any]:
        return [_c_api.Input(*origin, describe(tensor)) for tensor, origin in inputs]

    def _report(
        self, node: int, flags: int, inputs: Sequence[Any], tensors: Sequence[Any], context: StepContext
    ) -> int:
        first_handle = self._next_handle
        outputs = [describe(tensor, self._new_handle(tensor)) for tensor in tensors]
        execution = _c_api.make_execution(
            node,
            flags,
            inputs,
            outputs,
            grad_scale=context.grad_scale,
            micro_step=context.micro_step,
            mode=context.mode,
        )
        status: int = self._library.graphdbg_executed(self._agent, execution)
        for handle in range(first_handle, self._next_handle):
            self.release(handle)
        return status

    def _new_handle(self, tensor: Any) -> int:
        handle = self._next_handle
        self._next_handle += 1
        self.storages[handle] = [storage_of(tensor), 1]
        return handle

    # ---- handles that the agent retains; called on any thread, under the interpreter's lock

    def retain(self, handle: int) -> None:
        self.storages[handle][1] += 1

    def release(self, handle: int) -> None:
        entry = self.storages[handle]
        entry[1] -= 1
        if entry[1] == 0:
            del self.storages[handle]

    def end_step(self) -> None:
        for bound in self.bound.values():
            tensor = bound.tensor()
            if tensor is not None and not bound.is_input:
                self._record_parameter(tensor, bound.node)
        self._producers.end_step()
        self.names.new_pass(0)


def _flags(execution: Execution, inputs: Sequence[Any]) -> int:
    flags = execution.op.flags
    if execution.intentional_nonfinite:
        flags |= _c_api.EXPLICIT_NONFINITE
    if execution.op.in_place:
        flags |= _c_api.IN_PLACE
    # A copy to a narrower type can overflow, so it does not merely move values.
    outputs = [describe(tensor) for tensor in execution.outputs[:1]]
    if any(is_floating(o) and is_floating(i) and i.dtype != o.dtype for o in outputs for i in inputs):
        flags &= ~_c_api.MOVES_VALUES
    return flags
