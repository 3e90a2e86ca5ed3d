"""Errors that end a command with one line on stderr and an exit code."""

from __future__ import annotations

USAGE = 2
UNAVAILABLE = 3
# A command ended with 0, but no process of it was debugged.
NOT_DEBUGGED = 4


class CliError(Exception):
    """A message for the user, and the exit code of the command."""

    def __init__(self, message: str, exit_code: int = UNAVAILABLE) -> None:
        super().__init__(message)
        self.exit_code = exit_code
