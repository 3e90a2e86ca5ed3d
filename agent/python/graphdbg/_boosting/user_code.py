"""Lines of the user's own code: the one that trains, and the definition of an objective."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from .._c_api import SourceFrame

_INTERACTIVE = ("<stdin>", "<string>", "<console>", "<ipython-input-")
_MOST_FRAMES = 32


def calling_stack() -> list[SourceFrame]:
    """The stack of this thread, innermost frame first, without frames of graphdbg."""
    stack: list[SourceFrame] = []
    frame = sys._getframe(1)
    while frame is not None and len(stack) < _MOST_FRAMES:
        if not frame.f_code.co_filename.startswith(_own_directory()):
            stack.append(_frame_of(frame.f_code, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return stack


def definition_of(function: Any) -> list[SourceFrame]:
    """Where the user has defined a function that a library may have wrapped; [] if nowhere."""
    for code in _codes_of(function, set()):
        if _is_users(code.co_filename):
            return [_frame_of(code, code.co_firstlineno)]
    return []


def name_of(function: Any) -> str:
    """The name of a function of the user's own, also if a library has wrapped it."""
    name = next((frame[2].rpartition(".")[2] for frame in definition_of(function)), "__call__")
    return name if name != "__call__" else str(getattr(function, "__name__", type(function).__name__))


def _codes_of(function: Any, seen: set[int]) -> Iterator[CodeType]:
    """The code of a function, then that of the functions that it wraps."""
    if not callable(function) or isinstance(function, type) or id(function) in seen:
        return
    seen.add(id(function))
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if code is not None:
        yield code
    # Functions, functools.partial, and the wrappers of LightGBM and XGBoost.
    for name in ("__wrapped__", "__func__", "func"):
        yield from _codes_of(getattr(function, name, None), seen)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield from _codes_of(cell.cell_contents, seen)
        except ValueError:  # an empty cell
            continue


def _frame_of(code: CodeType, line: int | None) -> SourceFrame:
    file = code.co_filename
    name = getattr(code, "co_qualname", code.co_name)
    return (file if file.startswith("<") else os.path.abspath(file)), line or 0, name, _is_users(file)


@functools.cache
def _is_users(file: str) -> bool:
    if file.startswith("<"):
        return file.startswith(_INTERACTIVE)
    path = os.path.abspath(file)
    return "-packages/" not in path and not path.startswith(_libraries())


@functools.cache
def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    directories = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    # Those of the libraries that are installed elsewhere, such as by pip --target.
    for name in ("xgboost", "lightgbm", "sklearn"):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            directories.add(os.path.dirname(os.path.abspath(file)))
    return (*(f"{directory}{os.sep}" for directory in sorted(directories)), _own_directory())


@functools.cache
def _own_directory() -> str:
    return f"{Path(__file__).resolve().parents[1]}{os.sep}"
