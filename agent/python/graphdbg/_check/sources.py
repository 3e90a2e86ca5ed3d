"""Finds the program's own lines among those of libraries."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sysconfig
import traceback
from types import FrameType
from typing import Any

Source = dict[str, Any]

_LISTED_LINE = re.compile(r'^\s*File "(.+)", line (\d+)', re.MULTILINE)


@functools.cache
def _library_directories() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    directories = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    directories.add(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return tuple(f"{directory}{os.sep}" for directory in directories if directory)


def is_users(file: str) -> bool:
    """Whether a file is neither a library's nor made up, such as <frozen importlib>."""
    if file.startswith("<") and file not in ("<string>", "<stdin>"):
        return False
    return not file.startswith(_library_directories()) and "site-packages" not in file and "dist-packages" not in file


def source(file: str, line: int) -> Source:
    return {"file": file, "line": line, "text": linecache.getline(file, line).strip() or None}


def location(frame: FrameType) -> Source:
    return source(frame.f_code.co_filename, frame.f_lineno)


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the program itself, from `frame` outwards."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def source_of(exception: BaseException) -> Source | None:
    """The innermost line of the program's own that an exception passed.

    Exceptions of worker processes carry their traceback in the message, which is
    nearer to the cause.
    """
    if isinstance(exception, SyntaxError) and exception.filename and exception.lineno:
        return source(exception.filename, exception.lineno)
    listed = [(file, int(line)) for file, line in _LISTED_LINE.findall(str(exception)) if is_users(file)]
    if listed:
        return source(*listed[-1])
    summary = traceback.extract_tb(exception.__traceback__)
    own = [(each.filename, each.lineno) for each in summary if is_users(each.filename) and each.lineno]
    return source(*own[-1]) if own else None
