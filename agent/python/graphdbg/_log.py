"""Messages of graphdbg on the program's stderr. Every line starts with `graphdbg:`."""

from __future__ import annotations

import sys


def log(message: str) -> None:
    print(f"graphdbg: {message}", file=sys.stderr, flush=True)


def warn_not_debugged(reason: str) -> None:
    """Reports an error that ends the debugging but not the program."""
    log(f"{reason}; the program continues without debugging")
