"""Errors of attaching, which end a command with 1."""

from __future__ import annotations

from ..errors import CliError


class CannotAttachError(CliError):
    """A process cannot be attached to, or detached from."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 1)


class AlreadyAttachedError(CannotAttachError):
    """The process is debugged already. The message says to what it is attached."""
