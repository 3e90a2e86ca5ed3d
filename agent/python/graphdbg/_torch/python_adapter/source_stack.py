"""Captures Python source stacks for the agent (hooks/source_stack.h in the compiled adapter)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ..._c_api import SourceFrame, SourceStack

_MAX_FRAMES = 32
_INTERACTIVE = ("<stdin>", "<string>", "<console>")
_ENGINE = ("torch/autograd/graph.py", "torch/autograd/__init__.py")
_OWN_DIRECTORY = os.path.dirname(__file__) + os.sep


class StackCapture:
    def __init__(self, libraries: Sequence[str]) -> None:
        self._libraries = tuple(libraries)
        # Whether a file is the user's, by its name in the code object.
        self._is_user_file: dict[str, bool] = {}

    def _is_users(self, file: str) -> bool:
        known = self._is_user_file.get(file)
        if known is None:
            if file.startswith("<"):
                known = file in _INTERACTIVE or file.startswith("<ipython-input-")
            else:
                path = os.path.abspath(file)
                packages = "/site-packages/" in path or "/dist-packages/" in path
                known = not packages and not path.startswith(self._libraries)
            self._is_user_file[file] = known
        return known

    def capture(self) -> SourceStack:
        """The calling thread's stack, innermost frame first, without frames of this adapter."""
        stack: list[SourceFrame] = []
        frame = sys._getframe(1)
        while frame is not None and len(stack) < _MAX_FRAMES:
            code = frame.f_code
            if not code.co_filename.startswith(_OWN_DIRECTORY):
                file = code.co_filename if code.co_filename.startswith("<") else os.path.abspath(code.co_filename)
                name = getattr(code, "co_qualname", code.co_name)
                stack.append((file, frame.f_lineno or 0, name, self._is_users(code.co_filename)))
            frame = frame.f_back  # type: ignore[assignment]
        return stack


def has_user_code_in_engine(stack: SourceStack) -> bool:
    """Whether the user's own Python code runs inside the autograd engine (adapter.cc)."""
    for file, _, _, user in stack:
        if file.endswith(_ENGINE):
            return False
        if user:
            return True
    return False
