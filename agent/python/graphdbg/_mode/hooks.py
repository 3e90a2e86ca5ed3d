"""Stands in for the extension module _hooks and the compiled adapter behind it."""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import c_agent
from .graph import Graph, c_frames
from .mode import Mode, follow_backward, follow_ranges
from .session import MODULE, Session
from .stacks import Stacks
from .tensors import describe, is_plain
from .waits import Waits

_AGENT = Path(__file__).resolve().parents[1] / "lib" / "libgraphdbg.so"


class _ModuleScope(NamedTuple):
    module: weakref.ref[Any]
    scope: int
    # Its calls from outside all scopes are the program's passes.
    model: bool


class Hooks:
    """Has the functions of _hooks.pyi."""

    PARAMETER = c_agent.PARAMETER
    BUFFER = c_agent.BUFFER

    def __init__(self) -> None:
        self._library = c_agent.load(str(_AGENT))
        self._agent = ctypes.c_void_p()
        self._graph = Graph(self._library, self._agent)
        self._waits = Waits()
        self._session = Session(self._library, self._agent, self._graph, self._waits)
        self._scopes: dict[int, _ModuleScope] = {}
        self._enabled = False
        self._optimizer_exists: Callable[[], bool] = lambda: False
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
        self.close(self._session.exit_code(), None, None, None)

    # ---- modules

    def install(
        self,
        module_class: Any,
        on_unknown: Callable[..., None],
        optimizer_exists: Callable[[], bool],
        terminated: type[BaseException],
        library_directories: Sequence[str],
    ) -> None:
        self._optimizer_exists = optimizer_exists
        self._session.terminated = terminated
        self._session.stacks = Stacks(library_directories)
        self._session.follow_ops = Mode(self._session).follow
        follow_ranges(self._session)
        follow_backward(self._session)
        self._wrap_calls(module_class, on_unknown)
        self._enabled = True

    def _wrap_calls(self, module_class: Any, on_unknown: Callable[..., None]) -> None:
        original = module_class.__call__

        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._enabled or not self._session.is_here():
                return original(module, *args, **kwargs)
            found = self._scope_of(module, on_unknown)
            is_model = found.model and not self._session.is_inside()
            if is_model:
                self._session.optimizer_seen |= self._optimizer_exists()
                self._session.enter_model(found.scope)
            depth = self._session.enter(MODULE, found.scope)
            try:
                result = original(module, *args, **kwargs)
            finally:
                self._session.leave(depth)
            if is_model:
                self._session.leave_model()
            return result

        module_class.__call__ = call

    def _scope_of(self, module: Any, on_unknown: Callable[..., None]) -> _ModuleScope:
        found = self._scopes.get(id(module))
        if found is None or found.module() is not module:
            on_unknown(module)
            found = self._scopes[id(module)]
        return found

    def disable(self) -> None:
        self._enabled = False
        self._session.follow_ops(False)

    def declare_scope(self, path: str, type_name: str, now: bool) -> int:
        return self._graph.declare_scope(path, type_name, now)

    def bind_tensor(self, scope: int, name: str, kind: int, tensor: Any) -> None:
        self._graph.bind(scope, name, kind, tensor)

    def set_scope(self, module: object, scope: int, model: bool) -> None:
        self._scopes[id(module)] = _ModuleScope(weakref.ref(module), scope, model)

    def current_scope(self) -> tuple[int, bool]:
        return self._session.module_scope(), self._session.is_inside()

    def step_end(self) -> None:
        if self._enabled and self._session.is_here():
            self._session.step_end()
