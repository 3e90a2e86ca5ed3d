"""The search path, which the text extends for its own import."""

from __future__ import annotations

import sys
from pathlib import Path

_DIRECTORY = str(Path(__file__).resolve().parents[2])


def take_out() -> None:
    """Removes the entry that the text has put first. The package finds its own modules without it."""
    if sys.path and sys.path[0] == _DIRECTORY:
        del sys.path[0]
