"""Where the program's own code made an op."""

from __future__ import annotations

from typing import Any

from .._c_api import SourceFrame
from .._user_code import is_library_file

_MAX_FRAMES = 32


def stack_of(op: Any) -> list[SourceFrame]:
    """The source stack of an op of a graph, the innermost frame first.

    AutoGraph has already replaced the lines of generated code by those of the user's file.
    """
    try:
        frames = list(op.traceback)
    except Exception:
        return []
    stack = []
    for frame in reversed(frames):
        user = not is_library_file(frame.filename)
        stack.append((frame.filename, max(frame.lineno, 0), frame.name, user))
    # The frames inside TensorFlow say less than those of the program.
    first = next((i for i, frame in enumerate(stack) if frame[3]), 0)
    skipped = max(0, first - _MAX_FRAMES // 2)
    return stack[skipped : skipped + _MAX_FRAMES]
