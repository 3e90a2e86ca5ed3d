"""The life of the program from the first step to the last, and where its ops belong (adapter.cc, op_follower.cc)."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from . import c_agent
from .graph import Graph, Stack
from .names import BACKWARD, FORWARD, OPTIMIZER, Placement
from .ops import Op
from .stacks import Stacks, user_code_in_engine
from .waits import Waits

MODULE, IGNORED = "module", "ignored"

# PyTorch 2.1 and up tell which node the engine evaluates, and nodes' numbers.
_KNOWS_NODES = hasattr(torch._C, "_current_autograd_node") and hasattr(torch._C._autograd, "_get_sequence_nr")


class Context(NamedTuple):
    """What the thread is inside of."""

    # MODULE, OPTIMIZER or IGNORED.
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
        self.stacks = Stacks(())
        self.terminated: type[BaseException] = SystemExit
        self.contexts: list[Context] = []
        self.in_engine = 0
        self.optimizer_seen = False
        self._library = library
        self._agent = agent
        self._waits = waits
        self._thread = threading.get_ident()
        self._started = False
        self._step_open = False
        self._terminating = False
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
            self.level = c_agent.LEVEL_OFF
        self.follow_ops(self.level == c_agent.LEVEL_OPS)
        self._waits.raise_noted()
        if status == c_agent.TERMINATE:
            self._terminating = True
            raise self.terminated

    def start(self) -> None:
        if not self._started:
            self._started = True
            self._at_boundary(self._library.graphdbg_start(self._agent))

    def training_seen(self, by_optimizer: bool) -> None:
        self.optimizer_seen |= by_optimizer
        self.start()

    def enter_model(self, scope: int) -> None:
        self.start()
        if self._step_open and not self.optimizer_seen:
            self.step_end()
        self._step_open = False
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

    def step_end(self) -> None:
        if self._started:
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
        return next((c.scope for c in reversed(self.contexts) if c.kind == MODULE), 0)

    def is_inside(self) -> bool:
        return bool(self.contexts) or self._evaluated() is not None

    def _evaluated(self) -> Any:
        """What the autograd engine evaluates on this thread; None outside of it."""
        if _KNOWS_NODES:
            return torch._C._current_autograd_node()
        return self if self.in_engine else None

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

    def op_ends(self, status: int) -> None:
        self._waits.raise_noted()
        if status == c_agent.DETACHED:
            self.level = c_agent.LEVEL_OFF
            self.follow_ops(False)
        # Once: `finally` blocks may run ops too.
        if status == c_agent.TERMINATE and not self._terminating:
            self._terminating = True
            raise self.terminated

    def _place(self) -> Placement | None:
        evaluated = self._evaluated()
        inner = self.contexts[-1] if self.contexts else None
        if evaluated is not None and (inner is None or inner.evaluated is not evaluated):
            return self._backward_of(evaluated)
        if inner is None:
            return Placement(FORWARD, outside=True)
        if inner.kind == MODULE:
            phase = FORWARD if inner.evaluated is None else BACKWARD
            return Placement(phase, inner.scope, c_agent.ACTIVATION)
        return Placement(OPTIMIZER, inner.scope, c_agent.OPTIMIZER) if inner.kind == OPTIMIZER else None

    def _backward_of(self, evaluated: Any) -> Placement:
        forward = 0
        variable = getattr(evaluated, "variable", None)
        if variable is not None:
            bound = self.graph.bound.get(id(variable))
            forward = bound.node if bound is not None else 0
        elif evaluated is not self:
            forward = self._links.get(evaluated._sequence_nr(), 0)
        return Placement(BACKWARD, self.graph.scope_of(forward), c_agent.GRADIENT, forward)

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
