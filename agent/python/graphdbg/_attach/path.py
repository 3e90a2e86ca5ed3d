"""The search path, which the text extends for its own import."""

from __future__ import annotations

import os
import sys

_DIRECTORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def take_out() -> None:
    """Removes the entry that the text has put first. The package finds its own modules without it."""
    if sys.path and os.path.realpath(sys.path[0]) == _DIRECTORY:
        del sys.path[0]
