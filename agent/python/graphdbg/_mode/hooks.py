"""Stands in for the extension module _hooks and the compiled adapter behind it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import c_agent
from .calls import ModuleCalls
from .graph import Graph, c_frames
from .mode import Mode, follow_ranges
from .session import PROGRAM, Session
from .stacks import Stacks
from .tensors import current_stream, describe, is_plain
from .waits import Waits

_AGENT = Path(__file__).resolve().parents[1] / "lib" / "libgraphdbg.so"


class Hooks:
    """Has the functions of _hooks.pyi. Those about training do nothing on threads that are not followed."""

    PARAMETER = c_agent.PARAMETER
    BUFFER = c_agent.BUFFER

    def __init__(self) -> None:
        self._library = c_agent.load(str(_AGENT))
        self._agent = ctypes.c_void_p()
        self._graph = Graph(self._library, self._agent)
        self._waits = Waits()
        self._session = Session(self._library, self._agent, self._graph, self._waits)
        self._calls = ModuleCalls(self._session)
        self._told_frames: Any = None

    # ---- the agent and its host

    def open(self, torch_version: str, job_name: str) -> bool:
        # The agent calls back for as long as the process lives.
        self._host = self._make_host()
        options = c_agent.sized(
            c_agent.Options,
            abi_version=c_agent.ABI_VERSION,
            framework=b"pytorch",
            framework_version=torch_version.encode(),
            device=b"cpu",
            job_name=job_name.encode(),
            host=ctypes.pointer(self._host),
        )
        status: int = self._library.graphdbg_open(options, self._agent)
        return status == c_agent.OK

    def _make_host(self) -> Any:
        callbacks: dict[str, Callable[..., Any]] = {
            "retain": lambda _, owner: self._graph.retain(owner),
            "release": lambda _, owner: self._graph.release(owner),
            "begin_wait": lambda _: self._waits.begin(),
            "end_wait": lambda _, token: self._waits.end(),
            "interrupted": lambda _, token: int(self._waits.interrupted()),
            "resolve": self._resolve,
            "set_level": self._set_level,
            "capture_stack": self._capture_stack,
            "current_stream": lambda _, device, index: current_stream(device, index),
        }
        types: dict[str, Any] = dict(c_agent.Host._fields_)
        return c_agent.sized(c_agent.Host, **{name: types[name](call) for name, call in callbacks.items()})

    def _set_level(self, _: Any, level: int) -> None:
        self._session.level = level

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

    def _capture_stack(self, _: Any, out: Any, most: int) -> int:
        # The strings have to live until the next call.
        self._told_frames = c_frames(self._session.capture_stack()[:most])
        for i, frame in enumerate(self._told_frames):
            out[i] = frame
        return len(self._told_frames)

    def close(self, exit_code: int, type_name: str | None, message: str | None, trace: str | None) -> None:
        self.disable()
        texts = [text.encode(errors="replace") if text is not None else None for text in (type_name, message, trace)]
        ending = c_agent.sized(
            c_agent.Ending,
            exit_code=exit_code,
            exception_type=texts[0],
            exception_message=texts[1],
            exception_traceback=texts[2],
        )
        self._library.graphdbg_close(self._agent, ending)

    def close_at_exit(self) -> None:
        # While Python is there: the agent calls back as it closes. (Python tells
        # nobody with which code it is going to exit, as after sys.exit(3).)
        if self._is_followed():
            self._session.last_step()
        self.close(self._session.exit_code(), None, None, None)

    # ---- modules

    def install(
        self,
        module_class: Any,
        on_unknown: Callable[..., None],
        on_model: Callable[..., None],
        terminated: type[BaseException],
        on_detached: Callable[[], None],
        library_directories: Sequence[str],
    ) -> None:
        self._session.terminated = terminated
        self._session.on_detached = on_detached
        self._session.stacks = Stacks(library_directories)
        self._session.follow_ops = Mode(self._session).follow
        follow_ranges(self._session)
        self._calls.install(module_class, on_unknown, on_model)

    def _is_followed(self) -> bool:
        """Whether anything is to be done on the calling thread."""
        return self._calls.enabled and self._session.is_here()

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

    def current_scope(self) -> tuple[int, bool]:
        return self._session.module_scope(), self._session.is_inside()

    def enter_program(self) -> int:
        return self._session.enter(PROGRAM, 0) if self._is_followed() else 0

    def leave_program(self, depth: int) -> None:
        if self._is_followed():
            self._session.leave(depth)

    def enter_region(self, inputs: list[object]) -> bool:
        """Nothing is compiled while a TorchDispatchMode is on."""
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
            self._session.start()

    def enter_backward(self, creates_graph: bool) -> int:
        return self._session.enter_backward(creates_graph) if self._is_followed() else 0

    def leave_backward(self, creates_graph: bool, accumulates: bool, token: int) -> None:
        if self._is_followed():
            self._session.leave_backward(creates_graph, accumulates, token)

    def set_grad_scale(self, scale: float) -> None:
        self._session.step.grad_scale = scale

    def notify(self, line: str) -> None:
        self._library.graphdbg_notify(self._agent, line.encode(errors="replace"))
