"""The functions of the extension module _hooks, in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from ... import _c_api
from ..._deferred_signals import DeferredSignals
from ..._undo import UndoList
from .dispatch_mode import DispatchMode, follow_ranges
from .graph import Graph
from .module_calls import ModuleCalls
from .session import IGNORED, PROGRAM, Session
from .signs import Signs
from .source_stack import StackCapture
from .tensors import current_stream, describe, is_plain


class Hooks(Signs):
    """Implements _hooks.pyi. The functions for training do nothing on threads that are not followed."""

    PARAMETER = _c_api.PARAMETER
    BUFFER = _c_api.BUFFER

    def __init__(self) -> None:
        super().__init__()
        self._library = _c_api.load()
        self._agent = ctypes.c_void_p()
        self._graph = Graph(self._library, self._agent)
        self._signals = DeferredSignals()
        self._session = Session(self._library, self._agent, self._graph, self._signals)
        self._calls = ModuleCalls(self._session)
        self._changes = UndoList()
        # The frames that the agent got last from capture_stack.
        self._frames: Any = None

    # ---- the agent and its host

    def open(self, torch_version: str, job_name: str, joins: bool = False) -> bool:
        # As long as the agent, which calls it.
        self._host = _c_api.make_host(
            retain=lambda _, owner: self._graph.retain(owner),
            release=lambda _, owner: self._graph.release(owner),
            begin_wait=lambda _: self._signals.begin_wait(),
            end_wait=lambda _, token: self._signals.end_wait(),
            interrupted=lambda _, token: int(self._signals.is_interrupted()),
            resolve=self._resolve,
            set_level=self._set_level,
            capture_stack=self._capture_stack,
            current_stream=lambda _, device, index: current_stream(device, index),
            place=self._place,
        )
        return _c_api.open_agent(
            self._library,
            self._agent,
            self._host,
            framework="pytorch",
            framework_version=torch_version,
            job_name=job_name,
            device="cpu",
            flags=_c_api.OPTION_REPORTS,
        )

    def _set_level(self, _: Any, level: int) -> None:
        self._session.level = level

    def _place(self, _: Any, rank: Any, world_size: Any) -> int:
        rank[0], world_size[0] = self._session.place
        return 0 if world_size[0] else 1

    def _resolve(self, _: Any, handle: int, out: Any, shape: Any, strides: Any) -> int:
        bound = self._graph.bound.get(handle)
        tensor = bound.tensor() if bound is not None else None
        if tensor is None or not is_plain(tensor) or tensor.dim() > 64:
            return 1
        description = describe(tensor)
        for i in range(tensor.dim()):
            shape[i], strides[i] = description.shape[i], description.strides[i]
        description.shape, description.strides = shape, strides
        ctypes.memmove(out, ctypes.byref(description), ctypes.sizeof(description))
        return 0

    def _capture_stack(self, _: Any, out: Any, capacity: int) -> int:
        # The strings must stay valid until the next call.
        self._frames = _c_api.make_frames(self._session.capture_stack()[:capacity])
        for i, frame in enumerate(self._frames):
            out[i] = frame
        return len(self._frames)

    def last_step(self) -> None:
        if self._is_followed():
            self._session.last_step()

    def failed(self, type_name: str, message: str, trace: str, scope: int, file: str, line: int) -> None:
        _c_api.report_failure(self._library, self._agent, type_name, message, trace)

    def close(self, exit_code: int, type_name: str | None, message: str | None, trace: str | None) -> None:
        self.disable()
        _c_api.close_agent(self._library, self._agent, exit_code, type_name, message, trace)

    def close_at_exit(self) -> None:
        # The agent must be closed while Python still runs, because it calls back
        # meanwhile. At that time the exit code of sys.exit(3), for example, is not
        # available.
        self.last_step()
        self.close(self._session.exit_code(), None, None, None)

    # ---- modules

    def install(
        self,
        module_class: Any,
        on_unknown: Callable[..., None],
        on_model: Callable[..., None],
        terminated: type[BaseException],
        on_detached: Callable[[], None],
        on_start: Callable[[bool], tuple[int, int] | None],
        library_directories: Sequence[str],
    ) -> None:
        self._session.terminated = terminated
        self._session.on_detached = on_detached
        self._session.on_start = on_start
        self._session.stacks = StackCapture(library_directories)
        self._session.follow_ops = DispatchMode(self._session).follow
        follow_ranges(self._session, self._changes)
        self._calls.install(module_class, on_unknown, on_model)

    def uninstall(self, module_class: Any) -> bool:
        return not [*self._calls.uninstall(), *self._changes.run()]

    def connect(self) -> bool:
        """Does nothing: this adapter waits for the server on the thread that trains."""
        return True

    def follow(self) -> None:
        self._session.follow_current_thread()

    def forget(self) -> None:
        self._graph.bound.clear()

    def is_paused(self) -> bool:
        return self._signals.is_waiting

    def _is_followed(self) -> bool:
        """Whether the calling thread is followed."""
        return self._calls.enabled and self._session.is_current_thread()

    def disable(self) -> None:
        self._calls.enabled = False
        self._session.follow_ops(False)

    def declare_scope(self, path: str, type_name: str, now: bool) -> int:
        return self._graph.declare_scope(path, type_name, now)

    def bind_tensor(self, scope: int, name: str, kind: int, tensor: Any) -> None:
        self._graph.bind(scope, name, kind, tensor)

    def release_tensor(self, tensor: Any) -> int:
        return self._graph.release_tensor(tensor)

    def hold_tensor(self, binding: int, tensor: Any) -> None:
        self._graph.hold_tensor(binding, tensor)

    def give_input(self, scope: int, name: str, tensor: Any) -> None:
        self._session.give_input(scope, name, tensor)

    def set_scope(self, module: object, scope: int, model: bool) -> None:
        self._calls.set_scope(module, scope, model)

    def set_input_names(self, module: object, tensor_class: type, names: tuple[str, ...]) -> None:
        """Calls are passed to Python code, anyway."""

    def current_scope(self) -> tuple[int, bool]:
        return self._session.module_scope(), self._session.is_inside()

    def enter_program(self) -> int:
        return self._session.enter(PROGRAM, 0) if self._is_followed() else 0

    def leave_program(self, depth: int) -> None:
        if self._is_followed():
            self._session.leave(depth)

    def enter_ignored(self) -> int:
        return self._session.enter(IGNORED, 0) if self._is_followed() else 0

    leave_ignored = leave_program

    def enter_region(self, inputs: list[object]) -> bool:
        """Returns False: PyTorch compiles nothing while a TorchDispatchMode is active."""
        return False

    def leave_region(self, outputs: list[object] | None) -> None: ...

    def step_end(self) -> None:
        if self._is_followed():
            self._session.step_end()

    # ---- training

    def optimizer_seen(self) -> None:
        self._session.optimizer_seen = True

    def start(self) -> None:
        if self._is_followed():
            self._session.start(trains=True)

    def around_steps(self, before: Callable[..., Any], after: Callable[..., None]) -> tuple[Callable[..., Any], ...]:
        return before, after

    def pass_steps_of(self, optimizer: Any, until: float = 0) -> None:
        """Passes none: what is saved does not count beside this adapter's own cost."""

    def passed_steps(self) -> int:
        return 0

    def around_backward(
        self, run_backward: Callable[..., Any], before: Callable[[Sequence[Any]], None]
    ) -> Callable[..., Any]:
        def run(
            tensors: Any,
            grad_tensors: Any,
            keep_graph: bool,
            create_graph: bool,
            inputs: Any = (),
            allow_unreachable: bool = False,
            accumulate_grad: bool = False,
        ) -> Any:
            arguments = (tensors, grad_tensors, keep_graph, create_graph, inputs, allow_unreachable, accumulate_grad)
            if not self._is_followed():
                return run_backward(*arguments)
            if accumulate_grad:
                before(tensors)
            token = self._session.enter_backward(create_graph)
            accumulates = False
            try:
                result = run_backward(*arguments)
                accumulates = accumulate_grad
            finally:
                if self._is_followed():
                    self._session.leave_backward(create_graph, accumulates, token)
            return result

        return run

    def set_grad_scale(self, scale: float) -> None:
        self._session.step.grad_scale = scale

    def notify(self, line: str) -> None:
        _c_api.notify(self._library, self._agent, line)

    def observe_models(self, on_output: Callable[[Any, Any], None] | None, suspicious_only: bool) -> None:
        self._calls.observe_models(on_output, suspicious_only)

    def watches(self, condition: str | None) -> bool:
        return self._calls.enabled and _c_api.watches(self._library, self._agent, condition)

    def report(self, condition: str, tensor: Any, message: str, file: str | None, line: int) -> bool:
        node = self.node_of(tensor)
        return node != 0 and _c_api.report_finding(self._library, self._agent, condition, node, message, file, line)

    def node_of(self, tensor: Any) -> int:
        return int(self._graph.node_of_tensor(tensor))
