"""Starts the observer in a process."""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .. import _import_hook
from .._log import log
from .progress import Progress

# Modules of this package that observe programs of other frameworks, by the framework.
_OBSERVERS = {"tensorflow": "tensorflow", "jax": "jax", "xgboost": "boosting", "lightgbm": "boosting"}
# Frameworks that graphdbg debugs and whose programs have no stages to check.
_OTHERS = ("onnxruntime",)


def install() -> None:
    """Watches this process. Call it at the start of the interpreter."""
    progress = Progress(os.environ["GRAPHDBG_CHECK"])
    progress.started()
    _watch_sys_exit(progress)
    atexit.register(_at_exit, progress)
    _import_hook.after_import("torch", lambda: _follow_torch(progress))
    for framework, module in _OBSERVERS.items():
        _import_hook.after_import(framework, functools.partial(_follow, progress, framework, module))


def _follow(progress: Progress, framework: str, module: str) -> None:
    try:
        importlib.import_module(f".{module}", __package__).install(progress, framework)
    except Exception as error:
        log(f"cannot observe {framework}: {error}; the program continues without being checked")


def _follow_torch(progress: Progress) -> None:
    try:
        from . import backward, data, forward, optimizers

        progress.torch_imported()
        forward.install(progress)
        data.install(progress)
        backward.install(progress)
        optimizers.install(progress)
    except Exception as error:
        log(f"cannot observe PyTorch: {error}; the program continues without being checked")


def _watch_sys_exit(progress: Progress) -> None:
    """Records the exception that a program handles by exiting, as launchers' workers do."""
    original: Callable[..., NoReturn] = sys.exit

    def watched(*args: Any) -> NoReturn:
        if args and args[0] not in (None, 0, False):
            handled = sys.exc_info()[1]
            if handled is not None and not isinstance(handled, SystemExit):
                progress.ended_by(handled)
            else:
                progress.exiting(args[0], sys._getframe(1))
        original(*args)

    sys.exit = watched


def _at_exit(progress: Progress) -> None:
    last = getattr(sys, "last_value", None)
    if isinstance(last, BaseException):
        progress.ended_by(last)
    if "torch" not in sys.modules:
        progress.note("environment", others=[name for name in _OTHERS if name in sys.modules])
    progress.exited()
