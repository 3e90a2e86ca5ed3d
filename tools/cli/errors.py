"""Errors that end a command with one clear line and an exit code."""

from __future__ import annotations

USAGE = 2
UNAVAILABLE = 3


class CliError(Exception):
    """A message for people and the exit code that goes with it."""

    def __init__(self, message: str, exit_code: int = UNAVAILABLE) -> None:
        super().__init__(message)
        self.exit_code = exit_code
