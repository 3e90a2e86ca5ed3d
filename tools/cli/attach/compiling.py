"""Adapters for versions of PyTorch that the package does not contain: compiled outside of the process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from ..terminal import visible
from .checks import PACKAGE, Target, adapters
from .errors import CannotAttachError
from .torch_version import minor

_LOAD = "import torch; from graphdbg._torch import compiled_adapter; compiled_adapter.load(torch{})"
_SECONDS = 900.0


def compile_adapter(target: Target, may_compile: bool, say: Callable[[str], None]) -> None:
    """Finds the adapter in the cache, or compiles it if that is wanted.

    Raises:
        CannotAttachError: There is none, or it cannot be compiled.
    """
    if _load(target, ", may_build=False") == "":
        return
    if not may_compile:
        raise CannotAttachError(
            f"the process has Python {target.python} and torch {minor(target.torch)}; this graphdbg has adapters for "
            f"torch {', '.join(adapters())}; compiling one takes 30 s: --compile"
        )
    say(f"compiling an adapter for torch {target.torch}; the process is not touched meanwhile")
    problem = _load(target, "")
    if problem:
        raise CannotAttachError(f"no adapter for torch {target.torch}: {problem}")


def _load(target: Target, options: str) -> str:
    """Has an interpreter like that of the process load the adapter; "" if it can, or else the reason."""
    process = target.process
    assert process.torch is not None
    program = (
        process.command[0] if process.command and os.path.isabs(process.command[0]) else f"/proc/{process.pid}/exe"
    )
    path = os.pathsep.join((str(PACKAGE.parent), str(Path(process.torch).parent)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHDBG_")}
    try:
        done = subprocess.run(
            [program, "-c", _LOAD.format(options)],
            env=kept | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else visible(lines[-1] if lines else f"exit code {done.returncode}")
