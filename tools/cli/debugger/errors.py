"""The error of this package."""

from __future__ import annotations

from graphdbg.client.errors import USAGE, GraphdbgError


class DebuggerError(GraphdbgError):
    """What a user can cause: a sentence that names the thing, and what to do next where there is something."""

    code = "debugger"

    def __init__(self, message: str, exit_code: int = USAGE) -> None:
        super().__init__(message, exit_code)
