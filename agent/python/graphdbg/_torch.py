"""Makes PyTorch debuggable in this process, right after `import torch`."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from . import Terminated, _ending
from ._autoload import warn

_PACKAGE = Path(__file__).resolve().parent


def follow() -> None:
    """Starts the agent and installs the hooks; never raises."""
    try:
        _follow()
    except Exception as error:
        warn(f"cannot follow PyTorch: {error}")


def _minor(version: str) -> list[str]:
    return version.split("+")[0].split(".")[:2]


def _follow() -> None:
    import torch

    from . import _hooks, _modules, _steps

    version = str(torch.__version__)
    # PyTorch's C++ interfaces change with each minor version.
    if _minor(version) != _minor(_hooks.TORCH_VERSION):
        warn(f"built for PyTorch {_hooks.TORCH_VERSION}, not for {version}")
        return
    _hooks.load(str(_PACKAGE / "lib" / "libgraphdbg_torch.so"))
    if not _hooks.open(version, _job_name()):
        return
    _hooks.install(
        torch.nn.Module,
        _modules.ModuleTree(_hooks).add,
        _steps.optimizer_exists,
        Terminated,
        _library_directories(),
    )
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(_steps.StepCounter(_hooks.step_end))
    os.register_at_fork(after_in_child=_hooks.disable)
    _ending.set_closer(_hooks)


def _job_name() -> str:
    name = Path(sys.argv[0]).name if sys.argv else ""
    return name if name and not name.startswith("-") else "python"


def _library_directories() -> list[str]:
    """Where code lies that is not the user's."""
    paths = sysconfig.get_paths()
    directories = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    directories.add(str(_PACKAGE))
    return sorted(f"{directory}{os.sep}" for directory in directories if directory)
