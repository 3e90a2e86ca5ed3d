"""graphdbg: a debugger for deep-learning training.

To debug a program, set GRAPHDBG_ENABLE=1 or start it under `graphdbg run`. The
program needs no change and does not import this package.

`run_local` does from Python what `graphdbg run` does from a shell.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

__all__ = ["Terminated", "__version__", "run_local"]


class Terminated(SystemExit):
    """Raised in the program when the user terminates it from the debugger.

    It is raised in the main thread, as KeyboardInterrupt is after Ctrl-C:
    `finally` blocks and atexit functions run, and the process exits with
    EXIT_CODE.

    Attributes:
        EXIT_CODE: 143, the code of a process that was ended by SIGTERM.
    """

    EXIT_CODE = 143

    def __init__(self) -> None:
        super().__init__(self.EXIT_CODE)


def __getattr__(name: str) -> Any:
    # Imported on first use, because a training process never needs it.
    if name == "run_local":
        from .cli.local import run_local

        return run_local
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
