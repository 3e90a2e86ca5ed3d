"""Halves the processor time that training programs in tests take to start.

An optimizer imports `torch._dynamo` in order to exempt its step from compilation. That takes
2 s of processor time in each of some two thousand programs. Where nothing else has imported the
compiler, nothing is compiled, and nothing has to be exempted. And while PyTorch is imported,
garbage is collected dozens of times without finding any, and again at a program's end.

The Python tests put this directory on PYTHONPATH. Those in tests/e2e/browser, tests/e2e/dap,
tests/faults and tests/wheel start programs as users do.
"""

from __future__ import annotations

import functools
import gc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

_Function = Callable[..., Any]


def _of_pytorch(function: _Function, module: ModuleType) -> _Function:
    """Has the frames of a function counted among PyTorch's, as those of what it stands in for are."""
    function.__code__ = function.__code__.replace(co_filename=str(module.__file__))
    return function


def _where_compiled(compiled: _Function, plain: _Function, module: ModuleType) -> _Function:
    """A function that needs the compiler only if something has imported it."""

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (compiled if "torch._dynamo" in sys.modules else plain)(*args, **kwargs)

    return _of_pytorch(call, module)


def _patch_exemption(module: ModuleType) -> None:
    exempt = module.__dict__["_disable_dynamo"]

    def exempt_lazily(function: _Function | None = None, recursive: bool = True) -> _Function:
        if function is None:
            return functools.partial(exempt_lazily, recursive=recursive)
        return _where_compiled(exempt(function, recursive), function, module)

    module.__dict__["_disable_dynamo"] = exempt_lazily


def _patch_optimizers(module: ModuleType) -> None:
    decorate = module.__dict__["_use_grad_for_differentiable"]

    def decorate_lazily(step: _Function) -> _Function:
        @functools.wraps(step)
        def plain(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            import torch

            with torch.set_grad_enabled(optimizer.defaults["differentiable"]):
                return step(optimizer, *args, **kwargs)

        return _where_compiled(decorate(step), _of_pytorch(plain, module), module)

    module.__dict__["_use_grad_for_differentiable"] = decorate_lazily


_PATCHES: dict[str, Callable[[ModuleType], None]] = {
    # What its modules hold lives as long as the program.
    "torch": lambda _: gc.freeze(),
    "torch._compile": _patch_exemption,
    "torch.optim.optimizer": _patch_optimizers,
}


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        collects = gc.isenabled()
        gc.disable()
        try:
            super().exec_module(module)
        finally:
            if collects:
                gc.enable()
        _PATCHES[module.__name__](module)


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in _PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and spec.origin:
            spec.loader = _Loader(name, spec.origin)
        return spec


# Finders before it are others' hooks on imports, which ask the ones behind them.
sys.meta_path.insert(sys.meta_path.index(importlib.machinery.PathFinder), _Finder())
