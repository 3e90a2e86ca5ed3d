"""Tells the program's own code from that of frameworks and other libraries."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from pathlib import Path
from types import FrameType

# A file, and the number of a line from 1.
Line = tuple[str, int]

_PACKAGE = Path(__file__).resolve().parent


@functools.cache
def library_directories() -> list[str]:
    """Directories whose code is not the user's."""
    paths = sysconfig.get_paths()
    directories = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    directories.add(str(_PACKAGE))
    return sorted(f"{directory}{os.sep}" for directory in directories if directory)


@functools.cache
def is_library_file(file: str) -> bool:
    """Whether the code of a file is not the user's."""
    return "/torch/" in file or "-packages/" in file or file.startswith(tuple(library_directories()))


def is_own(frame: FrameType) -> bool:
    """Whether graphdbg's code runs in the frame."""
    return frame.f_code.co_filename.startswith(f"{_PACKAGE}{os.sep}")


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's own code, from `frame` outwards."""
    while frame is not None and is_library_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def is_called_by_library(frame: FrameType | None) -> bool:
    """Whether a library other than PyTorch is between `frame` and the user's own code."""
    user = user_frame(frame)
    while frame is not None and frame is not user:
        if not is_own(frame) and "/torch/" not in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def line_of(frame: FrameType | None) -> Line | None:
    """The line that the user's own code executes, from `frame` outwards."""
    users = user_frame(frame)
    return (users.f_code.co_filename, users.f_lineno) if users is not None else None


def line_of_forward(module: object) -> Line | None:
    """The line where the class of a module defines `forward`, if that is Python code."""
    code = getattr(getattr(type(module), "forward", None), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else None


def is_users_class(cls: type) -> bool:
    """Whether a class is defined in the user's own code."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    return module is not None and (file is None or not is_library_file(file))
