"""graphdbg: a debugger for deep-learning training.

To debug a program, set GRAPHDBG_ENABLE=1 or start it under `graphdbg run`. The
program needs no change and does not import this package.

`run_local` does from Python what `graphdbg run` does from a shell, and `connect`
returns a client that controls jobs of a running server. `open_run` reads what a job
recorded, and `save_scalar`, `save_tensor` and `mode` add to it from within the job.
`Rule`, with `Param`, `Select`, `Needs` and `Finding`, is the base class of own rules.
`%load_ext graphdbg` adds the cell magic `%%graphdbg` to a notebook.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._saving import mode as mode
    from ._saving import save_scalar as save_scalar
    from ._saving import save_tensor as save_tensor
    from .client import Client as Client
    from .client import GraphdbgError as GraphdbgError
    from .client import Job as Job
    from .client import connect as connect
    from .rules import Finding as Finding
    from .rules import Needs as Needs
    from .rules import Param as Param
    from .rules import Rule as Rule
    from .rules import Select as Select
    from .runs import open_run as open_run

__version__ = "0.1.0"

__all__ = [
    "Client",
    "Finding",
    "GraphdbgError",
    "Job",
    "Needs",
    "Param",
    "Rule",
    "Select",
    "Terminated",
    "__version__",
    "connect",
    "mode",
    "open_run",
    "run_local",
    "save_scalar",
    "save_tensor",
]

# Imported on first use, because a training process never needs them.
_LAZY = {
    "Client": "graphdbg.client",
    "GraphdbgError": "graphdbg.client",
    "Job": "graphdbg.client",
    "connect": "graphdbg.client",
    "Finding": "graphdbg.rules",
    "Needs": "graphdbg.rules",
    "Param": "graphdbg.rules",
    "Rule": "graphdbg.rules",
    "Select": "graphdbg.rules",
    "mode": "graphdbg._saving",
    "save_scalar": "graphdbg._saving",
    "save_tensor": "graphdbg._saving",
    "open_run": "graphdbg.runs",
    "run_local": "graphdbg.cli.local",
}


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
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext graphdbg`."""
    importlib.import_module("graphdbg.cli.notebook").load(shell)
