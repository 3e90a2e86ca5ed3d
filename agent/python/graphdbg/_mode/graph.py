"""The graph as the agent is told of it: scopes, nodes, parameters, executions."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import c_agent
from .names import BACKWARD, FORWARD, Names, Placement
from .ops import Op, names_non_finite
from .step_state import Circumstances
from .tensors import Producers, describe, is_floating, is_plain, plain_tensors, storage_of

# file, line, function, whether it is the user's
Frame = tuple[str, int, str, bool]
Stack = Sequence[Frame]


def c_frames(stack: Stack) -> Any:
    frames = (c_agent.Frame * len(stack))()
    for frame, (file, line, function, user) in zip(frames, stack, strict=True):
        frame.file, frame.line, frame.function, frame.user = file.encode(), line, function.encode(), user
    return frames


@dataclass
class Bound:
    """A parameter, buffer or input."""

    tensor: weakref.ref[Any]
    node: int
    scope: int
    # Another tensor in each step: an input.
    changes: bool = False


@dataclass
class Execution:
    """An op between its start and its end."""

    op: Op
    node: int
    interested: bool
    # With what made them.
    inputs: list[tuple[Any, tuple[int, int]]]
    outputs: list[Any]
    names_non_finite: bool


class Graph:
    """One thread's, but `bound` and `storages`, which callbacks of the agent read."""

    def __init__(self, library: ctypes.CDLL, agent: ctypes.c_void_p) -> None:
        self._library = library
        self._agent = agent
        self.names = Names()
        self._producers = Producers()
        self._stacks: dict[int, Stack] = {}
        self._scopes: dict[int, int] = {}
        # Nodes of inputs by full name, and by node which tensor each was last.
        self._inputs: dict[str, int] = {}
        self._given: dict[int, int] = {}
        self.bound: dict[int, Bound] = {}
        # By the handle that the agent knows an output by: of the op that is
        # being told of, and those that the agent keeps, with how often.
        self.storages: dict[int, Any] = {}
        self._next_handle = 1

    # ---- scopes and parameters

    def declare_scope(self, path: str, type_name: str, now: bool) -> int:
        scope = self.names.scope(path, type_name)
        for phase in (FORWARD, BACKWARD):
            self.names.reserve(self.names.full_name(phase, scope))
        if now:
            self._declare_scope_of(FORWARD, scope)
        return scope

    def _declare_scope_of(self, phase: str, scope: int) -> None:
        first = self.names.first_use(phase, scope)
        if first is not None:
            self._library.graphdbg_declare_scope(self._agent, first[0].encode(), first[1].encode())

    def bind(self, scope: int, name: str, kind: int, tensor: Any) -> None:
        known = self.bound.get(id(tensor))
        if known is not None and known.tensor() is tensor:
            return
        full_name = f"{self.names.full_name(FORWARD, scope)}/{name}"
        is_parameter = kind == c_agent.PARAMETER
        info = c_agent.sized(
            c_agent.NodeInfo,
            name=full_name.encode(),
            kind=kind,
            category=c_agent.WEIGHT if is_parameter else c_agent.OTHER,
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
        self._remember(tensor, node)

    def release_tensor(self, tensor: Any) -> int:
        """Lets go of a tensor that is to hold something else; its node, or 0."""
        known = self.bound.get(id(tensor))
        if known is None or known.tensor() is not tensor:
            return 0
        del self.bound[id(tensor)]
        return known.node

    def hold_tensor(self, node: int, tensor: Any) -> None:
        self.bound[id(tensor)] = Bound(weakref.ref(tensor), node, self.scope_of(node))
        self._remember(tensor, node)

    def bind_input(self, scope: int, name: str, tensor: Any, capture: Callable[[], Stack]) -> int:
        """The node of a tensor that a model is given; 0 if it is the model's own, or cannot be read."""
        known = self.bound.get(id(tensor))
        is_own = known is not None and known.tensor() is tensor and not known.changes
        if is_own or not is_plain(tensor):
            return 0
        full_name = f"{self.names.full_name(FORWARD, scope)}/{name}"
        if full_name not in self._inputs:
            self._inputs[full_name] = self._declare_input(
                scope, self.names.free_for_input(full_name), tensor, capture()
            )
        node = self._inputs[full_name]
        self.bound.pop(self._given.get(node, 0), None)
        self._given[node] = id(tensor)
        self.bound[id(tensor)] = Bound(weakref.ref(tensor), node, scope, changes=True)
        self._library.graphdbg_bind_tensor(self._agent, node, id(tensor))
        return node

    def _declare_input(self, scope: int, full_name: str, tensor: Any, stack: Stack) -> int:
        description = describe(tensor)
        info = c_agent.sized(
            c_agent.NodeInfo,
            name=full_name.encode(),
            kind=c_agent.INPUT,
            category=c_agent.OTHER,
            op_type=b"Input",
            stack=c_frames(stack),
            stack_depth=len(stack),
            outputs=ctypes.pointer(description),
            output_count=1,
        )
        node = self._declare(info)
        self.names.reserve(full_name)
        self._stacks[node], self._scopes[node] = stack, scope
        return node

    def take_input(self, node: int, tensor: Any, circumstances: Circumstances) -> int:
        """A model is given the tensor now. The agent's status; may wait for the user."""
        origin = self._producers.find(tensor)
        # What an op of this step made stays that op's for whoever reads it.
        if origin[0] == 0:
            self._producers.made(tensor, node, 0, False)
        if not self._library.graphdbg_interest(self._agent, node):
            return c_agent.OK
        inputs = [(tensor, origin)] if origin[0] else []
        flags = c_agent.MOVES_VALUES | c_agent.GIVEN
        return self._tell(node, flags, self._describe_inputs(inputs), [tensor], circumstances)

    def _remember(self, tensor: Any, node: int) -> None:
        if is_plain(tensor):
            self._producers.keep(tensor, node)

    def _declare(self, info: Any) -> int:
        node = ctypes.c_uint32()
        failed = self._library.graphdbg_declare_node(self._agent, info, node)
        return 0 if failed else node.value

    # ---- ops

    def stack_of(self, node: int) -> Stack:
        return self._stacks.get(node, ())

    def scope_of(self, node: int) -> int:
        return self._scopes.get(node, 0)

    def node_of(self, op: Op, placement: Placement, capture: Callable[[], Stack]) -> int:
        """The node of an op that begins; 0 if it could not be declared."""
        name = op.backward_name if placement.phase == BACKWARD else op.name
        position, node = self.names.count(placement, name)
        if node:
            return max(node, 0)
        self._declare_scope_of(placement.phase, placement.scope)
        stack = capture()
        info = c_agent.sized(
            c_agent.NodeInfo,
            name=self.names.new_name(placement, name).encode(),
            kind=c_agent.OP,
            category=placement.category,
            op_type=op.full_name.encode(),
            stack=c_frames(stack),
            stack_depth=len(stack),
            forward_node=placement.forward_node,
            flags=c_agent.NODE_RECOMPUTED if placement.recomputed else 0,
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
            execution.names_non_finite = names_non_finite(v for v, _, _ in op.arguments(args, kwargs))
        return execution

    def end(self, execution: Execution, circumstances: Circumstances, result: Any) -> int:
        """The agent's status; may wait for the user."""
        if not execution.op.returns_nothing:
            execution.outputs = list(plain_tensors(result[0] if execution.op.keeps_notes else result))
        for slot, tensor in enumerate(execution.outputs):
            self._producers.made(tensor, execution.node, slot, execution.op.in_place)
        if not execution.interested:
            return c_agent.OK
        inputs = self._describe_inputs(execution.inputs)
        flags = _flags(execution, [i.tensor for i in inputs])
        return self._tell(execution.node, flags, inputs, execution.outputs, circumstances)

    def _describe_inputs(self, inputs: Sequence[tuple[Any, tuple[int, int]]]) -> Sequence[Any]:
        return [c_agent.Input(*origin, describe(tensor)) for tensor, origin in inputs]

    def _tell(
        self, node: int, flags: int, inputs: Sequence[Any], tensors: Sequence[Any], circumstances: Circumstances
    ) -> int:
        first_handle = self._next_handle
        outputs = [describe(tensor, self._handle(tensor)) for tensor in tensors]
        told = c_agent.sized(
            c_agent.Execution,
            node=node,
            flags=flags,
            inputs=(c_agent.Input * len(inputs))(*inputs),
            input_count=len(inputs),
            outputs=(c_agent.Tensor * len(outputs))(*outputs),
            output_count=len(outputs),
            grad_scale=circumstances.grad_scale,
            micro_step=circumstances.micro_step,
            mode=circumstances.mode,
        )
        status: int = self._library.graphdbg_executed(self._agent, told)
        for handle in range(first_handle, self._next_handle):
            self.release(handle)
        return status

    def _handle(self, tensor: Any) -> int:
        handle = self._next_handle
        self._next_handle += 1
        self.storages[handle] = [storage_of(tensor), 1]
        return handle

    # ---- what the agent keeps; any thread, under the interpreter's lock

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
            if tensor is not None and not bound.changes:
                self._remember(tensor, bound.node)
        self._producers.end_step()
        self.names.new_pass(0)


def _flags(execution: Execution, inputs: Sequence[Any]) -> int:
    flags = execution.op.flags
    if execution.names_non_finite:
        flags |= c_agent.EXPLICIT_NONFINITE
    if execution.op.in_place:
        flags |= c_agent.IN_PLACE
    # A copy to a narrower type can overflow.
    made = [describe(tensor) for tensor in execution.outputs[:1]]
    if any(is_floating(m) and is_floating(i) and i.dtype != m.dtype for m in made for i in inputs):
        flags &= ~c_agent.MOVES_VALUES
    return flags
