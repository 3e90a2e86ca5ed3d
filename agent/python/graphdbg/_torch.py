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

    from . import _amp, _backward, _compiled, _modules, _older_torch, _optimizers, _steps, _swaps

    hooks = _hooks(torch)
    if not hooks.open(str(torch.__version__), _job_name()):
        return
    _older_torch.make_ranges_silent()
    eager = _compiled.Eager(hooks.notify)
    loose = _optimizers.LooseParameters(hooks)
    tree = _modules.ModuleTree(hooks)
    hooks.install(
        torch.nn.Module,
        tree.add,
        tree.give_inputs,
        Terminated,
        eager.lift,
        _library_directories(),
    )
    steps = _steps.StepCounter(hooks.step_end)
    _older_torch.around_each_step(_optimizers.Closures(hooks).before_step, steps)
    tree.follow_registrations(loose.module_has_parameter)
    _optimizers.install(loose.add)
    _backward.install(hooks)
    _amp.install(hooks, steps)
    _swaps.install(hooks)
    if hasattr(torch, "compile"):
        (_compiled.Kept(hooks) if _compiled.kept() else eager).install()
    os.register_at_fork(after_in_child=hooks.disable)
    _ending.set_closer(hooks)


def _hooks(torch: Any) -> Any:
    """The compiled adapter where there is one, or else its substitute in Python."""
    from ._compile import CannotCompile

    reason = None
    if os.environ.get("GRAPHDBG_ADAPTER") != "python":
        from . import _native

        try:
            return _native.load(torch)
        except CannotCompile as error:
            reason = error
    from ._mode.hooks import Hooks

    hooks = Hooks()
    if reason is not None:
        print(f"graphdbg: follows PyTorch from Python, which is slower: {reason}", file=sys.stderr, flush=True)
    return hooks


def _job_name() -> str:
    name = Path(sys.argv[0]).name if sys.argv else ""
    return name if name and not name.startswith("-") else "python"


def _library_directories() -> list[str]:
    """Where code lies that is not the user's."""
    paths = sysconfig.get_paths()
    directories = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    directories.add(str(_PACKAGE))
    return sorted(f"{directory}{os.sep}" for directory in directories if directory)
