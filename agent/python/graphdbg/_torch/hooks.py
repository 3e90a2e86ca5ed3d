"""Chooses the adapter that follows PyTorch's ops."""

from __future__ import annotations

import os
from typing import Any

from .._log import log
from . import compiled_adapter
from .._build_adapter import CannotBuild


def load(torch: Any, may_build: bool = True) -> Any:
    """An object with the functions of _hooks.pyi.

    It is the compiled adapter if there is one or one can be built, else the
    adapter that is written in Python. GRAPHDBG_ADAPTER=python chooses the latter.

    Raises CannotBuild without `may_build` if it would have to be built.
    """
    if os.environ.get("GRAPHDBG_ADAPTER") == "python":
        return _python_adapter()
    try:
        return compiled_adapter.load(torch, may_build)
    except CannotBuild as error:
        if not may_build:
            raise
        adapter = _python_adapter()
        log(f"follows PyTorch from Python, which is slower: {error}")
        return adapter


def _python_adapter() -> Any:
    # Imports torch, and is rarely needed.
    from .python_adapter.hooks import Hooks

    return Hooks()
