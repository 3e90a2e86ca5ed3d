"""Follows calls of modules (hooks/module_calls.h in the compiled adapter)."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from ..._log import warn_not_debugged
from ..._undo import UndoList
from .session import MODULE, Session


class _ModuleScope(NamedTuple):
    module: weakref.ref[Any]
    scope: int
    # Whether the module is a model: its outermost calls are passes of the program.
    model: bool


class ModuleCalls:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._scopes: dict[int, _ModuleScope] = {}
        self._on_unknown: Callable[..., None] = lambda module: None
        # None after it has raised an exception.
        self._on_model: Callable[..., None] | None = None
        # None unless models are observed.
        self._on_output: Callable[[Any, Any], None] | None = None
        self._suspicious_only = False
        self.enabled = False
        self._installed = UndoList()

    def observe_models(self, on_output: Callable[[Any, Any], None] | None, suspicious_only: bool) -> None:
        self._on_output, self._suspicious_only = on_output, suspicious_only

    def set_scope(self, module: Any, scope: int, model: bool) -> None:
        self._scopes[id(module)] = _ModuleScope(weakref.ref(module), scope, model)

    def install(self, module_class: Any, on_unknown: Callable[..., None], on_model: Callable[..., None]) -> None:
        self._on_unknown, self._on_model = on_unknown, on_model
        original = module_class.__call__

        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.enabled or not self._session.is_current_thread():
                return original(module, *args, **kwargs)
            found = self._scope_of(module)
            if found is None:
                return original(module, *args, **kwargs)
            is_model = found.model and not self._session.is_inside()
            observed = False
            if is_model:
                training = bool(getattr(module, "training", True))
                observed = self._is_observed(training)
                self._give_inputs(module, args, kwargs, observed)
                self._session.enter_model(found.scope, training)
            depth = self._session.enter(MODULE, found.scope)
            try:
                result = original(module, *args, **kwargs)
            finally:
                self._session.leave(depth)
            if is_model:
                if observed and self._on_output is not None:
                    self._on_output(module, result)
                self._session.leave_model()
            return result

        self._installed.replace(module_class, "__call__", call)
        self.enabled = True

    def uninstall(self) -> list[str]:
        """Returns what stays, and only forwards calls, because something has replaced it since."""
        self.enabled = False
        self._scopes.clear()
        return self._installed.run()

    def _scope_of(self, module: Any) -> _ModuleScope | None:
        found = self._scopes.get(id(module))
        if found is None or found.module() is not module:
            self._on_unknown(module)
            found = self._scopes.get(id(module))
        return found

    def _is_observed(self, training: bool) -> bool:
        import torch

        if self._on_output is None:
            return False
        return not self._suspicious_only or (training and not torch.is_grad_enabled())

    def _give_inputs(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], observed: bool) -> None:
        wanted = observed or self._session.wants_inputs()
        if self._on_model is None or not wanted:
            return
        try:
            self._on_model(module, *args, **kwargs)
        except Exception as error:
            self._on_model = None
            warn_not_debugged(f"cannot name the inputs of {type(module).__name__}: {error!r}")
