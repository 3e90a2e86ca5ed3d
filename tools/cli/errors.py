"""Errors that end a command with one line on stderr and an exit code."""

from __future__ import annotations

from graphdbg.client.errors import UNAVAILABLE, USAGE
from graphdbg.client.errors import GraphdbgError as CliError

# A command ended with 0, but no process of it was debugged.
NOT_DEBUGGED = 4

__all__ = ["NOT_DEBUGGED", "UNAVAILABLE", "USAGE", "CliError"]
