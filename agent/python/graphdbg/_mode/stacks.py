"""Python source stacks, as the agent wants them (hooks/source_stack.h)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .graph import Frame, Stack

_MAX_FRAMES = 32
_TYPED = ("<stdin>", "<string>", "<console>")
_ENGINE = ("torch/autograd/graph.py", "torch/autograd/__init__.py")
_OWN = os.path.dirname(__file__) + os.sep


class Stacks:
    def __init__(self, libraries: Sequence[str]) -> None:
        self._libraries = tuple(libraries)
        self._users: dict[str, bool] = {}

    def _is_users(self, file: str) -> bool:
        known = self._users.get(file)
        if known is None:
            if file.startswith("<"):
                known = file in _TYPED or file.startswith("<ipython-input-")
            else:
                path = os.path.abspath(file)
                packages = "/site-packages/" in path or "/dist-packages/" in path
                known = not packages and not path.startswith(self._libraries)
            self._users[file] = known
        return known

    def capture(self) -> Stack:
        """The calling thread's stack, innermost frame first, without ours."""
        stack: list[Frame] = []
        frame = sys._getframe(1)
        while frame is not None and len(stack) < _MAX_FRAMES:
            code = frame.f_code
            if not code.co_filename.startswith(_OWN):
                file = code.co_filename if code.co_filename.startswith("<") else os.path.abspath(code.co_filename)
                name = getattr(code, "co_qualname", code.co_name)
                stack.append((file, frame.f_lineno or 0, name, self._is_users(code.co_filename)))
            frame = frame.f_back  # type: ignore[assignment]
        return stack


def user_code_in_engine(stack: Stack) -> bool:
    """Whether the user's own Python runs inside the autograd engine (adapter.cc)."""
    for file, _, _, user in stack:
        if file.endswith(_ENGINE):
            return False
        if user:
            return True
    return False
