"""The source lines of equations."""

from __future__ import annotations

import functools
import os
import sysconfig
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from .. import _c_api
from . import versions

# Libraries that train have no scope of their own for the equations of an optimizer.
_OPTIMIZERS = ("/optax/", "/keras/src/optimizers/", "/jaxopt/", "/flax/nnx/training/")
_MAX_FRAMES = 16


@functools.cache
def _library_directories() -> tuple[str, ...]:
    """Directories whose code is not the user's."""
    paths = sysconfig.get_paths()
    directories = {
        *(paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")),
        str(Path(__file__).parents[1]),
    }
    return tuple(f"{directory}{os.sep}" for directory in directories)


@functools.cache
def _is_library(file: str) -> bool:
    return "-packages/" in file or file.startswith(("<frozen ", *_library_directories()))


class Sources:
    """Reads tracebacks, of which equations share many."""

    def __init__(self) -> None:
        self._stacks: dict[Any, tuple[_c_api.SourceStack, str]] = {}

    def of(self, traceback: Any) -> tuple[_c_api.SourceStack, str]:
        """The user's frames, the innermost first, and the module of an optimizer that they call, if any."""
        if traceback is None:
            return (), ""
        if traceback not in self._stacks:
            self._stacks[traceback] = _read(versions.frames(traceback))
        return self._stacks[traceback]


def _read(frames: Sequence[tuple[str, int, str]]) -> tuple[_c_api.SourceStack, str]:
    optimizer = next((PurePath(file).stem for file, _, _ in frames if any(part in file for part in _OPTIMIZERS)), "")
    stack = [(file, line, function, True) for file, line, function in frames if not _is_library(file)]
    return tuple(stack[:_MAX_FRAMES]), optimizer.lstrip("_")
