"""Makes PyTorch debuggable in this process, right after `import torch`."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

from . import Terminated, _ending
from ._autoload import warn

_PACKAGE = Path(__file__).resolve().parent


def follow() -> None:
    """Starts the agent and installs the hooks; never raises."""
    try:
        _follow()
    except Exception as error:
        warn(f"cannot follow PyTorch: {error}")


def _follow() -> None:
    import torch

    from . import _modules, _older_torch, _steps

    hooks = _hooks(torch)
    if not hooks.open(str(torch.__version__), _job_name()):
        return
    _older_torch.make_ranges_silent()
    hooks.install(
        torch.nn.Module,
        _modules.ModuleTree(hooks).add,
        _steps.optimizer_exists,
        Terminated,
        _library_directories(),
    )
    _older_torch.after_each_step(_steps.StepCounter(hooks.step_end))
    os.register_at_fork(after_in_child=hooks.disable)
    _ending.set_closer(hooks)


def _hooks(torch: Any) -> Any:
    """The compiled adapter where there is one, or else its substitute in Python."""
    from ._compile import CannotCompile

    if os.environ.get("GRAPHDBG_ADAPTER") != "python":
        from . import _native

        try:
            return _native.load(torch)
        except CannotCompile as error:
            print(f"graphdbg: follows PyTorch from Python, which is slower: {error}", file=sys.stderr, flush=True)
    from ._mode.hooks import Hooks

    return Hooks()


def _job_name() -> str:
    name = Path(sys.argv[0]).name if sys.argv else ""
    return name if name and not name.startswith("-") else "python"


def _library_directories() -> list[str]:
    """Where code lies that is not the user's."""
    paths = sysconfig.get_paths()
    directories = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    directories.add(str(_PACKAGE))
    return sorted(f"{directory}{os.sep}" for directory in directories if directory)
