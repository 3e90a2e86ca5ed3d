"""The life of the program from the first step to the last, and where its ops belong (adapter.cc, op_follower.cc)."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from . import c_agent
from .graph import Execution, Graph, Stack
from .names import BACKWARD, FORWARD, OPTIMIZER, Placement
from .ops import Op
from .stacks import Stacks, user_code_in_engine
from .step_state import StepState
from .waits import Waits

# PROGRAM is the program's own code again, which an optimizer calls (a closure).
MODULE, PROGRAM, IGNORED = "module", "program", "ignored"

# PyTorch 2.1 and up tell which node the engine evaluates, and nodes' numbers.
_KNOWS_NODES = hasattr(torch._C, "_current_autograd_node") and hasattr(torch._C._autograd, "_get_sequence_nr")


class Context(NamedTuple):
    """What the thread is inside of."""

    # MODULE, OPTIMIZER, PROGRAM or IGNORED.
    kind: str
    scope: int
    # What the autograd engine evaluated when it was entered: a module is then
    # being recomputed.
    evaluated: Any


class Session:
    """Belongs to the thread that made it, the one that imports torch."""

    def __init__(self, library: ctypes.CDLL, agent: ctypes.c_void_p, graph: Graph, waits: Waits) -> None:
        self.graph = graph
        self.level = c_agent.LEVEL_OPS
        # Told at each boundary whether ops are to be followed from now on.
        self.follow_ops: Callable[[bool], None] = lambda on: None
        # Told when the agent follows no more.
        self.on_detached: Callable[[], None] = lambda: None
        self.step = StepState()
        self.stacks = Stacks(())
        self.terminated: type[BaseException] = SystemExit
        self.contexts: list[Context] = []
        self.optimizer_seen = False
        self._library = library
        self._agent = agent
        self._waits = waits
        self._thread = threading.get_ident()
        self._started = False
        self._step_open = False
        # Programs without a model and an optimizer: a step is a backward pass.
        self._model_seen = False
        # Nodes and tensors that the model is given which is called next.
        self._given: list[tuple[int, Any]] = []
        self._backward_passes = 0
        self._terminating = False
        self._detached = False
        self._called_models: set[int] = set()
        # The forward op's node of each autograd node, by number.
        self._links: dict[int, int] = {}
        self._known_sequence = 0
        self._placement = Placement(FORWARD)

    def is_here(self) -> bool:
        """Whether this is the thread that is followed."""
        return threading.get_ident() == self._thread

    # ---- boundaries

    def _at_boundary(self, status: int) -> None:
        if status == c_agent.DETACHED:
            self._detach()
        self.follow_ops(self.level == c_agent.LEVEL_OPS)
        self._waits.raise_noted()
        if status == c_agent.TERMINATE:
            self._terminating = True
            raise self.terminated

    def _detach(self) -> None:
        self.level = c_agent.LEVEL_OFF
        if not self._detached:
            self._detached = True
            self.on_detached()

    def start(self) -> None:
        if not self._started:
            self._started = True
            self._at_boundary(self._library.graphdbg_start(self._agent))

    def wants_inputs(self) -> bool:
        return not self._started or self.level == c_agent.LEVEL_OPS

    def give_input(self, scope: int, name: str, tensor: Any) -> None:
        node = self.graph.bind_input(scope, name, tensor, self.stacks.capture)
        if node:
            self._given.append((node, tensor))

    def enter_model(self, scope: int, training: bool) -> None:
        given, self._given = self._given, []
        self._model_seen = True
        self.step.mode = c_agent.TRAIN if training else c_agent.EVAL
        self.start()
        # Without an optimizer the step before ends here.
        self.last_step()
        self._begin_pass(scope)
        if self.level == c_agent.LEVEL_OPS:
            self._placement = self._place() or Placement(FORWARD)
            circumstances = self.step.circumstances(self._placement)
            for node, tensor in given:
                self._at_boundary(self.graph.take_input(node, tensor, circumstances))

    def _begin_pass(self, scope: int) -> None:
        new_pass = scope in self._called_models
        self._called_models = {scope} if new_pass else self._called_models | {scope}
        if not new_pass:
            self.graph.names.new_stretch(len(self._called_models))
            return
        self.graph.names.new_pass(len(self._called_models))
        # Without gradients nothing of an earlier pass comes back in a backward.
        if not torch.is_grad_enabled():
            self._at_boundary(c_agent.OK)

    def leave_model(self) -> None:
        if self.optimizer_seen:
            return
        if torch.is_grad_enabled():
            # A backward pass may follow, and be the end of this step.
            self._step_open = True
        else:
            self.step_end()

    def last_step(self) -> None:
        """Ends a step that was left open because more could have come."""
        is_open, self._step_open = self._step_open, False
        if is_open and not self.optimizer_seen and not self._terminating:
            self.step_end()

    def enter_backward(self, creates_graph: bool) -> int:
        """To be handed to leave_backward."""
        self.start()
        self.step.graphs_in_creation += creates_graph
        self._backward_passes += 1
        return self.step.optimizer_steps

    def leave_backward(self, creates_graph: bool, accumulates: bool, optimizer_steps: int) -> None:
        self.step.graphs_in_creation -= creates_graph
        self._backward_passes -= 1
        # Within another one, which recomputes something.
        if self._backward_passes:
            return
        # An optimizer may step while its gradients are computed.
        if accumulates and self.step.optimizer_steps == optimizer_steps:
            self.step.micro_step += 1
        is_last = accumulates or not creates_graph
        if is_last and not self.optimizer_seen and not self._model_seen:
            self.step_end()

    def optimizer_stepped(self) -> None:
        self.step.optimizer_steps += 1
        self.step.micro_step = 1

    def step_end(self) -> None:
        if self._started:
            self.step.micro_step = 1
            self.graph.end_step()
            self._called_models = set()
            self._links.clear()
            self._at_boundary(self._library.graphdbg_step_end(self._agent))

    def exit_code(self) -> int:
        """Which the program will have: known only of one that the user has ended."""
        return getattr(self.terminated, "EXIT_CODE", 1) if self._terminating else 0

    # ---- contexts

    def enter(self, kind: str, scope: int) -> int:
        self.contexts.append(Context(kind, scope, self._evaluated()))
        return len(self.contexts) - 1

    def leave(self, depth: int) -> None:
        del self.contexts[depth:]

    def module_scope(self) -> int:
        inner = next((c for c in reversed(self.contexts) if c.kind in (MODULE, PROGRAM)), None)
        return inner.scope if inner is not None else 0

    def is_inside(self) -> bool:
        return self._inner() is not None or self._evaluated() is not None

    def _inner(self) -> Context | None:
        """The innermost module or optimizer; None outside of all."""
        inner = self.contexts[-1] if self.contexts else None
        return None if inner is None or inner.kind == PROGRAM else inner

    def _evaluated(self) -> Any:
        """What the autograd engine evaluates on this thread; None outside of it."""
        if _KNOWS_NODES:
            return torch._C._current_autograd_node()
        return self if self._backward_passes else None

    # ---- ops

    def op_begins(self, op: Op) -> int:
        """The op's node; 0 if it is none."""
        placement = self._place()
        if placement is None:
            return 0
        self._placement = placement
        node = self.graph.node_of(op, placement, self.capture_stack)
        self._link(node)
        return node

    def end_op(self, execution: Execution, result: Any) -> int:
        """The agent's status."""
        return self.graph.end(execution, self.step.circumstances(self._placement), result)

    def op_ends(self, status: int) -> None:
        self._waits.raise_noted()
        if status == c_agent.DETACHED:
            self._detach()
            self.follow_ops(False)
        # Once: `finally` blocks may run ops too.
        if status == c_agent.TERMINATE and not self._terminating:
            self._terminating = True
            raise self.terminated

    def _place(self) -> Placement | None:
        evaluated = self._evaluated()
        entered = self.contexts[-1] if self.contexts else None
        if evaluated is not None and (entered is None or entered.evaluated is not evaluated):
            return self._backward_of(evaluated)
        inner = self._inner()
        if inner is None:
            return Placement(FORWARD, outside=True)
        if inner.kind == MODULE:
            # One that runs inside the backward pass is being recomputed.
            recomputed = inner.evaluated is not None
            phase = BACKWARD if recomputed else FORWARD
            return Placement(phase, inner.scope, c_agent.ACTIVATION, recomputed=recomputed)
        return Placement(OPTIMIZER, inner.scope, c_agent.OPTIMIZER) if inner.kind == OPTIMIZER else None

    def _backward_of(self, evaluated: Any) -> Placement:
        forward = 0
        variable = getattr(evaluated, "variable", None)
        if variable is not None:
            bound = self.graph.bound.get(id(variable))
            forward = bound.node if bound is not None else 0
        elif evaluated is not self:
            forward = self._links.get(evaluated._sequence_nr(), 0)
        # Gradients are computed without recording, so this is a part of the
        # forward pass, unless gradients of gradients are wanted.
        recomputed = torch.is_grad_enabled() and not self.step.graphs_in_creation
        category = c_agent.ACTIVATION if recomputed else c_agent.GRADIENT
        return Placement(BACKWARD, self.graph.scope_of(forward), category, forward, recomputed=recomputed)

    def _link(self, node: int) -> None:
        """The autograd nodes made since the last op are this one's."""
        if not _KNOWS_NODES:
            return
        following = torch._C._autograd._get_sequence_nr()
        for number in range(max(self._known_sequence, following - 64), following):
            self._links[number] = node
        self._known_sequence = following

    def capture_stack(self) -> Stack:
        stack = self.stacks.capture()
        if self._placement.phase == BACKWARD and not user_code_in_engine(stack):
            return self.graph.stack_of(self._placement.forward_node) or stack
        return stack
