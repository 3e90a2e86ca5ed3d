"""Errors that end a command with one line on stderr and an exit code."""

from __future__ import annotations

from graphdbg.client.errors import UNAVAILABLE, USAGE
from graphdbg.client.errors import GraphdbgError as CliError

__all__ = ["UNAVAILABLE", "USAGE", "CliError"]
