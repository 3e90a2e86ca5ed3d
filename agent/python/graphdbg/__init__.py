"""graphdbg: a debugger for deep-learning training.

Set GRAPHDBG_ENABLE=1, or start the program under `graphdbg run`; the program
itself needs no change and does not import this package.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

__all__ = ["Terminated", "__version__", "run_local"]


class Terminated(SystemExit):
    """The user ended the program from the debugger.

    Raised in the main thread, as KeyboardInterrupt is after Ctrl-C: `finally`
    blocks and atexit functions run, and the process ends with code 143.
    """

    EXIT_CODE = 143

    def __init__(self) -> None:
        super().__init__(self.EXIT_CODE)


def __getattr__(name: str) -> Any:
    # Loaded when asked for: a training process has no use for it.
    if name == "run_local":
        from .cli.local import run_local

        return run_local
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
