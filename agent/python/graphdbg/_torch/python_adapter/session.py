"""Steps and passes of the program, and the place of each op (adapter.cc and op_tracer.cc in the compiled adapter)."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from ... import _c_api
from ..._c_api import SourceStack
from ..._deferred_signals import DeferredSignals
from .graph import Execution, Graph
from .node_names import BACKWARD, FORWARD, OPTIMIZER, Placement
from .operators import Op
from .source_stack import StackCapture, has_user_code_in_engine
from .step_state import StepState

# PROGRAM is the program's own code inside an optimizer: a closure.
MODULE, PROGRAM, IGNORED = "module", "program", "ignored"

# PyTorch 2.1 and newer provide the node that the engine evaluates, and sequence
# numbers of nodes.
_HAS_AUTOGRAD_NODES = hasattr(torch._C, "_current_autograd_node") and hasattr(torch._C._autograd, "_get_sequence_nr")


class Context(NamedTuple):
    """A module, optimizer or closure that the thread is inside of."""

    # MODULE, OPTIMIZER, PROGRAM or IGNORED.
    kind: str
    scope: int
    # The autograd node that the engine evaluated on entry. If there is one, a module
    # is being recomputed.
    evaluated: Any


class Session:
    """Follows one thread: the thread that creates this object, which is the one that imports torch."""

    def __init__(self, library: ctypes.CDLL, agent: ctypes.c_void_p, graph: Graph, signals: DeferredSignals) -> None:
        self.graph = graph
        self.level = _c_api.LEVEL_OPS
        # Called at each boundary with whether ops are followed from now on.
        self.follow_ops: Callable[[bool], None] = lambda on: None
        # Called once when the agent has detached.
        self.on_detached: Callable[[], None] = lambda: None
        # See _hooks.pyi.
        self.on_start: Callable[[bool], tuple[int, int] | None] = lambda trains: (0, 0)
        self.place = (0, 0)
        self.step = StepState()
        self.stacks = StackCapture(())
        self.terminated: type[BaseException] = SystemExit
        self.contexts: list[Context] = []
        self.optimizer_seen = False
        self._library = library
        self._agent = agent
        self._signals = signals
        self._thread = threading.get_ident()
        self._started = False
        self._step_open = False
        # With an optimizer: the program evaluates within a training step.
        self._evaluating = False
        # If the program has neither a model nor an optimizer, a step is a backward pass.
        self._model_seen = False
        # Nodes and tensors of the inputs of the model that is called next.
        self._given: list[tuple[int, Any]] = []
        self._backward_passes = 0
        self._terminating = False
        self._detached = False
        self._called_models: set[int] = set()
        # The forward op's node, by the autograd node's sequence number.
        self._links: dict[int, int] = {}
        self._known_sequence = 0
        self._placement = Placement(FORWARD)

    def follow_current_thread(self) -> None:
        self._thread = threading.get_ident()

    def is_current_thread(self) -> bool:
        """Whether the calling thread is the one that is followed."""
        return threading.get_ident() == self._thread

    # ---- boundaries

    def _at_boundary(self, status: int) -> None:
        if status == _c_api.DETACHED:
            self._detach()
        self.follow_ops(self.level == _c_api.LEVEL_OPS)
        self._signals.deliver()
        if status == _c_api.TERMINATE:
            self._terminating = True
            raise self.terminated

    def _detach(self) -> None:
        self.level = _c_api.LEVEL_OFF
        if not self._detached:
            self._detached = True
            self.on_detached()

    def start(self, trains: bool) -> None:
        if self._started:
            return
        place = self.on_start(trains)
        if place is not None:
            self.place = place
            self._started = True
            self._at_boundary(self._library.graphdbg_start(self._agent))

    def wants_inputs(self) -> bool:
        return not self._started or self.level == _c_api.LEVEL_OPS

    def give_input(self, scope: int, name: str, tensor: Any) -> None:
        node = self.graph.bind_input(scope, name, tensor, self.stacks.capture)
        if node:
            self._given.append((node, tensor))

    def enter_model(self, scope: int, training: bool) -> None:
        given, self._given = self._given, []
        self._model_seen = True
        self.step.mode = _c_api.TRAIN if training else _c_api.EVAL
        self.start(trains=False)
        if not self._started:
            return
        # Without an optimizer, the previous step ends here.
        self.last_step()
        self._report_pass(training, self._begin_pass(scope))
        if self.level == _c_api.LEVEL_OPS:
            self._placement = self._current_placement() or Placement(FORWARD)
            context = self.step.context(self._placement)
            for node, tensor in given:
                self._at_boundary(self.graph.report_input(node, tensor, context))

    def _begin_pass(self, scope: int) -> bool:
        """Returns whether the model was called before in its pass, so that this call begins another one."""
        new_pass = scope in self._called_models
        self._called_models = {scope} if new_pass else self._called_models | {scope}
        if not new_pass:
            self.graph.names.new_stretch(len(self._called_models))
            return False
        self.graph.names.new_pass(len(self._called_models))
        # Without gradients, no backward pass can follow that refers to an earlier pass.
        if not torch.is_grad_enabled():
            self._at_boundary(_c_api.OK)
        return True

    def _report_pass(self, training: bool, new_pass: bool) -> None:
        gradients = torch.is_grad_enabled()
        if not self.optimizer_seen:
            mode = _c_api.PREDICT if not gradients else _c_api.TRAIN if training else _c_api.EVAL
            self._library.graphdbg_begin_pass(self._agent, mode, 0)
        elif training and gradients:
            self._evaluating = False
            self._library.graphdbg_begin_pass(self._agent, _c_api.TRAIN, 0)
        elif not self._evaluating or new_pass:
            # A loss that is called behind the model belongs to the same evaluation.
            self._evaluating = True
            self._library.graphdbg_begin_pass(self._agent, _c_api.EVAL, 1)

    def _end_evaluation(self) -> None:
        if self._evaluating:
            self._evaluating = False
            self._library.graphdbg_end_pass(self._agent)

    def leave_model(self) -> None:
        if self.optimizer_seen:
            return
        if torch.is_grad_enabled():
            # A backward pass may follow, which then ends this step.
            self._step_open = True
        else:
            self.step_end()

    def last_step(self) -> None:
        """Ends a step that was left open because a backward pass could have followed."""
        is_open, self._step_open = self._step_open, False
        if is_open and not self.optimizer_seen and not self._terminating:
            self.step_end()

    def enter_backward(self, creates_graph: bool) -> int:
        """Returns a value that must be passed to leave_backward."""
        self._end_evaluation()
        self.start(trains=True)
        self.step.graphs_in_creation += creates_graph
        self._backward_passes += 1
        return self.step.optimizer_steps

    def leave_backward(self, creates_graph: bool, accumulates: bool, optimizer_steps: int) -> None:
        self.step.graphs_in_creation -= creates_graph
        self._backward_passes -= 1
        # This pass ran inside another one, which recomputes a part of the forward pass.
        if self._backward_passes:
            return
        # An optimizer may also step while its gradients are being computed.
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
            self._evaluating = False
            self.step.micro_step = 1
            self.graph.end_step()
            self._called_models = set()
            self._links.clear()
            self._at_boundary(self._library.graphdbg_step_end(self._agent))

    def exit_code(self) -> int:
        """The program's exit code if the user has terminated it; 0 otherwise, since it is not known."""
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
        return self._innermost() is not None or self._evaluated() is not None

    def _innermost(self) -> Context | None:
        """The innermost module or optimizer; None outside of all of them."""
        inner = self.contexts[-1] if self.contexts else None
        return None if inner is None or inner.kind == PROGRAM else inner

    def _evaluated(self) -> Any:
        """The node that the autograd engine evaluates on this thread; None outside the engine."""
        if _HAS_AUTOGRAD_NODES:
            return torch._C._current_autograd_node()
        return self if self._backward_passes else None

    # ---- ops

    def begin_op(self, op: Op) -> int:
        """The op's node; 0 if it is not a node."""
        placement = self._current_placement()
        if placement is None:
            return 0
        self._placement = placement
        node = self.graph.node_of(op, placement, self.capture_stack)
        self._link(node)
        return node

    def end_op(self, execution: Execution, result: Any) -> int:
        """Reports an op that has ended. Returns the agent's status, which must be passed to handle_status."""
        return self.graph.end(execution, self.step.context(self._placement), result)

    def handle_status(self, status: int) -> None:
        """Detaches or terminates if the agent asks for it. May raise."""
        self._signals.deliver()
        if status == _c_api.DETACHED:
            self._detach()
            self.follow_ops(False)
        # Only once, because `finally` blocks may run ops, too.
        if status == _c_api.TERMINATE and not self._terminating:
            self._terminating = True
            raise self.terminated

    def _current_placement(self) -> Placement | None:
        evaluated = self._evaluated()
        entered = self.contexts[-1] if self.contexts else None
        if evaluated is not None and (entered is None or entered.evaluated is not evaluated):
            return self._backward_placement(evaluated)
        inner = self._innermost()
        if inner is None:
            return Placement(FORWARD, outside=True)
        if inner.kind == MODULE:
            # A module that runs inside the backward pass is being recomputed.
            recomputed = inner.evaluated is not None
            phase = BACKWARD if recomputed else FORWARD
            return Placement(phase, inner.scope, _c_api.ACTIVATION, recomputed=recomputed)
        return Placement(OPTIMIZER, inner.scope, _c_api.OPTIMIZER) if inner.kind == OPTIMIZER else None

    def _backward_placement(self, evaluated: Any) -> Placement:
        forward = 0
        variable = getattr(evaluated, "variable", None)
        if variable is not None:
            bound = self.graph.bound.get(id(variable))
            forward = bound.node if bound is not None else 0
        elif evaluated is not self:
            forward = self._links.get(evaluated._sequence_nr(), 0)
        # The engine computes gradients without recording. If recording is on, this is
        # a part of the forward pass, unless the program wants gradients of gradients.
        recomputed = torch.is_grad_enabled() and not self.step.graphs_in_creation
        category = _c_api.ACTIVATION if recomputed else _c_api.GRADIENT
        return Placement(BACKWARD, self.graph.scope_of(forward), category, forward, recomputed=recomputed)

    def _link(self, node: int) -> None:
        """Assigns the autograd nodes that were made since the last op to this one."""
        if not _HAS_AUTOGRAD_NODES:
            return
        following = torch._C._autograd._get_sequence_nr()
        for number in range(max(self._known_sequence, following - 64), following):
            self._links[number] = node
        self._known_sequence = following

    def capture_stack(self) -> SourceStack:
        stack = self.stacks.capture()
        if self._placement.phase == BACKWARD and not has_user_code_in_engine(stack):
            return self.graph.stack_of(self._placement.forward_node) or stack
        return stack
